import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { gunzipSync } from "node:zlib";
import { ROOT, WASM } from "../../tools/paths.ts";
import { sectionOf } from "../../tools/release/changelog.ts";
import { writeRelease } from "../../tools/release/files.ts";
import { type Descriptor, sha256 } from "../../tools/release/oci.ts";

const folder = mkdtempSync(join(tmpdir(), "warmroute-release-"));
after(() => rmSync(folder, { recursive: true }));
const out = join(folder, "release");
const release = writeRelease(out, "1.2.3", "Unreleased");
const wasm = readFileSync(WASM);

interface Manifest {
  config: Descriptor;
  layers: Descriptor[];
}

/** A blob of the layout, checked against its descriptor. */
function blob({ digest, size }: Descriptor): Buffer {
  const content = readFileSync(join(out, "oci", "blobs", ...digest.split(":")));
  assert.equal(`sha256:${sha256(content)}`, digest);
  assert.equal(content.length, size);
  return content;
}

const manifest = (tag: string): Manifest => {
  const index = JSON.parse(readFileSync(join(out, "oci", "index.json"), "utf8"));
  const found = (index.manifests as Descriptor[]).find(
    ({ annotations }) => annotations?.["org.opencontainers.image.ref.name"] === tag,
  );
  assert.ok(found, tag);
  assert.equal(found.digest, release.tags[tag]?.digest);
  return JSON.parse(blob(found).toString());
};

test("SHA256SUMS holds for what lies beside it", () => {
  const result = spawnSync("sha256sum", ["--check", "--strict", "SHA256SUMS"], {
    cwd: out,
    encoding: "utf8",
  });
  assert.equal(result.status, 0, `${result.stdout}${result.stderr}`);
  const lines = readFileSync(join(out, "SHA256SUMS"), "utf8").trim().split("\n");
  assert.ok(lines.includes(`${sha256(wasm)}  warmroute-1.2.3.wasm`));
  const listed = lines.map((line) => line.split("  ")[1]);
  const there = readdirSync(out).filter(
    (name) => !["SHA256SUMS", "notes.md", "oci"].includes(name),
  );
  assert.deepEqual(listed.sort(), there.sort());
});

test("compat variant: the last layer is a tar+gzip with plugin.wasm, as Istio and Envoy Gateway read it", () => {
  const { config, layers } = manifest("1.2.3");
  assert.equal(layers.length, 1);
  const [layer] = layers as [Descriptor];
  assert.equal(layer.mediaType, "application/vnd.oci.image.layer.v1.tar+gzip");
  const packed = blob(layer);
  const { rootfs } = JSON.parse(blob(config).toString());
  assert.deepEqual(rootfs.diff_ids, [`sha256:${sha256(gunzipSync(packed))}`]);
  const listed = spawnSync("tar", ["-tvzf", "-"], { input: packed, encoding: "utf8" });
  assert.match(listed.stdout, /^-rw-r--r-- .* plugin\.wasm\n$/);
  const read = spawnSync("tar", ["-xzOf", "-", "plugin.wasm"], {
    input: packed,
    maxBuffer: 2 * wasm.length,
  });
  assert.equal(read.status, 0, read.stderr.toString());
  assert.ok(read.stdout.equals(wasm));
});

test("artifact variant: the module itself, and what proxies are told of it", () => {
  const { layers } = manifest("1.2.3-artifact");
  assert.deepEqual(
    layers.map(({ mediaType }) => mediaType),
    [
      "application/vnd.module.wasm.content.layer.v1+wasm",
      "application/vnd.module.wasm.config.v1+json",
    ],
  );
  const [content, runtime] = layers.map(blob) as [Buffer, Buffer];
  assert.ok(content.equals(wasm));
  const told = JSON.parse(runtime.toString());
  const exported = WebAssembly.Module.exports(new WebAssembly.Module(new Uint8Array(content)));
  assert.ok(exported.some(({ name }) => name === told.abiVersions[0]));
});

test("the same module gives the same image", () => {
  const again = writeRelease(join(folder, "again"), "1.2.3", "Unreleased");
  assert.deepEqual(again, release);
});

const skopeo = spawnSync("skopeo", ["--version"]).status === 0;

test("skopeo reads both images", { skip: !skopeo && "no skopeo" }, () => {
  for (const tag of Object.keys(release.tags)) {
    const inspect = ["inspect", "--raw", `oci:${join(out, "oci")}:${tag}`];
    const result = spawnSync("skopeo", inspect, { encoding: "utf8" });
    assert.equal(result.status, 0, result.stderr);
    const copy = ["copy", `oci:${join(out, "oci")}:${tag}`, `dir:${join(folder, tag)}`];
    const copied = spawnSync("skopeo", copy, { encoding: "utf8" });
    assert.equal(copied.status, 0, copied.stderr);
  }
});

test("the changelog speaks of what is to come, and of a version when it is released", () => {
  const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
  assert.match(sectionOf(changelog, "Unreleased"), /### Added/);
  const text =
    "# C\n## [2.0.0] - 2030-01-01\n### Added\n- two\n## [1.0.0]\n- one\n[1.0.0]: https://x\n";
  assert.equal(sectionOf(text, "2.0.0"), "### Added\n- two\n");
  assert.equal(sectionOf(text, "1.0.0"), "- one\n");
  assert.throws(() => sectionOf(text, "3.0.0"), /no section ## \[3\.0\.0\]/);
  assert.throws(() => sectionOf("## [1.0.0]\n\n## [0.9.0]\n- x", "1.0.0"), /is empty/);
});
