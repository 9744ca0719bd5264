/** Programs in Go that check files of the project: pinned, built from the module proxy, kept in the cache. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "../pip.ts";

export interface Checker {
  name: string;
  /** Its main package; the last part is the name of its binary. */
  package: string;
  version: string;
}

/** Of GitHub's workflows, with the help of shellcheck where that is installed. */
export const ACTIONLINT: Checker = {
  name: "actionlint",
  package: "github.com/rhysd/actionlint/cmd/actionlint",
  version: "v1.7.12",
};

/** The loader of Docker Compose 2: what `docker compose config` reads files with. */
export const COMPOSE_LOADER: Checker = {
  name: "compose-go",
  package: "github.com/compose-spec/compose-go/v2/cmd",
  version: "v2.16.2",
};

const CHECKERS = [ACTIONLINT, COMPOSE_LOADER];

const folderOf = ({ name, version }: Checker): string =>
  join(cacheFolder(), "checkers", `${name}-${version}`);

const binaryIn = (folder: string, { package: path }: Checker): string =>
  join(folder, path.slice(path.lastIndexOf("/") + 1));

/** The program's path; undefined where it was not fetched. */
export function findChecker(checker: Checker): string | undefined {
  const path = binaryIn(folderOf(checker), checker);
  return existsSync(path) ? path : undefined;
}

/** What a test says that skips for want of a checker. */
export const missing = ({ name }: Checker): string =>
  `no ${name} here: node --import tsx tools/checkers/main.ts builds it, with Go`;

/** Builds those that aren't there; says in one line each what failed. */
export function fetchCheckers(): string[] {
  if (spawnSync("go", ["version"]).status !== 0) return ["no Go: checkers can't be built"];
  return CHECKERS.filter((checker) => findChecker(checker) === undefined).flatMap(fetchOne);
}

function fetchOne(checker: Checker): string[] {
  const folder = folderOf(checker);
  mkdirSync(join(folder, ".."), { recursive: true });
  // Built beside its place and renamed into it, so that half a build is never taken for one.
  const temporary = mkdtempSync(`${folder}-`);
  const result = spawnSync("go", ["install", `${checker.package}@${checker.version}`], {
    encoding: "utf8",
    env: { ...process.env, GOBIN: temporary, GOFLAGS: "", CGO_ENABLED: "0" },
  });
  if (result.status === 0 && existsSync(binaryIn(temporary, checker))) {
    rmSync(folder, { recursive: true, force: true });
    renameSync(temporary, folder);
    return [];
  }
  rmSync(temporary, { recursive: true, force: true });
  return [`${checker.name}: ${result.stderr.trim().split("\n").at(-1) ?? "go install failed"}`];
}
