import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import test from "node:test";
import { ROOT } from "../../tools/paths.ts";

/** Programs with an argument that makes no sense, and what they say of it. */
const WRONG: [program: string, args: string[], says: string][] = [
  ["tools/start/main.ts", ["--rate", "no"], '--rate: expected a number of 0.1..200, got "no"'],
  ["tools/start/main.ts", ["--hosts", "nowhere"], '--hosts: expected address:port, got "nowhere"'],
  ["tools/start/main.ts", ["--hosts", "10.0.0.1:99999"], "--hosts: expected address:port, got"],
  ["tools/start/load.ts", ["--url", "x"], '--url: expected http://host:port, got "x"'],
  ["tools/doctor/main.ts", ["--seconds=-1"], '--seconds: expected a number of 0..3600, got "-1"'],
  ["tools/fuzz.ts", ["--runs", "0"], '--runs: expected a whole number of 1..1000000000, got "0"'],
  ["tests/sim/main.ts", ["--gateways", "1.5"], "--gateways: expected a whole number of 1..64"],
  ["tests/sim/main.ts", ["--policy", ""], "--policy: expected one or several, with commas between"],
  [
    "tests/sim/main.ts",
    ["--json", "nowhere/x.json"],
    "--json: expected a file in a folder that is",
  ],
  ["tests/sim/matrix.ts", ["--half", "third"], '--half: expected all, first, second, got "third"'],
  [
    "tests/sim/matrix.ts",
    ["--loads", "0.9,x"],
    '--loads: expected a number of 0.001..1000, got "x"',
  ],
  ["tests/sim/gateways.ts", ["--cases", "good,no"], "--cases: expected some of good, off"],
  ["tests/sim/admission.ts", ["--only", "x"], "--only: expected bursts, heavy, overload, tenants"],
  ["tests/bench/main.ts", ["--answers", "x"], '--answers: expected plain, streamed, got "x"'],
  ["tests/bench/main.ts", ["--bodies", "0"], "--bodies: expected at least 200 bytes each, got"],
  ["tests/bench/main.ts", ["--bodies", ","], "--bodies: expected one or several, with commas"],
  ["tests/bench/main.ts", ["gateways", "--rates", "x"], "--rates: expected a number of 1..10000"],
  ["tests/bench/replay.ts", ["--bodies", "1q"], 'expected a size such as 32k, got "1q"'],
  ["tests/soak/main.ts", ["--minutes", "0"], "--minutes: expected a number of 0.1..100000"],
  ["tests/soak/main.ts", ["--streams", "0"], "--streams: expected a whole number of 1..1000000"],
  ["tools/release/main.ts", ["--part", "x"], "Unknown option '--part'"],
  ["tests/llm/main.ts", ["--dialect", "x"], "--dialect: expected vllm, vllm-old, sglang"],
];

interface Ran {
  code: number | string | null | undefined;
  stdout: string;
  stderr: string;
}

function run(program: string, args: string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const command = ["--import", "tsx", program, ...args];
    execFile(process.execPath, command, { cwd: ROOT }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}

for (const [program, args, says] of WRONG) {
  test(`${program} ${args.join(" ")}`, async () => {
    const { code, stderr } = await run(program, args);
    assert.ok(stderr.startsWith(says), stderr);
    assert.match(stderr, /\n {2}--\w/, "its options");
    assert.equal(code, 2);
  });
}

test("options are told on request, and unknown ones refused", async () => {
  const help = await run("tools/fuzz.ts", ["--help"]);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /--runs N .*\(200000\)/);
  const unknown = await run("tools/fuzz.ts", ["--sed", "1"]);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /'--sed'[\s\S]*--seed S/);
});

test("comparisons of the simulator run by what they take where nothing is said", async () => {
  const args = ["--workloads", "generated:retrieval", "--policies", "least_request"];
  const { code, stdout, stderr } = await run("tests/sim/matrix.ts", [
    ...args,
    "--requests",
    "100",
    "--seeds",
    "1",
  ]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /retrieval/);
});
