import { isPathEntry } from "./paths";

/** What a text has to look like. */
export const enum Shape {
  /** No text: numbers, flags, words. */
  None,
  Cluster,
  /** A request path with its query. */
  Path,
  Header,
  /** A header that can name a session: none that changes with every request. */
  SessionHeader,
  /** One to three names joined by dots. */
  BodyField,
  /** An entry of `routing.paths`. */
  PathEntry,
  /** A path as in `routing.paths`, or a model's name. */
  PathOrModel,
  /** A label of a metric. */
  Label,
  Metric,
  /** Any text that is too long to be guessed; messages don't repeat it. */
  Secret,
  /** `ip:port`; read by address.ts. */
  Address,
}

const MIN_SECRET_BYTES: i32 = 16;

/** Most names in a dotted body field. */
const MAX_SEGMENTS: i32 = 3;

/** Headers with a new value for every request, which as session keys would spread conversations. */
const REQUEST_IDS: string[] = [
  "x-request-id",
  "x-client-request-id",
  "request-id",
  "traceparent",
  "x-b3-traceid",
  "x-b3-spanid",
  "x-cloud-trace-context",
  "x-amzn-trace-id",
];

/** What a message says is expected of a shape. */
export function shapeText(shape: Shape): string {
  switch (shape) {
    case Shape.Cluster:
      return "a cluster's name";
    case Shape.Path:
      return 'a path that starts with "/"';
    case Shape.Header:
      return "a header's name";
    case Shape.SessionHeader:
      return "a header's name, none with a new value for every request";
    case Shape.BodyField:
      return 'a field\'s name, or up to 3 names joined by "."';
    case Shape.PathEntry:
      return 'a path that starts with "/", or with "*" at its start or end, without a query';
    case Shape.PathOrModel:
      return "a path, with * at its start or end for any, or a model's name";
    case Shape.Label:
      return "a label's name";
    case Shape.Metric:
      return "a metric's name";
    case Shape.Address:
      return "ip:port (IPv6 in brackets)";
    case Shape.Secret:
      return `a text of at least ${MIN_SECRET_BYTES} bytes`;
    default:
      return "a text";
  }
}

/** Whether a text that isn't empty has a shape; addresses are read elsewhere. */
export function hasShape(shape: Shape, ptr: usize, len: i32): bool {
  switch (shape) {
    case Shape.Cluster:
    case Shape.PathOrModel:
      return allOf(ptr, len, CLUSTER);
    case Shape.Path:
      return load<u8>(ptr) == 0x2f && allOf(ptr, len, PATH);
    case Shape.Header:
      return allOf(ptr, len, TOKEN);
    case Shape.SessionHeader:
      return allOf(ptr, len, TOKEN) && !isRequestId(ptr, len);
    case Shape.BodyField:
      return isBodyField(ptr, len);
    case Shape.PathEntry:
      return isPathEntry(ptr, len);
    case Shape.Label:
      return !isDigit(load<u8>(ptr)) && allOf(ptr, len, LABEL);
    case Shape.Metric:
      return !isDigit(load<u8>(ptr)) && allOf(ptr, len, METRIC);
    case Shape.Secret:
      return len >= MIN_SECRET_BYTES;
    default:
      return false;
  }
}

const CLUSTER: i32 = 0;
const PATH: i32 = 1;
const TOKEN: i32 = 2;
const LABEL: i32 = 3;
const METRIC: i32 = 4;

function allOf(ptr: usize, len: i32, set: i32): bool {
  for (let i = 0; i < len; i++) {
    if (!isIn(load<u8>(ptr + i), set)) return false;
  }
  return true;
}

function isIn(byte: u8, set: i32): bool {
  if (set == CLUSTER) return byte >= 0x20 && byte != 0x7f;
  if (set == PATH) return byte > 0x20 && byte < 0x7f && byte != 0x23;
  const lower = byte | 0x20;
  if ((lower >= 0x61 && lower <= 0x7a) || isDigit(byte) || byte == 0x5f) return true;
  if (set == METRIC) return byte == 0x3a || byte == 0x2e;
  if (set != TOKEN) return false;
  switch (byte) {
    case 0x21: // !
    case 0x23: // #
    case 0x24: // $
    case 0x25: // %
    case 0x26: // &
    case 0x27: // '
    case 0x2a: // *
    case 0x2b: // +
    case 0x2d: // -
    case 0x2e: // .
    case 0x5e: // ^
    case 0x60: // `
    case 0x7c: // |
    case 0x7e: // ~
      return true;
    default:
      return false;
  }
}

function isDigit(byte: u8): bool {
  return byte >= 0x30 && byte <= 0x39;
}

function isRequestId(ptr: usize, len: i32): bool {
  for (let i = 0; i < REQUEST_IDS.length; i++) {
    const name = unchecked(REQUEST_IDS[i]);
    if (name.length != len) continue;
    let same = true;
    for (let j = 0; j < len && same; j++) {
      const byte = load<u8>(ptr + j);
      const lower: i32 = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
      same = lower == name.charCodeAt(j);
    }
    if (same) return true;
  }
  return false;
}

/** Names of any characters but dots and control bytes, none empty. */
function isBodyField(ptr: usize, len: i32): bool {
  let segments = 1;
  let size = 0;
  for (let i = 0; i < len; i++) {
    const byte = load<u8>(ptr + i);
    if (byte == 0x2e) {
      if (size == 0) return false;
      segments++;
      size = 0;
    } else if (byte < 0x20 || byte == 0x7f) {
      return false;
    } else {
      size++;
    }
  }
  return size > 0 && segments <= MAX_SEGMENTS;
}
