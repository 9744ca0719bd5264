import assert from "node:assert/strict";
import { Agent } from "node:http";
import test, { after } from "node:test";
import { random, words } from "../../tools/seeded.ts";
import { gateway, inParallel, post, sinks } from "./harness.ts";

const MIB = 2 ** 20;

test("memory stays flat over 50,000 requests with distinct prompts (BC-37)", async () => {
  const upstreams = await sinks(2);
  const envoy = await gateway(
    upstreams.map(({ host }) => host),
    { debug_headers: false },
    { workers: 2 },
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  after(() => agent.destroy());
  const rand = random(50);
  const text = words(rand, 2000);
  const resident: number[] = [];
  const PER_SAMPLE = 10_000;
  for (let sample = 0; sample < 5; sample++) {
    await inParallel(Array.from({ length: PER_SAMPLE }), 16, async (_none, i) => {
      const messages = [
        { role: "system", content: `You are number ${sample * PER_SAMPLE + i}. ${text}` },
        { role: "user", content: "Go on." },
      ];
      const { status } = await post(envoy.port, { model: "m", messages }, { agent });
      assert.equal(status, 200);
    });
    for (const upstream of upstreams) upstream.seen.length = 0;
    resident.push(envoy.residentBytes() / MIB);
  }
  const stats = await envoy.stats();
  assert.equal(stats.sum("warmroute_decisions_total"), 5 * PER_SAMPLE);
  assert.equal(stats.sum("warmroute_internal_errors_total"), 0);
  assert.ok((stats.sum("warmroute_table_entries") ?? 0) > 0);
  // The first samples fill the tables, which are bounded; after that nothing grows.
  const grown = (resident.at(-1) ?? 0) - (resident[1] ?? 0);
  assert.ok(
    grown < 6,
    `MiB after each ${PER_SAMPLE}: ${resident.map((m) => m.toFixed(1)).join(", ")}`,
  );
});

test("deep nesting is read or refused at its depth, and never traps (BC-12)", async () => {
  const upstreams = await sinks(2);
  const envoy = await gateway(upstreams.map(({ host }) => host));
  for (const depth of [64, 1000, 100_000]) {
    const nested = `${"[".repeat(depth)}${"]".repeat(depth)}`;
    const body = `{"x":${nested},"model":"qwen3-32b-instruct","messages":[{"role":"user","content":"deep"}]}`;
    // Envoy's own time, whatever else the machine does.
    const ATTEMPTS = 10;
    const before = envoy.cpuMs();
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const answer = await post(envoy.port, body);
      assert.equal(answer.status, 200, String(depth));
      const model = answer.headers["x-warmroute-model"];
      if (depth <= 1000) assert.equal(model, "qwen3-32b-instruct");
    }
    const eachMs = (envoy.cpuMs() - before) / ATTEMPTS;
    assert.ok(eachMs < 50, `${depth} levels took ${eachMs} ms each`);
    const next = await post(envoy.port, {
      model: "m",
      messages: [{ role: "user", content: "ok" }],
    });
    assert.equal(next.status, 200);
    assert.equal(next.headers["x-warmroute-model"], "m");
  }
});

test("no body makes the filter trap (BC-37)", async () => {
  const upstreams = await sinks(2);
  const envoy = await gateway(
    upstreams.map(({ host }) => host),
    {},
    { workers: 2 },
  );
  const rand = random(37);
  const seed = JSON.stringify({
    model: "m",
    max_tokens: 1e308,
    n: -1,
    stream: "yes",
    messages: [{ role: "user", content: "a\u0000\ud800é" }, null, 7, { content: [{}] }],
    prompt: [[1, 2], "x", [-1, 2 ** 53]],
    metadata: { user_id: { session: 1 } },
  });
  await inParallel(Array.from({ length: 2000 }), 8, async () => {
    const bytes = Buffer.from(seed);
    for (let change = 0; change < 1 + rand() * 6; change++) {
      bytes[Math.floor(rand() * bytes.length)] = Math.floor(rand() * 256);
    }
    const body = bytes.subarray(0, rand() < 0.2 ? Math.floor(rand() * bytes.length) : bytes.length);
    const { status } = await post(envoy.port, body);
    assert.equal(status, 200);
  });
  assert.doesNotMatch(envoy.log(), /trap|RuntimeError|abort/i);
});
