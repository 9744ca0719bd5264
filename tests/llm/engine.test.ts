import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Engine } from "./engine.ts";
import type { EngineOptions, EngineRequest, Sequence } from "./model.ts";

interface Seen {
  first: Map<number, number>;
  done: Map<number, number>;
  sequences: Map<number, Sequence>;
  aborted: string[];
  tokens: number;
}

function start(options: Partial<EngineOptions> = {}): { engine: Engine; seen: Seen } {
  const seen: Seen = {
    first: new Map(),
    done: new Map(),
    sequences: new Map(),
    aborted: [],
    tokens: 0,
  };
  const engine = new Engine(
    {
      onFirstToken: (s, ms) => seen.first.set(s.request.id, ms),
      onToken: () => {
        seen.tokens += 1;
      },
      onFinish: (s, ms) => {
        seen.done.set(s.request.id, ms);
        seen.sequences.set(s.request.id, s);
      },
      onAbort: (s, _ms, cause) => seen.aborted.push(`${s.request.id} ${cause}`),
    },
    options,
  );
  return { engine, seen };
}

function request(id: number, promptTokens: number, outputTokens: number): EngineRequest {
  return { id, promptTokens, outputTokens, blocks: [id * 1_000_000, promptTokens >> 4] };
}

function close(actual: number | undefined, expected: number): void {
  assert.ok(Math.abs((actual ?? Number.NaN) - expected) < 1e-6, `${actual} is not ${expected}`);
}

describe("engine", () => {
  it("takes the time of its formula for a request alone", () => {
    const { engine, seen } = start();
    engine.submit(request(1, 1000, 3), 0);
    engine.advance(1e6);
    const prefillMs = 8 + 0.055 * 1000;
    close(seen.first.get(1), prefillMs);
    close(seen.done.get(1), prefillMs + 2 * (8 + 0.25) + 1e-5 * (1000 + 1001));
    assert.equal(seen.tokens, 3);
    assert.equal(engine.nextEventMs(), Number.POSITIVE_INFINITY);
  });

  it("cuts a long prefill into chunks and decodes beside it", () => {
    const { engine, seen } = start();
    engine.submit(request(1, 160, 100), 0);
    engine.advance(50);
    const before = seen.tokens;
    engine.submit(request(2, 20_000, 1), 50);
    engine.advance(50 + 3 * (8 + 0.055 * 8192 + 0.3));
    assert.equal(seen.first.has(2), true);
    // The step under way, and the three with chunks.
    assert.ok(seen.tokens - before >= 4);
  });

  it("computes only what is not cached, the last token always", () => {
    const { engine, seen } = start();
    engine.submit(request(1, 1600, 1), 0);
    engine.advance(1000);
    engine.submit({ ...request(1, 1600, 1), id: 2 }, 1000);
    engine.advance(2000);
    assert.equal(seen.sequences.get(2)?.cachedTokens, 1584);
    close(seen.first.get(2), 1000 + 8 + 0.055 * 16);
    assert.equal(engine.counters.cacheQueryTokens, 3200);
    assert.equal(engine.counters.cacheHitTokens, 1584);
  });

  it("keeps the answer cached for the conversation's next turn", () => {
    const { engine, seen } = start();
    engine.submit(
      { id: 1, promptTokens: 330, outputTokens: 100, blocks: [0, 20], outputBlock: 20 },
      0,
    );
    engine.advance(1e5);
    engine.submit({ id: 2, promptTokens: 480, outputTokens: 1, blocks: [0, 30] }, 1e5);
    engine.advance(2e5);
    // 330 + 99 computed tokens are 26 full blocks.
    assert.equal(seen.sequences.get(2)?.cachedTokens, 26 * 16);
  });

  it("runs at most so many, first come first served", () => {
    const { engine, seen } = start({ maxRunning: 4 });
    for (let id = 1; id <= 10; id += 1) engine.submit(request(id, 160, 5), 0);
    assert.equal(engine.runningCount, 1);
    engine.advance(20);
    assert.equal(engine.runningCount, 4);
    assert.equal(engine.waitingCount, 6);
    engine.advance(1e5);
    const order = [...seen.first.entries()].sort((a, b) => a[1] - b[1]).map(([id]) => id);
    assert.deepEqual(order, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it("makes the youngest wait when decoding runs out of cache", () => {
    const { engine, seen } = start({ cacheTokens: 1600 });
    for (let id = 1; id <= 4; id += 1) engine.submit(request(id, 320, 300), 0);
    engine.advance(1e6);
    assert.equal(seen.done.size, 4);
    assert.ok(engine.counters.preempted > 0);
    assert.equal(seen.tokens, 1200);
    assert.equal(engine.cache.privateBlocks, 0);
    assert.equal(engine.cache.usage, 0);
  });

  it("refuses what can never fit", () => {
    const { engine, seen } = start({ cacheTokens: 1600 });
    engine.submit(request(1, 1600, 10), 0);
    assert.deepEqual(seen.aborted, ["1 too_long"]);
  });

  it("forgets requests that are cancelled, waiting or running", () => {
    const { engine, seen } = start({ maxRunning: 1 });
    const running = engine.submit(request(1, 160, 1000), 0);
    const waiting = engine.submit(request(2, 160, 1000), 0);
    engine.cancel(waiting, 30);
    engine.cancel(running, 100);
    engine.advance(1e6);
    assert.equal(seen.done.size, 0);
    assert.equal(engine.runningCount + engine.waitingCount, 0);
    assert.equal(engine.cache.usage, 0);
  });

  it("is slower by its factor", () => {
    const { engine, seen } = start({ slowFactor: 3 });
    engine.submit(request(1, 1000, 1), 0);
    engine.advance(1e6);
    close(seen.first.get(1), 3 * (8 + 0.055 * 1000));
  });

  it("loses requests and cache when it dies, and comes back empty", () => {
    const { engine, seen } = start();
    engine.submit(request(1, 1600, 1), 0);
    engine.advance(500);
    engine.submit(request(2, 1600, 500), 500);
    engine.kill(600);
    assert.deepEqual(seen.aborted, ["2 killed"]);
    engine.submit(request(3, 160, 1), 700);
    assert.deepEqual(seen.aborted, ["2 killed", "3 killed"]);
    engine.restart(800);
    assert.equal(engine.counters.promptTokens, 0);
    assert.equal(engine.startedAtMs, 800);
    engine.submit(request(1, 1600, 1), 900);
    engine.advance(2000);
    assert.equal(seen.sequences.get(1)?.cachedTokens, 0);
  });

  it("ends a request without output at the end of its prefill", () => {
    const { engine, seen } = start();
    engine.submit(request(1, 1000, 0), 0);
    engine.advance(1000);
    close(seen.done.get(1), 63);
    assert.equal(seen.tokens, 0);
  });

  it("takes requests from inside its own callbacks, for the next step", () => {
    let engine: Engine;
    const ends: number[] = [];
    engine = new Engine({
      onFinish: (s, ms) => {
        ends.push(ms);
        if (s.request.id < 3) engine.submit(request(s.request.id + 1, 160, 1), ms);
      },
    });
    engine.submit(request(1, 160, 1), 0);
    engine.advance(1000);
    const stepMs = 8 + 0.055 * 160;
    assert.equal(ends.length, 3);
    close(ends[2], 3 * stepMs);
  });
});
