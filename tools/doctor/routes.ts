/** Checks of where requests may go: routes, clusters, their members. */
import type { Snapshot } from "./admin.ts";
import type { Cluster, Route } from "./dump.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import type { FilterSetup, Setup } from "./setup.ts";

const OVERRIDE = "override_host.v3.OverrideHost";
/** Envoy's own limit of requests per cluster, far below what LLM servers hold. */
const DEFAULT_MAX_REQUESTS = 1024;

/** Names of the clusters that routes lead to. */
function clustersOf(routes: Route[]): string[] {
  const names = routes.flatMap(({ route }) => [
    route?.cluster,
    ...(route?.weighted_clusters?.clusters ?? []).map(({ name }) => name),
  ]);
  return [...new Set(names.filter((name) => name !== undefined))];
}

/** The headers that a cluster takes its host from; undefined where it has no override_host. */
function overrideHeaders(cluster: Cluster | undefined): string[] | undefined {
  const policy = (cluster?.load_balancing_policy?.policies ?? [])
    .map(({ typed_extension_config }) => typed_extension_config?.typed_config)
    .find((config) => config?.["@type"]?.endsWith(OVERRIDE));
  if (policy === undefined) return undefined;
  return (policy.override_host_sources ?? []).map(({ header = "" }) => header);
}

export function checkRoutes(filter: FilterSetup, setup: Setup, now: Snapshot): Finding[] {
  if (clustersOf(filter.routes).length === 0)
    return [clustersNamed(filter, setup), ...idle(filter)];
  return [
    clustersNamed(filter, setup),
    ...clustersOf(filter.routes).map((name) => follows(filter, name, setup.clusters.get(name))),
    ...members(filter, now),
    limits(filter, setup),
  ];
}

/** A listener that leads nowhere is for operators, or for other gateways. */
function idle({ settings }: FilterSetup): Finding[] {
  if (settings.status.path !== "" || settings.peers.serve) return [];
  const remedy = "Give the listener a route to the cluster of the LLM servers.";
  return [fail("servers", "no route leads to a cluster", remedy)];
}

/** A client that can set the header on a way that doesn't lead through the filter chooses its server itself. */
export function checkBare({ filters, bare, clusters }: Setup): Finding[] {
  const name = "header is stripped";
  const headers = new Set(filters.map(({ settings }) => settings.routing.header.toLowerCase()));
  const open = bare.flatMap(({ listener, routes }) =>
    routes
      .filter(({ request_headers_to_remove = [] }) => {
        const removed = request_headers_to_remove.map((header) => header.toLowerCase());
        return ![...headers].every((header) => removed.includes(header));
      })
      .flatMap((route) => clustersOf([route]))
      .filter((cluster) =>
        overrideHeaders(clusters.get(cluster))?.some((header) => headers.has(header.toLowerCase())),
      )
      .map((cluster) => `listener ${listener} to cluster ${cluster}`),
  );
  if (open.length === 0) return [ok(name, "no way to the servers leads past the filter")];
  return [
    warn(
      name,
      `past the filter: ${[...new Set(open)].join(", ")}`,
      `Add request_headers_to_remove: [${[...headers].join(", ")}] to those routes, or clients choose their server.`,
    ),
  ];
}

function clustersNamed({ settings }: FilterSetup, { clusters }: Setup): Finding {
  const { discovery, metrics, peers } = settings;
  const named: [field: string, cluster: string][] = [];
  if (discovery.source !== "none") {
    named.push(["discovery.cluster", discovery.cluster]);
    named.push(["discovery.target_cluster", discovery.target_cluster]);
  }
  if (metrics.source !== "none") named.push(["metrics.cluster", metrics.cluster]);
  if (peers.cluster !== "") named.push(["peers.cluster", peers.cluster]);
  const name = "clusters named";
  const missing = named.filter(([, cluster]) => !clusters.has(cluster));
  if (missing.length === 0)
    return ok(name, [...new Set(named.map(([, cluster]) => cluster))].join(", ") || "none");
  const there = [...clusters.keys()].join(", ");
  const says = missing.map(([field, cluster]) => `${field}: no cluster ${cluster}`).join("; ");
  return fail(name, `${says}. Envoy has ${there}`, "Name one that Envoy has.");
}

function follows({ settings }: FilterSetup, cluster: string, config: Cluster | undefined): Finding {
  const name = "choice is followed";
  const { header } = settings.routing;
  const source = `override_host_sources: [{header: ${header}}]`;
  const headers = overrideHeaders(config);
  if (headers === undefined) {
    return fail(
      name,
      `cluster ${cluster} has no load balancing policy override_host`,
      `Give it override_host with ${source}, as in envoy/envoy.yaml.`,
    );
  }
  if (headers.some((one) => one.toLowerCase() === header.toLowerCase())) {
    return ok(name, `cluster ${cluster} goes by ${header}`);
  }
  return fail(
    name,
    `the filter sets ${header}, cluster ${cluster} goes by ${headers.join(", ")}`,
    `Make routing.header and ${source} the same.`,
  );
}

/** Members of a cluster and whether Envoy would send to them. */
function membersOf({ clusters }: Snapshot, name: string): Map<string, boolean> {
  const status = (clusters.cluster_statuses ?? []).find((cluster) => cluster.name === name);
  return new Map(
    (status?.host_statuses ?? []).map(({ address, health_status }) => {
      const { address: ip = "", port_value: port } = address?.socket_address ?? {};
      const { eds_health_status: eds = "HEALTHY", ...failures } = health_status ?? {};
      const isWell = eds !== "UNHEALTHY" && !Object.values(failures).includes(true);
      return [`${ip.includes(":") ? `[${ip}]` : ip}:${port}`, isWell];
    }),
  );
}

function members({ settings, routes }: FilterSetup, now: Snapshot): Finding[] {
  const all = new Map(clustersOf(routes).flatMap((name) => [...membersOf(now, name)]));
  const well = [...all].filter(([, isWell]) => isWell).length;
  const found: Finding[] = [];
  const name = "servers";
  if (all.size === 0) {
    found.push(fail(name, "the cluster has no member", "Add the servers to the route's cluster."));
  } else if (well < all.size) {
    const ill = [...all].flatMap(([host, isWell]) => (isWell ? [] : [host])).join(", ");
    const make = well === 0 ? fail : warn;
    found.push(
      make(
        name,
        `${well} of ${all.size} healthy; not ${ill}`,
        "See whether they run and answer Envoy's health checks.",
      ),
    );
  } else found.push(ok(name, `${all.size}, all healthy`));

  const strangers = settings.hosts.filter((host) => !all.has(host));
  if (strangers.length > 0) {
    const remedy =
      "List only members, as ip:port (not names); or leave hosts out and set discovery.source.";
    found.push(fail("hosts are members", `not in the cluster: ${strangers.join(", ")}`, remedy));
  } else if (settings.hosts.length > 0) {
    found.push(ok("hosts are members", `${settings.hosts.length} of ${all.size} are listed`));
  } else if (settings.discovery.source === "none") {
    const remedy = "Set discovery.source: envoy_admin, or list the servers in hosts.";
    found.push(warn("hosts are members", "known only from where answers come", remedy));
  } else found.push(ok("hosts are members", "found by discovery"));
  return found;
}

function limits(
  { settings, routes, connectionBufferBytes }: FilterSetup,
  { clusters }: Setup,
): Finding {
  const faults: [says: string, remedy: string][] = [];
  for (const { route, request_body_buffer_limit, per_request_buffer_limit_bytes } of routes) {
    const wanted = settings.inspect_limit_bytes + connectionBufferBytes;
    const limit = Number(request_body_buffer_limit ?? per_request_buffer_limit_bytes ?? 0);
    if (limit < wanted) {
      faults.push([
        `large bodies may be held for a second, and can't be sent twice (request_body_buffer_limit ${limit || "not set"})`,
        `set the route's request_body_buffer_limit to ${wanted} or more`,
      ]);
    }
    if (route?.timeout === undefined || Number.parseFloat(route.timeout) > 0) {
      faults.push([
        `answers are cut after ${route?.timeout ?? "15s"}`,
        "set the route's timeout: 0s",
      ]);
    }
    if (route?.retry_policy === undefined) {
      faults.push(["no retries: the fallbacks are not used", "set a retry_policy"]);
    }
  }
  for (const name of clustersOf(routes)) {
    const [thresholds] = clusters.get(name)?.circuit_breakers?.thresholds ?? [];
    const most = Number(thresholds?.max_requests ?? DEFAULT_MAX_REQUESTS);
    if (most > DEFAULT_MAX_REQUESTS) continue;
    faults.push([
      `cluster ${name} takes ${most} requests at once`,
      "raise its circuit_breakers above what the servers hold",
    ]);
  }
  const name = "limits";
  if (faults.length === 0) return ok(name, "buffer, timeout, retries and circuit breakers");
  const unique = (texts: string[]) => [...new Set(texts)].join("; ");
  const remedy = unique(faults.map(([, text]) => text));
  return warn(name, unique(faults.map(([text]) => text)), `As in envoy/envoy.yaml: ${remedy}.`);
}
