/** Checks of what the filter counted. */
import type { Stats } from "../envoy/stats.ts";
import type { Snapshot } from "./admin.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import type { FilterSetup } from "./setup.ts";

/** Shares of requests from which something is odd, once there are this many. */
const ODD_SHARE = 0.5;
const MANY = 20;
/** Cached tokens from which a share of them tells something. */
const TELLING_TOKENS = 10_000;

/** A statistic's value; 0 when it isn't there. */
function count(stats: Stats, name: string, labels: Record<string, string> = {}): number {
  return stats.sum(`warmroute_${name}`, labels) || 0;
}

export function checkLive(filters: FilterSetup[], now: Snapshot): Finding[] {
  const stats = now.after;
  if (stats.find("warmroute_internal_errors_total").length === 0) {
    const remedy = "Look into Envoy's log: the Wasm module may not have loaded.";
    return [fail("statistics", "warmroute has none", remedy)];
  }
  return [
    labels(stats),
    requests(stats),
    ...read(stats),
    ...ignored(stats),
    ...foreign(filters, stats),
    ...polls(filters, now),
    ...peers(stats),
    ...cache(stats),
    inner(stats),
  ];
}

function labels(stats: Stats): Finding {
  const name = "labels";
  if (stats.find("warmroute_decisions_total", { reason: "cold" }).length > 0) {
    return ok(name, "statistics have reason, cause and host");
  }
  return warn(
    name,
    "reasons are part of the statistics' names",
    "Add the stats_tags of envoy/envoy.yaml to the bootstrap's stats_config: dashboards and alerts need them.",
  );
}

function requests(stats: Stats): Finding {
  const name = "requests";
  const all = count(stats, "decisions_total");
  const rejected = count(stats, "rejected_total");
  const bypass = count(stats, "decisions_total", { reason: "bypass" });
  const opaque = count(stats, "decisions_total", { reason: "opaque" });
  const says = `${all} decided, ${rejected} answered 429`;
  if (all === 0) return warn(name, "none yet", "Send some, and run the doctor again.");
  if (all >= MANY && opaque + bypass > ODD_SHARE * all) {
    const remedy =
      "Are they compressed, or of an API that isn't in routing.paths? See the access log.";
    return warn(name, `${says}; most could not be read`, remedy);
  }
  return ok(name, says);
}

function read(stats: Stats): Finding[] {
  const unread = count(stats, "headers_not_held_total");
  if (unread === 0) return [];
  const remedy =
    "Set allow_on_headers_stop_iteration: true (Envoy 1.35 or newer); then restart Envoy, or change the filter's configuration, so that it tries again.";
  return [fail("requests read", `${unread} were routed by their headers alone`, remedy)];
}

function ignored(stats: Stats): Finding[] {
  const passed = count(stats, "choices_ignored_total");
  const all = count(stats, "decisions_total");
  const name = "choices followed";
  if (passed === 0) return all > 0 ? [ok(name, "each request went where it was sent")] : [];
  const says = `${passed} of ${all} went elsewhere though no try had failed`;
  const remedy =
    "See «choice is followed» and «hosts are members» above; some are normal while servers leave.";
  return [passed > 0.1 * all ? fail(name, says, remedy) : warn(name, says, remedy)];
}

/** Choices that aren't the filter's, and requests that it never saw. */
function foreign(filters: FilterSetup[], stats: Stats): Finding[] {
  const found: Finding[] = [];
  const headers = [...new Set(filters.map(({ settings }) => settings.routing.header))].join(", ");
  const removed = count(stats, "headers_removed_total");
  if (removed > 0) {
    const remedy = `If clients send it, strip it at the edge; if an endpoint picker before the filter sets it, keep one of the two.`;
    const says = `${removed} requests brought ${headers} along, which was removed`;
    found.push(warn("nobody else chooses", says, remedy));
  }
  const outside = count(stats, "outside_requests_total");
  if (outside > 0) {
    const remedy = `See «header is stripped» above: give that listener the filter, or its routes request_headers_to_remove: [${headers}].`;
    const says = `${outside} reached the servers past the filter`;
    found.push(warn("all requests are seen", says, remedy));
  }
  return found;
}

/** Polls are looked at over the time that was watched: what failed yesterday is no fault now. */
function polls(filters: FilterSetup[], { before, after, watchedMs }: Snapshot): Finding[] {
  const during = (name: string) => count(after, name) - count(before, name);
  const seconds = `in ${(watchedMs / 1000).toFixed(0)} s`;
  const found: Finding[] = [];
  const judge = (name: string, sent: number, failed: number, remedy: string) => {
    if (sent === 0 && failed === 0) {
      found.push(warn(name, `none sent ${seconds}`, "Run the doctor with --seconds 10."));
    } else if (failed >= sent) {
      found.push(fail(name, `no poll succeeded ${seconds}, ${failed} failed`, remedy));
    } else if (failed > 0) found.push(warn(name, `${failed} of ${sent} failed ${seconds}`, remedy));
    else found.push(ok(name, `${sent} ${seconds}`));
  };
  const why = "Envoy's log says why (warmroute: …).";
  const discoveryFailed = during("discovery_failures_total");
  if (filters.some(({ settings }) => settings.discovery.source !== "none")) {
    judge("discovery polls", during("discovery_polls_total"), discoveryFailed, why);
  }
  if (filters.some(({ settings }) => settings.metrics.source !== "none")) {
    const failed = during("scrape_failures_total") - discoveryFailed;
    judge("metrics polls", during("scrapes_total"), failed, why);
    const stale = count(after, "stale_hosts");
    if (stale > 0) {
      const remedy = "Their load isn't known: only what this Envoy sends there counts.";
      found.push(warn("reports", `${stale} servers without a recent one`, remedy));
    }
  }
  return found;
}

/** Gateways that don't understand each other. */
function peers(stats: Stats): Finding[] {
  if (count(stats, "peer_messages_received_total") === 0) return [];
  const dropped = (cause: string) => count(stats, "peer_messages_dropped_total", { cause });
  const name = "other gateways";
  const found: Finding[] = [];
  if (dropped("hashes") > 0) {
    const remedy =
      "Give all gateways the same, then restart Envoy: what others' requests left where is lost otherwise.";
    found.push(warn(name, "some had another affinity.hash_secret", remedy));
  }
  if (dropped("version") > 0) {
    const remedy = "Normal during an upgrade; else bring them all to the same release.";
    found.push(warn(name, "some spoke another version of the exchange", remedy));
  }
  return found.length > 0 ? found : [ok(name, "they understand each other")];
}

function cache(stats: Stats): Finding[] {
  const found: Finding[] = [];
  const expected = count(stats, "expected_cached_tokens_total");
  const reported = count(stats, "reported_cached_tokens_total");
  if (expected > TELLING_TOKENS && reported > 0) {
    const share = `${Math.round((100 * reported) / expected)} % of what was expected`;
    const name = "cache";
    if (reported >= ODD_SHARE * expected) found.push(ok(name, `servers found ${share}`));
    else {
      const remedy =
        "Is prefix caching on at the servers, and cost.cache_capacity_tokens what they hold?";
      found.push(warn(name, `servers found ${share}`, remedy));
    }
  }
  const evicted = count(stats, "table_evictions_total");
  if (evicted > 0.5 * count(stats, "table_entries")) {
    const remedy = "Raise affinity.table_bytes.";
    found.push(warn("locations", `${evicted} overwritten while still of use`, remedy));
  }
  return found;
}

function inner(stats: Stats): Finding {
  const errors = count(stats, "internal_errors_total");
  if (errors === 0) return ok("inner errors", "none");
  const remedy = "Envoy chose for these requests. Please report it, with Envoy's log.";
  return warn("inner errors", String(errors), remedy);
}
