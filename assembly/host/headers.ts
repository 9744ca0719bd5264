import { Text } from "../bytes";
import {
  proxy_get_header_map_pairs,
  proxy_get_header_map_value,
  proxy_remove_header_map_value,
  proxy_replace_header_map_value,
} from "./imports";
import { arenaAlloc, clearCells, LEN_CELL, outLen, outPtr, PTR_CELL, takeOut } from "./memory";

/** The header maps of a stream, and of the answer to a call. */
export const enum HeaderMap {
  Request = 0,
  RequestTrailers = 1,
  Response = 2,
  ResponseTrailers = 3,
  CallResponse = 6,
}

/** Reads the first value of a header into `outPtr`, `outLen`. False: there is none. */
export function getHeader(map: HeaderMap, name: Text): bool {
  clearCells();
  return takeOut(proxy_get_header_map_value(map, name.ptr, name.len, PTR_CELL, LEN_CELL));
}

/** Replaces all values of a header by one. */
export function setHeader(map: HeaderMap, name: Text, ptr: usize, len: i32): bool {
  return proxy_replace_header_map_value(map, name.ptr, name.len, ptr, len) == 0;
}

/** Removes all values of a header. */
export function removeHeader(map: HeaderMap, name: Text): bool {
  return proxy_remove_header_map_value(map, name.ptr, name.len) == 0;
}

/** The same of a name that stands in memory. */
export function removeNamed(map: HeaderMap, name: usize, length: i32): bool {
  return proxy_remove_header_map_value(map, name, length) == 0;
}

/*
 * All headers at once, as the host serialises them (numbers little-endian):
 *
 *   ┌───────────┬──────────────────────────────┬─────────────────────────────┐
 *   │ count u32 │ count × (name u32, value u32)│ count × (name \0 value \0)  │
 *   └───────────┴──────────────────────────────┴─────────────────────────────┘
 */
let pairCount: i32 = 0;
/** Lengths, as in the serialised copy. */
let pairLengths: usize = 0;
/** Addresses of the names; a value begins one byte after its name's end. */
let pairNames: usize = 0;

/**
 * Reads all headers of a map in one copy. The accessors below hold until the next `readPairs` or
 * the next outermost callback.
 * @returns how many, -1 on any error
 */
export function readPairs(map: HeaderMap): i32 {
  pairCount = 0;
  clearCells();
  if (!takeOut(proxy_get_header_map_pairs(map, PTR_CELL, LEN_CELL))) return -1;
  if (outLen < 4) return 0;
  let count = load<u32>(outPtr);
  let end = outPtr + <usize>outLen;
  // Bounds the count before it is multiplied.
  if (count > <u32>outLen / 8) return -1;
  let names = arenaAlloc((<usize>count) << 2);
  if (names == 0) return -1;
  let lengths = outPtr + 4;
  let at = <u64>lengths + ((<u64>count) << 3);
  for (let i: u32 = 0; i < count; i++) {
    store<u32>(names + ((<usize>i) << 2), <u32>at);
    at += <u64>load<u32>(lengths + ((<usize>i) << 3)) + 1;
    at += <u64>load<u32>(lengths + ((<usize>i) << 3), 4) + 1;
    if (at > <u64>end) return -1;
  }
  pairLengths = lengths;
  pairNames = names;
  pairCount = <i32>count;
  return pairCount;
}

/** Address of name `i`; 0 out of range. */
export function pairNamePtr(i: i32): usize {
  return <u32>i < <u32>pairCount ? <usize>load<u32>(pairNames + ((<usize>i) << 2)) : 0;
}

/** Length of name `i` in bytes; 0 out of range. */
export function pairNameLen(i: i32): i32 {
  return <u32>i < <u32>pairCount ? <i32>load<u32>(pairLengths + ((<usize>i) << 3)) : 0;
}

/** Address of value `i`; 0 out of range. */
export function pairValuePtr(i: i32): usize {
  return <u32>i < <u32>pairCount ? pairNamePtr(i) + <usize>pairNameLen(i) + 1 : 0;
}

/** Length of value `i` in bytes; 0 out of range. */
export function pairValueLen(i: i32): i32 {
  return <u32>i < <u32>pairCount ? <i32>load<u32>(pairLengths + ((<usize>i) << 3), 4) : 0;
}
