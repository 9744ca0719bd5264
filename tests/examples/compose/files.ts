import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { Ajv } from "ajv";
import { parse } from "yaml";
import { COMPOSE_LOADER, findChecker, missing } from "../../../tools/checkers/programs.ts";
import { ROOT } from "../../../tools/paths.ts";
import { tethered } from "../../../tools/tether.ts";

export const FOLDER = join(ROOT, "examples", "compose");

export interface Service {
  image: string;
  command?: string[];
  ports?: string[];
  volumes?: string[];
  networks?: Record<string, { aliases: string[] }>;
  build?: { context: string; dockerfile: string; target: string };
  healthcheck?: { test: string[] };
  environment?: Record<string, string>;
}

export const read = (path: string) => readFileSync(join(FOLDER, path), "utf8");

/** The services that a file of the example has, by name. */
export const servicesOf = (file: string) =>
  parse(read(file), { merge: true }).services as Record<string, Service>;

/** What Compose's own schema says against a file's content; empty if it is one of Compose's. */
export function isComposeFile(content: unknown): string {
  const path = join(ROOT, "tests", "fixtures", "schemas", "compose-spec.json");
  const { $schema: _draft7, ...schema } = JSON.parse(readFileSync(path, "utf8"));
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  const validate = ajv.compile(schema);
  return validate(content) ? "" : ajv.errorsText(validate.errors);
}

/** Every Compose that is here: Docker's plugin, Debian's program, and the loader that both newer ones read files with. */
const PROGRAMS = [["docker", "compose"], ["docker-compose"]]
  .filter(([command = "", ...args]) => spawnSync(command, [...args, "version"]).status === 0)
  .map((command) => (files: string[]) => [
    ...command,
    ...files.flatMap((file) => ["-f", file]),
    "config",
  ]);
const loader = findChecker(COMPOSE_LOADER);
if (loader !== undefined) PROGRAMS.push((files) => [loader, ...files]);

/** Why a test of them is skipped; false if there are some. */
export const NO_COMPOSE = PROGRAMS.length === 0 && `no Docker Compose, ${missing(COMPOSE_LOADER)}`;

/** The services of files laid over each other, as each Compose that is here merges them. */
export function composed(...files: string[]): Record<string, Service>[] {
  return PROGRAMS.map((commandFor) => {
    const command = commandFor(files);
    const [program = "", ...args] = command;
    const result = spawnSync(program, args, { cwd: FOLDER, encoding: "utf8" });
    assert.equal(result.status, 0, `${command.join(" ")}: ${result.stderr}`);
    return parse(result.stdout).services;
  });
}

/** Starts a service's own command in the project's folder, with some arguments exchanged. */
export function run({ command = [] }: Service, exchanged: Record<string, string>): ChildProcess {
  for (const argument of Object.keys(exchanged)) {
    assert.ok(command.includes(argument), `"${command.join(" ")}" has no ${argument}`);
  }
  const own = command.map((argument) => exchanged[argument] ?? argument);
  const [program = "", ...args] = tethered(own);
  const child = spawn(program, args, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  after(() => child.kill("SIGTERM"));
  return child;
}
