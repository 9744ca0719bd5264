import assert from "node:assert/strict";
import { type ChildProcess, spawnSync } from "node:child_process";
import { freePorts } from "../../../tools/envoy/ports.ts";
import { until } from "../../e2e/until.ts";
import { run, servicesOf } from "./files.ts";

export interface Servers {
  /** `ip:port` of each. */
  hosts: string[];
  /** The same by `name:port` in containers. */
  addresses: Record<string, string>;
  processes: ChildProcess[];
}

/** The LLM servers of compose.yaml by their own commands, outside containers, once their health checks pass. */
export async function startServers(): Promise<Servers> {
  const llm = Object.entries(servicesOf("compose.yaml")).filter(([name]) => /^llm-/.test(name));
  const ports = await freePorts(llm.length);
  const processes = llm.map(([, service], i) =>
    run(service, { "0.0.0.0": "127.0.0.1", "8000": `${ports[i]}` }),
  );
  for (const [i, [name, { healthcheck }]] of llm.entries()) {
    const [kind, program = "", ...args] = healthcheck?.test ?? [];
    assert.equal(kind, "CMD");
    const own = args.map((argument) => argument.replace(":8000", `:${ports[i]}`));
    await until(`${name} to be healthy`, () => spawnSync(program, own).status === 0);
  }
  const hosts = ports.map((port) => `127.0.0.1:${port}`);
  const addresses = Object.fromEntries(llm.map(([name], i) => [`${name}:8000`, hosts[i] ?? ""]));
  return { hosts, addresses, processes };
}
