import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { parse } from "yaml";
import { ROOT } from "../../tools/paths.ts";
import { gateway, post, sinks } from "../e2e/harness.ts";

/** As Istio reads the choice for the cluster of an InferencePool: pilot/pkg/networking/core. */
const METADATA = `- metadata:
                      key: envoy.lb
                      path: [{ key: x-gateway-destination-endpoint }]`;

const file = join(ROOT, "examples", "inference-extension", "metadata.yaml");
const { spec } = parse(readFileSync(file, "utf8"));
const filter = spec.configPatches[0].patch.value;

/** Ten sessions, five requests each: on how many servers each was, at most. */
async function spread(withFilter: boolean): Promise<number> {
  const upstreams = await sinks(3);
  const envoy = await gateway(
    upstreams.map(({ host }) => host),
    {},
    {
      fallback: "round_robin",
      edit: (yaml) => {
        const text = yaml.replace("- header: x-gateway-destination-endpoint", METADATA);
        assert.notEqual(text, yaml);
        if (!withFilter) return text;
        const router = "                  - name: envoy.filters.http.router";
        const edited = text.replace(
          router,
          `                  - ${JSON.stringify(filter)}\n${router}`,
        );
        assert.notEqual(edited, text);
        return edited;
      },
    },
  );
  let most = 0;
  for (let session = 0; session < 10; session++) {
    const reached = new Set<unknown>();
    for (let turn = 0; turn < 5; turn++) {
      const body = { model: "m", messages: [{ role: "user", content: `session ${session}` }] };
      const answer = await post(envoy.port, body, { headers: { "x-session-id": `s-${session}` } });
      assert.equal(answer.status, 200);
      reached.add(answer.headers["x-warmroute-host"]);
    }
    most = Math.max(most, reached.size);
  }
  return most;
}

test("a cluster that reads metadata follows the choice with the filter of metadata.yaml, and only with it", async () => {
  assert.equal(await spread(true), 1);
  assert.ok((await spread(false)) > 1);
});
