/**
 * `npm run release [-- --section NAME]`: builds the filter and writes what a release consists of to
 * build/release. The version is package.json's; CHANGELOG.md must have a section of it, unless another
 * (`Unreleased`) is named, to try it out.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { commandLine } from "../commandline.ts";
import { build } from "../compile.ts";
import { ROOT } from "../paths.ts";
import { writeRelease } from "./files.ts";

const USAGE = `npm run release -- [options]

Builds the filter and writes what a release consists of to build/release: the filter, checksums, an OCI image.

  --section NAME   of CHANGELOG.md; by default that of package.json's version
`;

const { values } = commandLine(USAGE, (args) =>
  parseArgs({ args, options: { section: { type: "string" } } }),
);
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
for (const target of ["release", "debug"] as const) {
  const built = build(target);
  if (!built.ok) fail(built.message);
}
const folder = join(ROOT, "build", "release");
try {
  const { sums, tags } = writeRelease(folder, version, values.section);
  console.log(`warmroute ${version} in ${folder}\n`);
  for (const [name, sum] of Object.entries(sums)) console.log(`${sum}  ${name}`);
  console.log("");
  for (const [tag, { digest }] of Object.entries(tags)) console.log(`${digest}  oci:${tag}`);
} catch (error) {
  fail((error as Error).message);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
