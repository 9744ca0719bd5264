import { spawnSync } from "node:child_process";

let setpriv: boolean | undefined;

/**
 * A command line whose process ends with this one, however this one ends, killed included. On Linux
 * with util-linux; elsewhere, and without it, the command as it is.
 */
export function tethered(command: string[]): string[] {
  setpriv ??=
    process.platform === "linux" &&
    spawnSync("setpriv", ["--pdeathsig", "keep", "true"]).status === 0;
  return setpriv ? ["setpriv", "--pdeathsig", "KILL", ...command] : command;
}
