import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePorts } from "../../tools/envoy/ports.ts";
import { CACHE } from "./cache.ts";
import type { Contender } from "./contender.ts";
import { cpuMs, residentBytes, startOn } from "./processes.ts";

/** A router from PyPI that fronts plain HTTP servers. */
interface Peer {
  name: string;
  version: string;
  /** Arguments of Python, up to the router's own flags. */
  module: string[];
  /** The level of logging that leaves out a line per request. */
  logLevel: string;
}

const PEERS: Peer[] = [
  {
    name: "sglang-router",
    version: "0.3.2",
    module: ["-m", "sglang_router.launch_router"],
    logLevel: "warn",
  },
  {
    name: "vllm-router",
    version: "0.1.17",
    module: ["-m", "vllm_router.launch_router"],
    logLevel: "warning",
  },
  { name: "smg", version: "1.13.0", module: ["-m", "smg", "launch"], logLevel: "warn" },
];
export const PEER_NAMES = PEERS.map(({ name }) => name);

/** How long a router may take until it has all its servers, in milliseconds. */
const READY_TIMEOUT_MS = 60_000;
/** After the first answers: the rest of a router's start, with the servers it has by then. */
const SETTLE_MS = 1500;
const INSTALL_TIMEOUT_MS = 300_000;

/** The peers, each in its cache-aware mode with its own defaults. */
export function peerContenders(): Contender[] {
  return PEERS.map((peer) => ({
    name: peer.name,
    missing: () =>
      existsSync(folderOf(peer))
        ? undefined
        : `not installed (npm run bench -- --peers ${peer.name} brings ${peer.version} from PyPI)`,
    start: async ({ hosts, core }) => {
      const [port = 0, metricsPort = 0] = await freePorts(2);
      const command = [
        ...["python3", ...peer.module, "--worker-urls", ...hosts.map((host) => `http://${host}`)],
        ...["--policy", "cache_aware", "--host", "127.0.0.1", "--port", String(port)],
        ...["--prometheus-port", String(metricsPort), "--log-level", peer.logLevel],
      ];
      const started = startOn(core, command, { PYTHONPATH: folderOf(peer) });
      const running = {
        port,
        cpuMs: () => cpuMs(started.pid),
        residentBytes: () => residentBytes(started.pid),
        stop: started.stop,
      };
      try {
        await ready(port, hosts.length, started.ended);
        return running;
      } catch (error) {
        await started.stop();
        throw new Error(`${peer.name}: ${(error as Error).message}\n${started.output()}`);
      }
    },
  }));
}

/** Installs a peer with what it needs into a folder of its own; says why it couldn't. */
export function installPeer(name: string): string | undefined {
  const peer = PEERS.find((one) => one.name === name);
  if (peer === undefined) return `unknown; expected some of ${PEER_NAMES.join(", ")}`;
  if (existsSync(folderOf(peer))) return undefined;
  mkdirSync(CACHE, { recursive: true });
  // Installed beside its place and renamed into it, so that half a copy is never taken for one.
  const folder = mkdtempSync(join(CACHE, "fetch-"));
  try {
    const quiet = ["--quiet", "--disable-pip-version-check", "--no-input"];
    const options = ["--only-binary", ":all:", "--target", folder];
    const wanted = `${peer.name}==${peer.version}`;
    const args = ["-m", "pip", "install", ...quiet, ...options, wanted];
    const timeout = INSTALL_TIMEOUT_MS;
    const result = spawnSync("python3", args, { encoding: "utf8", timeout });
    if (result.error) return result.error.message;
    if (result.status !== 0) return result.stderr.trim().split("\n").at(-1) ?? "pip failed";
    renameSync(folder, folderOf(peer));
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function folderOf({ name, version }: Peer): string {
  return join(CACHE, `${name}-${version}`);
}

/** Waits until a router answers chat requests and, where it tells, has all its servers. */
async function ready(port: number, servers: number, ended: () => boolean): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  const body = JSON.stringify({ model: "bench-8b", messages: [{ role: "user", content: "Hi" }] });
  const headers = { "content-type": "application/json" };
  for (const deadline = Date.now() + READY_TIMEOUT_MS; ; ) {
    if (ended()) throw new Error("ended while starting");
    if (Date.now() > deadline) throw new Error("does not get ready");
    await sleep(100);
    const answer = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body })
      .then((response) => response.arrayBuffer().then(() => response.status))
      .catch(() => 0);
    if (answer !== 200) continue;
    const told = await fetch(`${url}/readiness`)
      .then(async (response) => (await response.json()) as { healthy_workers?: number })
      .catch(() => ({}) as { healthy_workers?: number });
    if ((told.healthy_workers ?? servers) >= servers) break;
  }
  await sleep(SETTLE_MS);
}
