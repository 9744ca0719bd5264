import assert from "node:assert/strict";
import test from "node:test";
import { renderBootstrap } from "../../tools/envoy/render.ts";
import { random } from "../../tools/seeded.ts";
import { answerOf, endpointOf } from "./answers.ts";
import { COUNTER, chatBodies, parseSize } from "./bodies.ts";
import { withCluster, withFilter, withoutAccessLog } from "./edit.ts";
import { prose } from "./prose.ts";
import { type Measured, median, rowsOf, tableOf } from "./report.ts";

function measured(name: string, round: number, cpuUs: number): Measured {
  return {
    name,
    round,
    cpuUs,
    bodyBytes: 1024,
    hosts: 3,
    streamed: false,
    requests: 100,
    seconds: 1,
    p50Ms: 1,
    p99Ms: 2,
    failed: 0,
    refused: 0,
    requestsPerSecond: 1e6 / cpuUs,
    busy: 1,
    residentBytes: 2 ** 20,
  };
}

test("ratios are of the same round, and their median counts", () => {
  const rows = rowsOf([
    // The machine is twice as slow in the second round: for both.
    measured("envoy", 0, 30),
    measured("warmroute", 0, 45),
    measured("envoy", 1, 60),
    measured("warmroute", 1, 90),
    measured("envoy", 2, 30),
    measured("warmroute", 2, 48),
  ]);
  assert.deepEqual(
    rows.map(({ name, cpuRatio }) => [name, cpuRatio]),
    [
      ["envoy", 1],
      ["warmroute", 1.5],
    ],
  );
  assert.match(tableOf(rows), /^1k bodies, 3 hosts, plain answers\n/);
  assert.match(tableOf(rows), /warmroute .* 1\.50/);
});

test("medians of odd and even counts", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
});

test("bodies are JSON of about their size, differ, and hold one counter near the end", () => {
  for (const bytes of [1024, 32 * 1024]) {
    const bodies = chatBodies(4, bytes, 1, false);
    assert.equal(new Set(bodies).size, 4);
    for (const body of bodies) {
      JSON.parse(body);
      assert.ok(Math.abs(Buffer.byteLength(body) - bytes) < bytes / 3, String(body.length));
      assert.ok(body.length - body.indexOf(COUNTER) < 400);
    }
  }
  assert.equal(parseSize("32k"), 32_768);
  assert.throws(() => parseSize("many"), /expected a size/);
});

test("prose is what chat is: lines, little code, little beyond ASCII", () => {
  const length = 200_000;
  const text = prose(random(1), length);
  const per = (pattern: RegExp, characters: number) =>
    ((text.match(pattern)?.length ?? 0) * characters) / text.length;
  const near = (value: number, from: number, to: number) =>
    assert.ok(value >= from && value <= to, `${value} is not in ${from}..${to}`);
  // Escapes in JSON: line breaks and quotes.
  near(per(/["\n]/g, 90), 0.8, 1.4);
  near(per(/```python/g, 2000), 0.7, 1.3);
  near(per(/[^\0-\x7f]/g, 500), 2, 6);
});

test("answers are honest: tokens by the size of the body, nothing about a cache", () => {
  const endpoint = endpointOf("POST /v1/chat/completions HTTP/1.1\r\nhost: bench");
  const text = answerOf(endpoint, 4000, Buffer.alloc(0)).toString();
  const { usage } = JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4));
  assert.deepEqual(usage, { prompt_tokens: 1000, completion_tokens: 2, total_tokens: 1002 });
});

test("rendered prompts with equal starts have equal first tokens", () => {
  const endpoint = endpointOf("POST /v1/chat/completions/render HTTP/1.1");
  const ids = (body: string): number[] => {
    const text = answerOf(endpoint, body.length, Buffer.from(body)).toString();
    return JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4)).token_ids;
  };
  const [a, b] = [ids("the same start, one end"), ids("the same start, other..")];
  assert.deepEqual(a.slice(0, 3), b.slice(0, 3));
  assert.notDeepEqual(a, b);
  assert.equal(endpointOf("GET /nothing HTTP/1.1"), undefined);
});

test("the bootstrap takes the benchmark's changes", () => {
  const yaml = renderBootstrap({ listenerPort: 1, adminPort: 2, hosts: ["127.0.0.1:3"] });
  const edited = withCluster(withFilter(withoutAccessLog(yaml), { name: "f" }), { name: "c" });
  assert.ok(!edited.includes("access_log:"));
  assert.match(edited, /- \{"name":"f"\}\n *- name: envoy\.filters\.http\.router/);
  assert.match(edited, /clusters:\n *- \{"name":"c"\}\n/);
});
