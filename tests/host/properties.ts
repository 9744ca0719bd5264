import { int64Bytes, toBuffer } from "./abi.ts";
import type { Context } from "./guest.ts";
import { Stream } from "./stream.ts";

const pathsSeen = new Map<string, readonly string[]>();

/** Segments of a path. Filters ask for few paths, many times. */
function segments(path: string): readonly string[] {
  let split = pathsSeen.get(path);
  if (!split) {
    split = path.split("\0");
    pathsSeen.set(path, split);
  }
  return split;
}

function streamProperty(path: readonly string[], stream: Stream): Uint8Array | string | undefined {
  const [first, second] = path;
  const own = stream.attributes.get(path.join("."));
  if (own !== undefined) return own;
  if (first === "xds" && second === "cluster_name") return stream.cluster;
  if (first === "upstream" && second === "address") return stream.upstreamAddress;
  if (first === "request") return requestProperty(path, stream);
  if (first === "response") return responseProperty(path, stream);
  // What the filter has set by itself.
  return stream.filterState.get(path.join("\0"));
}

function requestProperty(path: readonly string[], stream: Stream): Uint8Array | string | undefined {
  const headers = stream.request.headers;
  switch (path[1]) {
    case "path":
      return headers.get(":path");
    case "url_path":
      return headers.get(":path")?.split("?")[0];
    case "host":
      return headers.get(":authority");
    case "method":
      return headers.get(":method");
    case "scheme":
      return headers.get(":scheme");
    case "id":
      return headers.get("x-request-id");
    case "headers":
      return headers.get(path[2] ?? "");
    case "protocol":
      return "HTTP/1.1";
    case "time":
      return int64Bytes(stream.startNs);
    case "duration":
      return stream.finished
        ? int64Bytes(stream.root.vm.host.clock.now() - stream.startNs)
        : undefined;
    case "size":
      return int64Bytes(stream.requestBytes);
    default:
      return undefined;
  }
}

function responseProperty(
  path: readonly string[],
  stream: Stream,
): Uint8Array | string | undefined {
  const headers = stream.response.headers;
  const status = headers.get(":status");
  switch (path[1]) {
    case "code":
      return status === undefined ? undefined : int64Bytes(Number(status));
    case "code_details":
      return stream.details;
    case "headers":
      return headers.get(path[2] ?? "");
    case "size":
      return int64Bytes(stream.response.sentBytes);
    default:
      return undefined;
  }
}

/** Value of a property for who is asking. */
export function readProperty(path: string, context: Context): Buffer | undefined {
  const split = segments(path);
  const { root } = context;
  let value = root.vm.host.property?.(split, context);
  if (value === undefined) {
    if (split[0] === "plugin_root_id") value = root.rootId;
    else if (split[0] === "plugin_name") value = root.name;
    else if (split[0] === "plugin_vm_id") value = root.vm.vmId;
    else if (context instanceof Stream) value = streamProperty(split, context);
  }
  return value === undefined ? undefined : toBuffer(value);
}
