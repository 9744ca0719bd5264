import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { chat, type Exchange, Gateway, type GatewayOptions, hostNames, tally } from "./gateway.ts";
import { prose, random } from "./lab.ts";
import { recordOf } from "./records.ts";

const CASES = new URL("../fixtures/cases/", import.meta.url);
const scenario = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(name, CASES), "utf8")) as T;

interface Report {
  running: number;
  waiting: number;
  kv: number;
}

const BUSY: Report = { running: 40, waiting: 90, kv: 0.5 };
const FREE: Report = { running: 2, waiting: 0, kv: 0.1 };

/** A gateway whose servers report what `reports` holds, which may change; who isn't in it reports nothing. */
function reporting(
  names: string[],
  reports: Record<string, Report>,
  admission: Record<string, unknown> = {},
  options: GatewayOptions = {},
): Gateway {
  const gateway = new Gateway(names, {
    ...options,
    config: {
      metrics: { interval_ms: 500 },
      admission,
      ...options.config,
    },
    onCall: (call) => {
      const report = reports[call.headers.get(":authority") ?? ""];
      if (!report) return call.refuse();
      call.respond(
        200,
        `vllm:num_requests_running ${report.running}\nvllm:num_requests_waiting ${report.waiting}\n` +
          `vllm:kv_cache_usage_perc ${report.kv}\n`,
      );
    },
  });
  gateway.host.advance(1200);
  return gateway;
}

const [H1] = hostNames(1) as [string];

/** One server, which is full until `reports[H1]` says otherwise. */
function full(admission: Record<string, unknown> = {}, options: GatewayOptions = {}) {
  const reports: Record<string, Report> = { [H1]: BUSY };
  const gateway = reporting([H1], reports, admission, options);
  const free = (waiting = 0) => {
    reports[H1] = { ...FREE, waiting };
    gateway.host.advance(700);
  };
  return { gateway, reports, free };
}

const isSent = ({ stream }: Exchange) => stream.request.sentEnd === true;
const isHeld = (exchange: Exchange) =>
  !isSent(exchange) && !exchange.stream.finished && exchange.stream.localReply === undefined;
const status = ({ stream }: Exchange) => stream.localReply?.status;
const details = ({ stream }: Exchange) => stream.localReply?.details;

let serial = 0;
const question = () => chat(`Question ${serial++ * 7919}`);

/** In the order in which they were sent: only one at a time is let go. */
function orderOf(gateway: Gateway, reports: Record<string, Report>, held: Exchange[]): number[] {
  const order: number[] = [];
  for (let round = 0; round < 40 * held.length && order.length < held.length; round++) {
    // Room for one more.
    reports[H1] = { running: 2, waiting: 63, kv: 0.1 };
    gateway.host.advance(50);
    held.forEach((exchange, i) => {
      if (isSent(exchange) && !order.includes(i)) {
        order.push(i);
        exchange.answer();
      }
    });
  }
  return order;
}

test("a slot is freed exactly once: aborts, resets, errors, a queue with leavers (BC-24)", () => {
  const { queue_limit } = scenario<{ queue_limit: number }>("BC-24.json");
  const reports: Record<string, Report> = { [H1]: FREE };
  const gateway = reporting([H1], reports, { queue_limit, queue_timeout_ms: 3000 });
  const check = (inFlight: number, queued: number) => {
    gateway.host.advance(100);
    assert.equal(gateway.inFlight(H1), inFlight);
    assert.equal(gateway.stat("queue_length"), queued);
  };
  const [r1, r2, r3] = [question(), question(), question()].map((body) => gateway.send(body)) as [
    Exchange,
    Exchange,
    Exchange,
  ];
  check(3, 0);
  r1.stream.clientReset();
  check(2, 0);
  r2.stream.upstreamReset();
  r3.answer({ status: 503 });
  r3.stream.done();
  check(0, 0);
  reports[H1] = BUSY;
  gateway.host.advance(700);
  const q1 = gateway.send(question());
  const q2 = gateway.send(question());
  check(0, 2);
  q1.stream.clientReset();
  check(0, 1);
  gateway.host.advance(1000);
  const q3 = gateway.send(question());
  assert.ok(isHeld(q3), "admitted after q1 left");
  check(0, 2);
  gateway.host.advance(2000);
  assert.equal(status(q2), 429);
  assert.equal(details(q2), "warmroute_queue_timeout");
  check(0, 1);
  reports[H1] = FREE;
  gateway.host.advance(600);
  assert.ok(isSent(q3));
  check(1, 0);
  q3.answer();
  check(0, 0);
});

test("what is stale or unknown never means full (BC-34)", () => {
  const { pools } = scenario<{
    pools: {
      name: string;
      hosts: { running: number; waiting: number; kv?: number; age_ms: number }[];
    }[];
  }>("BC-34.json");
  for (const pool of pools) {
    const names = hostNames(pool.hosts.length);
    const reports: Record<string, Report> = {};
    const report = (isLate: boolean) => {
      pool.hosts.forEach((host, i) => {
        const { running, waiting, kv = 0.1, age_ms } = host;
        if (age_ms > 5000 === isLate) reports[names[i] as string] = { running, waiting, kv };
        else delete reports[names[i] as string];
      });
    };
    report(true);
    const gateway = reporting(names, reports);
    report(false);
    gateway.host.advance(6000);
    const sent = Array.from({ length: 20 }, () => {
      const exchange = gateway.send(question());
      assert.ok(isSent(exchange), `${pool.name}: dispatched`);
      return exchange.answer().target;
    });
    if (pool.name.startsWith("one late and")) {
      assert.equal(
        tally(sent).get(names[0] as string),
        undefined,
        `${pool.name}: fresh ones first`,
      );
    }
  }
});

test("all reports stale, and full when they were fresh: dispatched, and what was held goes (BC-34)", () => {
  const { gateway, reports } = full({ queue_timeout_ms: 60_000 });
  const held = gateway.send(question());
  assert.ok(isHeld(held));
  delete reports[H1];
  gateway.host.advance(6000);
  assert.ok(isSent(held));
  assert.ok(isSent(gateway.send(question())));
});

test("limits per server: only the one within its limits gets requests, a good report frees another at once (BC-36)", () => {
  const { hosts, limits } = scenario<{
    limits: { kv: number; waiting: number };
    hosts: { kv: number; waiting: number }[];
  }>("BC-36.json");
  const names = hostNames(4);
  const reports: Record<string, Report> = {};
  hosts.forEach(({ kv, waiting }, i) => {
    reports[names[i] as string] = { running: 20, waiting, kv };
  });
  const gateway = reporting(names, reports, {
    max_kv_usage: limits.kv,
    max_waiting: limits.waiting,
  });
  const [h1, , , h4] = names as [string, string, string, string];
  const warm = chat(prose(1200, random(3)));
  const first = gateway.send(warm);
  assert.equal(first.target, h4);
  first.answer({ host: h1 });
  const step = () =>
    Array.from({ length: 20 }, () => {
      const { target } = gateway.send(warm).answer();
      gateway.host.advance(20);
      return target;
    });
  assert.deepEqual([...tally(step())], [[h4, 20]]);
  reports[h1] = { running: 2, waiting: 0, kv: 0.3 };
  gateway.host.advance(600);
  assert.ok((tally(step()).get(h1) ?? 0) >= 10);
});

test("held: paused whole, sent on as it was, time told", () => {
  const { gateway, free } = full();
  const body = JSON.stringify(chat(prose(5000, random(4))));
  const held = gateway.send(body, { chunk: 700 });
  assert.ok(isHeld(held));
  assert.equal(gateway.stat("queue_length"), 1);
  free();
  assert.equal(held.target, H1);
  assert.equal(held.stream.request.sentBody.toString(), body);
  const waited = Number(held.answer().debug("queued-ms"));
  assert.ok(waited > 0 && waited <= 700, `${waited}`);
  assert.equal(gateway.stat("queue_length"), 0);
  assert.equal(gateway.host.metrics.histogram("warmroute.queue_wait_ms")?.count, 1);
});

test("a conversation that was held still knows where its cache is", () => {
  const names = hostNames(3);
  const reports: Record<string, Report> = Object.fromEntries(names.map((name) => [name, FREE]));
  const gateway = reporting(names, reports);
  const text = prose(24_000, random(5));
  const home = gateway.send(chat(text)).answer().target as string;
  for (const name of names) reports[name] = BUSY;
  gateway.host.advance(700);
  const held = gateway.send(chat(text));
  assert.ok(isHeld(held));
  reports[home] = FREE;
  gateway.host.advance(700);
  assert.equal(held.target, home);
  assert.ok(Number(held.begin().debug("cached-tokens")) > 4000);
});

test("an unread request is held as well", () => {
  const { gateway, free } = full();
  const bytes = new Uint8Array(3000).fill(7);
  const held = gateway.send(bytes, { headers: { "content-encoding": "gzip" } });
  assert.ok(isHeld(held));
  free();
  assert.equal(held.target, H1);
  assert.deepEqual(new Uint8Array(held.stream.request.sentBody), bytes);
  assert.equal(held.answer().debug("reason"), "opaque");
});

test("a full queue says no, honestly and with a time to come back", () => {
  const { gateway } = full({ queue_limit: 2 });
  const held = [gateway.send(question()), gateway.send(question())];
  const refused = gateway.send(question());
  assert.ok(held.every(isHeld));
  const reply = refused.stream.localReply;
  assert.equal(reply?.status, 429);
  assert.equal(reply?.details, "warmroute_queue_full");
  assert.match(reply?.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  assert.equal(reply?.headers.get("content-type"), "application/json");
  const { error } = JSON.parse(`${reply?.body}`) as { error: Record<string, string> };
  assert.equal(error.code, "queue_full");
  assert.equal(typeof error.message, "string");
  assert.equal(typeof error.type, "string");
  assert.equal(refused.debug("reason"), "queue_full");
  assert.equal(refused.debug("queued-ms"), "0");
  assert.equal(refused.stream.property("warmroute.reason"), "queue_full");
  assert.equal(gateway.stat("rejected_total.cause.queue_full"), 1);
  assert.equal(gateway.stat("decisions_total.reason.queue_full"), 1);
  assert.equal(gateway.stat("queue_length"), 2);
});

test("bytes are bounded like requests", () => {
  const { gateway } = full({ queue_bytes: 5000 });
  const body = () => chat(prose(2000, random(serial++)));
  assert.ok(isHeld(gateway.send(body())) && isHeld(gateway.send(body())));
  assert.equal(details(gateway.send(body())), "warmroute_queue_full");
  assert.ok(isHeld(gateway.send(chat("short"))));
});

test("in a full queue a higher priority takes the place of the lowest one with the most work", () => {
  const { gateway } = full({ queue_limit: 3 });
  const low = { "x-warmroute-priority": "low" };
  const small = gateway.send(question(), { headers: low });
  const large = gateway.send(chat(prose(20_000, random(6))), { headers: low });
  const normal = gateway.send(question());
  const high = gateway.send(question(), { headers: { "x-warmroute-priority": "7" } });
  gateway.host.advance(20);
  assert.equal(details(large), "warmroute_queue_full");
  assert.ok([small, normal, high].every(isHeld));
  assert.equal(status(gateway.send(question(), { headers: low })), 429, "no lower one");
  assert.equal(gateway.stat("queue_length"), 3);
});

test("priorities go strictly first; bad ones are normal", () => {
  const { gateway, reports } = full();
  const priorities = ["-100", "low", "101", "high", "100"];
  const held = priorities.map((value) =>
    gateway.send(question(), { headers: { "x-warmroute-priority": value } }),
  );
  assert.deepEqual(orderOf(gateway, reports, held), [4, 3, 2, 1, 0]);
});

test("without a header, what the configuration says of its path or model", () => {
  const { gateway, reports } = full({
    high_priority: ["urgent/model"],
    low_priority: ["*/embeddings", "nightly"],
  });
  const model = (name: string, headers: Record<string, string> = {}) =>
    gateway.send({ ...question(), model: name }, { headers });
  const held = [
    gateway.send({ model: "m1", input: `text ${serial++}` }, { path: "/v1/embeddings?x=1" }),
    model("nightly"),
    model("m1"),
    model("urgent/model"),
    model("nightly", { "x-warmroute-priority": "20" }),
  ];
  const order = orderOf(gateway, reports, held);
  assert.deepEqual(order.slice(0, 3), [4, 3, 2]);
  assert.equal(order.length, 5);
});

test("a full queue makes place for a quiet tenant at the cost of the one that fills it", () => {
  const config = { affinity: { tenant_header: "x-tenant" } };
  const { gateway } = full({ queue_limit: 4 }, { config });
  const send = (tenant: string) => gateway.send(question(), { headers: { "x-tenant": tenant } });
  const loud = Array.from({ length: 6 }, () => send("loud"));
  assert.equal(loud.filter(isHeld).length, 4);
  const quiet = [send("quiet"), send("quiet"), send("quiet")] as const;
  gateway.host.advance(20);
  assert.deepEqual(quiet.map(isHeld), [true, true, false], "as much as the other, no more");
  assert.equal(loud.filter(isHeld).length, 2);
});

test("small work goes first, and what has waited long enough before it", () => {
  const { gateway, reports } = full();
  const large = gateway.send(chat(prose(60_000, random(7))));
  const small = gateway.send(question());
  assert.deepEqual(orderOf(gateway, reports, [large, small]), [1, 0]);
  reports[H1] = BUSY;
  gateway.host.advance(700);
  const aged = gateway.send(chat(prose(60_000, random(8))));
  gateway.host.advance(20_000);
  const late = gateway.send(question());
  assert.deepEqual(orderOf(gateway, reports, [aged, late]), [0, 1]);
});

test("a tenant that floods doesn't push a quiet one back", () => {
  const config = { affinity: { tenant_header: "x-tenant" } };
  const { gateway, reports } = full({}, { config });
  const flood = Array.from({ length: 20 }, () =>
    gateway.send(question(), { headers: { "x-tenant": "loud" } }),
  );
  const quiet = Array.from({ length: 3 }, () =>
    gateway.send(question(), { headers: { "x-tenant": "quiet" } }),
  );
  const order = orderOf(gateway, reports, [...flood, ...quiet]);
  assert.equal(order.length, 23);
  assert.ok(order.indexOf(22) <= 6, `${order}`);
});

test("a deadline that can't be met is refused at once, one that passes while held when it passes", () => {
  for (const header of ["x-request-timeout-ms", "x-envoy-expected-rq-timeout-ms"]) {
    const { gateway } = full();
    const held = gateway.send(question(), { headers: { [header]: "800" } });
    assert.ok(isHeld(held));
    gateway.host.advance(900);
    assert.equal(details(held), "warmroute_deadline");
    for (let i = 0; i < 40; i++) gateway.send(chat(prose(60_000, random(i + 20))));
    const refused = gateway.send(chat(prose(60_000, random(60))), { headers: { [header]: "5" } });
    assert.equal(details(refused), "warmroute_deadline", header);
    assert.equal(gateway.stat("rejected_total.cause.deadline"), 2);
  }
});

test("who can't meet its goal any more lets the others go first", () => {
  const { gateway, reports } = full();
  const missed = gateway.send(question(), { headers: { "x-slo-ttft-ms": "200" } });
  gateway.host.advance(400);
  const inTime = gateway.send(chat(prose(4000, random(9))), {
    headers: { "x-slo-ttft-ms": "60000" },
  });
  assert.deepEqual(orderOf(gateway, reports, [missed, inTime]), [1, 0]);
});

test("an idle server never queues anybody, whatever it reports of its cache", () => {
  const reports = { [H1]: { running: 0, waiting: 0, kv: 1 } };
  const gateway = reporting([H1], reports, { queue_limit: 0 });
  for (let i = 0; i < 5; i++) assert.ok(isSent(gateway.send(question()).answer()));
  assert.equal(gateway.stat("rejected_total.cause.queue_full"), 0);
});

test("the expected wait counts once the speed was learned", () => {
  const gateway = new Gateway([H1], { config: { admission: { max_wait_ms: 200 } } });
  const long = () => chat(prose(40_000, random(serial++)));
  const unlearned = Array.from({ length: 6 }, () => gateway.send(long()));
  assert.ok(unlearned.every(isSent));
  gateway.host.advance(3000);
  for (const exchange of unlearned) exchange.answer({ promptTokens: 10_000 });
  gateway.host.advance(100);
  assert.ok(recordOf(gateway, H1).prefillFactor > 0);
  const learned = Array.from({ length: 6 }, () => gateway.send(long()));
  assert.ok(isSent(learned[0] as Exchange));
  assert.ok(isHeld(learned[5] as Exchange));
  for (let round = 0; round < 200 && gateway.stat("queue_length") > 0; round++) {
    const sent = learned.find((exchange) => isSent(exchange) && !exchange.stream.finished);
    sent?.answer({ promptTokens: 10_000 });
    gateway.host.advance(20);
  }
  assert.ok(learned.every(isSent), "completions wake the others");
});

test("limits hold over all workers, and no worker starves another", () => {
  const { gateway, reports } = full({ queue_limit: 4 }, { workers: 4 });
  const held = Array.from({ length: 4 }, (_, worker) => gateway.send(question(), { worker }));
  assert.ok(held.every(isHeld));
  // Workers find each other's rows at a tick.
  gateway.host.advance(100);
  const refused = Array.from({ length: 4 }, (_, worker) => gateway.send(question(), { worker }));
  assert.deepEqual(refused.map(status), [429, 429, 429, 429]);
  assert.equal(gateway.stat("queue_length"), 4);
  assert.equal(orderOf(gateway, reports, held).length, 4);
  assert.equal(gateway.stat("queue_length"), 0);
});

test("one order over all workers: strictly by priority, then the more urgent", () => {
  const { gateway, reports } = full({}, { workers: 4 });
  const send = (worker: number, priority: string, bytes: number) =>
    gateway.send(chat(prose(bytes, random(serial++))), {
      worker,
      headers: { "x-warmroute-priority": priority },
    });
  const held = [
    send(0, "low", 20),
    send(0, "low", 9000),
    send(1, "normal", 60_000),
    send(2, "normal", 20),
    send(3, "high", 40_000),
    send(3, "low", 40_000),
  ];
  gateway.host.advance(100);
  assert.deepEqual(orderOf(gateway, reports, held), [4, 3, 2, 0, 1, 5]);
});

test("a quiet tenant at one worker isn't starved by a flood at the others", () => {
  const config = { affinity: { tenant_header: "x-tenant" } };
  const { gateway, reports } = full({}, { config, workers: 3 });
  const send = (tenant: string, worker: number) =>
    gateway.send(question(), { worker, headers: { "x-tenant": tenant } });
  const flood = Array.from({ length: 20 }, (_, i) => send("loud", i % 2));
  gateway.host.advance(500);
  const quiet = Array.from({ length: 4 }, () => send("quiet", 2));
  gateway.host.advance(50);
  const order = orderOf(gateway, reports, [...flood, ...quiet]);
  assert.equal(order.length, 24);
  assert.ok(order.indexOf(23) <= 14, `${order}`);
});

test("a worker that stands still keeps nobody from the room", () => {
  const { gateway, reports } = full({}, { workers: 2 });
  const high = gateway.send(question(), { headers: { "x-warmroute-priority": "high" } });
  const normal = gateway.send(question(), { worker: 1 });
  gateway.host.advance(100);
  assert.ok(isHeld(high) && isHeld(normal));
  // Its next is bound to wait: only the other's has room.
  reports[H1] = { running: 2, waiting: 62, kv: 0.1 };
  gateway.host.advance(700);
  assert.ok(isSent(high) && isSent(normal));
});

/** Two servers whose speed is known, 0.055 ms a token, and which report nothing. */
function learned(admission: Record<string, unknown> = {}): Gateway {
  const names = hostNames(2);
  const gateway = new Gateway(names, { config: { admission } });
  const isUnknown = (host: string) => !(recordOf(gateway, host).prefillFactor > 0);
  for (let round = 0; round < 20 && (round === 0 || names.some(isUnknown)); round++) {
    const sent = [1, 2].map(() => gateway.send(chat(prose(40_000, random(serial++)))));
    gateway.host.advance(560);
    for (const exchange of sent.filter(isSent)) exchange.answer({ promptTokens: 10_000 });
    gateway.host.advance(100);
  }
  assert.ok(!names.some(isUnknown));
  return gateway;
}

test("while every server would let a request wait it is held, and the shortest goes first", () => {
  const gateway = learned();
  const long = () => gateway.send(chat(prose(40_000, random(serial++))));
  const busy = [long(), long()];
  assert.ok(busy.every(isSent), "an idle server takes it at once");
  assert.equal(new Set(busy.map(({ target }) => target)).size, 2);
  const held = [long(), gateway.send(question())] as [Exchange, Exchange];
  assert.ok(held.every(isHeld), "no server is full, but none could start it soon");
  busy[1]?.answer({ promptTokens: 10_000 });
  gateway.host.advance(2);
  assert.ok(isSent(held[1]), "its completion lets the short one go");
  assert.equal(held[1].target, busy[1]?.target);
  assert.equal(gateway.stat("rejected_total.cause.queue_full"), 0);
});

test("one free server is enough: nothing is held", () => {
  const gateway = learned();
  const busy = gateway.send(chat(prose(60_000, random(serial++))));
  for (let i = 0; i < 3; i++) {
    const short = gateway.send(question());
    assert.ok(isSent(short));
    assert.notEqual(short.target, busy.target);
    short.answer();
    gateway.host.advance(20);
  }
});

test("late binding refuses nobody whom a server would take in time", () => {
  const gateway = learned({ queue_limit: 2 });
  const sent = Array.from({ length: 12 }, () => gateway.send(chat(prose(8000, random(serial++)))));
  assert.equal(sent.filter(isHeld).length, 2);
  assert.equal(sent.filter(isSent).length, 10);
});

test("a server's own 429 or 503 with retry-after is back-pressure, not a failure", () => {
  const names = hostNames(2);
  const gateway = new Gateway(names);
  const [first, second] = names as [string, string];
  for (const code of [429, 503]) {
    for (let i = 0; i < 20; i++) {
      const exchange = gateway.send(question());
      const isFirst = exchange.target === first;
      exchange.answer(isFirst ? { status: code, headers: { "retry-after": "2" } } : {});
    }
    gateway.host.advance(100);
    assert.equal(recordOf(gateway, first).failures, 0);
    const open = Array.from({ length: 6 }, () => gateway.send(question()));
    assert.deepEqual([...tally(open.map(({ target }) => target))], [[second, 6]], `${code}`);
    gateway.host.advance(4000);
    const after = Array.from({ length: 6 }, () => gateway.send(question()));
    assert.ok((tally(after.map(({ target }) => target)).get(first) ?? 0) > 0, "bounded");
    for (const exchange of [...open, ...after]) exchange.answer();
  }
});

test("a new configuration and an end of the root leave nobody behind", () => {
  const { gateway } = full();
  const held = Array.from({ length: 3 }, () => gateway.send(question()));
  const [root] = gateway.roots;
  root?.configure(Buffer.from(JSON.stringify({ hosts: [H1], admission: { enabled: false } })));
  gateway.host.advance(100);
  assert.ok(held.every(isSent));
  const other = full();
  const left = other.gateway.send(question());
  assert.ok(isHeld(left));
  other.gateway.roots[0]?.end();
  assert.ok(isSent(left));
});

test("shadow mode and admission.enabled: false hold nobody", () => {
  for (const config of [{ routing: { mode: "shadow" } }, { admission: { enabled: false } }]) {
    const { gateway } = full({}, { config });
    assert.ok(isSent(gateway.send(question())));
  }
});

test("heavy prompts are held to their share of the room, light ones go past them", () => {
  const names = hostNames(2);
  const reports = Object.fromEntries(names.map((name) => [name, { ...FREE, waiting: 40 }]));
  const gateway = reporting(names, reports, { heavy_prompt_tokens: 5000, heavy_share: 0.5 });
  const heavy = gateway.send(chat(prose(40_000, random(10))));
  assert.ok(isHeld(heavy));
  const light = gateway.send(question());
  gateway.host.advance(20);
  assert.ok(isSent(light));
  assert.ok(isHeld(heavy));
  for (const name of names) reports[name] = { ...FREE, waiting: 4 };
  gateway.host.advance(700);
  assert.ok(isSent(heavy));
});

test("5000 held: bounded memory, used again, and nobody is forgotten", () => {
  const { gateway, reports, free } = full({
    queue_limit: 5000,
    queue_timeout_ms: 60_000,
    late_binding_ms: 10_000,
  });
  const memory: number[] = [];
  for (let round = 0; round < 3; round++) {
    reports[H1] = BUSY;
    gateway.host.advance(700);
    const held = Array.from({ length: 5000 }, () => gateway.send(question()));
    assert.ok(held.every(isHeld));
    assert.equal(status(gateway.send(question())), 429);
    memory.push(gateway.roots[0]?.guest.memoryBytes ?? 0);
    free();
    for (let i = 0; i < 2000 && held.some(({ stream }) => !stream.finished); i++) {
      for (const exchange of held) {
        if (isSent(exchange) && !exchange.stream.finished) exchange.answer();
      }
      gateway.host.advance(10);
    }
    assert.ok(held.every(({ stream }) => stream.finished && !stream.localReply));
    assert.equal(gateway.stat("queue_length"), 0);
  }
  assert.equal(memory[2], memory[1]);
  assert.ok((memory[0] ?? 0) < 5000 * 16_384 + 64 * 1024 * 1024, `${memory[0]} bytes`);
});
