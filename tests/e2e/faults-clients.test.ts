/** Clients that leave, trickle, stall, send half a body, or don't read: what others see, and what is left of them. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import test, { after } from "node:test";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import {
  assertNothingLost,
  assertSettled,
  figure,
  round,
  servers,
  shipped,
  until,
  wait,
} from "./faults.ts";
import { send } from "./harness.ts";
import { Traffic } from "./traffic.ts";

/** A raw connection that sends some text and keeps what comes. */
class Client {
  received = "";
  closed = false;
  readonly socket: Socket;

  constructor(port: number, text: string) {
    this.socket = connect(port, "127.0.0.1", () => this.socket.write(text));
    this.socket.on("data", (chunk) => {
      this.received += chunk;
    });
    this.socket.on("close", () => {
      this.closed = true;
    });
    this.socket.on("error", () => {});
    after(() => this.socket.destroy());
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.received)?.[1] ?? 0);
  }
}

const BODY = JSON.stringify({
  model: "test-model",
  messages: [{ role: "user", content: "Which berth is free? ".repeat(200) }],
  max_tokens: 400,
  stream: true,
});

function head(framing: string): string {
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`;
}

const WHOLE = `${head(`content-length: ${BODY.length}`)}${BODY}`;
const HALF = WHOLE.slice(0, WHOLE.length - BODY.length / 2);
const FIRST_CHUNK = `${head("transfer-encoding: chunked")}${(1000).toString(16)}\r\n${BODY.slice(0, 1000)}\r\n`;

/** Ways to be a bad client; each is done by many at once. */
const WAYS: [what: string, act: (port: number) => Promise<void>][] = [
  ["leave after half of the headers", (port) => leave(port, WHOLE.slice(0, 40), 50)],
  ["leave after half of the body", (port) => leave(port, HALF, 50)],
  ["leave at once", (port) => leave(port, WHOLE, 1)],
  ["leave while the answer streams", (port) => leave(port, WHOLE, 400)],
  ["close their half and leave", (port) => leave(port, FIRST_CHUNK, 50)],
  ["send broken chunks", (port) => leave(port, `${FIRST_CHUNK}zz\r\n`, 100)],
  ["send more than they said", (port) => leave(port, `${WHOLE}{"model":`, 100)],
];

async function leave(port: number, text: string, afterMs: number): Promise<void> {
  const client = new Client(port, text);
  await wait(afterMs);
  client.socket.destroy();
}

async function settledAfter(envoy: EnvoyProcess, traffic: Traffic): Promise<number> {
  await traffic.stop();
  return await assertSettled(envoy);
}

test("clients that leave at any moment hurt nobody, and nothing of them stays", async () => {
  const fleet = await servers(2);
  const envoy = await shipped(fleet.addresses);
  const traffic = new Traffic(envoy.port, { clients: 8 });
  for (const [, act] of WAYS) {
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 20 }, () => act(envoy.port)));
    }
  }
  const settledMs = await settledAfter(envoy, traffic);
  figure(
    `${WAYS.length * 60} clients left`,
    traffic,
    `in-flight zero after ${round(settledMs)} ms`,
  );
  assertNothingLost(traffic);
  assert.equal(traffic.broken().length, 0);
});

test("bodies that trickle in are served; those that stall hold nobody up", async () => {
  const fleet = await servers(2);
  const envoy = await shipped(fleet.addresses);
  const stalled = Array.from(
    { length: 200 },
    (_, i) => new Client(envoy.port, i % 2 ? HALF : FIRST_CHUNK),
  );
  const traffic = new Traffic(envoy.port, { clients: 8 });
  const short = JSON.stringify({ ...JSON.parse(BODY), max_tokens: 4 });
  const trickled = await Promise.all(
    Array.from({ length: 8 }, () => send({ port: envoy.port, body: slowly(short) })),
  );
  for (const { status } of trickled) assert.equal(status, 200);
  assertNothingLost(traffic);
  // What has stalled is still waited for, and served once it comes to its end.
  const late = stalled[1] as Client;
  late.socket.write(BODY.slice(BODY.length / 2));
  const lateMs = await until("the stalled one's answer", () => late.status === 200);
  for (const { socket } of stalled) socket.destroy();
  const settledMs = await settledAfter(envoy, traffic);
  figure(
    "200 clients stalled",
    traffic,
    `one went on and was answered after ${round(lateMs)} ms; in-flight zero ${round(settledMs)} ms after they left`,
  );
  assertNothingLost(traffic);
  assert.equal(traffic.broken().length, 0);
});

/** A body in pieces of 64 bytes, a piece each 10 ms. */
async function* slowly(body: string): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += 64) {
    yield Buffer.from(body.slice(at, at + 64));
    await wait(10);
  }
}

test("clients that don't read their answers hold nobody up", async () => {
  const fleet = await servers(2);
  const envoy = await shipped(fleet.addresses);
  const deaf = Array.from({ length: 50 }, () => new Client(envoy.port, WHOLE));
  for (const { socket } of deaf) socket.pause();
  const traffic = new Traffic(envoy.port, { clients: 8 });
  await wait(1500);
  for (const { socket } of deaf) socket.resume();
  await until("their answers", () => deaf.every(({ received }) => received.includes("[DONE]")));
  for (const { socket } of deaf) socket.destroy();
  const settledMs = await settledAfter(envoy, traffic);
  figure("50 clients didn't read", traffic, `in-flight zero after ${round(settledMs)} ms`);
  assertNothingLost(traffic);
  assert.equal(traffic.broken().length, 0);
});
