/** Constants of proxy-wasm 0.2.1, and the byte forms that cross the border. */

export const Status = {
  Ok: 0,
  NotFound: 1,
  BadArgument: 2,
  InvalidMemoryAccess: 6,
  CasMismatch: 8,
  Unimplemented: 12,
} as const;

export const HeaderMapType = {
  Request: 0,
  RequestTrailers: 1,
  Response: 2,
  ResponseTrailers: 3,
  CallResponse: 6,
  CallResponseTrailers: 7,
} as const;

export const BufferType = {
  RequestBody: 0,
  ResponseBody: 1,
  CallResponseBody: 4,
  VmConfiguration: 6,
  PluginConfiguration: 7,
} as const;

export const HeadersStatus = {
  Continue: 0,
  StopIteration: 1,
  StopAllIterationAndBuffer: 3,
  StopAllIterationAndWatermark: 4,
} as const;

export const DataStatus = {
  Continue: 0,
  StopIterationAndBuffer: 1,
  StopIterationAndWatermark: 2,
  StopIterationNoBuffer: 3,
} as const;

export const MetricType = { Counter: 0, Gauge: 1, Histogram: 2 } as const;

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "critical"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** No callback ran: the stream is over, or its filter has stopped everything. */
export const NOT_CALLED = -1;

/** Headers as callers give them. Strings are UTF-8. */
export type Pairs = readonly (readonly [name: string, value: string | Uint8Array])[];

/**
 * A byte string: one character a byte. The native conversions from and to memory are fast, such
 * strings can be compared and be keys, and nothing is lost where bytes aren't UTF-8.
 */
export type Bytes = string;

/** Byte string of UTF-8 text or of bytes. */
export function toBytes(value: string | Uint8Array): Bytes {
  if (typeof value !== "string") return asBuffer(value).toString("latin1");
  // ASCII is its own byte string.
  if (Buffer.byteLength(value) === value.length) return value;
  return Buffer.from(value, "utf8").toString("latin1");
}

/** Text of a byte string that holds UTF-8. */
export function toText(bytes: Bytes): string {
  return Buffer.byteLength(bytes) === bytes.length
    ? bytes
    : Buffer.from(bytes, "latin1").toString("utf8");
}

/** The same bytes as a Buffer, not copied. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Bytes of a value as callers give it. */
export function toBuffer(value: string | Uint8Array): Buffer {
  return typeof value === "string" ? Buffer.from(value, "utf8") : asBuffer(value);
}

/** A whole number as attributes give it: 8 bytes, little-endian. */
export function int64Bytes(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(value));
  return bytes;
}

/** Bytes that `writePairs` needs. */
export function pairsSize(names: readonly Bytes[], values: readonly Bytes[]): number {
  let size = 4;
  for (let i = 0; i < names.length; i++) {
    size += 8 + (names[i] as Bytes).length + (values[i] as Bytes).length + 2;
  }
  return size;
}

/** Serialises headers: a count, the lengths, then names and values each with a zero behind. */
export function writePairs(
  to: Buffer,
  at: number,
  names: readonly Bytes[],
  values: readonly Bytes[],
): void {
  to.writeUInt32LE(names.length, at);
  let lengths = at + 4;
  let data = lengths + 8 * names.length;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as Bytes;
    const value = values[i] as Bytes;
    to.writeUInt32LE(name.length, lengths);
    to.writeUInt32LE(value.length, lengths + 4);
    lengths += 8;
    to.write(name, data, name.length, "latin1");
    data += name.length;
    to[data++] = 0;
    to.write(value, data, value.length, "latin1");
    data += value.length;
    to[data++] = 0;
  }
}

/** Reads serialised headers and gives each to `each`; false where lengths don't fit. */
export function readPairs(
  from: Buffer,
  at: number,
  size: number,
  each: (name: Bytes, value: Bytes) => void,
): boolean {
  if (size === 0) return true;
  if (size < 4) return false;
  const end = at + size;
  const count = from.readUInt32LE(at);
  if (count > (size - 4) / 8) return false;
  let data = at + 4 + 8 * count;
  for (let i = 0; i < count; i++) {
    const nameLength = from.readUInt32LE(at + 4 + 8 * i);
    const valueLength = from.readUInt32LE(at + 8 + 8 * i);
    if (data + nameLength + valueLength + 2 > end) return false;
    const valueAt = data + nameLength + 1;
    each(
      from.toString("latin1", data, data + nameLength),
      from.toString("latin1", valueAt, valueAt + valueLength),
    );
    data = valueAt + valueLength + 1;
  }
  return true;
}
