/** Answers that fail without a status that says so. A server that fails at once has nothing in flight, and looks like the best. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nextSeed } from "./busy.ts";
import { type AnswerOptions, type Exchange, Gateway, hostNames, tally } from "./gateway.ts";
import { recordOf } from "./records.ts";

const NAMES = hostNames(3);
const [BAD] = NAMES as [string];
const REQUESTS = 150;
const SERVING_MS = 2000;
const EVERY_MS = 100;

const events = (body: string): AnswerOptions => ({
  headers: { "content-type": "text/event-stream" },
  body,
});

const question = () => ({
  model: "m1",
  messages: [{ role: "user", content: `Question ${nextSeed() * 7919} ${"word ".repeat(20)}` }],
});

/** Answers with a content type of the answer's own. */
function answer(
  exchange: Exchange,
  { status = 200, headers = {}, body = "" }: AnswerOptions,
): void {
  const { stream, target } = exchange;
  stream.upstreamAddress = target;
  stream.responseHeaders([
    [":status", String(status)],
    ...Object.entries({ "content-type": "application/json", ...headers }),
  ]);
  stream.responseBody(body, true);
}

/** How many of 150 requests go to a server that answers so at once, while two others take 2 s for each. */
function drawn(bad: AnswerOptions): { gateway: Gateway; count: number } {
  const gateway = new Gateway(NAMES);
  const open: Exchange[] = [];
  const targets: (string | undefined)[] = [];
  for (let i = 0; i < REQUESTS; i++) {
    const exchange = gateway.send(question());
    targets.push(exchange.target);
    if (exchange.target === BAD) answer(exchange, bad);
    else open.push(exchange);
    gateway.host.advance(EVERY_MS);
    if (open.length > (2 * SERVING_MS) / EVERY_MS) open.shift()?.answer();
  }
  return { gateway, count: tally(targets).get(BAD) ?? 0 };
}

const FAILED: [name: string, bad: AnswerOptions][] = [
  ["status 500", { status: 500 }],
  ["an error event", events('data: {"error":{"message":"m","code":500}}\n\ndata: [DONE]\n\n')],
  ["an event named error", events('event: error\ndata: {"type":"error","code":"e"}\n\n')],
  ["a response that failed", events('data: {"response":{"error":{"code":"server_error"}}}\n\n')],
  ["an error in JSON", { body: '{"error":{"message":"engine dead"}}' }],
  ["an object that is an error", { body: '{"object":"error","message":"m","code":50001}' }],
];
const BUSY: [name: string, bad: AnswerOptions][] = [
  ["429 without a time", { status: 429 }],
  ["529 with a time", { status: 529, headers: { "retry-after": "2" } }],
  ["overloaded", events('data: {"type":"error","error":{"type":"overloaded_error"}}\n\n')],
];

for (const [name, bad] of FAILED) {
  test(`${name} at once is a failure: the server is set aside, not flooded`, () => {
    const { gateway, count } = drawn(bad);
    assert.ok(count <= 15, `${count} of ${REQUESTS}`);
    assert.ok(recordOf(gateway, BAD).ejections > 0);
  });
}

for (const [name, bad] of BUSY) {
  test(`${name} at once is back-pressure: the server is left alone for a while, not set aside`, () => {
    const { gateway, count } = drawn(bad);
    assert.ok(count <= 25, `${count} of ${REQUESTS}`);
    assert.equal(recordOf(gateway, BAD).ejections, 0);
  });
}

test("a model that a server hasn't got, as its 404s say, is asked of others; another model goes there all the same", () => {
  const { gateway, count } = drawn({ status: 404 });
  assert.ok(count <= 15, `${count} of ${REQUESTS}`);
  assert.equal(recordOf(gateway, NAMES[1] as string).ejections, 0);
  const other = () => gateway.send({ ...question(), model: "m2" });
  const open = Array.from({ length: 30 }, other);
  assert.ok((tally(open.map(({ target }) => target)).get(BAD) ?? 0) > 0);
  for (const exchange of open) exchange.answer();
  // It has got it by now.
  gateway.host.advance(11_000);
  let served = 0;
  for (let i = 0; i < 30; i++) if (gateway.send(question()).answer().target === BAD) served++;
  assert.ok(served > 0, "tried again");
});

test("a model that no server has got changes nothing", () => {
  const gateway = new Gateway(NAMES);
  const ask = (model: string) => gateway.send({ ...question(), model });
  for (let i = 0; i < 60; i++) answer(ask("no such model"), { status: 404 });
  const open = Array.from({ length: 30 }, () => ask("m1"));
  assert.equal(tally(open.map(({ target }) => target)).size, NAMES.length);
  const wrong = Array.from({ length: 30 }, () => ask("no such model"));
  assert.equal(tally(wrong.map(({ target }) => target)).size, NAMES.length);
});

test("a client that asks too much doesn't make a server look busy: the others' requests are taken in between", () => {
  const gateway = new Gateway(NAMES);
  const seen = new Map<string | undefined, number>();
  for (let i = 0; i < 120; i++) {
    const exchange = gateway.send(question());
    const before = seen.get(exchange.target) ?? 0;
    seen.set(exchange.target, before + 1);
    if (before % 4 === 3) exchange.answer();
    else answer(exchange, { status: 429 });
    gateway.host.advance(10);
  }
  const open = Array.from({ length: 30 }, () => gateway.send(question()));
  assert.equal(tally(open.map(({ target }) => target)).size, NAMES.length);
});

test("an error after the first tokens counts as an answer broken off, and nothing is learned from it", () => {
  const gateway = new Gateway(NAMES);
  const body = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"error":{"code":500}}\n\n';
  for (let i = 0; i < 60; i++) {
    const exchange = gateway.send(question());
    if (exchange.target === BAD) answer(exchange, events(body));
    else exchange.answer();
  }
  assert.ok(recordOf(gateway, BAD).ejections > 0);
  assert.equal(recordOf(gateway, BAD).decodeSamples, 0);
});

test("an error that blames the request says nothing of the server, nor of its speed", () => {
  const gateway = new Gateway(NAMES);
  const targets: (string | undefined)[] = [];
  for (let i = 0; i < 60; i++) {
    const type = i % 2 === 0 ? "BadRequestError" : "invalid_request_error";
    const exchange = gateway.send(question());
    targets.push(exchange.target);
    answer(exchange, events(`data: {"error":{"message":"m","type":"${type}"}}\n\n`));
    assert.equal(exchange.choice.length, NAMES.length);
  }
  assert.equal(tally(targets).size, NAMES.length, "each is used, and nobody looks fast");
});
