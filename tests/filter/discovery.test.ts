import assert from "node:assert/strict";
import { test } from "node:test";
import type { Call } from "../host/calls.ts";
import { chat, Gateway, hostNames, listed } from "./gateway.ts";
import { knownHosts, slotOf } from "./records.ts";

interface Member {
  address: string;
  priority?: number;
  health?: Record<string, unknown>;
}

/** Envoy's `/clusters?format=json`. */
function clusters(members: (Member | string)[], name = "llm"): string {
  const statuses = members.map((member) => {
    const {
      address,
      health = {},
      priority = 0,
    } = typeof member === "string" ? { address: member } : member;
    const [, ip, port] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
    return {
      address: { socket_address: { address: ip, port_value: Number(port) } },
      stats: [{ name: "rq_active", type: "GAUGE", value: "1" }],
      ...(priority > 0 ? { priority } : {}),
      health_status: { eds_health_status: "HEALTHY", ...health },
    };
  });
  return JSON.stringify({
    cluster_statuses: [
      { name: "other", host_statuses: [] },
      { name, added_via_api: false, host_statuses: statuses },
    ],
  });
}

interface World {
  gateway: Gateway;
  /** What the admin interface lists; undefined: it doesn't answer. */
  members: (Member | string)[] | undefined;
}

function discovering(members: (Member | string)[], hosts: string[] = [], workers = 1): World {
  const world: Partial<World> = { members };
  world.gateway = new Gateway(hosts, {
    workers,
    config: { discovery: { source: "envoy_admin", interval_ms: 1000 } },
    onCall: (call: Call) => {
      if (call.cluster !== "envoy_admin") call.respond(404);
      else if (world.members === undefined) call.refuse();
      else call.respond(200, clusters(world.members));
    },
  });
  world.gateway.host.advance(1500);
  return world as World;
}

let serial = 0;

const NAMES = hostNames(3);

test("the hosts of the cluster become known, leave and return, in all workers", () => {
  const world = discovering(NAMES, [], 3);
  const { gateway } = world;
  const seen = (worker: number) =>
    gateway
      .send(chat(`hi ${worker} ${serial++ * 7919}`), { worker })
      .answer()
      .stream.property("warmroute.choice") ?? "";
  for (const worker of [0, 1, 2]) assert.equal(seen(worker).split(",").length, 3);
  world.members = NAMES.slice(1);
  gateway.host.advance(2500);
  for (const worker of [0, 1, 2]) assert.ok(!seen(worker).includes(NAMES[0] as string));
  world.members = [...NAMES, "[fd00::7]:8000"];
  gateway.host.advance(2500);
  assert.equal(knownHosts(gateway, [...NAMES, "[fd00::7]:8000"]).length, 4);
});

test("each of Envoy's reasons not to send to a host keeps it out of every list", () => {
  for (const health of [
    { failed_active_health_check: true },
    { failed_outlier_check: true },
    { pending_dynamic_removal: true },
    { excluded_via_immediate_hc_fail: true },
    { active_hc_timeout: true },
    { eds_health_status: "UNHEALTHY" },
    { eds_health_status: "DRAINING" },
    { eds_health_status: "TIMEOUT" },
  ]) {
    const [first, ...others] = NAMES as [string, string, string];
    const world = discovering([{ address: first, health }, ...others]);
    assert.deepEqual(listed(world.gateway), others, JSON.stringify(health));
    world.members = NAMES;
    world.gateway.host.advance(2500);
    assert.deepEqual(listed(world.gateway), NAMES);
  }
});

const DOWN = { failed_active_health_check: true };

for (const [what, spare] of [
  ["of a higher priority", { priority: 1 }],
  ["degraded by EDS", { health: { eds_health_status: "DEGRADED" } }],
  ["degraded by its health check", { health: { failed_active_degraded_check: true } }],
] as [string, Partial<Member>][]) {
  test(`hosts ${what} serve when no better one can: last in the list until then`, () => {
    const [first, second, last] = NAMES as [string, string, string];
    const better = [first, second];
    const world = discovering([...better, { address: last, ...spare }]);
    const { gateway } = world;
    const send = () => gateway.send(chat(`spare ${serial++ * 7919}`));
    // However much there is to do.
    const open = Array.from({ length: 60 }, send);
    for (const { choice } of open) assert.equal(choice[2], last);
    for (const exchange of open) exchange.answer();
    world.members = [
      { address: first, health: DOWN },
      { address: second, health: DOWN },
      { address: last, ...spare },
    ];
    gateway.host.advance(2500);
    assert.deepEqual(send().answer().choice, [last]);
    // Those that Envoy finds well but the filter sets aside make way, too.
    world.members = [...better, { address: last, ...spare }];
    gateway.host.advance(2500);
    for (let i = 0; i < 20; i++) {
      const exchange = send();
      exchange.answer(exchange.target === last ? {} : { status: 500 });
    }
    assert.deepEqual(send().answer().choice, [last]);
  });
}

test("a host that leaves and returns while requests are there: counted anew, and none counted twice or below zero", () => {
  const world = discovering(NAMES);
  const { gateway } = world;
  const ask = () => Array.from({ length: 12 }, (_, i) => gateway.send(chat(`q ${serial++} ${i}`)));
  const [flaps = ""] = NAMES;
  const before = ask();
  const there = before.filter(({ target }) => target === flaps).length;
  gateway.host.advance(100);
  assert.ok(there > 0);
  assert.equal(gateway.inFlight(flaps), there);
  world.members = NAMES.slice(1);
  gateway.host.advance(2500);
  world.members = NAMES;
  gateway.host.advance(2500);
  const after = ask();
  const again = after.filter(({ target }) => target === flaps).length;
  const check = (least: number) => {
    gateway.host.advance(100);
    const count = gateway.inFlight(flaps);
    assert.ok(count >= least && count <= least + there, `${count} in flight`);
  };
  check(again);
  for (const exchange of before) exchange.answer();
  check(again);
  for (const exchange of after) exchange.answer();
  gateway.host.advance(100);
  for (const host of NAMES) assert.equal(gateway.inFlight(host), 0);
  assert.equal(gateway.stat("internal_errors_total"), 0);
});

test("requests that are held go to hosts that come, and to Envoy's own choice when all have left", () => {
  const [full, fresh] = NAMES as [string, string];
  let members = [full];
  const gateway = new Gateway([], {
    config: { discovery: { source: "envoy_admin" }, metrics: { interval_ms: 500 } },
    onCall: (call: Call) => {
      const waiting = call.headers.get(":authority") === full ? 90 : 0;
      if (call.cluster === "envoy_admin") call.respond(200, clusters(members));
      else call.respond(200, `vllm:num_requests_running 2\nvllm:num_requests_waiting ${waiting}\n`);
    },
  });
  gateway.host.advance(2000);
  const hold = () => {
    const held = Array.from({ length: 3 }, () => gateway.send(chat(`held ${serial++}`)));
    assert.equal(gateway.stat("queue_length"), 3);
    return held;
  };
  for (const [next, target] of [
    [[fresh], fresh],
    [[], undefined],
  ] as [string[], string | undefined][]) {
    members = [full];
    gateway.host.advance(2500);
    const held = hold();
    members = next;
    gateway.host.advance(2500);
    for (const exchange of held) {
      assert.deepEqual([exchange.stream.request.sentEnd, exchange.target], [true, target]);
      if (target) exchange.answer();
    }
    assert.equal(gateway.stat("queue_length"), 0);
  }
});

test("a host that is there in several priorities is of the lowest one that is well", () => {
  const [first, second] = NAMES as [string, string];
  const world = discovering([
    { address: first, priority: 1 },
    { address: second, priority: 1 },
    second,
    { address: second, priority: 2, health: DOWN },
  ]);
  for (let i = 0; i < 20; i++) {
    const { choice } = world.gateway.send(chat(`which ${serial++ * 7919}`)).answer();
    assert.deepEqual(choice, [second, first]);
  }
});

test("discovery's word wins over configured hosts: what the cluster hasn't can't be reached", () => {
  const world = discovering(NAMES.slice(0, 2), NAMES);
  assert.deepEqual(listed(world.gateway), NAMES.slice(0, 2));
});

test("while the admin interface is away, or answers something else, the last word holds", () => {
  const world = discovering(NAMES);
  world.members = undefined;
  world.gateway.host.advance(20_000);
  assert.deepEqual(listed(world.gateway), NAMES);
  assert.ok(world.gateway.stat("scrape_failures_total") > 0);
});

test("a slot that another host takes over starts afresh", () => {
  const world = discovering(NAMES);
  const { gateway } = world;
  const long = chat("a long question about ferries ".repeat(60));
  const warm = gateway.send(long).answer().target as string;
  const fresh = "10.0.0.9:8000";
  world.members = [...NAMES.filter((host) => host !== warm), fresh];
  gateway.host.advance(3000);
  assert.ok(slotOf(gateway, fresh) >= 0);
  const next = gateway.send(long).answer();
  assert.equal(next.debug("cached-tokens"), "0");
});

test("a new host without any report gets its first request soon (BC-21)", () => {
  const world = discovering(hostNames(4));
  const { gateway } = world;
  const joined = "10.0.0.5:8000";
  for (let i = 0; i < 20; i++) gateway.send(chat(`before ${i * 7919}`)).answer();
  world.members = [...hostNames(4), joined];
  gateway.host.advance(2500);
  const targets = Array.from(
    { length: 40 },
    (_, i) => gateway.send(chat(`after ${i * 7919}`)).answer().target,
  );
  assert.ok(targets.includes(joined));
});
