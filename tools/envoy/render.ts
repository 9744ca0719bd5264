import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, WASM } from "../paths.ts";

/** What tests, tools and examples may change of envoy/envoy.yaml; the rest is as it ships. */
export interface BootstrapOptions {
  listenerPort: number;
  adminPort: number;
  /** `ip:port` or `name:port` of each LLM server; IPv6 in brackets. */
  hosts: string[];
  /** The plugin configuration; an object is written as JSON. */
  configuration?: object | string;
  /** Path of the filter; `false` leaves the filter out, so that only Envoy chooses. */
  wasm?: string | false;
  /** Where the access log goes; standard output by default. */
  accessLog?: string;
  /** Envoy's own choice where the filter makes none. */
  fallback?: "least_request" | "round_robin" | "random";
  /** Address of listener and admin; loopback by default. */
  address?: string;
  /** Path that Envoy's health checks ask for; /health by default. */
  healthPath?: string;
  /** Adds envoy/peers.yaml: the port of its listener, and `ip:port` of the gateways' listeners. */
  peers?: { port: number; hosts: string[] };
}

const FALLBACK_TYPES = {
  least_request: "least_request.v3.LeastRequest",
  round_robin: "round_robin.v3.RoundRobin",
  random: "random.v3.Random",
};

/** envoy/envoy.yaml with addresses, ports, paths and the plugin configuration put in. */
export function renderBootstrap(options: BootstrapOptions): string {
  const address = options.address ?? "127.0.0.1";
  const fallback = options.fallback ?? "least_request";
  const configuration = options.configuration ?? {};
  const text = typeof configuration === "string" ? configuration : JSON.stringify(configuration);
  const values: Record<string, string> = {
    admin_address: address,
    admin_port: String(options.adminPort),
    listener_address: address,
    listener_port: String(options.listenerPort),
    access_log: JSON.stringify(options.accessLog ?? "/dev/stdout"),
    wasm: JSON.stringify(options.wasm === false ? "" : (options.wasm ?? WASM)),
    configuration: quoted(text),
    health_check: `{ path: ${JSON.stringify(options.healthPath ?? "/health")} }`,
    fallback_name: `envoy.load_balancing_policies.${fallback}`,
    fallback_type: `type.googleapis.com/envoy.extensions.load_balancing_policies.${FALLBACK_TYPES[fallback]}`,
  };
  let yaml = readFileSync(join(ROOT, "envoy", "envoy.yaml"), "utf8");
  if (options.peers) {
    values.peer_address = address;
    values.peer_port = String(options.peers.port);
    yaml = withPeers(yaml);
  }
  yaml = fill(yaml, values);
  yaml = putEndpoints(yaml, "llm_endpoints", options.hosts);
  if (options.peers) yaml = putEndpoints(yaml, "peer_endpoints", options.peers.hosts);
  if (options.wasm === false) yaml = yaml.replace(/^ *# <filter>\n[\s\S]*?# <\/filter>\n/m, "");
  return yaml;
}

/**
 * envoy/envoy.yaml and envoy/peers.yaml as one bootstrap, otherwise as they ship.
 * @param configuration the public listener's, which names `peers.cluster`
 */
export function peersBootstrap(configuration: object): string {
  const yaml = withPeers(readFileSync(join(ROOT, "envoy", "envoy.yaml"), "utf8"));
  return fill(yaml, { configuration: quoted(JSON.stringify(configuration)) });
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** Values in the place of those that are followed by `# {name}`. */
function fill(yaml: string, values: Record<string, string>): string {
  return yaml.replace(/^(.*?: ).*? # \{(\w+)\}$/gm, (line, key: string, name: string) =>
    name in values ? `${key}${values[name]}` : line,
  );
}

/** Replaces the endpoints between two marks. */
function putEndpoints(yaml: string, mark: string, hosts: string[]): string {
  const between = new RegExp(`^( *)# \\{${mark}\\}.*\\n[\\s\\S]*?# \\{/${mark}\\}$`, "m");
  return yaml.replace(
    between,
    (_all, indent: string) => `${indent}- lb_endpoints: ${JSON.stringify(endpoints(hosts))}`,
  );
}

/** The bootstrap with the listener and the cluster of envoy/peers.yaml at the head of its lists. */
function withPeers(yaml: string): string {
  const peers = readFileSync(join(ROOT, "envoy", "peers.yaml"), "utf8");
  const inner = peers.trimEnd().replace(/^(?=.)/gm, "  ");
  const [, listeners = "", clusters = ""] = inner.split(/^ {2}(?:listeners|clusters):\n/m);
  return yaml
    .replace(/^ {2}listeners:\n/m, (line) => `${line}${listeners.trimEnd()}\n`)
    .replace(/^ {2}clusters:\n/m, (line) => `${line}${clusters.trimEnd()}\n`);
}

/** Envoy's lb_endpoints for `ip:port` strings. */
export function endpoints(hosts: string[]): object[] {
  return hosts.map((host) => {
    const match = /^\[?([^\]]+?)\]?:(\d+)$/.exec(host);
    if (match === null) throw new Error(`expected ip:port, got "${host}"`);
    const [, address, port] = match;
    return { endpoint: { address: { socket_address: { address, port_value: Number(port) } } } };
  });
}
