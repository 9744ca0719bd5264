import { BufferType, type Bytes, HeaderMapType, readPairs, Status, toText } from "./abi.ts";
import { Call, type CallAnswer } from "./calls.ts";
import { type Guest, VmTrap } from "./guest.ts";
import { HeaderMap } from "./headers.ts";
import { readProperty } from "./properties.ts";
import { Stream } from "./stream.ts";
import { streamImports, UNIMPLEMENTED } from "./streamimports.ts";
import { wasiImports } from "./wasi.ts";

const NO_CHUNKS: readonly Uint8Array[] = [];

/** A header map of whom host functions act on; undefined where it can't be reached now. */
function headerMap(guest: Guest, type: number): HeaderMap | undefined {
  const context = guest.effective;
  if (type === HeaderMapType.CallResponse) return guest.callAnswer?.headers;
  if (type === HeaderMapType.CallResponseTrailers) return guest.callAnswer?.trailers;
  if (!(context instanceof Stream)) return undefined;
  switch (type) {
    case HeaderMapType.Request:
      return context.map(context.request, false);
    case HeaderMapType.RequestTrailers:
      return context.map(context.request, true);
    case HeaderMapType.Response:
      return context.map(context.response, false);
    case HeaderMapType.ResponseTrailers:
      return context.map(context.response, true);
    default:
      return undefined;
  }
}

/** The same for a filter that writes: answers to calls are read only. */
function ownMap(guest: Guest, type: number): HeaderMap | undefined {
  return type >= HeaderMapType.CallResponse ? undefined : headerMap(guest, type);
}

/** The chunks of a buffer; undefined where there is no such buffer. */
function chunks(guest: Guest, type: number): readonly Uint8Array[] | undefined {
  const context = guest.effective;
  switch (type) {
    case BufferType.RequestBody:
      return context instanceof Stream ? context.request.readable() : NO_CHUNKS;
    case BufferType.ResponseBody:
      return context instanceof Stream ? context.response.readable() : NO_CHUNKS;
    case BufferType.CallResponseBody:
      return guest.callAnswer ? [guest.callAnswer.body] : undefined;
    case BufferType.VmConfiguration:
    case BufferType.PluginConfiguration:
      return guest.configuration ? [guest.configuration] : undefined;
    default:
      return undefined;
  }
}

function answerCall(call: Call, answer: CallAnswer | undefined): void {
  const { root } = call;
  const { host } = root.vm;
  const at = host.calls.indexOf(call);
  if (at >= 0) host.calls.splice(at, 1);
  const { guest } = root;
  if (guest.dead || !guest.contexts.has(root.id)) return;
  guest.callAnswer = answer;
  try {
    const { headers, body, trailers } = answer ?? {};
    const sizes = [headers?.size ?? 0, body?.length ?? 0, trailers?.size ?? 0] as const;
    guest.run(root, "proxy_on_http_call_response", 0, call.token, ...sizes);
  } catch (error) {
    if (!(error instanceof VmTrap) || host.throwOnTrap) throw error;
  } finally {
    guest.callAnswer = undefined;
  }
}

/** Host functions by their names in the ABI. */
type HostFunctions = Record<string, (...numbers: never[]) => number>;

/** Log, clock, ticks. */
function logAndTime(guest: Guest): HostFunctions {
  const { host } = guest.vm;
  return {
    proxy_log(level: number, ptr: number, size: number) {
      host.log(level, guest.read(ptr, size));
      return Status.Ok;
    },
    proxy_get_log_level: (cell: number) => guest.writeU32(cell, host.logLevel),
    proxy_get_current_time_nanoseconds: (cell: number) => guest.writeU64(cell, host.wallNs()),
    proxy_set_tick_period_milliseconds(periodMs: number) {
      guest.effective?.root.setTickPeriod(periodMs >>> 0);
      return Status.Ok;
    },
  };
}

/** Attributes, and what the filter leaves for access logs. */
function properties(guest: Guest): HostFunctions {
  return {
    proxy_get_property(path: number, size: number, ptrCell: number, sizeCell: number) {
      if (!guest.effective) return Status.NotFound;
      const value = readProperty(guest.read(path, size), guest.effective);
      return value ? guest.giveBytes(value, ptrCell, sizeCell) : Status.NotFound;
    },
    proxy_set_property(path: number, size: number, ptr: number, valueSize: number) {
      const context = guest.effective;
      if (!(context instanceof Stream)) return Status.NotFound;
      context.filterState.set(guest.read(path, size), guest.readBuffer(ptr, valueSize));
      return Status.Ok;
    },
  };
}

/** Header maps of streams and of answers to calls. */
function headers(guest: Guest): HostFunctions {
  return {
    proxy_get_header_map_value(
      type: number,
      name: number,
      size: number,
      ptrCell: number,
      sizeCell: number,
    ) {
      const map = headerMap(guest, type);
      if (!map) return Status.BadArgument;
      const value = map.find(guest.read(name, size).toLowerCase());
      return value === undefined ? Status.NotFound : guest.giveText(value, ptrCell, sizeCell);
    },
    proxy_get_header_map_pairs(type: number, ptrCell: number, sizeCell: number) {
      const map = headerMap(guest, type);
      return map ? guest.givePairs(map, ptrCell, sizeCell) : guest.giveText("", ptrCell, sizeCell);
    },
    proxy_set_header_map_pairs(type: number, ptr: number, size: number) {
      const map = ownMap(guest, type);
      if (!map) return Status.BadArgument;
      const fresh = new HeaderMap();
      const whole = readPairs(guest.view(), ptr >>> 0, size, (name, value) =>
        fresh.add(name, value),
      );
      if (!whole) return Status.BadArgument;
      map.clear();
      for (let i = 0; i < fresh.size; i++)
        map.add(fresh.names[i] as Bytes, fresh.values[i] as Bytes);
      return Status.Ok;
    },
    proxy_get_header_map_size(type: number, cell: number) {
      const map = headerMap(guest, type);
      return map ? guest.writeU32(cell, map.size) : Status.BadArgument;
    },
    proxy_add_header_map_value(type: number, n: number, nSize: number, v: number, vSize: number) {
      const map = ownMap(guest, type);
      if (!map) return Status.BadArgument;
      map.add(guest.read(n, nSize), guest.read(v, vSize));
      return Status.Ok;
    },
    proxy_replace_header_map_value(
      type: number,
      n: number,
      nSize: number,
      v: number,
      vSize: number,
    ) {
      const map = ownMap(guest, type);
      if (!map) return Status.BadArgument;
      map.set(guest.read(n, nSize).toLowerCase(), guest.read(v, vSize));
      return Status.Ok;
    },
    proxy_remove_header_map_value(type: number, name: number, size: number) {
      const map = ownMap(guest, type);
      if (!map) return Status.BadArgument;
      map.remove(guest.read(name, size).toLowerCase());
      return Status.Ok;
    },
  };
}

/** Bodies and configurations. */
function buffers(guest: Guest): HostFunctions {
  return {
    proxy_get_buffer_bytes(
      type: number,
      start: number,
      length: number,
      ptrCell: number,
      sizeCell: number,
    ) {
      const from = chunks(guest, type);
      if (!from) return Status.NotFound;
      let total = 0;
      for (const chunk of from) total += chunk.length;
      const size = Math.min(length >>> 0, total - (start >>> 0));
      // As Envoy: nothing to read is no error, and leaves the cells as they are.
      if (size <= 0) return Status.Ok;
      return guest.giveChunks(from, start >>> 0, size, ptrCell, sizeCell);
    },
    proxy_get_buffer_status(type: number, sizeCell: number, flagsCell: number) {
      const from = chunks(guest, type);
      if (!from) return Status.NotFound;
      const size = from.reduce((sum, chunk) => sum + chunk.length, 0);
      return guest.writeU32(sizeCell, size) || guest.writeU32(flagsCell, 0);
    },
  };
}

/** What the workers of one `vm_id` share. */
function sharedData(guest: Guest): HostFunctions {
  const shared = guest.vm.host.shared(guest.vm.vmId);
  return {
    proxy_get_shared_data(
      key: number,
      size: number,
      ptrCell: number,
      sizeCell: number,
      casCell: number,
    ) {
      const entry = shared.get(guest.read(key, size));
      if (!entry) return Status.NotFound;
      const cas = entry.cas;
      return guest.giveBytes(entry.value, ptrCell, sizeCell) || guest.writeU32(casCell, cas);
    },
    proxy_set_shared_data(key: number, size: number, ptr: number, length: number, cas: number) {
      const at = ptr >>> 0;
      const name = guest.read(key, size);
      return shared.set(name, guest.view().subarray(at, at + (length >>> 0)), cas >>> 0);
    },
  };
}

/** Counters, gauges, histograms. */
function statistics(guest: Guest): HostFunctions {
  const { metrics } = guest.vm.host;
  return {
    proxy_define_metric(type: number, name: number, size: number, cell: number) {
      const id = metrics.define(type, guest.read(name, size));
      return id === 0 ? Status.BadArgument : guest.writeU32(cell, id);
    },
    proxy_increment_metric: (id: number, by: bigint) => metrics.increment(id, Number(by)),
    proxy_record_metric: (id: number, value: bigint) =>
      metrics.record(id, Number(BigInt.asUintN(64, value))),
    proxy_get_metric(id: number, cell: number) {
      const value = metrics.read(id);
      return value === undefined ? Status.NotFound : guest.writeU64(cell, BigInt(value));
    },
  };
}

/** HTTP requests of the filter itself. */
function calls(guest: Guest): HostFunctions {
  const { host } = guest.vm;
  let nextToken = 1;
  return {
    proxy_http_call(
      cluster: number,
      clusterSize: number,
      headersPtr: number,
      headersSize: number,
      bodyPtr: number,
      bodySize: number,
      _trailersPtr: number,
      _trailersSize: number,
      timeoutMs: number,
      cell: number,
    ) {
      const root = guest.effective?.root;
      const name = toText(guest.read(cluster, clusterSize));
      if (!root || !host.clusters.has(name) || timeoutMs < 0) return Status.BadArgument;
      const headers = new HeaderMap();
      const add = (key: Bytes, value: Bytes) => headers.add(key, value);
      if (!readPairs(guest.view(), headersPtr >>> 0, headersSize, add)) return Status.BadArgument;
      for (const required of [":path", ":method", ":authority"]) {
        if (headers.find(required) === undefined) return Status.BadArgument;
      }
      const body = guest.readBuffer(bodyPtr, bodySize);
      if (body.length > 0) headers.set("content-length", String(body.length));
      const token = nextToken++;
      const sentNs = host.clock.now();
      const fields = { token, root, cluster: name, headers, body, timeoutMs, sentNs };
      const call = new Call(fields, answerCall);
      host.calls.push(call);
      // As in Envoy, no answer comes before the filter's own callback is over.
      guest.whenIdle(() => host.onCall?.(call));
      return guest.writeU32(cell, token);
    },
  };
}

/** Everything that stock Envoy offers and we know how to do; the rest answers Unimplemented. */
export function guestImports(guest: Guest): WebAssembly.Imports {
  const env: HostFunctions = {
    ...logAndTime(guest),
    ...properties(guest),
    ...headers(guest),
    ...buffers(guest),
    ...sharedData(guest),
    ...statistics(guest),
    ...calls(guest),
    ...streamImports(guest),
  };
  for (const name of UNIMPLEMENTED) env[name] = () => Status.Unimplemented;
  return { env, wasi_snapshot_preview1: wasiImports(guest) } as unknown as WebAssembly.Imports;
}
