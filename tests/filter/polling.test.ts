import assert from "node:assert/strict";
import { test } from "node:test";
import type { Call } from "../host/calls.ts";
import { nsToMs } from "../host/clock.ts";
import type { Root } from "../host/vm.ts";
import { chat, Gateway, hostNames } from "./gateway.ts";
import { isRecordKey, readRecord, recordOf, writeRecord } from "./records.ts";

const IDLE = "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n";

/** A gateway that scrapes each server once a second, and the calls that it made. */
function polled(
  options: { workers?: number; clusters?: string[]; timeoutMs?: number } = {},
  answer: (call: Call) => void = (call) => call.respond(200, IDLE),
): { gateway: Gateway; calls: Call[] } {
  const calls: Call[] = [];
  const gateway = new Gateway(hostNames(4), {
    ...options,
    config: {
      metrics: { interval_ms: 1000, stale_after_ms: 5000, timeout_ms: options.timeoutMs ?? 400 },
    },
    onCall: (call) => {
      calls.push(call);
      answer(call);
    },
  });
  return { gateway, calls };
}

const hostOf = (call: Call) => call.headers.get(":authority") ?? "";
const timeOf = (call: Call) => nsToMs(call.sentNs);

function warnings(gateway: Gateway): string[] {
  const lines = gateway.host.logs.filter(({ level }) => level === "warn" || level === "error");
  return lines.map(({ message }) => message);
}

/** The VMs that polled. */
const pollers = (calls: Call[]): Set<Root> => new Set(calls.map((call) => call.root));

for (const workers of [1, 9]) {
  test(`each server is scraped once an interval, with jitter, by one of ${workers} VMs (BC-38)`, () => {
    const { gateway, calls } = polled({ workers });
    gateway.host.advance(60_000);
    assert.equal(pollers(calls).size, 1);
    for (const host of hostNames(4)) {
      const times = calls.filter((call) => hostOf(call) === host).map(timeOf);
      assert.ok(times.length >= 50 && times.length <= 70, `${host}: ${times.length} a minute`);
      const gaps = times.slice(1).map((time, i) => time - (times[i] as number));
      assert.ok(Math.max(...gaps) <= 1200 && Math.min(...gaps) >= 850, `${host}: ${gaps}`);
      assert.ok(new Set(gaps).size > 2, "intervals have jitter");
    }
    const [call] = calls as [Call];
    assert.equal(call.cluster, "llm");
    assert.equal(call.headers.get("x-gateway-destination-endpoint"), hostOf(call));
    assert.equal(call.headers.get(":path"), "/metrics");
    assert.equal(gateway.stat("scrapes_total"), calls.length);
    assert.equal(gateway.stat("scrape_failures_total"), 0);
  });
}

for (const [how, end] of [
  ["dies", (root: Root) => root.setTickPeriod(0)],
  ["is reloaded", (root: Root) => root.vm.reload()],
  ["gets another configuration", (root: Root) => root.configure(root.config)],
] as const) {
  test(`when the polling VM ${how}, polls go on within 5 s (BC-38)`, () => {
    const { gateway, calls } = polled({ workers: 8 });
    gateway.host.advance(10_000);
    end((calls[0] as Call).root);
    const before = calls.length;
    gateway.host.advance(20_000);
    const after = calls.slice(before);
    const first = timeOf(after[0] as Call) - timeOf(calls[before - 1] as Call);
    assert.ok(first < 5000, `no poll for ${first} ms`);
    const late = after.filter((call) => timeOf(call) > gateway.clock.ms - 12_000);
    assert.equal(pollers(late).size, 1);
    for (const host of hostNames(4)) {
      const count = late.filter((call) => hostOf(call) === host).length;
      assert.ok(count >= 9 && count <= 15, `${host}: ${count} in 12 s`);
    }
  });
}

test("a metrics cluster that doesn't exist is counted and told once; traffic goes on (BC-38)", () => {
  const { gateway, calls } = polled({ workers: 3, clusters: [] });
  gateway.host.advance(30_000);
  assert.equal(calls.length, 0);
  assert.ok(gateway.stat("scrape_failures_total") >= 4);
  assert.equal(warnings(gateway).filter((line) => /metrics\.cluster/.test(line)).length, 1);
  assert.equal(gateway.send(chat("hello")).choice.length, 3);
});

for (const [what, answer] of [
  ["404", (call: Call) => call.respond(404, "not found")],
  ["HTML", (call: Call) => call.respond(200, "<!doctype html><p>Sign in</p>")],
  ["nothing", (call: Call) => call.respond(200, "")],
  ["garbage", (call: Call) => call.respond(200, 'vllm:num_requests_running{a="\u0000 NaN\n###{')],
  ["a page of something else", (call: Call) => call.respond(200, "go_goroutines 7\n")],
  ["no connection", (call: Call) => call.refuse()],
  ["a break", (call: Call) => call.fail()],
] as const) {
  test(`${what} in place of metrics: counted, aged, told once, never fatal`, () => {
    const { gateway, calls } = polled({}, answer);
    gateway.host.advance(10_000);
    assert.equal(gateway.stat("scrape_failures_total"), calls.length);
    assert.ok(calls.length >= 12, "polls go on");
    assert.ok(calls.length <= 40, `failed polls back off, got ${calls.length}`);
    assert.equal(gateway.stat("stale_hosts"), 4);
    assert.equal(warnings(gateway).length, 1, warnings(gateway).join("\n"));
    assert.equal(gateway.send(chat("hello")).choice.length, 3);
    assert.equal(gateway.stat("internal_errors_total"), 0);
  });
}

test("a server without an answer isn't asked again before its time-out", () => {
  const { gateway, calls } = polled({ timeoutMs: 3000 }, () => {});
  gateway.host.advance(2800);
  assert.equal(calls.length, 4);
  for (const call of calls.slice()) call.timeOut();
  gateway.host.advance(3000);
  assert.equal(calls.length, 8);
  assert.equal(gateway.stat("scrape_failures_total"), 4);
});

test("a page that is elsewhere, or compressed, is told as what it is; the traffic goes on", () => {
  const cases: [status: number, headers: Record<string, string>, says: RegExp][] = [
    [
      307,
      { location: "/metrics/" },
      /^warmroute: metrics\.path: \/metrics .* HTTP 307, to \/metrics\/;/,
    ],
    [
      200,
      { "content-encoding": "gzip" },
      /^warmroute: metrics\.path: .* content-encoding gzip; expected/,
    ],
    [200, { "content-encoding": "identity" }, /^$/],
  ];
  for (const [status, headers, says] of cases) {
    const { gateway, calls } = polled({}, (call) =>
      call.respond([[":status", `${status}`], ...Object.entries(headers)], IDLE),
    );
    gateway.host.advance(6000);
    assert.match(warnings(gateway).join(), says);
    assert.equal(calls[0]?.headers.get("accept-encoding"), "identity");
    assert.equal(gateway.stat("stale_hosts"), headers["content-encoding"] === "identity" ? 0 : 4);
    assert.equal(gateway.send(chat("hello")).choice.length, 3);
  }
});

test("one server that fails doesn't age the others, and comes back", () => {
  let broken = true;
  const [first] = hostNames(4) as [string];
  const { gateway } = polled({}, (call) => {
    if (broken && hostOf(call) === first) call.refuse();
    else call.respond(200, IDLE);
  });
  gateway.host.advance(10_000);
  assert.equal(gateway.stat("stale_hosts"), 1);
  broken = false;
  gateway.host.advance(20_000);
  assert.equal(gateway.stat("stale_hosts"), 0);
});

test("changes that collide are both kept (BC-38)", () => {
  let waiting = 0;
  const { gateway } = polled({}, (call) =>
    call.respond(200, `vllm:num_requests_running 1\nvllm:num_requests_waiting ${waiting}\n`),
  );
  gateway.host.advance(3000);
  const shared = gateway.host.shared("warmroute");
  const set = shared.set.bind(shared);
  let collisions = 0;
  // Another worker notes a failure between each read of a record and its write.
  shared.set = (key, value, cas = 0) => {
    if (isRecordKey(key) && cas !== 0 && collisions < 12) {
      if (collisions++ % 3 !== 2) {
        const other = Buffer.from(shared.get(key)?.value ?? []);
        writeRecord(other, { failures: readRecord(other).failures + 1 });
        set(key, other);
      }
    }
    return set(key, value, cas);
  };
  waiting = 5;
  gateway.host.advance(1500);
  let failures = 0;
  for (const host of hostNames(4)) {
    assert.equal(recordOf(gateway, host).waiting, 5);
    failures += recordOf(gateway, host).failures;
  }
  assert.equal(failures, 8);
  assert.equal(gateway.stat("internal_errors_total"), 0);
});

test("a change that collides without end is given up and counted", () => {
  const { gateway } = polled();
  gateway.host.advance(3000);
  const shared = gateway.host.shared("warmroute");
  const set = shared.set.bind(shared);
  shared.set = (key, value, cas = 0) => {
    if (!isRecordKey(key)) return set(key, value, cas);
    set(key, Buffer.from(shared.get(key)?.value ?? value));
    return set(key, value, cas);
  };
  gateway.host.advance(2000);
  assert.ok(gateway.stat("internal_errors_total") > 0);
  assert.equal(gateway.send(chat("hello")).choice.length, 3);
});
