import { Text, equalBytes } from "../bytes";

const STAR: u8 = 0x2a;
const SLASH: u8 = 0x2f;

/**
 * Whether a text can stand in `routing.paths`: a path, optionally with one `*` at its end (any
 * continuation: `/v1/*`) or at its start (any beginning: a proxy's prefix, as in
 * `*` + `/v1/chat/completions`); `*` alone is every path. No query, no blanks.
 */
export function isPathEntry(ptr: usize, len: i32): bool {
  if (len < 1) return false;
  const leading = load<u8>(ptr) == STAR;
  const slash = leading ? 1 : 0;
  if (slash < len && load<u8>(ptr + slash) != SLASH) return false;
  for (let i = slash; i < len; i++) {
    const byte = load<u8>(ptr + i);
    if (byte <= 0x20 || byte >= 0x7f || byte == 0x3f || byte == 0x23) return false;
    if (byte == STAR && (leading || i != len - 1)) return false;
  }
  return true;
}

/** Bytes of a request target before its query or fragment. */
function pathLength(ptr: usize, len: i32): i32 {
  for (let i = 0; i < len; i++) {
    const byte = load<u8>(ptr + i);
    if (byte == 0x3f || byte == 0x23) return i;
  }
  return len;
}

/** Whether one entry of `routing.paths` matches a path (without query; case counts). */
export function matchesPath(entry: Text, ptr: usize, len: i32): bool {
  const size = entry.len;
  if (size == 0) return false;
  if (load<u8>(entry.ptr) == STAR) {
    const fixed = size - 1;
    return len >= fixed && equalBytes(entry.ptr + 1, fixed, ptr + (len - fixed), fixed);
  }
  if (load<u8>(entry.ptr + size - 1) == STAR) {
    const fixed = size - 1;
    return len >= fixed && equalBytes(entry.ptr, fixed, ptr, fixed);
  }
  return equalBytes(entry.ptr, size, ptr, len);
}

/** Whether a request target, query and all, is inference by `routing.paths`. */
export function isInferencePath(paths: Array<Text>, ptr: usize, len: i32): bool {
  const size = pathLength(ptr, len);
  for (let i = 0; i < paths.length; i++) {
    if (matchesPath(unchecked(paths[i]), ptr, size)) return true;
  }
  return false;
}
