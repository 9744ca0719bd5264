/** Protobuf JSON. */
export type Json = Record<string, unknown>;

/** An Istio proxy's configuration as istiod sends it, as far as patches reach. */
export interface ProxyConfig {
  listeners: Json[];
  clusters: Json[];
  routes: Json[];
  /** What ECDS serves. */
  extensions?: Json[];
}

export interface EnvoyFilter {
  kind: string;
  spec: {
    workloadSelector: { labels: Record<string, string> };
    configPatches: { applyTo: string; match: Match; patch: { operation: string; value: Json } }[];
  };
}

interface Match {
  context: string;
  listener?: {
    portNumber?: number;
    filterChain?: { filter?: { name: string; subFilter?: { name: string } } };
  };
  cluster?: { service?: string; portNumber?: number };
  routeConfiguration?: { vhost?: { name?: string; route?: { name?: string } } };
}

/**
 * Applies an EnvoyFilter's patches as istiod does, those operations that the examples use.
 * @param context of the proxy: GATEWAY, SIDECAR_OUTBOUND
 * @returns a new configuration
 * @throws where a patch is of another kind, or changes nothing
 */
export function applyPatches(
  config: ProxyConfig,
  filter: EnvoyFilter,
  context: string,
): ProxyConfig {
  const patched = structuredClone(config);
  for (const { applyTo, match, patch } of filter.spec.configPatches) {
    const operation = `${applyTo} ${patch.operation}`;
    const apply = OPERATIONS[operation];
    if (apply === undefined) throw new Error(`${operation} is not known here`);
    const changed = match.context === context ? apply(patched, match, patch.value) : 0;
    if (changed === 0) throw new Error(`${operation} changes nothing: ${JSON.stringify(match)}`);
  }
  return patched;
}

type Apply = (config: ProxyConfig, match: Match, value: Json) => number;

const OPERATIONS: Record<string, Apply> = {
  "EXTENSION_CONFIG ADD": (config, _match, value) => {
    config.extensions = [...(config.extensions ?? []), structuredClone(value)];
    return 1;
  },
  "LISTENER ADD": ({ listeners }, _match, value) => listeners.push(structuredClone(value)),
  "CLUSTER ADD": ({ clusters }, _match, value) => clusters.push(structuredClone(value)),
  "HTTP_FILTER INSERT_BEFORE": ({ listeners }, match, value) => {
    const { portNumber, filterChain } = match.listener ?? {};
    const before = filterChain?.filter?.subFilter?.name;
    let changed = 0;
    for (const { typed_config } of managers(listeners, portNumber)) {
      const filters = typed_config.http_filters as Json[];
      const at = filters.findIndex(({ name }) => name === before);
      if (at < 0) continue;
      filters.splice(at, 0, structuredClone(value));
      changed++;
    }
    return changed;
  },
  "CLUSTER MERGE": ({ clusters }, { cluster }, value) => {
    // outbound|PORT|SUBSET|SERVICE
    const matched = clusters.filter(({ name }) => {
      const [, port, , service] = String(name).split("|");
      return service === cluster?.service && Number(port) === cluster?.portNumber;
    });
    for (const each of matched) merge(each, value);
    return matched.length;
  },
  "HTTP_ROUTE MERGE": ({ routes }, { routeConfiguration }, value) => {
    const vhost = routeConfiguration?.vhost;
    const matched = routes
      .flatMap(({ virtual_hosts }) => virtual_hosts as { name: string; routes: Json[] }[])
      .filter(({ name }) => vhost?.name === undefined || vhost.name === name)
      .flatMap(({ routes }) => routes)
      .filter(({ name }) => vhost?.route?.name === undefined || vhost.route.name === name);
    for (const each of matched) merge(each, value);
    return matched.length;
  },
};

const MANAGER = "envoy.filters.network.http_connection_manager";

/** HTTP connection managers of the listeners, of all or of those on a port. */
export function managers(listeners: Json[], port?: number): { typed_config: Json }[] {
  return listeners
    .filter(({ address }) => {
      const { socket_address } = address as { socket_address: { port_value: number } };
      return port === undefined || socket_address.port_value === port;
    })
    .flatMap(({ filter_chains }) => filter_chains as { filters: Json[] }[])
    .flatMap(({ filters }) => filters as { name: string; typed_config: Json }[])
    .filter(({ name }) => name === MANAGER);
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `proto.Merge` on protobuf JSON: messages merge, lists get longer, all else is replaced. */
function merge(into: Json, from: Json): void {
  for (const [key, value] of Object.entries(from)) {
    const before = into[key];
    if (isObject(before) && isObject(value)) merge(before, value);
    else if (Array.isArray(before) && Array.isArray(value)) before.push(...structuredClone(value));
    else into[key] = structuredClone(value);
  }
}
