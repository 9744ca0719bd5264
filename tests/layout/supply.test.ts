/** What SECURITY.md says of the supply chain. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { ROOT } from "../../tools/paths.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const manifest = JSON.parse(read("package.json")) as Record<string, Record<string, string>>;

test("the filter has no dependency at run time; every other one has an exact version and a reason", () => {
  assert.equal(manifest.dependencies, undefined);
  const named = read("SECURITY.md")
    .split("\n")
    .filter((line) => /^\| `/.test(line))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)])
    .map(([, name]) => name);
  assert.deepEqual(named.sort(), Object.keys(manifest.devDependencies ?? {}).sort());
  for (const [name, version] of Object.entries(manifest.devDependencies ?? {})) {
    assert.match(version, /^\d+\.\d+\.\d+$/, name);
  }
});

test("every package of the lock file has a hash", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as {
    packages: Record<string, { integrity?: string; inBundle?: boolean }>;
  };
  for (const [path, { integrity, inBundle }] of Object.entries(packages)) {
    // What comes inside another package's archive is under that one's hash.
    if (path !== "" && !inBundle) assert.match(integrity ?? "", /^sha512-/, path);
  }
});

test("actions in workflows are pinned to commits", () => {
  const folder = ".github/workflows";
  if (!existsSync(join(ROOT, folder))) return;
  for (const name of readdirSync(join(ROOT, folder))) {
    for (const [line, action] of read(`${folder}/${name}`).matchAll(/^.*\buses: *(\S+).*$/gm)) {
      assert.match(action ?? "", /^(\.\/.*|[\w./-]+@[0-9a-f]{40})$/, `${name}: ${line}`);
    }
  }
});
