import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startEnvoy } from "../../tools/envoy/process.ts";
import { ROOT } from "../../tools/paths.ts";
import { CACHE } from "./cache.ts";
import type { Contender } from "./contender.ts";
import { withCluster, withFilter, withoutAccessLog } from "./edit.ts";
import { cpuMs, residentBytes, type Started, startOn } from "./processes.ts";

const SOURCES = join(ROOT, "tests", "bench", "extproc");
const START_TIMEOUT_MS = 10_000;

/** Envoy with an external processor, both on the router's core: what they use is added up. */
export const extProcContender: Contender = {
  name: "ext_proc",
  missing: () => {
    if (existsSync(binary())) return undefined;
    return spawnSync("go", ["version"]).error === undefined ? build() : "Go is not installed";
  },
  start: async ({ hosts, core }) => {
    const server = startOn(core, [binary(), hosts.join(",")]);
    try {
      const serverPort = await portOf(server);
      const envoy = await startEnvoy({
        hosts,
        core,
        workers: 1,
        fallback: "round_robin",
        wasm: false,
        edit: (yaml) =>
          withCluster(withFilter(withoutAccessLog(yaml), FILTER), clusterOf(serverPort)),
      });
      return {
        port: envoy.port,
        cpuMs: () => envoy.cpuMs() + cpuMs(server.pid),
        residentBytes: () => envoy.residentBytes() + residentBytes(server.pid),
        stop: async () => {
          await envoy.stop();
          await server.stop();
        },
      };
    } catch (error) {
      await server.stop();
      throw error;
    }
  },
};

/** The cheapest mode in which a server sees bodies: one message with the whole body, one answer. */
const FILTER = {
  name: "envoy.filters.http.ext_proc",
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor",
    grpc_service: { envoy_grpc: { cluster_name: "ext_proc" }, timeout: "10s" },
    message_timeout: "10s",
    processing_mode: {
      request_header_mode: "SKIP",
      response_header_mode: "SKIP",
      request_body_mode: "BUFFERED",
      response_body_mode: "NONE",
    },
  },
};

function clusterOf(port: number): object {
  const address = { socket_address: { address: "127.0.0.1", port_value: port } };
  return {
    name: "ext_proc",
    type: "STATIC",
    connect_timeout: "1s",
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        explicit_http_config: { http2_protocol_options: {} },
      },
    },
    load_assignment: {
      cluster_name: "ext_proc",
      endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }],
    },
  };
}

/** Named after its sources, so that a changed one is built anew. */
function binary(): string {
  const hash = createHash("sha256");
  for (const file of ["main.go", "go.mod", "go.sum"])
    hash.update(readFileSync(join(SOURCES, file)));
  return join(CACHE, `extproc-${hash.digest("hex").slice(0, 12)}`);
}

/** Builds the server; says why it couldn't. */
function build(): string | undefined {
  mkdirSync(CACHE, { recursive: true });
  console.log("Building the ext_proc server with Go, once");
  const args = ["build", "-trimpath", "-o", binary(), "."];
  const result = spawnSync("go", args, { cwd: SOURCES, encoding: "utf8" });
  return result.status === 0 ? undefined : `go build says: ${result.stderr.trim()}`;
}

async function portOf(server: Started): Promise<number> {
  for (const deadline = Date.now() + START_TIMEOUT_MS; ; ) {
    const port = /^(\d+)\n/.exec(server.output())?.[1];
    if (port !== undefined) return Number(port);
    if (server.ended() || Date.now() > deadline) {
      throw new Error(`the ext_proc server does not start: ${server.output()}`);
    }
    await sleep(20);
  }
}
