import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { parse } from "yaml";
import { ACTIONLINT, findChecker, missing } from "../../tools/checkers/programs.ts";
import { ROOT } from "../../tools/paths.ts";
import { writeRelease } from "../../tools/release/files.ts";

const FOLDER = join(ROOT, ".github", "workflows");

interface Step {
  id?: string;
  name?: string;
  uses?: string;
  run?: string;
  env?: Record<string, string>;
}

interface Workflow {
  permissions: Record<string, string>;
  jobs: Record<string, { steps: Step[]; env?: Record<string, string> }>;
}

const textOf = (name: string): string => readFileSync(join(FOLDER, name), "utf8");

test("actions are pinned by commit, scripts exist, rights are least by default", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const name of readdirSync(FOLDER)) {
    const text = textOf(name);
    const workflow = parse(text) as Workflow;
    assert.deepEqual(workflow.permissions, { contents: "read" }, name);
    for (const { uses, run = "" } of Object.values(workflow.jobs).flatMap(({ steps }) => steps)) {
      if (uses !== undefined) {
        assert.match(uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/, name);
        assert.match(text, new RegExp(`${uses} # v\\d+\\.\\d+\\.\\d+`), `${name}: ${uses}`);
      }
      for (const [, script = ""] of run.matchAll(/npm run (\w+)/g)) {
        assert.ok(script in scripts, `${name}: npm run ${script}`);
      }
    }
  }
});

const actionlint = findChecker(ACTIONLINT);

test("actionlint finds nothing wrong, and does find what is", {
  skip: actionlint === undefined && missing(ACTIONLINT),
}, () => {
  const lint = (...args: string[]) =>
    spawnSync(actionlint ?? "", ["-no-color", ...args], { cwd: ROOT, encoding: "utf8" });
  const files = readdirSync(FOLDER).map((name) => join(FOLDER, name));
  const result = lint(...files);
  assert.equal(result.status, 0, result.stdout + result.stderr);
  const wrong = mkdtempSync(join(tmpdir(), "warmroute-workflow-"));
  after(() => rmSync(wrong, { recursive: true }));
  const file = join(wrong, "ci.yml");
  writeFileSync(file, textOf("ci.yml").replace("needs: [lint, test]", "needs: [lint, tests]"));
  assert.match(lint(file).stdout, /tests/);
});

/** A step's command, as a runner would run it. */
function run(step: Step, cwd: string, env: Record<string, string>): string {
  const script = (step.run ?? "").replace(
    /\$\{\{ (.+?) \}\}/g,
    (_all, of: string) => env[of] ?? "",
  );
  const result = spawnSync("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", script], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, ...step.env, ...env },
  });
  assert.equal(result.status, 0, `${step.name ?? step.run}: ${result.stdout}${result.stderr}`);
  return result.stdout;
}

/** Programs that talk to GitHub: they note how they were called. skopeo's real one copies, into a folder instead of a registry. */
const STAND_INS: Record<string, string> = {
  npm: 'echo "npm $*" >> "$CALLS"',
  gh: 'echo "gh $*" >> "$CALLS"',
  skopeo: `echo "skopeo $*" >> "$CALLS"
if [ "$1" = login ]; then cat > "$CALLS.token"; exit; fi
for argument; do
  shift
  case "$argument" in docker://*) argument="dir:$CALLS.\${argument##*:}";; --authfile) continue;; *config.json) continue;; esac
  set -- "$@" "$argument"
done
PATH="$REAL_PATH" exec skopeo "$@"`,
};

const hasSkopeo = spawnSync("skopeo", ["--version"]).status === 0;

test("each command of the release's last job runs, in order, up to GitHub's own programs", {
  skip: !hasSkopeo && "no skopeo: install Debian's package skopeo",
}, () => {
  const folder = mkdtempSync(join(tmpdir(), "warmroute-publish-"));
  after(() => rmSync(folder, { recursive: true }));
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const [name, script] of Object.entries(STAND_INS)) {
    writeFileSync(join(bin, name), `#!/bin/bash\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  writeFileSync(join(folder, "package.json"), '{"version":"1.2.3"}');
  const release = writeRelease(join(folder, "build", "release"), "1.2.3", "Unreleased");
  const calls = join(folder, "calls");
  const output = join(folder, "output");
  const { publish } = (parse(textOf("release.yml")) as Workflow).jobs;
  assert.ok(publish);
  const env = {
    ...publish.env,
    PATH: `${bin}:${process.env.PATH}`,
    REAL_PATH: process.env.PATH ?? "",
    CALLS: calls,
    HOME: folder,
    GITHUB_ACTOR: "somebody",
    GITHUB_REF_NAME: "v1.2.3",
    GITHUB_OUTPUT: output,
    IMAGE: "ghcr.io/Somebody/WarmRoute",
    TOKEN: "the-token",
  };
  const commands = publish.steps.filter((step) => step.run !== undefined);
  for (const step of commands) run({ ...step, env: {} }, folder, env);
  const called = readFileSync(calls, "utf8").trim().split("\n");
  assert.deepEqual(
    called.map((line) => line.split(" ").slice(0, 2).join(" ")),
    ["npm run", "skopeo login", "skopeo copy", "skopeo copy", "gh release"],
  );
  assert.equal(readFileSync(`${calls}.token`, "utf8").trim(), "the-token");
  // The image that is attested is the one that Istio and Envoy Gateway pull; registries want lower case.
  const outputs = readFileSync(output, "utf8");
  assert.equal(
    outputs,
    `name=ghcr.io/somebody/warmroute\ndigest=${release.tags["1.2.3"]?.digest}\n`,
  );
  for (const tag of Object.keys(release.tags)) {
    assert.ok(readdirSync(`${calls}.${tag}`).includes("manifest.json"), tag);
  }
  const published = (called.at(-1) ?? "").split(" ");
  for (const name of [...Object.keys(release.sums), "SHA256SUMS", "warmroute-1.2.3-oci.tar"]) {
    assert.ok(
      published.some((word) => word.replace(/^\.\//, "") === name),
      `${name} is published`,
    );
  }
  // Another tag than package.json's version goes no further.
  const [tagIsVersion] = commands;
  assert.throws(() => run(tagIsVersion as Step, folder, { ...env, GITHUB_REF_NAME: "v1.2.4" }));
});

test("the job that branches require passes only where all others did", () => {
  const [step] = (parse(textOf("ci.yml")) as Workflow).jobs.required?.steps ?? [];
  assert.ok(step);
  run(step, ROOT, { "needs.lint.result": "success", "needs.test.result": "success" });
  for (const result of ["failure", "cancelled", "skipped", ""]) {
    const results = { "needs.lint.result": "success", "needs.test.result": result };
    assert.throws(() => run(step, ROOT, results), result);
  }
});
