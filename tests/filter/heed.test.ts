import assert from "node:assert/strict";
import { test } from "node:test";
import { int64Bytes } from "../host/abi.ts";
import { chat, Gateway, hostNames } from "./gateway.ts";

const HOSTS = hostNames(3);

/** Sends requests that another host serves than the one chosen, after so many attempts. */
function passOver(gateway: Gateway, requests: number, attempts: number): void {
  for (let i = 0; i < requests; i++) {
    const exchange = gateway.send(chat(`question ${i}`));
    exchange.stream.attributes.set("upstream.request_attempt_count", int64Bytes(attempts));
    const [, second = ""] = exchange.choice;
    exchange.answer({ host: second });
    gateway.host.advance(100);
  }
}

const told = ({ host }: Gateway) =>
  host.logs.filter(({ message }) => message.includes("does not follow the choice"));

test("heed: a choice that Envoy ignores is told once, counted, and no host's fault", () => {
  const gateway = new Gateway(HOSTS, { config: { health: { failures: 1 } } });
  passOver(gateway, 20, 1);
  assert.equal(gateway.stat("choices_ignored_total"), 20);
  assert.equal(told(gateway).length, 1);
  assert.match(told(gateway)[0]?.message ?? "", /override_host_sources: \[\{header: x-gateway-/);
  assert.equal(gateway.send(chat("still all three")).choice.length, 3);
});

test("heed: where a try failed, the host that was tried is at fault", () => {
  const gateway = new Gateway(HOSTS, { config: { health: { failures: 1 } } });
  passOver(gateway, 1, 2);
  assert.equal(gateway.stat("choices_ignored_total"), 0);
  assert.equal(gateway.send(chat("two are left")).choice.length, 2);
});

test("heed: a few among many are no fault of the configuration", () => {
  const gateway = new Gateway(HOSTS);
  for (let i = 0; i < 100; i++) gateway.send(chat(`well ${i}`)).answer();
  passOver(gateway, 5, 1);
  assert.equal(gateway.stat("choices_ignored_total"), 5);
  assert.equal(told(gateway).length, 0);
});
