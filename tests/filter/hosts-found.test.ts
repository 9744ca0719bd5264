/** Which servers become known without discovery: by answers and by metrics' labels. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, Gateway, hostNames, listed } from "./gateway.ts";
import { knownHosts, slotOf } from "./records.ts";

const NAMES = hostNames(3);

test("hosts are known from where answers came, and forgotten when they are silent for long", () => {
  const gateway = new Gateway([]);
  const first = gateway.send(chat("hi"));
  assert.deepEqual(first.choice, []);
  first.answer({ host: NAMES[0] as string });
  gateway.send(chat("hi")).answer({ host: NAMES[1] as string });
  assert.deepEqual(listed(gateway), NAMES.slice(0, 2));
  // One goes on answering, the other doesn't.
  for (let minute = 0; minute < 12; minute++) {
    gateway.host.advance(60_000);
    gateway.send(chat(`${minute}`)).answer({ host: NAMES[0] as string });
  }
  assert.deepEqual(knownHosts(gateway, NAMES), [NAMES[0]]);
});

test("hosts are known from the metrics endpoint's labels, where nothing else names any", () => {
  let hosts = NAMES;
  const label = (host: string) => `vllm:num_requests_running{instance="${host}"} 0\n`;
  const make = (configured: string[]) => {
    const gateway = new Gateway(configured, {
      config: { metrics: { source: "endpoint", interval_ms: 1000, stale_after_ms: 5000 } },
      onCall: (call) => call.respond(200, hosts.map(label).join("")),
    });
    gateway.host.advance(1500);
    return gateway;
  };
  const gateway = make([]);
  assert.deepEqual(listed(gateway), NAMES);
  assert.equal(slotOf(make(NAMES.slice(0, 1)), NAMES[1] as string), -1);
  hosts = NAMES.slice(0, 2);
  gateway.host.advance(700_000);
  assert.deepEqual(listed(gateway), NAMES.slice(0, 2));
});

test("only what can be a server becomes one: engines by their labels, addresses that Envoy's override can find", () => {
  const series = [
    'vllm:num_requests_running{instance="10.0.0.1:8000"} 0',
    'sglang:num_queue_reqs{instance="[FD00:0::7]:8000"} 0',
    'process_start_time_seconds{instance="10.0.0.1:9100"} 1700000000',
    'DCGM_FI_DEV_GPU_UTIL{instance="10.0.0.1:9400",gpu="0"} 5',
    'vllm:cache_config_info{instance="10.0.0.1:7000",block_size="16"} 1',
    'vllm:num_requests_running{instance="vllm-0.svc:8000"} 0',
    'vllm:num_requests_running{instance="10.0.0.2:99999"} 0',
    'vllm:num_requests_running{instance="10.0.0.2"} 0',
  ];
  const gateway = new Gateway([], {
    config: { metrics: { source: "endpoint", interval_ms: 1000, stale_after_ms: 5000 } },
    onCall: (call) => call.respond(200, `${series.join("\n")}\n`),
  });
  gateway.host.advance(1500);
  assert.deepEqual(listed(gateway), ["10.0.0.1:8000", "[fd00::7]:8000"]);
  // Where an answer tells of GPUs alone, their labels are the servers'.
  series.splice(0, series.length, 'DCGM_FI_DEV_GPU_UTIL{instance="10.0.0.8:8000",gpu="0"} 5');
  gateway.host.advance(3000);
  assert.ok(knownHosts(gateway, ["10.0.0.8:8000"]).length > 0);
  const alone = new Gateway([]);
  for (const host of ["envoy://connect_originate/10.0.0.1:8000", "/run/llm.sock", "a.example:80"]) {
    alone.send(chat(host)).answer({ host });
  }
  alone.send(chat("known")).answer({ host: "10.0.0.3:8000" });
  assert.deepEqual(listed(alone), ["10.0.0.3:8000"]);
});

test("routes to another cluster: its servers are not taken for ours, nor what they do for what ours do", () => {
  const other = "10.9.0.1:8000";
  const named = new Gateway(NAMES, { config: { metrics: { source: "none" } } });
  const discovering = new Gateway(NAMES, { config: { discovery: { source: "envoy_admin" } } });
  for (const gateway of [named, discovering]) {
    // Before any of ours has answered, and after.
    for (let i = 0; i < 6; i++) {
      const elsewhere = gateway.send(chat(`embed ${i}`), { cluster: "other" });
      const chosen = elsewhere.target as string;
      gateway.host.advance(300);
      assert.equal(gateway.inFlight(chosen), 1);
      elsewhere.begin({ host: other });
      gateway.host.advance(300);
      assert.equal(gateway.inFlight(chosen), 0);
      elsewhere.end();
      assert.equal(elsewhere.debug("host"), other);
      assert.equal(elsewhere.debug("reason"), "fallback");
      gateway.send(chat(`ours ${i}`)).answer();
    }
    assert.deepEqual(knownHosts(gateway, [...NAMES, other]), NAMES);
    assert.deepEqual(listed(gateway), NAMES);
    assert.equal(gateway.stat("choices_ignored_total"), 0);
    const told = gateway.host.logs.filter(({ message }) => message.includes("cluster other"));
    assert.equal(told.length, 1);
  }
  // One of our cluster that wasn't named is found all the same.
  named.send(chat("new")).answer({ host: "10.0.0.9:8000" });
  assert.ok(knownHosts(named, ["10.0.0.9:8000"]).length > 0);
});

test("where only answers tell of servers, some requests go where Envoy sends them, so that others are found", () => {
  const gateway = new Gateway([]);
  const envoys = [...NAMES, ...NAMES];
  const left: boolean[] = [];
  for (let i = 0; i < 24; i++) {
    const request = gateway.send(chat(`${i} is about something else`));
    const isLeft = request.choice.length === 0;
    left.push(isLeft);
    request.answer(isLeft ? { host: envoys[left.filter(Boolean).length % 6] as string } : {});
  }
  assert.deepEqual(knownHosts(gateway, NAMES), NAMES);
  assert.equal(left.filter(Boolean).length, 7);
  // What has a cache goes there; once anything names servers, all do.
  const turn = "a conversation that goes on ".repeat(50);
  const first = gateway.send(chat(turn), { headers: { "x-session-id": "s" } });
  first.answer({ host: NAMES[1] as string });
  for (let i = 0; i < 8; i++) {
    const next = gateway.send(chat(turn), { headers: { "x-session-id": "s" } });
    assert.equal(next.target, NAMES[1]);
    next.answer();
  }
  const named = new Gateway(NAMES);
  for (let i = 0; i < 12; i++) {
    const request = named.send(chat(`${i} is about something else`));
    assert.equal(request.choice.length, 3);
    request.answer();
  }
});
