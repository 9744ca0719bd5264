/** Metrics pages and Envoy's admin interface that are gone, slow, or lie, under load. */
import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import test, { after } from "node:test";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import {
  assertNothingLost,
  assertSettled,
  figure,
  listed,
  round,
  servers,
  shipped,
  until,
  wait,
} from "./faults.ts";
import { Traffic } from "./traffic.ts";

test("metrics pages that are gone, slow or broken: nothing is lost, and they count again at once", async () => {
  const fleet = await servers(3);
  const envoy = await shipped(fleet.addresses);
  const stale = async () => (await envoy.stats()).sum("warmroute_stale_hosts");
  await until("reports", async () => (await stale()) === 0);
  const traffic = new Traffic(envoy.port, { clients: 24 });
  await fleet.fault(0, { kind: "hang", scope: "metrics" });
  await fleet.fault(1, { kind: "reset", scope: "metrics" });
  await fleet.fault(2, { kind: "status", status: 500, scope: "metrics" });
  const staleMs = await until("all of them stale", async () => (await stale()) === 3);
  await wait(500);
  for (let i = 0; i < 3; i++) await fleet.fault(i, { kind: "clear" });
  const backMs = await until("reports again", async () => (await stale()) === 0);
  await traffic.stop();
  figure("all metrics pages gone", traffic, `stale after ${round(staleMs)} ms`, backMs);
  assertNothingLost(traffic);
  assert.equal(traffic.broken().length, 0);
  await assertSettled(envoy);
});

const LIES: [what: string, page: string][] = [
  ["that it is idle", "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n"],
  ["that it is full", "vllm:num_requests_waiting 100000\nvllm:kv_cache_usage_perc 1\n"],
  [
    "nonsense",
    "vllm:num_requests_running 1e308\nvllm:num_requests_waiting -5\nvllm:kv_cache_usage_perc NaN\n",
  ],
  ["that its cache holds nothing", 'vllm:cache_config_info{block_size="1",num_gpu_blocks="1"} 1\n'],
];

test("metrics that lie: nothing is lost, whatever one server says", async () => {
  const fleet = await servers(3);
  const envoy = await shipped(fleet.addresses);
  for (const [what, body] of LIES) {
    await fleet.fault(1, { kind: "status", status: 200, body, scope: "metrics" });
    await wait(600);
    const before = fleet.stats().map(({ requests }) => requests);
    const traffic = new Traffic(envoy.port, { clients: 24 });
    const counts = () => fleet.stats().map(({ requests }, i) => requests - (before[i] as number));
    await until(`requests to the others, while one says ${what}`, () => {
      const [first = 0, , third = 0] = counts();
      return first > 0 && third > 0 && traffic.outcomes.length >= 400;
    });
    await traffic.stop();
    const got = counts();
    figure(`one of 3 says ${what}`, traffic, `the servers got ${got.join(", ")}`);
    assertNothingLost(traffic);
    const share = (got[1] as number) / got.reduce((sum, count) => sum + count);
    assert.ok(share < 0.67, `it got ${share} of the requests`);
    await fleet.fault(1, { kind: "clear" });
  }
  await assertSettled(envoy);
});

/** What stands between the filter and the admin interface, and how it behaves. */
type Manners = "honest" | "gone" | "slow" | "html" | "cut short";

test("an admin interface that is gone, slow or talks nonsense: the hosts stay as they were last known", async () => {
  let adminPort = 0;
  let manners: Manners = "honest";
  const open = new Set<Socket>();
  const between = createServer(async (request, response) => {
    const answer = await fetch(`http://127.0.0.1:${adminPort}${request.url}`).catch(() => null);
    const text = (await answer?.text()) ?? "";
    if (manners === "gone") request.socket.destroy();
    else if (manners === "slow") setTimeout(() => response.end(text), 2000).unref();
    else respond(response, manners, text);
  });
  between.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  await new Promise<void>((resolve) => between.listen(0, "127.0.0.1", resolve));
  after(() => {
    between.close();
    for (const socket of open) socket.destroy();
  });
  const { port } = between.address() as AddressInfo;
  const fleet = await servers(3);
  // Until the admin's own port is known the one between has nothing to say.
  const envoy = await shipped(
    fleet.addresses,
    {},
    {
      edit: (yaml) => {
        adminPort = Number(/^admin:[\s\S]*?port_value: (\d+)/m.exec(yaml)?.[1]);
        const at = yaml.lastIndexOf(`port_value: ${adminPort}`);
        return `${yaml.slice(0, at)}port_value: ${port}${yaml.slice(at + `port_value: ${adminPort}`.length)}`;
      },
    },
  );
  const traffic = new Traffic(envoy.port, { clients: 12 });
  for (const next of ["gone", "slow", "html", "cut short"] as const) {
    manners = next;
    await wait(700);
    assert.equal((await listed(envoy)).length, 3, next);
  }
  // The admin is away and a server dies: what the filter sees itself is enough.
  manners = "gone";
  await fleet.servers[2]?.kill();
  const gone = fleet.addresses[2] as string;
  // What isn't heard is tried last; only what fails often enough, as few requests as that takes, leaves the lists, too.
  const asideMs = await until("its leave", async () => !(await preferred(envoy)).has(gone));
  await wait(300);
  manners = "honest";
  await fleet.servers[2]?.revive();
  const backMs = await until("its return", async () => (await preferred(envoy)).has(gone));
  await traffic.stop();
  figure(
    "admin gone",
    traffic,
    `a server that died then was left alone after ${round(asideMs)} ms`,
    backMs,
  );
  assertNothingLost(traffic);
  await assertSettled(envoy);
});

let asked = 0;

/** The servers that come first in the lists of new conversations. */
async function preferred(envoy: EnvoyProcess): Promise<Set<string | undefined>> {
  const first = new Set<string | undefined>();
  for (let i = 0; i < 12; i++) first.add((await listed(envoy, `Who is there, ${asked++}?`))[0]);
  return first;
}

function respond(response: ServerResponse, manners: Manners, text: string): void {
  if (manners === "html") response.end("<!doctype html><html><body>Sign in</body></html>");
  else if (manners === "cut short") response.end(text.slice(0, text.length / 2));
  else response.end(text);
}
