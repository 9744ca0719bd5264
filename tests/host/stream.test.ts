import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DataStatus, HeadersStatus, NOT_CALLED } from "./abi.ts";
import { messages, post, testRoot } from "./fixture.ts";

const PAUSE = { "x-at-headers": "1" };
const BUFFER = { ...PAUSE, "x-at-body": "1" };

function traced() {
  const made = testRoot("trace");
  made.host.logs.length = 0;
  return { ...made, stream: made.root.createStream({ upstreamAddress: "10.0.0.1:80" }) };
}

describe("requests", () => {
  it("without a body pass at headers", () => {
    const { stream } = traced();
    assert.equal(stream.requestHeaders(post(PAUSE), true), HeadersStatus.Continue);
    assert.equal(stream.request.sentEnd, true);
    assert.equal(
      stream.headers.get("x-pairs"),
      String(":methodPOST:path/x:authoritytest".length + 13),
    );
  });

  it("are changed by the filter until they have gone on", () => {
    const { stream } = traced();
    const secrets: [string, string][] = [
      ["x-secret", "a"],
      ["X-Secret", "b"],
    ];
    stream.requestHeaders([...post(), ...secrets, ["ünï", "ü"]]);
    assert.deepEqual(stream.headers.all("x-secret"), []);
    assert.equal(stream.headers.get(":method"), "POST");
    stream.requestBody("late", true);
    assert.equal(stream.headers.get("x-seen"), undefined);
  });

  it("buffered show all bytes each time and go on as one", () => {
    const { host, stream } = traced();
    assert.equal(stream.requestHeaders(post(BUFFER)), HeadersStatus.StopIteration);
    assert.equal(stream.requestBody("hello "), DataStatus.StopIterationAndBuffer);
    stream.requestBody("world");
    assert.equal(stream.request.heldBytes, 11);
    assert.equal(stream.request.sentHeaders, undefined);
    assert.equal(stream.requestBody("", true), DataStatus.Continue);
    assert.deepEqual(messages(host), ["#2 body 6", "#2 body 11", "#2 body end 11"]);
    assert.equal(stream.request.sentBody.toString(), "hello world");
    assert.equal(stream.headers.get("x-seen"), "11");
    assert.equal(stream.property("test.note"), "11");
    assert.equal(stream.request.paused, false);
  });

  it("released early show the new chunks only", () => {
    const { host, stream } = traced();
    stream.requestHeaders(post({ ...BUFFER, "x-release-kb": "4" }));
    const chunks = [0, 1, 2, 3].map((i) => Buffer.alloc(3000, i + 1));
    for (const chunk of chunks) stream.requestBody(chunk);
    stream.requestBody("", true);
    assert.deepEqual(
      messages(host).map((line) => line.slice(3)),
      ["body 3000", "body 6000", "body 3000", "body 3000", "body end 0"],
    );
    assert.ok(stream.request.sentBody.equals(Buffer.concat(chunks)));
    assert.equal(stream.request.sentEnd, true);
  });

  it("held with watermark show each chunk by itself", () => {
    const { host, stream } = traced();
    stream.requestHeaders(post({ ...PAUSE, "x-at-body": "2", "x-release-kb": "5" }));
    for (let i = 0; i < 3; i++) stream.requestBody(Buffer.alloc(2000, 65));
    assert.equal(stream.request.sentBytes, 6000);
    assert.deepEqual(messages(host), ["#2 body 2000", "#2 body 2000", "#2 body 2000"]);
    assert.equal(stream.headers.get("x-sum"), String(6000 * 65));
  });

  it("stopped wholly bring no body callback until continued", () => {
    const { host, stream } = traced();
    stream.requestHeaders(post({ "x-at-headers": "4" }));
    assert.equal(stream.requestBody("hello", true), NOT_CALLED);
    assert.deepEqual(messages(host), []);
    stream.request.resume();
    assert.deepEqual(messages(host), ["#2 body end 5"]);
    assert.equal(stream.request.sentBody.toString(), "hello");
    assert.equal(stream.request.sentEnd, true);
  });

  it("stop wholly at headers where the host doesn't allow less", () => {
    const { root } = testRoot("", { allowOnHeadersStopIteration: false });
    const stream = root.createStream();
    const status = stream.requestHeaders(post(BUFFER));
    assert.equal(status, HeadersStatus.StopAllIterationAndWatermark);
    assert.equal(stream.requestBody("hello", true), NOT_CALLED);
    assert.equal(stream.request.sentHeaders, undefined);
  });

  it("end with trailers", () => {
    const { host, stream } = traced();
    stream.requestHeaders(post(BUFFER));
    stream.requestBody("hello");
    stream.requestTrailers([["x-trailer", "1"]]);
    assert.deepEqual(messages(host), ["#2 body 5", "#2 trailers 1"]);
    assert.equal(stream.request.sentBody.toString(), "hello");
    assert.equal(stream.request.sentTrailers?.get("x-trailer"), "1");
    assert.equal(stream.request.sentEnd, true);
  });
});

describe("ticks", () => {
  it("continue a held request", () => {
    const { host, stream } = traced();
    stream.requestHeaders(post({ ...BUFFER, "x-at-end": "w" }));
    stream.requestBody("hello", true);
    assert.equal(stream.request.paused, true);
    host.advance(100);
    assert.equal(stream.continues, 1);
    assert.equal(stream.request.sentBody.toString(), "hello");
    assert.equal(stream.request.sentEnd, true);
    assert.equal(stream.request.idleContinues, 0);
  });

  it("answer a held request", () => {
    const { host, stream } = traced();
    stream.requestHeaders(post({ ...BUFFER, "x-at-end": "j" }));
    stream.requestBody("hello", true);
    host.advance(100);
    assert.equal(stream.localReply?.status, 429);
    assert.equal(stream.localReply?.details, "test_tick");
    assert.equal(stream.localReply?.headers.get("retry-after"), "1");
    assert.equal(stream.response.sentBody.toString(), "later");
    assert.equal(stream.request.sentHeaders, undefined);
    assert.equal(stream.finished, true);
  });

  it("find no stream that has gone away", () => {
    const { host, stream } = traced();
    stream.requestHeaders(post({ ...BUFFER, "x-at-end": "w" }));
    stream.requestBody("hello", true);
    stream.clientReset();
    host.advance(100);
    assert.equal(stream.continues, 0);
  });
});

describe("answers", () => {
  it("run the response callbacks after the callback they were given in", () => {
    const { host, stream } = traced();
    stream.requestHeaders(post({ ...BUFFER, "x-at-end": "f" }));
    assert.equal(stream.requestBody("hello", true), DataStatus.StopIterationNoBuffer);
    assert.deepEqual(messages(host).slice(1), [
      "#0 answer begins 0",
      "#0 answer ends 0",
      "#2 response headers 4",
      "#2 response body end 5",
      "#2 log 0",
      "#2 done 0",
      "#2 delete 0",
    ]);
  });

  it("run them within it where the host nests", () => {
    const { host, root } = testRoot("trace", { nestActions: true });
    const stream = root.createStream();
    host.logs.length = 0;
    stream.requestHeaders(post({ "x-at-headers": "8" }), true);
    assert.deepEqual(messages(host), [
      "#0 answer begins 0",
      "#2 response headers 4",
      "#2 response body end 5",
      "#0 answer ends 0",
      "#2 log 0",
      "#2 done 0",
      "#2 delete 0",
    ]);
    assert.equal(stream.localReply?.status, 403);
    assert.equal(stream.response.sentBody.toString(), "later");
  });

  it("come from the server, with where it was", () => {
    const { host, stream } = traced();
    stream.requestHeaders(post(), true);
    stream.responseHeaders([[":status", "200"]]);
    stream.responseBody("one");
    stream.responseBody("two", true);
    assert.equal(stream.response.sentHeaders?.get("x-upstream"), "10.0.0.1:80");
    assert.equal(stream.response.sentBody.toString(), "onetwo");
    assert.deepEqual(messages(host), [
      "#2 response headers 1",
      "#2 response body 3",
      "#2 response body end 3",
      "#2 log 0",
      "#2 done 0",
      "#2 delete 0",
    ]);
    assert.equal(host.metrics.gauge("test.open"), 0);
    stream.done();
    assert.equal(messages(host).length, 6);
  });
});

describe("breaks", () => {
  const cases: [string, (stream: ReturnType<typeof traced>["stream"]) => void, string][] = [
    ["the client before the answer", (s) => s.clientReset(), "downstream_remote_disconnect"],
    [
      "the server within its answer",
      (s) => {
        s.responseHeaders([[":status", "200"]]);
        s.upstreamReset();
      },
      "upstream_reset_after_response_started",
    ],
  ];
  for (const [name, act, reason] of cases) {
    it(`end the stream once: ${name}`, () => {
      const { host, stream } = traced();
      stream.requestHeaders(post());
      act(stream);
      assert.equal(stream.resetReason, reason);
      assert.deepEqual(messages(host).slice(-3), ["#2 log 0", "#2 done 0", "#2 delete 0"]);
      assert.equal(stream.requestBody("late", true), NOT_CALLED);
      assert.equal(host.metrics.gauge("test.open"), 0);
    });
  }

  it("of the server before its answer are 503", () => {
    const { stream } = traced();
    stream.requestHeaders(post(), true);
    stream.upstreamReset();
    assert.equal(stream.localReply?.status, 503);
    assert.equal(stream.response.sentHeaders?.get(":status"), "503");
    assert.equal(stream.finished, true);
  });
});
