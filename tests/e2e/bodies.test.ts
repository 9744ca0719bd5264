import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Agent } from "node:http";
import test, { after } from "node:test";
import { gzipSync } from "node:zlib";
import { gateway, post, send, sinks } from "./harness.ts";
import type { Seen } from "./sink.ts";

const MIB = 2 ** 20;

const upstreams = await sinks(3);
const envoy = await gateway(
  upstreams.map(({ host }) => host),
  {},
  { workers: 2 },
);

/** A chat body of exactly `bytes` bytes. */
function chat(bytes: number): Buffer {
  const make = (fill: number) =>
    JSON.stringify({
      model: "qwen3-32b-instruct",
      messages: [{ role: "user", content: "k".repeat(fill) }],
      user: "s-2",
    });
  return Buffer.from(make(Math.max(0, bytes - make(0).length)));
}

/** The same bytes in pieces of uneven sizes, so that they are sent chunked. */
function* pieces(body: Buffer, size: number): Generator<Buffer> {
  for (let at = 0, i = 0; at < body.length; i++) {
    const next = Math.min(body.length, at + Math.max(1, size - (i % 7) * 1021));
    yield body.subarray(at, next);
    at = next;
  }
}

function sha256(body: Buffer): string {
  return createHash("sha256").update(body).digest("hex");
}

const SIZES = [
  1,
  2,
  127,
  1024,
  16_383,
  65_536,
  131_073,
  MIB - 1,
  MIB,
  MIB + 1,
  1_309_298,
  5_242_880,
];

for (const path of ["/v1/chat/completions", "/v1/messages", "/files/upload"]) {
  test(`${path}: bodies of any size arrive as they were sent (BC-02)`, async () => {
    for (const size of SIZES) {
      for (const chunked of [false, true]) {
        const body = size < 100 ? Buffer.alloc(size, "{") : chat(size);
        const sent = chunked ? pieces(body, 60_000) : body;
        const answer = await send({ port: envoy.port, path, method: "POST", body: sent });
        const label = `${path} ${size} bytes${chunked ? ", chunked" : ""}`;
        assert.equal(answer.status, 200, `${label}: ${answer.body.toString().slice(0, 200)}`);
        const seen = JSON.parse(answer.body.toString()) as Seen;
        assert.equal(seen.bytes, body.length, label);
        assert.equal(seen.sha256, sha256(body), label);
      }
    }
  });
}

test("no size around the inspect limit is answered 413, however fast it comes (BC-02)", async () => {
  for (let i = 0; i < 40; i++) {
    const body = chat(900_000 + i * 35_000);
    const chunked = i % 2 === 1;
    const sent = chunked ? pieces(body, 500_000) : body;
    const { status } = await send({
      port: envoy.port,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: sent,
    });
    assert.equal(status, 200, `${body.length} bytes${chunked ? ", chunked" : ""}`);
  }
});

test("100 MB streams through with flat memory (BC-02)", async () => {
  const block = chat(MIB);
  const BLOCKS = 100;
  const hash = createHash("sha256");
  for (let i = 0; i < BLOCKS; i++) hash.update(block);
  const expected = hash.digest("hex");
  const before = envoy.residentBytes();
  for (const path of ["/v1/chat/completions", "/files/upload"]) {
    for (const chunked of [false, true]) {
      const length = { "content-length": String(BLOCKS * block.length) };
      const answer = await send({
        port: envoy.port,
        path,
        method: "POST",
        headers: chunked ? {} : length,
        body: repeat(block, BLOCKS),
        timeoutMs: 120_000,
      });
      assert.equal(answer.status, 200, answer.body.toString().slice(0, 200));
      assert.equal((JSON.parse(answer.body.toString()) as Seen).sha256, expected);
    }
  }
  const grown = (envoy.residentBytes() - before) / MIB;
  assert.ok(grown < 40, `resident memory grew by ${grown.toFixed(1)} MiB`);
});

function* repeat(block: Buffer, times: number): Generator<Buffer> {
  for (let i = 0; i < times; i++) yield block;
}

test("requests without a body are never held", async () => {
  const agent = new Agent({ keepAlive: true });
  after(() => agent.destroy());
  for (const path of ["/v1/chat/completions", "/v1/models", "/"]) {
    for (const method of ["GET", "HEAD", "OPTIONS", "DELETE", "POST"]) {
      // What is held takes a second each time; a busy machine may take that once.
      let ms = Number.POSITIVE_INFINITY;
      for (let attempt = 0; attempt < 5 && ms > 900; attempt++) {
        const answer = await send({ port: envoy.port, path, method, agent });
        assert.equal(answer.status, 200, `${method} ${path}`);
        ms = Math.min(ms, answer.totalMs);
      }
      assert.ok(ms < 900, `${method} ${path} took ${ms} ms at least`);
    }
    const headers = { "content-length": "0" };
    const empty = await send({ port: envoy.port, path, method: "POST", headers });
    assert.equal(empty.status, 200, `POST ${path} of 0 bytes`);
    const chunked = await send({
      port: envoy.port,
      path,
      method: "POST",
      body: [],
      timeoutMs: 3000,
    });
    assert.equal(chunked.status, 200, `POST ${path}, chunked, of 0 bytes`);
  }
});

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const JSON_BODY = JSON.stringify({
  model: "qwen3-32b-instruct",
  messages: [{ role: "user", content: "Is the bridge open?" }],
  user: "s-10",
});
const ZSTD = Buffer.from(
  "28b52ffd0458f502003246151a80396d1eb5451651846a6f91ddf61890ecf08031e007698b725c8f0101a5b66478" +
    "3cb827103d419434d0118b9460f3def7f070725e1b9bbf60da2998f5c941f58c93f76872f5146508965af785c2e" +
    "6e50832760201001b1b541484da74d9",
  "hex",
);
const MULTIPART = Buffer.from(
  [
    "------harbour42",
    'Content-Disposition: form-data; name="file"; filename="fog.wav"',
    "Content-Type: audio/wav",
    "",
    'RIFF....WAVEfmt {"model":"decoy"} binary ',
    "------harbour42",
    'Content-Disposition: form-data; name="model"',
    "",
    "whisper-large-v3-turbo",
    "------harbour42--",
    "",
  ].join("\r\n"),
);

test("what is compressed, of another encoding or multipart passes untouched (BC-10, BC-14)", async () => {
  const json = "application/json";
  const cases: [what: string, headers: Record<string, string>, body: Buffer, opaque: boolean][] = [
    ["gzip", { "content-type": json, "content-encoding": "gzip" }, gzipSync(JSON_BODY), true],
    ["zstd", { "content-type": json, "content-encoding": "zstd" }, ZSTD, true],
    ["BOM", { "content-type": json }, Buffer.concat([BOM, Buffer.from(JSON_BODY)]), false],
    [
      "UTF-16",
      { "content-type": `${json}; charset=utf-16` },
      Buffer.from(JSON_BODY, "utf16le"),
      true,
    ],
    [
      "multipart",
      { "content-type": "multipart/form-data; boundary=----harbour42" },
      MULTIPART,
      true,
    ],
  ];
  for (const [what, headers, body, opaque] of cases) {
    const path = what === "multipart" ? "/v1/audio/transcriptions" : "/v1/chat/completions";
    const hosts = new Set<unknown>();
    for (let i = 0; i < 4; i++) {
      const session = { "x-session-id": `session-of-${what}` };
      const answer = await send({
        port: envoy.port,
        path,
        method: "POST",
        headers: { ...headers, ...session },
        body,
      });
      assert.equal(answer.status, 200, what);
      const seen = JSON.parse(answer.body.toString()) as Seen;
      assert.equal(seen.sha256, sha256(body), what);
      assert.equal(seen.headers["content-encoding"], headers["content-encoding"], what);
      assert.notEqual(answer.headers["x-warmroute-model"], "decoy", what);
      if (!opaque) {
        assert.equal(answer.headers["x-warmroute-model"], "qwen3-32b-instruct", what);
        assert.equal(answer.headers["x-warmroute-prompt-chars"], "19", what);
      }
      hosts.add(answer.headers["x-warmroute-host"]);
    }
    assert.equal(hosts.size, 1, `${what}: one session, several hosts`);
    const { headers: without } = await send({
      port: envoy.port,
      path,
      method: "POST",
      headers,
      body,
    });
    if (opaque) assert.equal(without["x-warmroute-reason"], "opaque", what);
  }
});

test("the chosen host serves the request, and it alone gets the header (BC-39)", async () => {
  for (let i = 0; i < 100; i++) {
    const answer = await post(envoy.port, {
      model: "qwen3-32b-instruct",
      messages: [{ role: "user", content: `Which berth? ${i}` }],
      user: "s-39",
    });
    assert.equal(answer.status, 200);
    const seen = JSON.parse(answer.body.toString()) as Seen;
    const choice = String(answer.headers["x-warmroute-choice"]).split(",");
    assert.equal(seen.host, choice[0]);
    assert.equal(answer.headers["x-warmroute-host"], seen.host);
    assert.equal(choice.length, 3);
    assert.equal(seen.headers["x-gateway-destination-endpoint"], choice.join(","));
  }
});

test("copies of the routing header that a client sends go nowhere", async () => {
  const forged = { "x-gateway-destination-endpoint": upstreams[2]?.host ?? "" };
  const requests: [path: string, body: string | undefined][] = [
    ["/v1/models", undefined],
    ["/files/upload", "bytes"],
    ["/v1/chat/completions", "not json"],
  ];
  for (const [path, body] of requests) {
    const reached = new Set<string>();
    for (let i = 0; i < 30; i++) {
      const answer = await send({
        port: envoy.port,
        path,
        headers: forged,
        ...(body === undefined ? {} : { method: "POST", body }),
      });
      const seen = JSON.parse(answer.body.toString()) as Seen;
      reached.add(seen.host);
      const header = seen.headers["x-gateway-destination-endpoint"];
      if (path !== "/v1/chat/completions") assert.equal(header, undefined, path);
    }
    const forgedHost = upstreams[2]?.host ?? "";
    assert.ok(!reached.has(forgedHost) || reached.size > 1, `${path}: the client chose`);
  }
});
