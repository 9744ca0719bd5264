import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import test, { after } from "node:test";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { buildClock, WallClock } from "./clock.ts";
import { ALIKE, type Answer, gateway, post, send } from "./harness.ts";
import { known, STATUS } from "./known.ts";
import { WatchedListener } from "./listener.ts";
import { settled, sum } from "./settled.ts";
import { until, wait } from "./until.ts";

/** A server whose metrics page and answers the test dictates. */
interface Puppet {
  address: string;
  /** Requests that it reports to have waiting: from 64 on it has no room. */
  waiting: number;
  kvUsage: number;
  /** Its metrics page hangs. */
  isSilent: boolean;
  /** What it answers instead of 200, with `retry-after: 1`. */
  status: number;
  /** Headers of the requests that came, in order. */
  seen: IncomingHttpHeaders[];
}

async function puppet(): Promise<Puppet> {
  const server = createServer((request, response) => {
    if (request.url === "/metrics") {
      if (self.isSilent) return;
      response.end(
        `vllm:num_requests_running 2\nvllm:num_requests_waiting ${self.waiting}\n` +
          `vllm:kv_cache_usage_perc ${self.kvUsage}\n`,
      );
      return;
    }
    request.resume();
    request.on("end", () => {
      if (request.url === "/health") return response.end();
      self.seen.push(request.headers);
      const headers = { "content-type": "application/json", "retry-after": "1" };
      response.writeHead(self.status, headers);
      response.end('{"usage":{"prompt_tokens":10,"completion_tokens":2}}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const self: Puppet = {
    address: `127.0.0.1:${port}`,
    waiting: 0,
    kvUsage: 0.1,
    isSilent: false,
    status: 200,
    seen: [],
  };
  return self;
}

/** Waits until every worker knows how many requests each server has waiting. */
const reported = (envoy: EnvoyProcess, ...waiting: number[]) =>
  known(envoy, `reports of ${waiting}`, (hosts) =>
    hosts.every((host, i) => host.waiting === waiting[i]),
  );

/** What all gateways of these tests have. */
const BASE = { ...ALIKE, status: STATUS };

const METRICS = { source: "hosts", interval_ms: 100, timeout_ms: 90, stale_after_ms: 20_000 };

let serial = 0;

function ask(envoy: EnvoyProcess, headers: Record<string, string> = {}): Promise<Answer> {
  const content = `Question ${serial++ * 7919} `.repeat(20);
  const body = { model: "m", messages: [{ role: "user", content }], max_tokens: 5 };
  return post(envoy.port, body, { headers, timeoutMs: 90_000 });
}

/** Of all pairs, or a sample of them, the share in which a lower priority came before a higher one. */
function inversions(priorities: number[]): number {
  let wrong = 0;
  let pairs = 0;
  for (let i = 0; i < priorities.length; i += 7) {
    for (let j = i + 1; j < priorities.length; j += 7) {
      if (priorities[i] === priorities[j]) continue;
      pairs++;
      if ((priorities[i] as number) < (priorities[j] as number)) wrong++;
    }
  }
  return wrong / pairs;
}

test("5,000 held by 4 workers: bounded memory, served by priority, leavers and all", async () => {
  const server = await puppet();
  const admission = { queue_limit: 5200, queue_timeout_ms: 80_000 };
  const envoy = await gateway(
    [server.address],
    { ...BASE, metrics: METRICS, admission },
    { workers: 4 },
  );
  server.waiting = 100;
  await reported(envoy, 100);
  const before = envoy.residentBytes();
  const open: Promise<Answer>[] = [];
  for (let i = 0; i < 5000; i++) {
    open.push(ask(envoy, { "x-warmroute-priority": `${(i % 3) - 1}` }));
    if (i % 250 === 249) await wait(20);
  }
  const gone = Array.from({ length: 100 }, () =>
    post(envoy.port, { model: "m", messages: [] }, { timeoutMs: 3000 }).catch(() => null),
  );
  await until("all of them", async () => (await sum(envoy, "warmroute_queue_length")) >= 5000);
  const perRequest = (envoy.residentBytes() - before) / 5000;
  assert.ok(perRequest < 128 * 1024, `${Math.round(perRequest)} bytes for each that is held`);
  await Promise.all(gone);
  await until("leavers leave", async () => (await sum(envoy, "warmroute_queue_length")) === 5000);
  server.waiting = 0;
  const answers = await Promise.all(open);
  assert.ok(answers.every(({ status }) => status === 200));
  const order = server.seen.map((headers) => Number(headers["x-warmroute-priority"]));
  assert.equal(order.length, 5000);
  const share = inversions(order);
  assert.ok(share < 0.02, `${(100 * share).toFixed(2)} % of pairs in the wrong order`);
  await settled(envoy);
});

test("a listener update while requests are held: each is served, nothing is left behind", async () => {
  const server = await puppet();
  const listener = new WatchedListener();
  const envoy = await gateway(
    [server.address],
    { ...BASE, metrics: METRICS, admission: { queue_timeout_ms: 60_000 } },
    { workers: 4, edit: listener.edit, drainSeconds: 60 },
  );
  await until("the listener", async () => (await ask(envoy).catch(() => null))?.status === 200);
  server.waiting = 100;
  await reported(envoy, 100);
  const held = Array.from({ length: 40 }, () => ask(envoy));
  await until("all held", async () => (await sum(envoy, "warmroute_queue_length")) === 40);
  listener.replace('"queue_timeout_ms":60000', '"queue_timeout_ms":50000');
  await listener.taken(envoy);
  await wait(1000);
  const late = Array.from({ length: 10 }, () => ask(envoy));
  await wait(500);
  server.waiting = 0;
  for (const answer of await Promise.all([...held, ...late])) assert.equal(answer.status, 200);
  await settled(envoy);
});

const skip = buildClock() ?? false;

for (const byMs of [3_600_000, -3_600_000]) {
  test(`the machine's clock is set by ${byMs} ms: who is held is held no longer or shorter, and reports count`, {
    skip,
  }, async () => {
    const server = await puppet();
    const clock = new WallClock(0);
    const admission = { queue_timeout_ms: 2000 };
    const envoy = await gateway(
      [server.address],
      { ...BASE, metrics: METRICS, admission },
      { workers: 2, env: clock.env },
    );
    server.waiting = 100;
    await reported(envoy, 100);
    const held = Array.from({ length: 8 }, () => ask(envoy));
    await wait(300);
    clock.set(byMs);
    for (const { status, headers } of await Promise.all(held)) {
      assert.equal(status, 429);
      assert.equal(headers["x-warmroute-reason"], "queue_timeout");
      assert.ok(Number(headers["x-warmroute-queued-ms"]) >= 2000);
    }
    server.waiting = 0;
    await reported(envoy, 0);
    assert.equal((await ask(envoy)).status, 200);
    const isSet = (time: unknown) =>
      Math.abs(Date.parse(String(time)) - Date.now() - byMs) < 600_000;
    await until("Envoy's wall clock to follow", async () =>
      (await envoy.accessLog()).some(({ time }) => isSet(time)),
    );
    await settled(envoy);
  });
}

test("4 workers: reports that grew stale don't mean full: what was held goes, and what comes (BC-34)", async () => {
  const server = await puppet();
  const metrics = { ...METRICS, stale_after_ms: 3000 };
  const admission = { queue_timeout_ms: 80_000 };
  const envoy = await gateway([server.address], { ...BASE, metrics, admission }, { workers: 4 });
  server.waiting = 100;
  await reported(envoy, 100);
  const held = Array.from({ length: 20 }, () => ask(envoy));
  await until("all held", async () => (await sum(envoy, "warmroute_queue_length")) === 20);
  server.isSilent = true;
  for (const answer of await Promise.all(held)) assert.equal(answer.status, 200);
  for (let i = 0; i < 8; i++) assert.equal((await ask(envoy)).status, 200);
  await settled(envoy);
});

test("4 workers: only the server within its limits gets requests, until another's report is good (BC-36)", async () => {
  const servers = [await puppet(), await puppet(), await puppet()] as [Puppet, Puppet, Puppet];
  const hosts = servers.map(({ address }) => address);
  const admission = { max_kv_usage: 0.9, max_waiting: 10 };
  const envoy = await gateway(hosts, { ...BASE, metrics: METRICS, admission }, { workers: 4 });
  servers[0].kvUsage = 0.95;
  servers[1].waiting = 12;
  const counts = () => servers.map(({ seen }) => seen.length);
  const grow = async () => {
    const before = counts();
    for (let i = 0; i < 20; i++) assert.equal((await ask(envoy)).status, 200);
    return counts().map((count, i) => count - (before[i] as number));
  };
  await until("reports", async () => (await grow())[2] === 20);
  servers[1].waiting = 0;
  await until("the other's report", async () => ((await grow())[1] as number) > 0);
  assert.equal((await grow())[0], 0);
  await settled(envoy);
});

test("tenants' work has a label of its own, by which the access log knows them too", async () => {
  const server = await puppet();
  const admission = { tenant_header: "x-tenant" };
  const envoy = await gateway(
    [server.address],
    { ...BASE, metrics: METRICS, admission },
    { workers: 2 },
  );
  const hashes = new Set<string | undefined>();
  for (let i = 0; i < 40; i++) {
    const { headers } = await ask(envoy, { "x-tenant": `secret-${i % 2}` });
    hashes.add(headers["x-warmroute-tenant"] as string);
  }
  assert.equal(hashes.size, 2);
  for (const tenant of hashes) {
    assert.match(tenant ?? "", /^[0-9a-f]{16}$/);
    await until(`work of ${tenant}`, async () => {
      const [sample] = (await envoy.stats()).find("warmroute_tenant_work_ms_total", {
        tenant: tenant ?? "",
      });
      return (sample?.value ?? 0) > 0;
    });
  }
  const page = await envoy.admin("/stats/prometheus");
  assert.match(page, /warmroute_tenant_work_ms_total\{[^}]*tenant="other"[^}]*\} 0/);
  assert.doesNotMatch(page, /secret/);
});

test("a server's 429 with retry-after is tried elsewhere, and passed on when all say so", async () => {
  const servers = [await puppet(), await puppet()] as [Puppet, Puppet];
  const hosts = servers.map(({ address }) => address);
  const configuration = { ...BASE, metrics: METRICS };
  const envoy = await gateway(hosts, configuration, { workers: 1 });
  const usable = async () => {
    const answer = await send({ port: envoy.port, path: `${STATUS.path}.json` });
    const { hosts } = JSON.parse(`${answer.body}`) as { hosts: { usable: boolean }[] };
    return hosts.map((host) => host.usable);
  };
  await reported(envoy, 0, 0);
  servers[0].status = 429;
  let sent = 0;
  // Each time it is left alone for a second or two, then asked again: back-pressure, never a failure.
  for (let asked = 0; asked < 5; asked++) {
    while (servers[0].seen.length <= asked && sent < 200) {
      assert.equal((await ask(envoy)).status, 200);
      sent++;
      if (servers[0].seen.length <= asked) await wait(100);
    }
    assert.deepEqual(await usable(), [true, true], `after ${asked + 1} such answers`);
  }
  assert.ok(servers[0].seen.length >= 5);
  assert.equal(servers[1].seen.length, sent);
  servers[1].status = 429;
  const refused = await ask(envoy);
  assert.equal(refused.status, 429);
  assert.equal(refused.headers["retry-after"], "1");
  for (const server of servers) server.status = 200;
  await wait(1500);
  for (let i = 0; i < 12; i++) assert.equal((await ask(envoy)).status, 200);
  await settled(envoy);
});
