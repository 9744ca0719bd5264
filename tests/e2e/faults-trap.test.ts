/** The filter's VM traps, in a build that does so on request: what Envoy does to streams, and what recovers. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import test, { before } from "node:test";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { ROOT } from "../../tools/paths.ts";
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
import { inParallel, post } from "./harness.ts";
import { WatchedListener } from "./listener.ts";
import { errorsOf, type Outcome, Traffic } from "./traffic.ts";

const TRAP_WASM = join(ROOT, "build", "tests", "trap.wasm");

before(() => {
  const asc = join(ROOT, "node_modules", "assemblyscript", "bin", "asc.js");
  const options = ["--config", "asconfig.json", "--target", "release", "--outFile", TRAP_WASM];
  const { status, stderr } = spawnSync(
    process.execPath,
    [asc, "tests/e2e/assembly/trap.ts", ...options],
    { cwd: ROOT, encoding: "utf8" },
  );
  assert.equal(status, 0, stderr);
});

/** Where a request can order a trap. */
const PLACES = ["request headers", "request body", "response headers", "response body", "tick"];

/** Orders a trap, and waits for it; what became of the request that ordered it, 0 where it was cut. */
async function trap(envoy: EnvoyProcess, place: string, count = 1): Promise<number> {
  const messages = [{ role: "user", content: "Trap" }];
  const body = { model: "test-model", messages, stream: true, max_tokens: 5 };
  const answer = await post(envoy.port, body, { headers: { "x-test-trap": place } }).catch(
    () => null,
  );
  const traps = () => envoy.log().match(/RuntimeError: unreachable/g)?.length ?? 0;
  await until("the trap", () => traps() === count);
  return answer?.status ?? 0;
}

test("a trap ends the worker's open streams; every later request is served (BC-37)", async () => {
  const fleet = await servers(3);
  const envoy = await shipped(fleet.addresses, {}, { workers: 1, wasm: TRAP_WASM });
  const traffic = new Traffic(envoy.port, { clients: 12, tokens: 40, pauseMs: 20 });
  const figures: string[] = [];
  for (const [index, place] of PLACES.entries()) {
    await wait(500);
    const trapMs = traffic.now();
    await trap(envoy, place, index + 1);
    const openMs = traffic.now();
    const good = ({ status }: Outcome) => status === 200;
    await until("later requests", () => traffic.since(openMs).filter(good).length > 20);
    // What was open when the VM died ends with it: Envoy keeps no stream of a failed VM.
    const open = traffic.outcomes.filter((o) => o.sentMs < openMs && o.endedMs > trapMs);
    const cut = open.filter(({ complete, status }) => !complete || status !== 200).length;
    // A new VM waits for some milliseconds, longer the more often it had to; once it serves none is refused.
    const later = traffic.since(openMs);
    const firstGoodMs = Math.min(...later.filter(good).map(({ endedMs }) => endedMs));
    const refused = later.filter((outcome) => !good(outcome));
    assert.ok(
      refused.every(({ sentMs }) => sentMs < firstGoodMs),
      `refused after the new VM had served: ${errorsOf(refused)}`,
    );
    figures.push(`at ${place} ${cut} open ones cut, ${refused.length} later ones refused`);
  }
  await traffic.stop();
  // Lost are only those that the failed VM's streams had in their hands: Envoy answers them itself.
  for (const { status } of traffic.lost()) assert.equal(status, 503);
  const failed = (await envoy.accessLog()).filter(({ status }) => status === 503);
  assert.deepEqual([...new Set(failed.map(({ details }) => details))], ["wasm_fail_stream"]);
  assert.equal((await listed(envoy)).length, 3, "the filter decides again");
  const reloads = await envoy.admin("/stats?filter=vm_reload_success");
  assert.match(reloads, new RegExp(`vm_reload_success: ${PLACES.length}`));
  const settledMs = await assertSettled(envoy);
  const settled = `in-flight zero ${round(settledMs)} ms after the last request`;
  figure("VM traps", traffic, `${figures.join("; ")}; ${settled}`);
});

test("requests that wait for room when a VM traps: those that come later are served, and the queue is empty again", async () => {
  const fleet = await servers(3, { engine: { maxRunning: 2 } });
  const envoy = await shipped(
    fleet.addresses,
    { admission: { max_waiting: 2 } },
    { workers: 1, wasm: TRAP_WASM },
  );
  const held = async () => (await envoy.stats()).sum("warmroute_queue_length");
  // Nobody comes back to those that are held: their clients give up.
  const before = new Traffic(envoy.port, { clients: 48, tokens: 24, timeoutMs: 8000 });
  await until("a queue", async () => (await held()) > 5);
  await trap(envoy, "request headers");
  const after = new Traffic(envoy.port, { clients: 4, tokens: 8 });
  await until("later requests", () => after.since(0).length > 20);
  await before.stop();
  await after.stop();
  assertNothingLost(after);
  const given = before.lost().filter(({ status }) => status === 0).length;
  figure("VM trap while requests are held", before, `${given} clients gave up`);
  await assertSettled(envoy);
});

/** As GUARANTEES.md says: open streams outlive a trap, and what only the filter takes from clients is taken before it. */
const failOpen = (yaml: string) =>
  yaml.replace(/failure_policy: FAIL_RELOAD\n.*reload_config:.*\n/, "fail_open: true\n").replace(
    /^( *)stream_idle_timeout: .*\n/m,
    `$&$1early_header_mutation_extensions:
$1  - name: routing_header
$1    typed_config:
$1      "@type": type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation
$1      mutations: [{ remove: x-gateway-destination-endpoint }]
`,
  );

for (const place of ["request body", "response headers", "tick"]) {
  test(`fail_open: a trap at ${place} loses and cuts nothing; Envoy chooses until the listener is updated`, async () => {
    const fleet = await servers(3);
    const listener = new WatchedListener();
    const envoy = await shipped(
      fleet.addresses,
      {},
      { workers: 1, wasm: TRAP_WASM, edit: (yaml) => listener.edit(failOpen(yaml)) },
    );
    const traffic = new Traffic(envoy.port, { clients: 12, tokens: 40, pauseMs: 20 });
    await until("traffic", () => traffic.outcomes.length > 20);
    assert.equal(await trap(envoy, place), 200);
    const openMs = traffic.now();
    await until("later requests", () => traffic.since(openMs).length > 40);
    await traffic.stop();
    const open = traffic.outcomes.filter((o) => o.sentMs < openMs && o.endedMs > openMs).length;
    figure(`VM trap at ${place}, fail_open`, traffic, `${open} were open`);
    assertNothingLost(traffic);
    assert.equal(traffic.broken().length, 0);
    assert.deepEqual(await listed(envoy), [], "the filter decides no more");
    // A client's own choice still isn't heeded.
    const [host = ""] = fleet.addresses;
    const seen = new Set<string | undefined>();
    await inParallel(Array.from({ length: 32 }), 8, async (_none, i) => {
      const messages = [{ role: "user", content: `${i}` }];
      const { headers } = await post(
        envoy.port,
        { model: "test-model", messages, max_tokens: 1 },
        { headers: { "x-gateway-destination-endpoint": host } },
      );
      seen.add(String(headers["x-served-by"]));
    });
    assert.ok(seen.size > 1, `all 32 went to ${[...seen]}`);
    // Any change will do.
    listener.replace(/"stale_after_ms":1500/, '"stale_after_ms":1600');
    await until("the filter's return", async () => (await listed(envoy)).length === 3);
  });
}
