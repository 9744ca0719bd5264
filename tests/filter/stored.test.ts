import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, Gateway, hostNames, type RequestOptions } from "./gateway.ts";

const RESPONSES = { path: "/v1/responses" };

/** A first turn whose answer carries an id; returns the server that gave it. */
function answered(gateway: Gateway, id: string, headers: Record<string, string> = {}): string {
  const input = `remember the word ${id}`;
  const exchange = gateway.send({ model: "m1", input }, { ...RESPONSES, headers }).answer({ id });
  return exchange.target as string;
}

/** A request without a body about an answer. */
function about(gateway: Gateway, path: string, options: RequestOptions = {}) {
  return gateway.send("", { method: "GET", path: `/v1/responses/${path}`, ...options });
}

test("what asks for a stored answer goes to the server that gave it, at once", () => {
  const gateway = new Gateway(hostNames(8), { workers: 2 });
  const ids = Array.from({ length: 12 }, (_, i) => `resp_${i}`);
  const homes = new Map(ids.map((id) => [id, answered(gateway, id)]));
  assert.ok(new Set(homes.values()).size > 2);
  for (const [id, home] of homes) {
    for (const worker of [0, 1]) {
      assert.deepEqual(about(gateway, id, { worker }).choice, [home]);
      assert.deepEqual(about(gateway, `${id}?stream=true`, { worker }).choice, [home]);
    }
    assert.deepEqual(about(gateway, `${id}/input_items`).choice, [home]);
    assert.deepEqual(about(gateway, id, { method: "DELETE" }).choice, [home]);
    const cancel = gateway.send({}, { path: `/v1/responses/${id}/cancel` });
    assert.deepEqual(cancel.choice, [home]);
    cancel.answer();
    assert.equal(cancel.debug("reason"), "bypass");
    assert.equal(cancel.debug("choice"), home);
  }
  for (const path of ["resp_99", "", "/resp_1", "resp_1x"]) {
    assert.deepEqual(about(gateway, path).choice, [], path);
  }
  for (const path of ["/v2/responses/resp_1", "/v1/responsesresp_1", "/v1/chat/responses/resp_1"]) {
    assert.deepEqual(gateway.send("", { method: "GET", path }).choice, [], path);
  }
  for (const host of hostNames(8)) assert.equal(gateway.inFlight(host), 0);
});

test("an answer that streams is known by its id as soon as that has come: a broken stream is resumed", () => {
  const gateway = new Gateway(hostNames(4));
  const exchange = gateway.send({ model: "m1", input: "count", stream: true }, RESPONSES);
  exchange.begin({ headers: { "content-type": "text/event-stream" } });
  assert.deepEqual(about(gateway, "resp_live").choice, []);
  const created = {
    type: "response.created",
    response: { id: "resp_live", status: "in_progress" },
  };
  exchange.stream.responseBody(`data: ${JSON.stringify(created)}\n\n`, false);
  assert.deepEqual(about(gateway, "resp_live?starting_after=3").choice, [exchange.target]);
});

test("answers stay with their tenants, with servers that can be used, and with the mode", () => {
  const config = { affinity: { tenant_header: "x-tenant" } };
  const shared = new Gateway(hostNames(4), { config });
  const home = answered(shared, "resp_a", { "x-tenant": "a" });
  const asks = (tenant: string) => about(shared, "resp_a", { headers: { "x-tenant": tenant } });
  assert.deepEqual(asks("a").choice, [home]);
  assert.deepEqual(asks("b").choice, []);
  for (let i = 0; i < 3; i++) {
    const failing = shared.send(
      { model: "m1", input: "x", previous_response_id: "resp_a" },
      {
        ...RESPONSES,
        headers: { "x-tenant": "a" },
      },
    );
    assert.equal(failing.target, home);
    failing.answer({ status: 500 });
  }
  assert.deepEqual(asks("a").choice, []);

  const shadow = new Gateway(hostNames(4), { config: { routing: { mode: "shadow" } } });
  const host = hostNames(4)[2] as string;
  shadow.send({ model: "m1", input: "x" }, RESPONSES).answer({ id: "resp_s", host });
  const exchange = about(shadow, "resp_s");
  assert.deepEqual(exchange.choice, []);
  assert.equal(exchange.answer({ host }).debug("choice"), host);
});

test("a request goes on from a stored answer at its server, however busy that is", () => {
  const gateway = new Gateway(hostNames(4), { config: { admission: { enabled: false } } });
  const home = answered(gateway, "resp_1");
  const long = "a long question about ferries ".repeat(2000);
  const goesOn = (input: string) =>
    gateway.send({ model: "m1", input, previous_response_id: "resp_1" }, RESPONSES);
  for (let i = 0; i < 12; i++) assert.equal(goesOn(`${i} ${long}`).target, home);
  const next = goesOn(long);
  assert.equal(next.target, home);
  assert.equal(next.choice.length, 3);
  const other = gateway.send(
    { model: "m1", input: long, previous_response_id: "resp_x" },
    RESPONSES,
  );
  assert.notEqual(other.target, home);
});

test("while its server has no room, what goes on from a stored answer is held, beside idle servers", () => {
  const gateway = new Gateway(hostNames(3), { config: { admission: { max_wait_ms: 100 } } });
  const home = answered(gateway, "resp_1");
  gateway.send(chat("hello"));
  const pushed = gateway.send(
    { model: "m1", input: "y", previous_response_id: "resp_1" },
    RESPONSES,
  );
  pushed.answer({ status: 429, headers: { "retry-after": "5" } });
  const held = gateway.send({ model: "m1", input: "z", previous_response_id: "resp_1" }, RESPONSES);
  assert.deepEqual(held.choice, []);
  gateway.clock.advance(0);
  gateway.host.advance(6000);
  assert.equal(held.target, home);
});
