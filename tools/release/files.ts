import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DEBUG_WASM, ROOT, WASM } from "../paths.ts";
import { sectionOf } from "./changelog.ts";
import { type Descriptor, sha256, writeLayout } from "./oci.ts";

export interface Release {
  version: string;
  /** SHA-256 by file name, as in SHA256SUMS. */
  sums: Record<string, string>;
  /** The image's manifests by tag. */
  tags: Record<string, Descriptor>;
}

/**
 * Writes all that a release consists of into a folder that is made anew: the filter and its debug
 * build under versioned names, its configuration's schema, dashboard and alerts, SHA256SUMS, the image
 * as an OCI layout in `oci/`, and `notes.md`, the changelog's section.
 * @param section whose text the notes are; the version by default
 * @throws where the changelog has nothing to say of it
 */
export function writeRelease(folder: string, version: string, section = version): Release {
  const notes = sectionOf(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"), section);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const files: Record<string, string> = {
    [`warmroute-${version}.wasm`]: WASM,
    [`warmroute-${version}.debug.wasm`]: DEBUG_WASM,
    "envoy.yaml": join(ROOT, "envoy", "envoy.yaml"),
    "filter.schema.json": join(ROOT, "envoy", "filter.schema.json"),
    "grafana-dashboard.json": join(ROOT, "monitoring", "grafana", "warmroute.json"),
    "prometheus-alerts.yaml": join(ROOT, "monitoring", "prometheus", "alerts.yaml"),
  };
  const sums: Record<string, string> = {};
  for (const [name, source] of Object.entries(files)) {
    copyFileSync(source, join(folder, name));
    sums[name] = sha256(readFileSync(source));
  }
  const lines = Object.entries(sums).map(([name, sum]) => `${sum}  ${name}\n`);
  writeFileSync(join(folder, "SHA256SUMS"), lines.join(""));
  const tags = writeLayout(join(folder, "oci"), readFileSync(WASM), version);
  writeFileSync(join(folder, "notes.md"), notes);
  return { version, sums, tags };
}
