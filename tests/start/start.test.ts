import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "../../tools/paths.ts";

/** `npm start` without npm: a process group of its own, as a terminal gives it. */
function start(args: string[]) {
  const child = spawn(process.execPath, ["tools/run.mjs", "tools/start/main.ts", ...args], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { pid: child.pid ?? 0, ended, output: () => output };
}

/** Processes of a group that still run (Linux; elsewhere none are seen). */
function groupOf(pid: number): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        return Number(group) === pid && state !== "Z";
      } catch {
        return false;
      }
    });
}

test("both fleets answer everything, and a table sums it up", async () => {
  const run = start(["--seconds", "6", "--rate", "6", "--seed", "3"]);
  assert.equal(await run.ended, 0, run.output());
  for (const text of ["TTFT p50", "TTFT p99", "cached share", "busiest over mean"]) {
    assert.ok(run.output().includes(text), text);
  }
  assert.match(run.output(), /requests failed +0 +0/);
  assert.deepEqual(groupOf(run.pid), []);
});

test("Ctrl-C ends all that was started", async () => {
  const run = start(["--seconds", "60"]);
  const deadline = Date.now() + 60_000;
  while (!run.output().includes("answered")) {
    assert.ok(Date.now() < deadline, run.output());
    await sleep(100);
  }
  process.kill(-run.pid, "SIGINT");
  assert.equal(await run.ended, 130, run.output());
  assert.deepEqual(groupOf(run.pid), []);
});

test("in front of real servers it says where to send requests", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const free = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => free.once("listening", resolve));
  const listener = (free.address() as { port: number }).port;
  await new Promise((resolve) => free.close(resolve));
  const run = start(["--hosts", `127.0.0.1:${port}`, "--port", String(listener), "--seconds", "2"]);
  assert.equal(await run.ended, 0, run.output());
  assert.match(run.output(), new RegExp(`127\\.0\\.0\\.1:${listener}/v1/chat/completions`));
  assert.match(run.output(), /status +http:\/\/127\.0\.0\.1:\d+\/status/);
  server.close();
});
