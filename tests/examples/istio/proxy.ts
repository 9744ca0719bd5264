import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { endpoints } from "../../../tools/envoy/render.ts";
import { WASM } from "../../../tools/paths.ts";
import { type Json, managers, type ProxyConfig } from "./patch.ts";

export interface ProxyOptions {
  listenerPort: number;
  adminPort: number;
  /** Of the listener for other gateways, where there is one. */
  peerPort: number;
  /** `ip:port`s by cluster. */
  members: Record<string, string[]>;
  /** A folder for what ECDS serves, a file for each extension. */
  extensionsFolder: string;
}

/** Of Istio's own Envoy: stock Envoy doesn't have them. */
const ISTIO_ONLY = /^istio\b/;

/**
 * A bootstrap for stock Envoy of what istiod sends to a proxy: endpoints and routes in place, ECDS from
 * a file, without TLS between proxies and without Istio's own extensions. What the agent does, making a
 * file of the module that it pulled, is done here.
 */
export function bootstrapOf(config: ProxyConfig, options: ProxyOptions): string {
  const { listeners, clusters, routes, extensions = [] } = structuredClone(config);
  for (const cluster of clusters) {
    for (const key of ["filters", "transport_socket_matches", "eds_cluster_config"]) {
      delete cluster[key];
    }
    cluster.type = "STATIC";
    const name = String(cluster.name);
    const members = endpoints(options.members[name] ?? []);
    cluster.load_assignment = { cluster_name: name, endpoints: [{ lb_endpoints: members }] };
  }
  for (const listener of listeners) {
    const isForPeers = listener.name === "warmroute_peers";
    listener.address = socketAddress(isForPeers ? options.peerPort : options.listenerPort);
    listener.bind_to_port = true;
    delete listener.default_filter_chain;
  }
  for (const { typed_config: manager } of managers(listeners)) {
    const rds = manager.rds as { route_config_name: string } | undefined;
    manager.route_config ??= routes.find(({ name }) => name === rds?.route_config_name);
    for (const key of ["rds", "tracing", "access_log"]) delete manager[key];
    manager.http_filters = (manager.http_filters as Json[])
      .filter(({ name }) => !ISTIO_ONLY.test(String(name)))
      .map((filter) => located(filter, options.extensionsFolder));
  }
  writeExtensions(extensions, options.extensionsFolder);
  return JSON.stringify({
    node: { id: "proxy", cluster: "proxy" },
    admin: { address: socketAddress(options.adminPort) },
    static_resources: { listeners, clusters: [...clusters, adminCluster(options.adminPort)] },
  });
}

const socketAddress = (port: number) => ({
  socket_address: { address: "127.0.0.1", port_value: port },
});

/** The cluster that Istio's bootstrap has on the admin interface. */
function adminCluster(port: number): Json {
  const name = "prometheus_stats";
  const members = endpoints([`127.0.0.1:${port}`]);
  const load_assignment = { cluster_name: name, endpoints: [{ lb_endpoints: members }] };
  return { name, type: "STATIC", connect_timeout: "0.250s", load_assignment };
}

/** Module and discovery where they are here. */
function located(filter: Json, extensionsFolder: string): Json {
  const discovery = filter.config_discovery as { config_source: Json } | undefined;
  if (discovery !== undefined) {
    const { ads: _ads, initial_fetch_timeout: _timeout, ...source } = discovery.config_source;
    const path = join(extensionsFolder, `${filter.name}.json`);
    discovery.config_source = { ...source, path_config_source: { path } };
  } else if (filter.name === "warmroute") {
    useLocalModule(filter.typed_config as Json);
  }
  return filter;
}

function useLocalModule(wasm: Json): void {
  const { vm_config } = wasm.config as { vm_config: Json };
  vm_config.code = { local: { filename: WASM } };
}

function writeExtensions(extensions: Json[], folder: string): void {
  const type_url = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";
  for (const extension of extensions) {
    useLocalModule(extension.typed_config as Json);
    const resources = [{ "@type": type_url, ...extension }];
    const file = join(folder, `${extension.name}.json`);
    writeFileSync(file, JSON.stringify({ version_info: "1", type_url, resources }));
  }
}
