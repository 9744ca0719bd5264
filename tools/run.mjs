/**
 * Runs one of the project's TypeScript programs: `node tools/run.mjs tools/build.ts [arguments]`.
 *
 * Works on a fresh clone: checks Node, installs the packages of package-lock.json when they are
 * missing or of other versions, then runs the program. Kept to old syntax so that an old Node can
 * still say that it is too old.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

var MIN_NODE_MAJOR = 20;
var root = dirname(dirname(fileURLToPath(import.meta.url)));

if (Number(process.versions.node.split(".")[0]) < MIN_NODE_MAJOR) {
  console.error(
    "warmroute needs Node " + MIN_NODE_MAJOR + " or newer; this is " + process.version + ".",
  );
  process.exit(1);
}

/** Whether every package of the lock file is installed in the version that it names. */
function installed() {
  var hidden = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(hidden)) return false;
  var wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  var present = JSON.parse(readFileSync(hidden, "utf8")).packages;
  return Object.keys(wanted).every(function (path) {
    // Optional packages are binaries for other platforms.
    if (path === "" || wanted[path].optional || wanted[path].devOptional) return true;
    return present[path] !== undefined && present[path].version === wanted[path].version;
  });
}

/** Installs what the lock file names; ends the process with npm's word if that fails. */
function install() {
  console.log("Installing packages (npm ci)");
  var args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  var npm = process.env.npm_execpath;
  var result = npm
    ? spawnSync(process.execPath, [npm].concat(args), { cwd: root, stdio: "inherit" })
    : spawnSync("npm", args, { cwd: root, stdio: "inherit", shell: true });
  if (result.status !== 0) {
    console.error("npm ci failed; see its messages above.");
    process.exit(1);
  }
}

if (!installed()) install();

var child = spawn(process.execPath, ["--import", "tsx"].concat(process.argv.slice(2)), {
  cwd: root,
  stdio: "inherit",
});
// Ctrl-C reaches the program too (same terminal): it cleans up, and this waits for it.
process.on("SIGINT", function () {});
process.on("SIGTERM", function () {
  child.kill("SIGTERM");
});
child.on("exit", function (code, signal) {
  process.exit(signal ? 1 : code === null ? 1 : code);
});
