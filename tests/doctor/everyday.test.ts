import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import test, { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { examine } from "../../tools/doctor/examine.ts";
import type { Finding } from "../../tools/doctor/finding.ts";
import { operators, STATUS_PATH } from "../../tools/envoy/operators.ts";
import { freePorts } from "../../tools/envoy/ports.ts";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { ROOT } from "../../tools/paths.ts";
import { gateway, merge, post } from "../e2e/harness.ts";
import { startServers } from "../llm/fleet.ts";
import { bypass, MISTAKES } from "./errors.ts";

const fleet = await startServers(3, { timeScale: 50 });
after(() => fleet.stop());

/** Everything has to be told within a minute; it is told within seconds. */
const NOTICED_MS = 60_000;
const WATCH_MS = 1000;

let serial = 0;

async function ask(port: number, headers: Record<string, string> = {}): Promise<void> {
  const content = `Question ${serial++}`;
  const body = { model: "m", messages: [{ role: "user", content }], max_tokens: 2 };
  assert.equal((await post(port, body, { headers })).status, 200);
}

/** What is found once it is as wanted; what is found last, where that is in vain. */
async function once<T>(look: () => Promise<T>, isWanted: (found: T) => boolean): Promise<T> {
  const deadline = Date.now() + NOTICED_MS;
  for (;;) {
    const found = await look();
    if (isWanted(found) || Date.now() > deadline) return found;
  }
}

const adminOf = ({ adminPort }: EnvoyProcess) => `http://127.0.0.1:${adminPort}`;

/** `npm run doctor` without npm. */
function doctor(...args: string[]) {
  const program = ["--import", "tsx", "tools/doctor/main.ts", ...args];
  return new Promise<{ status: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, program, { cwd: ROOT }, (error, stdout, stderr) =>
      resolve({ status: error?.code ?? 0, stdout, stderr }),
    );
  });
}

test("at debug level the log tells what each server would take", async () => {
  const envoy = await gateway(fleet.addresses);
  await ask(envoy.port);
  assert.doesNotMatch(envoy.log(), / prefill of /);
  await fetch(`${adminOf(envoy)}/logging?wasm=debug`, { method: "POST" });
  const price = String.raw`127\.0\.0\.1:\d+ \d+ ms = \d+ wait \+ \d+ prefill of \d+ \+ \d+ answer`;
  const line = new RegExp(`warmroute: \\d+ tokens, cold: ${price}.* \\| ${price}.* \\| ${price}`);
  for (let i = 0; i < 100 && !line.test(envoy.log()); i++) {
    await ask(envoy.port);
    await sleep(50);
  }
  assert.match(envoy.log(), line);
  await envoy.stop();
});

test("the doctor finds nothing wrong with what ships", async () => {
  const [port = 0] = await freePorts(1);
  const envoy = await gateway(
    fleet.addresses,
    { discovery: { source: "envoy_admin" }, metrics: { source: "hosts" } },
    { edit: (yaml) => operators(yaml, port, STATUS_PATH) },
  );
  for (let i = 0; i < 30; i++) await ask(envoy.port);
  const { status, stdout } = await once(
    () => doctor("--admin", adminOf(envoy), "--seconds", "2"),
    (found) => found.status === 0 && found.stdout.includes(" 0 warnings"),
  );
  assert.equal(status, 0, stdout);
  assert.match(stdout, /ok {2} +Envoy +version \d+\.\d+\.\d+, live/);
  assert.match(stdout, /servers +llm: 3, all healthy/);
  assert.match(stdout, /status page +operators: \/status, on loopback/);
  assert.match(stdout, /\d+ ok, 0 warnings, 0 failures/);
  const filter = /^ {18}# <filter>\n[\s\S]*?^ {18}# <\/filter>\n/m;
  const bare = await gateway(fleet.addresses, {}, { edit: (yaml) => yaml.replace(filter, "") });
  const without = await doctor("--admin", adminOf(bare), "--seconds", "0");
  assert.equal(without.status, 1);
  assert.match(without.stdout, /FAIL {2}filter +no listener has warmroute/);
  await bare.stop();
  await envoy.stop();
  const nobody = await doctor("--admin", adminOf(envoy));
  assert.equal(nobody.status, 2);
  assert.match(nobody.stderr, /127\.0\.0\.1:\d+\/server_info does not answer/);
  for (const args of [["--admin", "127.0.0.1:9901"], ["--seconds", "soon"], ["--unknown"]]) {
    assert.equal((await doctor(...args)).status, 2, args.join(" "));
  }
});

test("what works, but not well, is a warning", async () => {
  const [port = 0] = await freePorts(1);
  const envoy = await gateway(
    fleet.addresses,
    { hosts: [] },
    {
      edit: (yaml) =>
        bypass(yaml, port)
          .replace(/^stats_config:\n[\s\S]*?(?=^overload_manager)/m, "")
          .replace(/ {6}circuit_breakers:\n[\s\S]*?(?= {6}health_checks)/, "")
          .replace("timeout: 0s", "timeout: 30s")
          .replace("failure_policy: FAIL_RELOAD", "failure_policy: FAIL_CLOSED")
          .replace("request_body_buffer_limit: 2228224", "request_body_buffer_limit: 1048576"),
    },
  );
  for (let i = 0; i < 3; i++) await ask(envoy.port);
  const findings = await once(
    () => examine(adminOf(envoy), 0),
    (all) => !all.some(({ name, level }) => name === "servers" && level !== "ok"),
  );
  const level = (wanted: string) => findings.filter((finding) => finding.level === wanted);
  assert.deepEqual(level("fail"), []);
  const warned = new Map(level("warn").map(({ name, says, remedy }) => [name, says + remedy]));
  assert.match(warned.get("VM recovers") ?? "", /FAIL_CLOSED.*503.*FAIL_RELOAD/);
  assert.match(warned.get("hosts are members") ?? "", /known only from where answers come/);
  assert.match(warned.get("limits") ?? "", /sent twice.*30s.*1024 requests at once/);
  assert.match(warned.get("header is stripped") ?? "", /listener bypass to cluster llm/);
  assert.match(warned.get("labels") ?? "", /stats_tags/);
  await envoy.stop();
});

for (const mistake of MISTAKES) {
  const { name, configuration = {}, edit, envoy: options, log, statistic, checks } = mistake;
  test(`${name}: log and doctor say what to do, and requests are served`, async () => {
    const [port = 0] = await freePorts(1);
    const envoy = await gateway(fleet.addresses, merge({ debug_headers: false }, configuration), {
      ...options,
      ...(edit === undefined ? {} : { edit: (yaml: string) => edit(yaml, port) }),
    });
    const deadline = Date.now() + NOTICED_MS;
    while (!log.every((line) => line.test(envoy.log()))) {
      assert.ok(Date.now() < deadline, `in vain for ${log}: ${envoy.log()}`);
      await ask(envoy.port, mistake.headers);
      if (mistake.isPast) await ask(port);
      await sleep(50);
    }
    const stats = await envoy.stats();
    assert.ok(stats.sum(statistic) > 0, statistic);
    assert.equal(stats.sum("warmroute_internal_errors_total"), 0);
    // What is well is not blamed. (On a busy machine servers may miss a health check, and pass the next.)
    const known = checks.map(([check]) => check);
    const blamed = (all: Finding[]) =>
      all.filter(({ level, name }) => level === "fail" && !known.includes(name));
    const findings = await once(
      () => examine(adminOf(envoy), WATCH_MS),
      (all) => blamed(all).length === 0,
    );
    assert.deepEqual(blamed(findings), []);
    for (const [check, level, says] of checks) {
      const found = findings.find((finding) => finding.name === check && finding.level === level);
      assert.ok(found, `no ${level} ${check}: ${JSON.stringify(findings)}`);
      assert.match(`${found.says} ${found.remedy}`, says);
      assert.ok(found.remedy.length > 10);
    }
    // Told once by each of the VMs that see it, not with every request.
    assert.ok((envoy.log().match(/warmroute: \w+/g) ?? []).length <= 6, envoy.log());
    await envoy.stop();
  });
}
