import { equalBytes } from "../bytes";
import { Config } from "./config";
import { quoted } from "./describe";

/** Default of `metrics.stale_after_ms`, which a long interval can make impossible. */
const STALE_AFTER_MS: i32 = 5000;

/** What is wrong between fields that are each right; empty if nothing is. */
export function checkTogether(config: Config): string {
  const metrics = config.metrics;
  const least = 2 * metrics.intervalMs;
  if (metrics.staleAfterMs < least) {
    const got = metrics.staleAfterMs.toString();
    const whose = metrics.staleAfterMs == STALE_AFTER_MS ? " (the default)" : "";
    return `metrics.stale_after_ms: expected at least two intervals (${least}), got ${got}${whose}`;
  }
  const peers = config.peers;
  if (peers.cluster.len == 0 && peers.hosts.length > 0) {
    return 'peers.cluster: expected the gateways\' cluster, as peers.hosts is set, got ""';
  }
  const path = config.status.path;
  if (path.len > 0 && clashes(config)) {
    return `status.path: expected another path than that of peers, got ${quoted(path.ptr, path.len)}`;
  }
  return "";
}

/** Whether the status page or its data would be served where peers talk. */
function clashes(config: Config): bool {
  const own = config.status.path;
  const other = config.peers.path;
  if (equalBytes(own.ptr, own.len, other.ptr, other.len)) return true;
  const json = ".json";
  const stem = other.len - json.length;
  if (stem != own.len || !equalBytes(own.ptr, own.len, other.ptr, stem)) return false;
  for (let i = 0; i < json.length; i++) {
    if (<i32>load<u8>(other.ptr + stem + i) != json.charCodeAt(i)) return false;
  }
  return true;
}
