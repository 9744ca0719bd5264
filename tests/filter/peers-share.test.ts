import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { isHeld, isSent } from "./busy.ts";
import { chat, type Exchange } from "./gateway.ts";
import { prose } from "./lab.ts";
import { PeerLab } from "./peerlab.ts";

const rand = random(11);
const page = (running: number, waiting: number) =>
  `vllm:num_requests_running ${running}\nvllm:num_requests_waiting ${waiting}\n`;

/** The first token of a streamed answer. */
function beginStream(asked: Exchange): void {
  asked.stream.upstreamAddress = asked.target;
  asked.stream.responseHeaders([
    [":status", "200"],
    ["content-type", "text/event-stream"],
  ]);
  asked.stream.responseBody('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n');
}

test("held requests have one order over all gateways: by priority, then the more urgent", () => {
  const lab = new PeerLab(3, { servers: 1, config: { cost: { learn: true } } });
  lab.wait(1300);
  const send = (gateway: number, priority: string, bytes: number) =>
    lab.at(gateway).send(chat(prose(bytes, rand)), {
      headers: { "x-warmroute-priority": priority },
      worker: gateway % 2,
    });
  // The server's speed is known from here on, at all gateways.
  const lesson = send(0, "normal", 20_000);
  lab.wait(275);
  lesson.answer();
  lab.wait(1500);
  // Each of these is seconds of prefill: while one is under way, the others wait.
  const first = send(0, "normal", 120_000);
  lab.wait(20);
  const held = [
    send(0, "low", 60_000),
    send(0, "low", 90_000),
    send(1, "normal", 120_000),
    send(2, "normal", 60_000),
    send(1, "high", 120_000),
    send(2, "low", 120_000),
  ];
  lab.wait(100);
  assert.ok(isSent(first) && held.every(isHeld));
  const order: number[] = [];
  let under = first;
  while (order.length < held.length) {
    under.answer();
    lab.wait(60);
    const next = held.findIndex((each, i) => isSent(each) && !order.includes(i));
    assert.ok(next >= 0, `nobody went after ${order}`);
    order.push(next);
    under = held[next] as Exchange;
  }
  assert.deepEqual(order, [4, 3, 2, 0, 1, 5]);
});

/** Gateways that know the speed of each of their servers, and what light prompts are like. */
function learned(count: number, servers: number, admission: object): PeerLab {
  const lab = new PeerLab(count, { servers, config: { cost: { learn: true }, admission } });
  lab.wait(1300);
  for (let i = 0; i < 30; i++) {
    const lessons = Array.from({ length: servers }, () =>
      lab.at(i % count).send(chat(prose(8000, rand))),
    );
    lab.wait(110);
    for (const lesson of lessons) lesson.answer();
    lab.wait(60);
  }
  return lab;
}

test("light prompts don't wait for a heavy one that a gateway keeps for their sake", () => {
  const lab = learned(3, 2, { heavy_prompt_tokens: 8000 });
  const busy = lab.at(0).send(chat(prose(120_000, rand)));
  lab.wait(50);
  const decoding = lab.at(1).send(chat("hello", { stream: true }));
  beginStream(decoding);
  const kept = lab.at(0).send(chat(prose(120_000, rand)));
  lab.wait(60);
  assert.ok(isSent(busy) && isHeld(kept) && busy.target !== decoding.target);
  for (let i = 0; i < 6; i++) {
    const light = [1, 2].map((gateway) => lab.at(gateway).send(chat(prose(40 + i, rand))));
    assert.deepEqual(light.map(isSent), [true, true], `round ${i}`);
    lab.wait(3);
  }
  assert.ok(isHeld(kept));
});

test("where several servers come free at once, gateways don't wait for each other to take one", () => {
  const lab = learned(4, 4, { heavy_prompt_tokens: 100_000 });
  const busy = [0, 1, 2, 3].map((gateway) => {
    const exchange = lab.at(gateway).send(chat(prose(120_000, rand)));
    lab.wait(30);
    return exchange;
  });
  const held = [0, 1, 2, 3].map((gateway) => lab.at(gateway).send(chat(prose(8000, rand))));
  lab.wait(100);
  assert.ok(busy.every(isSent) && held.every(isHeld));
  for (const exchange of busy) exchange.answer();
  lab.wait(15);
  assert.deepEqual(held.map(isSent), [true, true, true, true]);
});

test("a gateway that holds requests and falls silent keeps nobody from the room", () => {
  const lab = new PeerLab(2, { servers: 1, config: { metrics: { interval_ms: 10 } } });
  lab.page = page(40, 90);
  lab.wait(1500);
  const high = { headers: { "x-warmroute-priority": "high" } };
  assert.ok(isHeld(lab.at(0).send(chat("an urgent question"), high)));
  const normal = lab.at(1).send(chat("another question"));
  lab.wait(100);
  lab.delayMs = () => undefined;
  lab.wait(150);
  lab.page = page(2, 0);
  lab.wait(150);
  assert.ok(isSent(normal));
});

test("what one gateway learned of a server's speed counts at the others", () => {
  const lab = new PeerLab(2, { servers: 4, config: { cost: { learn: true } } });
  lab.wait(1300);
  const [slow] = lab.hosts as [string];
  /** Four prompts of 2,000 tokens at once, 110 ms each at the prior, answered after that or after four times as long. */
  const ask = (gateway: number): (string | undefined)[] => {
    const sent = Array.from({ length: 4 }, () => {
      const exchange = lab.at(gateway).send(chat(prose(8_000, rand)));
      lab.wait(1);
      return exchange;
    });
    lab.wait(110);
    for (const exchange of sent) if (exchange.target !== slow) exchange.answer();
    lab.wait(330);
    for (const exchange of sent) if (exchange.target === slow) exchange.answer();
    lab.wait(50);
    return sent.map(({ target }) => target);
  };
  const first = Array.from({ length: 12 }, () => ask(0));
  const uses = (targets: (string | undefined)[][]) =>
    targets.flat().filter((target) => target === slow).length;
  assert.ok(uses(first.slice(0, 2)) > 0);
  const later = uses(first.slice(8));
  lab.wait(1500);
  const others = uses(Array.from({ length: 4 }, () => ask(1)));
  assert.ok(later <= 1, `${later} of 16`);
  assert.equal(others, 0, "at a gateway that never asked it");
});

test("a prompt that another gateway sent meanwhile makes a prefill look no shorter than it was", () => {
  const config = { cost: { learn: true }, admission: { enabled: false }, status: { path: "/s" } };
  const lab = new PeerLab(2, { servers: 1, config });
  lab.wait(1300);
  // 5,000 tokens, 275 ms at the prior. It takes longer, so the other gateway takes the server for idle.
  const asked = lab.at(0).send(chat(prose(20_000, rand)));
  lab.wait(300);
  lab.at(1).send(chat(prose(4_000, rand)));
  lab.wait(20);
  beginStream(asked);
  lab.wait(20);
  const usage = { prompt_tokens: Number(asked.stream.property("warmroute.prompt_tokens")) };
  const end = JSON.stringify({ choices: [], usage: { ...usage, completion_tokens: 2 } });
  asked.stream.responseBody(`data: ${end}\n\ndata: [DONE]\n\n`, true);
  lab.wait(200);
  const page = lab.at(0).send(Buffer.alloc(0), { method: "GET", path: "/s.json" });
  const data = JSON.parse(page.stream.localReply?.body.toString() ?? "");
  const perToken = data.hosts[0].prefill_ms_per_token;
  assert.ok(perToken > 0.05 && perToken < 0.075, `${perToken} ms`);
});

test("what a first token showed of a server's speed is told, before any answer has ended", () => {
  const lab = new PeerLab(2, { servers: 1, config: { cost: { learn: true } } });
  lab.wait(1300);
  const asked = lab.at(0).send(chat(prose(8_000, rand)));
  lab.wait(275);
  beginStream(asked);
  lab.wait(300);
  const speeds = lab.messagesOf(0).map(({ update }) => update.rows[0]?.prefillSamples);
  assert.equal(speeds.at(-1), 1);
});

test("a worker that speaks for its gateway doesn't take back what another has just told", () => {
  const lab = new PeerLab(2, { servers: 4 });
  lab.wait(1300);
  const before = lab.at(0).send(chat(prose(8_000, rand)), { worker: 1 });
  // Its tick has passed since: what the other worker sends it doesn't know by itself.
  lab.wait(120);
  const heavy = lab.at(0).send(chat(prose(80_000, rand)), { worker: 0 });
  lab.wait(7);
  before.answer();
  lab.wait(12);
  const told = lab.messagesOf(0, lab.nowMs - 20).flatMap(({ update }) => update.rows);
  const host = told.findLast(({ workMs }) => workMs > 1000)?.host;
  const last = told.filter((row) => row.host === host).at(-1);
  assert.ok(heavy.target !== before.target && told.length > 1);
  assert.ok(last && last.workMs > 1000, `${last?.workMs} ms of work told`);
});
