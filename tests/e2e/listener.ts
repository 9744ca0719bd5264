import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { until } from "./until.ts";

/** The listeners in a file that Envoy watches, so that they can be changed while it runs. */
export class WatchedListener {
  #path = "";
  #text = "";
  #versions = 1;

  /** Takes the listeners out of a bootstrap: for `edit` of Envoy's options. */
  readonly edit = (yaml: string): string => {
    const from = yaml.indexOf("  listeners:\n");
    const to = yaml.indexOf("  clusters:\n");
    const type = '- "@type": type.googleapis.com/envoy.config.listener.v3.Listener\n  name: ';
    const listeners = yaml
      .slice(from + "  listeners:\n".length, to)
      .replace(/^ {4}/gm, "")
      .replace(/^- name: /gm, type);
    this.#text = `resources:\n${listeners}`;
    this.#path = join(/path: "?(.*?)\/access\.log/.exec(yaml)?.[1] ?? "", "lds.yaml");
    writeFileSync(this.#path, this.#text);
    const source = `{ resource_api_version: V3, path_config_source: { path: ${this.#path} } }`;
    return `dynamic_resources: { lds_config: ${source} }\n${yaml.slice(0, from)}${yaml.slice(to)}`;
  };

  /** Writes the listeners anew, changed; Envoy takes them over soon. */
  replace(what: string | RegExp, by: string): void {
    const next = this.#text.replace(what, by);
    assert.notEqual(next, this.#text, `${what} is nowhere in the listeners`);
    writeFileSync(`${this.#path}.new`, next);
    renameSync(`${this.#path}.new`, this.#path);
    this.#versions++;
  }

  /** Waits until Envoy has taken over all that was written. */
  async taken(envoy: EnvoyProcess): Promise<void> {
    const expected = new RegExp(`update_success: ${this.#versions}\\b`);
    await until("the listener's update", async () =>
      expected.test(await envoy.admin("/stats?filter=lds.update_success")),
    );
  }
}
