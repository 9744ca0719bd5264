import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../paths.ts";
import type {
  Cluster,
  ConfigDump,
  HttpFilter,
  Listener,
  Manager,
  Plugin,
  Route,
  RouteConfig,
  Typed,
} from "./dump.ts";

/** One warmroute filter in a listener, as Envoy runs it. */
export interface FilterSetup {
  listener: string;
  /** Address that the listener is bound to. */
  address: string;
  /** The Wasm filter's `config`. */
  plugin: Plugin;
  /** The plugin configuration as it was given, and with every default. */
  given: unknown;
  settings: Settings;
  /** Why the given one can't be read. */
  unreadable: string;
  /** Routes that its requests may take. */
  routes: Route[];
  connectionBufferBytes: number;
}

/** The fields of the plugin configuration that are checked. */
export interface Settings {
  hosts: string[];
  inspect_limit_bytes: number;
  routing: { header: string; mode: string };
  discovery: { source: string; cluster: string; target_cluster: string };
  metrics: { source: string; cluster: string };
  peers: { cluster: string; serve: boolean };
  status: { path: string };
}

/** The parts of Envoy's configuration that matter here. */
export interface Setup {
  filters: FilterSetup[];
  /** Routes of listeners without the filter, by listener. */
  bare: { listener: string; routes: Route[] }[];
  clusters: Map<string, Cluster>;
}

const MANAGER = "HttpConnectionManager";
const WASM = "http.wasm.v3.Wasm";
/** Envoy's own value where none is set. */
const BUFFER_BYTES = 1 << 20;

/** Reads a configuration dump. */
export function readSetup(dump: ConfigDump): Setup {
  const configs = dump.configs ?? [];
  const listeners = configs.flatMap((config) => [
    ...(config.static_listeners ?? []).map(({ listener }) => listener),
    ...(config.dynamic_listeners ?? []).map(({ active_state }) => active_state?.listener),
  ]);
  const clusters = configs.flatMap((config) =>
    [...(config.static_clusters ?? []), ...(config.dynamic_active_clusters ?? [])].map(
      ({ cluster }) => cluster,
    ),
  );
  const routes = configs.flatMap((config) =>
    [...(config.static_route_configs ?? []), ...(config.dynamic_route_configs ?? [])].map(
      ({ route_config }) => route_config,
    ),
  );
  // A filter may come by itself (ECDS): then listeners have only its name.
  const discovered = configs.flatMap((config) =>
    (config.ecds_filters ?? []).map(({ ecds_filter }) => ecds_filter),
  );
  const setup: Setup = { filters: [], bare: [], clusters: new Map() };
  for (const cluster of clusters) {
    if (cluster?.name !== undefined) setup.clusters.set(cluster.name, cluster);
  }
  for (const listener of listeners) {
    if (listener === undefined) continue;
    for (const manager of managersIn(listener)) {
      const routed = routesOf(manager, routes);
      const own = (manager.http_filters ?? []).flatMap((filter) =>
        pluginOf(discovered.find((other) => other?.name === filter.name) ?? filter),
      );
      if (own.length === 0) setup.bare.push({ listener: listener.name ?? "", routes: routed });
      for (const plugin of own) setup.filters.push(filterSetup(listener, plugin, routed));
    }
  }
  return setup;
}

/** The HTTP connection managers of a listener, wherever its filter chains have them. */
function managersIn(part: unknown): Manager[] {
  if (typeof part !== "object" || part === null) return [];
  if ((part as Typed)["@type"]?.endsWith(MANAGER)) return [part as Manager];
  return Object.values(part).flatMap(managersIn);
}

/** The Wasm `config` of a filter that is warmroute. */
function pluginOf({ typed_config }: HttpFilter): Plugin[] {
  const isWasm = [typed_config?.["@type"], typed_config?.type_url].some((type) =>
    type?.endsWith(WASM),
  );
  const config = typed_config?.config ?? typed_config?.value?.config;
  const isOurs = isWasm && config !== undefined && /warmroute/i.test(JSON.stringify(config));
  return isOurs ? [config] : [];
}

function routesOf(manager: Manager, configs: (RouteConfig | undefined)[]): Route[] {
  const name = manager.rds?.route_config_name;
  const config = manager.route_config ?? configs.find((one) => one?.name === name);
  return (config?.virtual_hosts ?? [])
    .flatMap(({ routes = [] }) => routes)
    .filter(({ route }) => route !== undefined);
}

function filterSetup(listener: Listener, plugin: Plugin, routes: Route[]): FilterSetup {
  const { given, unreadable } = readConfiguration(plugin.configuration);
  return {
    listener: listener.name ?? "",
    address: listener.address?.socket_address?.address ?? "",
    plugin,
    given,
    unreadable,
    settings: withDefaults(given),
    routes,
    connectionBufferBytes: listener.per_connection_buffer_limit_bytes ?? BUFFER_BYTES,
  };
}

/** The plugin configuration: text in a StringValue, or a Struct. */
function readConfiguration(any: Typed = {}): { given: unknown; unreadable: string } {
  const { value, "@type": type, ...fields } = any;
  if (type === undefined || !type.endsWith("StringValue")) {
    return { given: value ?? fields, unreadable: "" };
  }
  const text = String(value ?? "");
  if (text.trim() === "") return { given: {}, unreadable: "" };
  try {
    return { given: JSON.parse(text), unreadable: "" };
  } catch (error) {
    return { given: {}, unreadable: (error as Error).message };
  }
}

function withDefaults(given: unknown): Settings {
  const schema = readFileSync(join(ROOT, "envoy", "filter.schema.json"), "utf8");
  return merge(defaultsOf(JSON.parse(schema)), given) as Settings;
}

interface Schema {
  default?: unknown;
  properties?: Record<string, Schema>;
}

function defaultsOf(schema: Schema): unknown {
  if (schema.properties === undefined) return schema.default;
  const fields = Object.entries(schema.properties);
  return Object.fromEntries(fields.map(([name, field]) => [name, defaultsOf(field)]));
}

/** What is no object where one belongs is left out: the schema's check tells of it. */
function merge(base: unknown, over: unknown): unknown {
  if (!isObject(base)) return over ?? base;
  if (!isObject(over)) return base;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) merged[key] = merge(base[key], value);
  return merged;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
