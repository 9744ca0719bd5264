import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/** What an OCI registry is told of a blob. */
export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  annotations?: Record<string, string>;
}

/** The name that readers of the image look for in its layer. */
const PLUGIN = "plugin.wasm";
/** What proxies are told of the module; `rootIds` are those that it serves. */
const RUNTIME = {
  type: "envoy_proxy",
  abiVersions: ["proxy_abi_version_0_2_1"],
  config: { rootIds: ["warmroute"] },
};

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const INDEX = "application/vnd.oci.image.index.v1+json";

/**
 * Writes an OCI image layout with the filter in the two forms that Istio and Envoy Gateway take:
 *
 * - tag `VERSION`, the "compat" variant: an image as `FROM scratch; COPY plugin.wasm ./` makes, with
 *   one tar+gzip layer. Every registry takes it, and Kubernetes can mount it as an image volume.
 * - tag `VERSION-artifact`, the "oci" variant: the module itself as a layer of its own media type.
 *
 * The same module gives the same digests.
 * @see https://github.com/solo-io/wasm/tree/master/spec
 * @returns the manifests' descriptors, by tag
 */
export function writeLayout(
  folder: string,
  wasm: Buffer,
  version: string,
): Record<string, Descriptor> {
  mkdirSync(join(folder, "blobs", "sha256"), { recursive: true });
  const put = (mediaType: string, content: Buffer | object): Descriptor => {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
    const hex = sha256(bytes);
    writeFileSync(join(folder, "blobs", "sha256", hex), bytes);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  };
  const annotations = {
    "org.opencontainers.image.title": "warmroute",
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.licenses": "Apache-2.0",
  };
  const image = (config: Descriptor, layers: Descriptor[]) =>
    put(MANIFEST, { schemaVersion: 2, mediaType: MANIFEST, config, layers, annotations });

  const tar = tarOf(PLUGIN, wasm);
  const compat = image(
    put("application/vnd.oci.image.config.v1+json", {
      architecture: "amd64",
      os: "linux",
      config: {},
      rootfs: { type: "layers", diff_ids: [`sha256:${sha256(tar)}`] },
      history: [{ created_by: `COPY ${PLUGIN} ./` }],
    }),
    [put("application/vnd.oci.image.layer.v1.tar+gzip", gzipSync(tar, { level: 9 }))],
  );

  const runtime = put("application/vnd.module.wasm.config.v1+json", RUNTIME);
  const artifact = image(runtime, [
    put("application/vnd.module.wasm.content.layer.v1+wasm", wasm),
    runtime,
  ]);

  const tags = { [version]: compat, [`${version}-artifact`]: artifact };
  const manifests = Object.entries(tags).map(([tag, descriptor]) => ({
    ...descriptor,
    annotations: { "org.opencontainers.image.ref.name": tag },
  }));
  const write = (name: string, content: object) =>
    writeFileSync(join(folder, name), JSON.stringify(content));
  write("oci-layout", { imageLayoutVersion: "1.0.0" });
  write("index.json", { schemaVersion: 2, mediaType: INDEX, manifests });
  return tags;
}

export function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const TAR_BLOCK_BYTES = 512;

/** A tar archive (ustar) of one file that anyone may read, without a date. */
function tarOf(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(TAR_BLOCK_BYTES);
  const octal = (value: number, length: number) =>
    `${value.toString(8).padStart(length - 1, "0")}\0`;
  header.write(name, 0);
  header.write(octal(0o644, 8), 100);
  header.write(octal(0, 8), 108); // owner
  header.write(octal(0, 8), 116); // group
  header.write(octal(content.length, 12), 124);
  header.write(octal(0, 12), 136); // date
  header.write("        ", 148); // counts as blanks in its own sum
  header.write("0", 156); // a plain file
  header.write("ustar\x0000", 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const rest = content.length % TAR_BLOCK_BYTES;
  const padding = Buffer.alloc(rest === 0 ? 0 : TAR_BLOCK_BYTES - rest);
  return Buffer.concat([header, content, padding, Buffer.alloc(2 * TAR_BLOCK_BYTES)]);
}
