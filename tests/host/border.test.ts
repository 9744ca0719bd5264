import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { random } from "../../tools/seeded.ts";
import { messages, post, testModule, testRoot } from "./fixture.ts";
import { Host } from "./host.ts";
import type { Stream } from "./stream.ts";

const MIB = 1024 * 1024;
const BUFFER = { "x-at-headers": "1", "x-at-body": "1" };

/** Whole numbers below a bound that look random and are the same in each run. */
function generator(seed: number): (below: number) => number {
  const next = random(seed);
  return (below) => Math.floor(next() * below);
}

describe("limits", () => {
  it("answer 413 for what is buffered over the limit, released or not", () => {
    const { host, root } = testRoot("trace");
    for (const release of [{}, { "x-release-kb": "9" }]) {
      const stream = root.createStream();
      stream.requestHeaders(post({ ...BUFFER, ...release }));
      stream.requestBody(Buffer.alloc(1000));
      stream.requestBody(Buffer.alloc(MIB));
      assert.equal(stream.localReply?.status, 413);
      assert.equal(stream.details, "request_payload_too_large");
      assert.equal(stream.request.sentHeaders, undefined);
      assert.equal(stream.finished, true);
    }
    assert.equal(host.metrics.gauge("test.open"), 0);
  });

  it("pause reading instead where the filter holds with watermark", () => {
    const { host, root } = testRoot("");
    const stream = root.createStream();
    stream.requestHeaders(post({ ...BUFFER, "x-at-body": "2", "x-at-end": "w" }));
    stream.requestBody(Buffer.alloc(3 * MIB), true);
    assert.equal(stream.localReply, undefined);
    assert.equal(stream.request.readDisabled, true);
    host.advance(100);
    assert.equal(stream.request.sentBytes, 3 * MIB);
    assert.equal(stream.request.readDisabled, false);
  });
});

describe("memory", () => {
  it("takes a chunk of 32 MiB, refuses one of 65 MiB without a trap, and goes on", () => {
    const { root } = testRoot("", { requestBodyBufferLimit: 256 * MIB });
    for (const [size, seen] of [
      [32 * MIB, 32 * MIB],
      [65 * MIB, 0],
      [1000, 1000],
    ] as const) {
      const stream = root.createStream();
      stream.requestHeaders(post(BUFFER));
      stream.requestBody(Buffer.alloc(size, 1), true);
      assert.equal(stream.headers.get("x-seen"), String(seen));
      assert.equal(stream.headers.get("x-sum"), String(seen));
      assert.equal(stream.request.sentBytes, size);
    }
  });

  it("doesn't grow over many requests of mixed sizes", () => {
    const { host, root } = testRoot("");
    const random = generator(1);
    const body = Buffer.alloc(300_000, 7);
    let openStreams: Stream[] = [];
    const serve = (count: number) => {
      for (let i = 0; i < count; i++) {
        const stream = root.createStream({ upstreamAddress: "10.0.0.1:80" });
        openStreams.push(stream);
        stream.requestHeaders(post(BUFFER));
        stream.requestBody(body.subarray(0, random(20) === 0 ? 300_000 : random(3000)), true);
        if (openStreams.length < 100) continue;
        for (const each of openStreams) {
          each.responseHeaders([[":status", "200"]]);
          each.responseBody("ok", true);
        }
        openStreams = [];
      }
    };
    serve(1000);
    const before = root.vm.memoryBytes;
    serve(4000);
    host.advance(10_000);
    assert.equal(root.vm.memoryBytes, before);
  });
});

describe("contexts", () => {
  it("are found among thousands that come and go in any order", () => {
    const { host, root } = testRoot("");
    const random = generator(2);
    const open: Stream[] = [];
    let closed = 0;
    for (let step = 0; step < 20_000; step++) {
      // Grows to some 3,000 streams, then shrinks to none.
      if (random(100) < (step < 10_000 ? 65 : 35)) {
        const stream = root.createStream();
        stream.requestHeaders(post(BUFFER));
        stream.requestBody(`${stream.id}`);
        open.push(stream);
      } else if (open.length > 0) {
        const at = random(open.length);
        const stream = open[at] as Stream;
        open[at] = open[open.length - 1] as Stream;
        open.pop();
        stream.requestBody("!", true);
        assert.equal(stream.headers.get("x-seen"), String(`${stream.id}!`.length));
        assert.equal(stream.request.sentBody.toString(), `${stream.id}!`);
        stream.done();
        closed++;
      }
      if (step % 4000 === 0) assert.equal(host.metrics.gauge("test.open"), open.length);
    }
    for (const stream of open) stream.done();
    assert.ok(closed > 5000);
    assert.equal(host.metrics.gauge("test.open"), 0);
    assert.equal(host.metrics.counter("test.requests"), closed + open.length);
  });
});

describe("repeatability", () => {
  it("gives the same run twice", () => {
    const run = () => {
      const host = new Host({ clusters: ["backend"], logLevel: "trace" });
      const hash = createHash("sha256");
      const roots = [1, 2].map(() =>
        host.createVm(testModule(), { vmId: "test" }).createRoot({ config: "trace" }),
      );
      const random = generator(3);
      for (let i = 0; i < 200; i++) {
        const stream = roots[random(2)]?.createStream() as Stream;
        stream.requestHeaders(post({ ...BUFFER, "x-at-end": random(2) ? "w" : "" }));
        stream.requestBody("x".repeat(random(5000)), true);
        host.advance(random(200));
        stream.responseHeaders([[":status", "200"]], true);
        for (const [name, value] of stream.headers.pairs()) hash.update(`${name}=${value};`);
      }
      hash.update(messages(host).join("\n"));
      return hash.digest("hex");
    };
    assert.equal(run(), run());
  });
});
