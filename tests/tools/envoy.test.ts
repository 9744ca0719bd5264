import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { compareVersions, findEnvoy } from "../../tools/envoy/find.ts";
import { renderBootstrap } from "../../tools/envoy/render.ts";
import { Stats } from "../../tools/envoy/stats.ts";
import { ROOT } from "../../tools/paths.ts";

const folder = mkdtempSync(join(tmpdir(), "warmroute-tools-"));
after(() => rmSync(folder, { recursive: true }));

/** A program that says it is some version of Envoy. */
function fakeEnvoy(version: string): string {
  const path = join(folder, `envoy-${version}`);
  const says = `envoy  version: 0000/${version}/Clean/RELEASE/BoringSSL`;
  writeFileSync(path, `#!/bin/sh\necho "${says}"\n`, { mode: 0o755 });
  return path;
}

/** Looks for Envoy in a process of its own, with these variables. */
function find(env: Record<string, string>, version = ""): string {
  const program = join(ROOT, "tools", "envoy", "main.ts");
  try {
    return execFileSync(process.execPath, ["--import", "tsx", program, version].filter(Boolean), {
      encoding: "utf8",
      stdio: "pipe",
      env: { ...process.env, ...env },
    });
  } catch (error) {
    return (error as { stderr: string }).stderr;
  }
}

test("$ENVOY_BIN comes first, unless it is too old", () => {
  const good = fakeEnvoy("1.38.0");
  assert.match(find({ ENVOY_BIN: good }), /^Envoy 1\.38\.0 from \$ENVOY_BIN/);
  const old = fakeEnvoy("1.34.9");
  // Nothing else to be found: no cache, no PATH beyond this folder.
  const nowhere = { XDG_CACHE_HOME: join(folder, "none"), PATH: folder };
  const said = find({ ENVOY_BIN: old, ...nowhere });
  assert.match(said, /\$ENVOY_BIN: .*1\.34\.9, older than 1\.35\.0/);
  for (const place of ["cache", "PATH", "pip", "Docker"])
    assert.match(said, new RegExp(`${place}:`));
  assert.match(said, /Set ENVOY_BIN/);
});

test("another than $ENVOY_BIN isn't taken in silence", () => {
  const program = join(ROOT, "tools", "envoy", "main.ts");
  fakeEnvoy("1.39.0");
  const onPath = join(folder, "envoy");
  renameSync(join(folder, "envoy-1.39.0"), onPath);
  const found = spawnSync(process.execPath, ["--import", "tsx", program], {
    encoding: "utf8",
    env: {
      ...process.env,
      ENVOY_BIN: "/nowhere/envoy",
      XDG_CACHE_HOME: join(folder, "none"),
      PATH: `${folder}:/bin`,
    },
  });
  assert.match(
    found.stderr,
    /^\$ENVOY_BIN: \/nowhere\/envoy is missing; taken instead: Envoy 1\.39\.0 from PATH/,
  );
  rmSync(onPath);
});

test("a wanted version is that version alone", () => {
  assert.match(find({ ENVOY_BIN: fakeEnvoy("1.38.0") }, "1.40.0"), /^(?!.*1\.38\.0).*1\.40\.0/m);
  assert.throws(() => findEnvoy("0.1.0"), /pip: no wheel of 0\.1\.0 is pinned/);
});

test("versions compare by number", () => {
  assert.ok(compareVersions("1.40.0", "1.4.9") > 0);
  assert.ok(compareVersions("1.36.2", "1.36.10") < 0);
  assert.equal(compareVersions("1.36.2", "1.36.2"), 0);
});

test("the bootstrap gets every value, and loses the filter when there is none", () => {
  const options = { listenerPort: 1, adminPort: 2, hosts: ["10.0.0.1:8000", "[::1]:9"] };
  const full = renderBootstrap({
    ...options,
    configuration: { note: "it's" },
    wasm: "/w.wasm",
    accessLog: "/log",
    fallback: "random",
    healthPath: "/up",
  });
  assert.ok(!/ # \{\w+\}$/m.test(full));
  for (const text of [
    "port_value: 1\n",
    "port_value: 2\n",
    `'{"note":"it''s"}'`,
    '"/w.wasm"',
    '"/log"',
    "random.v3.Random",
    '"/up"',
    '"address":"::1","port_value":9',
  ]) {
    assert.ok(full.includes(text), text);
  }
  assert.ok(!/wasm\.v3|<filter>/.test(renderBootstrap({ ...options, wasm: false })));
  assert.throws(() => renderBootstrap({ ...options, hosts: ["nowhere"] }), /expected ip:port/);
});

test("statistics are read with their labels", () => {
  const stats = new Stats(
    [
      "# TYPE a counter",
      "a{} 1",
      'a{host="10.0.0.1:8000",note="x\\"y\\\\z"} 2',
      "b 3.5",
      'c_bucket{le="+Inf"} 4',
      "",
    ].join("\n"),
  );
  assert.equal(stats.sum("a"), 3);
  assert.equal(stats.sum("a", { host: "10.0.0.1:8000" }), 2);
  assert.equal(stats.find("a")[1]?.labels.note, 'x"y\\z');
  assert.equal(stats.sum("b"), 3.5);
  assert.ok(Number.isNaN(stats.sum("missing")));
});
