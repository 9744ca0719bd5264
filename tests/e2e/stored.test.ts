import assert from "node:assert/strict";
import test, { after } from "node:test";
import { startServers } from "../llm/fleet.ts";
import { gateway, post, send } from "./harness.ts";

test("answers that one server has stored are found, and gone on from, at that server", async () => {
  const servers = await startServers(4, { timeScale: 10, chunkTokens: 8 });
  after(() => servers.stop());
  const envoy = await gateway(servers.addresses, {}, { workers: 2 });
  const ask = (fields: object) =>
    post(envoy.port, { model: "test-model", ...fields }, { path: "/v1/responses" });
  const homes = new Set<unknown>();
  for (let i = 0; i < 24; i++) {
    const first = await ask({ input: `Remember the word ${i * 7919}.` });
    assert.equal(first.status, 200);
    const { id } = JSON.parse(first.body.toString()) as { id: string };
    const home = first.headers["x-served-by"];
    homes.add(home);
    // A fresh connection each: any worker.
    for (let again = 0; again < 3; again++) {
      const found = await send({ port: envoy.port, path: `/v1/responses/${id}` });
      assert.equal(found.status, 200, `${id} of ${home}`);
      assert.equal(found.headers["x-served-by"], home);
    }
    const next = await ask({ input: "Which word was it?", previous_response_id: id });
    assert.equal(next.status, 200, next.body.toString());
    assert.equal(next.headers["x-served-by"], home);
  }
  assert.ok(homes.size > 1);
  assert.equal((await send({ port: envoy.port, path: "/v1/responses/resp_0" })).status, 404);
});
