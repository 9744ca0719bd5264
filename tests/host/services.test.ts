import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MetricType, Status } from "./abi.ts";
import { messages, post, testModule, testRoot } from "./fixture.ts";
import { Metrics } from "./metrics.ts";
import { casCounter, SharedData } from "./shareddata.ts";

describe("shared data", () => {
  it("takes a write whose version is right, or 0, or whose key is new", () => {
    const store = new SharedData(casCounter());
    assert.equal(store.get("k"), undefined);
    assert.equal(store.set("k", Buffer.from("a"), 99), Status.Ok);
    const first = store.get("k")?.cas ?? 0;
    assert.equal(store.set("k", Buffer.from("b"), first), Status.Ok);
    assert.equal(store.set("k", Buffer.from("c"), first), Status.CasMismatch);
    assert.equal(store.get("k")?.value.toString(), "b");
    assert.equal(store.set("k", Buffer.from("longer"), 0), Status.Ok);
    assert.equal(store.get("k")?.value.toString(), "longer");
    assert.ok((store.get("k")?.cas ?? 0) > first);
  });

  it("keeps a copy", () => {
    const store = new SharedData(casCounter());
    const value = Buffer.from("a");
    store.set("k", value);
    value[0] = 0;
    store.set("l", value);
    assert.equal(store.get("k")?.value.toString(), "a");
    assert.deepEqual(store.keys(), ["k", "l"]);
  });
});

describe("metrics", () => {
  it("are one for each name, whoever defines it", () => {
    const metrics = new Metrics();
    const id = metrics.define(MetricType.Counter, "c");
    assert.equal(metrics.define(MetricType.Counter, "c"), id);
    assert.notEqual(metrics.define(MetricType.Gauge, "c"), id);
    assert.equal(metrics.define(3, "d"), 0);
    assert.equal(metrics.increment(id, 2), Status.Ok);
    assert.equal(metrics.increment(id, -1), Status.BadArgument);
    assert.equal(metrics.increment(1234, 1), Status.NotFound);
    assert.equal(metrics.counter("c"), 2);
    assert.equal(metrics.counter("nothing"), undefined);
    const histogram = metrics.define(MetricType.Histogram, "h");
    for (const value of [3, 1, 2]) metrics.record(histogram, value);
    assert.deepEqual(metrics.histogram("h"), { count: 3, sum: 6, min: 1, max: 3 });
  });

  it("are shared by all VMs", () => {
    const { host, root } = testRoot("");
    const other = host.createVm(testModule()).createRoot();
    root.createStream().requestHeaders(post(), true);
    other.createStream().requestHeaders(post(), true);
    assert.equal(host.metrics.counter("test.requests"), 2);
    assert.equal(host.metrics.gauge("test.open"), 2);
  });
});

describe("calls", () => {
  function called() {
    const made = testRoot("call");
    made.root.vm.tick();
    const [call] = made.host.calls;
    assert.ok(call);
    made.host.logs.length = 0;
    return { ...made, call };
  }

  it("tell what was sent, and refuse clusters that aren't there", () => {
    const { host, root } = testRoot("call");
    root.vm.tick();
    assert.deepEqual(messages(host).slice(1), ["refused 2", "called yes"]);
    const [call] = host.calls;
    assert.equal(call?.cluster, "backend");
    assert.equal(call?.timeoutMs, 400);
    assert.equal(call?.headers.get(":path"), "/metrics");
    assert.equal(call?.body.toString(), "later");
  });

  it("bring answers, large ones too", () => {
    const { host, call } = called();
    call.respond(200, "x".repeat(200_000));
    assert.deepEqual(messages(host), [`answer 1 200 ${"x".repeat(200_000)}`]);
    assert.equal(host.calls.length, 0);
    call.respond(200, "again");
    assert.equal(messages(host).length, 1);
  });

  it("fail with no headers, and time out with an answer of Envoy's", () => {
    const failed = called();
    failed.call.fail();
    assert.deepEqual(messages(failed.host), ["answer 0 none none"]);
    const late = called();
    late.call.timeOut();
    assert.deepEqual(messages(late.host), ["answer 1 504 upstream request timeout"]);
  });

  it("are forgotten with their root", () => {
    const { host, root, call } = called();
    root.vm.shutdown();
    host.logs.length = 0;
    call.respond(200, "late");
    assert.deepEqual(messages(host), []);
  });
});

describe("properties", () => {
  it("come from the test where it says so", () => {
    const { root } = testRoot("", {
      property: (path) => (path.join(".") === "upstream.address" ? "9.9.9.9:9" : undefined),
    });
    const stream = root.createStream({ upstreamAddress: "1.1.1.1:1" });
    stream.requestHeaders(post(), true);
    stream.responseHeaders([[":status", "200"]], true);
    assert.equal(stream.response.sentHeaders?.get("x-upstream"), "9.9.9.9:9");
  });

  it("are unknown until they are known", () => {
    const { root } = testRoot("");
    const stream = root.createStream();
    stream.requestHeaders(post(), true);
    stream.responseHeaders([[":status", "200"]]);
    assert.equal(stream.response.sentHeaders?.get("x-upstream"), undefined);
  });
});
