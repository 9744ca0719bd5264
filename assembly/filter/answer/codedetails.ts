import { text } from "../../bytes";
import { outLen, outPtr } from "../../host/memory";
import { getProperty, path } from "../../host/properties";

const CODE_DETAILS = path("response", "code_details");
const VIA_UPSTREAM = text("via_upstream");
/** Details begin so where the host, or the connection to it, is at fault … */
const UPSTREAM = text("upstream_");
/** … unless a circuit breaker of Envoy's was open. */
const OVERFLOW = text("overflow");
const UPSTREAM_RESET = text("upstream_reset");

/** Whether the answer is the host's, not one of Envoy's own. */
export function isFromUpstream(): bool {
  if (!getProperty(CODE_DETAILS)) return true;
  return outLen == VIA_UPSTREAM.len && memory.compare(outPtr, VIA_UPSTREAM.ptr, outLen) == 0;
}

/** Whether an answer of Envoy's own tells that the host failed: not that there is no route, no host, or no room in Envoy. */
export function isUpstreamsFault(): bool {
  if (!getProperty(CODE_DETAILS)) return true;
  if (outLen < UPSTREAM.len || memory.compare(outPtr, UPSTREAM.ptr, UPSTREAM.len) != 0)
    return false;
  for (let at = UPSTREAM.len; at + OVERFLOW.len <= outLen; at++) {
    if (memory.compare(outPtr + at, OVERFLOW.ptr, OVERFLOW.len) == 0) return false;
  }
  return true;
}

/** Whether the upstream, not the client, ended the stream early. */
export function wasReset(): bool {
  if (!getProperty(CODE_DETAILS) || outLen < UPSTREAM_RESET.len) return false;
  return memory.compare(outPtr, UPSTREAM_RESET.ptr, UPSTREAM_RESET.len) == 0;
}
