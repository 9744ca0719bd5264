import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, Gateway, hostNames, tally } from "./gateway.ts";
import { recordOf } from "./records.ts";

const NAMES = hostNames(2);
const [A, B] = NAMES as [string, string];
const ORCA = "endpoint-load-metrics";

let serial = 0;

/** First choices of some requests that are taken back at once. */
function targets(gateway: Gateway, count = 20): Map<string, number> {
  return tally(
    Array.from({ length: count }, () => {
      const exchange = gateway.send(chat(`question ${serial++ * 7919}`));
      exchange.stream.clientReset();
      return exchange.target;
    }),
  );
}

/** An answer of a host that carries a load report. */
function carry(gateway: Gateway, host: string, report: string): void {
  gateway.send(chat(`question ${serial++ * 7919}`)).answer({ host, headers: { [ORCA]: report } });
}

for (const [what, report] of [
  ["a queue", "TEXT named_metrics.num_requests_waiting=12, named_metrics.kv_cache_usage_perc=0.3"],
  ["a batch", 'JSON {"named_metrics":{"num_requests_running":60}}'],
  ["a full cache", "TEXT named_metrics.kv_cache_usage_perc=0.99"],
] as const) {
  test(`load reports in answers: ${what} steers away, though nothing is scraped, until it is stale`, () => {
    const gateway = new Gateway(NAMES, {
      config: { metrics: { source: "none" }, cost: { kv_pressure_weight: 1 } },
    });
    assert.ok((targets(gateway).get(A) ?? 0) > 0);
    // Twice: one report alone may count a request of this Envoy's that was on its way.
    carry(gateway, A, report);
    carry(gateway, A, report);
    assert.equal(targets(gateway).get(A), undefined);
    gateway.host.advance(6000);
    const later = targets(gateway, 60);
    assert.ok((later.get(A) ?? 0) > 10 && (later.get(B) ?? 0) > 10, "own accounting alone");
    assert.equal(gateway.stat("internal_errors_total"), 0);
  });
}

test("load reports in answers: who sent none isn't taken to be as busy as who did", () => {
  const gateway = new Gateway(NAMES, { config: { metrics: { source: "none" } } });
  const report = 'JSON {"named_metrics":{"num_requests_running":9,"num_requests_waiting":0}}';
  carry(gateway, A, report);
  carry(gateway, A, report);
  assert.equal(recordOf(gateway, A).running, 9);
  assert.equal(targets(gateway).get(B), 20);
});

test("load reports in answers: what can't be read changes nothing", () => {
  const gateway = new Gateway(NAMES, { config: { metrics: { source: "none" } } });
  for (const report of ["", "BIN CgA=", "JSON {", "TEXT a=b,,=", `JSON ${"[".repeat(5000)}`]) {
    carry(gateway, A, report);
  }
  const seen = targets(gateway, 60);
  assert.ok((seen.get(A) ?? 0) > 10 && (seen.get(B) ?? 0) > 10);
  assert.equal(gateway.stat("internal_errors_total"), 0);
});
