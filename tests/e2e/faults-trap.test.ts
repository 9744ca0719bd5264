/** The filter's VM traps, in a build that does so on request: what Envoy does to streams, and what recovers. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import test, { before } from "node:test";
import { ROOT } from "../../tools/paths.ts";
import { assertSettled, figure, listed, round, servers, shipped, until, wait } from "./faults.ts";
import { post } from "./harness.ts";
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

test("a trap ends the worker's open streams; every later request is served (BC-37)", async () => {
  const fleet = await servers(3);
  const envoy = await shipped(fleet.addresses, {}, { workers: 1, wasm: TRAP_WASM });
  const traffic = new Traffic(envoy.port, { clients: 12, tokens: 40, pauseMs: 20 });
  const figures: string[] = [];
  for (const [index, place] of PLACES.entries()) {
    await wait(500);
    const trapMs = traffic.now();
    const messages = [{ role: "user", content: "Trap" }];
    await post(
      envoy.port,
      { model: "test-model", messages, stream: true, max_tokens: 5 },
      { headers: { "x-test-trap": place } },
    ).catch(() => null);
    const traps = () => envoy.log().match(/RuntimeError: unreachable/g)?.length ?? 0;
    await until("the trap", () => traps() === index + 1);
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
  const stoppedMs = performance.now();
  assert.equal((await listed(envoy)).length, 3, "the filter decides again");
  const reloads = await envoy.admin("/stats?filter=vm_reload_success");
  assert.match(reloads, new RegExp(`vm_reload_success: ${PLACES.length}`));
  await assertSettled(envoy);
  const settled = `in-flight zero ${round(performance.now() - stoppedMs)} ms after the last request`;
  figure("VM traps", traffic, `${figures.join("; ")}; ${settled}`);
});
