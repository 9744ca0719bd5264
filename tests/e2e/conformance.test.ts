import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type EnvoyProcess, startEnvoy } from "../../tools/envoy/process.ts";
import { messages, post, TEST_WASM, testModule, testRoot } from "../host/fixture.ts";
import { send } from "./client.ts";
import { type Sink, startSinks } from "./sink.ts";

/** What the test filter is told, in headers, and the chunks of the body. */
interface Case {
  name: string;
  orders: Record<string, string>;
  chunkBytes: number[];
}

/** What can be seen of it: the same from Envoy and from the host in Node. */
interface Outcome {
  status: number;
  details: string | undefined;
  note: string | undefined;
  upstream: { bytes: number; sha256: string; seen: string; sum: string } | undefined;
  callbacks: string[];
}

const PAUSE = { "x-at-headers": "1" };
const BUFFER = { ...PAUSE, "x-at-body": "1" };
const WATERMARK = { ...PAUSE, "x-at-body": "2" };

/** Between chunks, so that each is a read of its own; shorter than a tick. */
const GAP_MS = 40;
/** Small, so that what exceeds it still comes in one read. */
const LIMIT_BYTES = 8192;

const CASES: Case[] = [
  { name: "nothing stopped", orders: {}, chunkBytes: [300, 5000] },
  { name: "no body", orders: PAUSE, chunkBytes: [] },
  { name: "buffered to the end", orders: BUFFER, chunkBytes: [3000, 1, 5000] },
  {
    name: "buffered and released",
    orders: { ...BUFFER, "x-release-kb": "4" },
    chunkBytes: [3000, 3000, 3000, 10],
  },
  { name: "watermark to the end", orders: WATERMARK, chunkBytes: [3000, 1, 5000] },
  {
    name: "watermark and released",
    orders: { ...WATERMARK, "x-release-kb": "4" },
    chunkBytes: [3000, 3000, 3000],
  },
  {
    name: "held at the end, continued by a tick",
    orders: { ...BUFFER, "x-at-end": "w" },
    chunkBytes: [3000, 3000],
  },
  {
    name: "held at the end, answered by a tick",
    orders: { ...BUFFER, "x-at-end": "j" },
    chunkBytes: [3000],
  },
  { name: "answered at headers", orders: { "x-at-headers": "8" }, chunkBytes: [] },
  {
    name: "answered at the end of the body",
    orders: { ...BUFFER, "x-at-end": "f" },
    chunkBytes: [3000, 3000],
  },
  { name: "over the limit", orders: BUFFER, chunkBytes: [1000, 8000] },
  {
    name: "over the limit when released",
    orders: { ...BUFFER, "x-release-kb": "5" },
    chunkBytes: [4000, 6000, 10],
  },
];

function chunksOf(each: Case): Buffer[] {
  return each.chunkBytes.map((bytes, i) => Buffer.alloc(bytes, 65 + i));
}

/** Callbacks without ids; those of the response's body depend on how the server sends. */
function callbacksOf(lines: string[]): string[] {
  return lines
    .map((line) => /#\d+ (.+)$/.exec(line)?.[1] ?? "")
    .filter((line) => line !== "" && !line.startsWith("response"));
}

function inNode(each: Case): Outcome {
  const { host, root } = testRoot("trace", { requestBodyBufferLimit: LIMIT_BYTES });
  const stream = root.createStream();
  const chunks = chunksOf(each);
  stream.requestHeaders(post(each.orders), chunks.length === 0);
  for (const chunk of chunks) stream.requestBody(chunk);
  if (chunks.length > 0) stream.requestBody("", true);
  host.advance(100);
  if (!stream.localReply) stream.responseHeaders([[":status", "200"]], true);
  const body = stream.request.sentBody;
  return {
    status: Number(stream.response.sentHeaders?.get(":status")),
    details: stream.details,
    note: stream.property("test.note"),
    upstream: stream.request.sentEnd
      ? {
          bytes: body.length,
          sha256: createHash("sha256").update(body).digest("hex"),
          seen: String(stream.headers.get("x-seen")),
          sum: String(stream.headers.get("x-sum")),
        }
      : undefined,
    callbacks: callbacksOf(messages(host)),
  };
}

async function* slowly(chunks: Buffer[], gapMs: number): AsyncGenerator<Buffer> {
  for (const chunk of chunks) {
    yield chunk;
    await sleep(gapMs);
  }
}

describe("the host in Node does as Envoy does", () => {
  let sink: Sink;
  let envoy: EnvoyProcess;

  before(async () => {
    testModule();
    [sink] = (await startSinks(1)) as [Sink];
    envoy = await startEnvoy({
      hosts: [sink.host],
      wasm: TEST_WASM,
      configuration: "trace",
      logLevel: "info",
      edit: (yaml) =>
        yaml
          // The larger of the two is the limit.
          .replace(/(request_body_buffer_limit): \d+/, `$1: ${LIMIT_BYTES}`)
          .replace(/(per_connection_buffer_limit_bytes): \d+/, `$1: ${LIMIT_BYTES}`)
          .replace("wasm.warmroute.key", "wasm.test.note"),
    });
  });

  after(async () => {
    await envoy?.stop();
    await sink?.stop();
  });

  /** Envoy's log is written with some delay. */
  async function callbacksSince(length: number): Promise<string[]> {
    for (let waitedMs = 0; ; waitedMs += GAP_MS) {
      const callbacks = callbacksOf(envoy.log().slice(length).split("\n"));
      if (callbacks.at(-1)?.startsWith("delete") || waitedMs > 5000) return callbacks;
      await sleep(GAP_MS);
    }
  }

  async function inEnvoy(each: Case, gapMs: number): Promise<Outcome> {
    const logged = envoy.log().length;
    const lines = (await envoy.accessLog()).length;
    sink.seen.length = 0;
    const chunks = chunksOf(each);
    const answer = await send({
      port: envoy.port,
      path: "/x",
      method: "POST",
      headers: each.orders,
      ...(chunks.length > 0 ? { body: slowly(chunks, gapMs) } : {}),
    });
    const entry = (await envoy.accessLog(lines + 1)).at(-1);
    const [seen] = sink.seen;
    return {
      status: answer.status,
      details: entry?.details === null ? undefined : String(entry?.details),
      note: entry?.key == null ? undefined : String(entry.key),
      upstream: seen && {
        bytes: seen.bytes,
        sha256: seen.sha256,
        seen: String(seen.headers["x-seen"]),
        sum: String(seen.headers["x-sum"]),
      },
      callbacks: await callbacksSince(logged),
    };
  }

  for (const each of CASES) {
    it(each.name, async () => {
      const expected = inNode(each);
      let got = await inEnvoy(each, GAP_MS);
      // On a busy machine chunks may arrive as one: they are sent again, further apart.
      for (let tries = 1; tries < 5 && !isDeepStrictEqual(expected, got); tries++) {
        got = await inEnvoy(each, GAP_MS * 3 ** tries);
      }
      assert.deepEqual(expected, got);
    });
  }
});
