import { proxy_get_buffer_bytes } from "./imports";
import { arenaRelease, clearCells, LEN_CELL, outLen, outPtr, PTR_CELL, takeOut } from "./memory";

/** What `getBuffer` can read. */
export const enum BufferType {
  RequestBody = 0,
  ResponseBody = 1,
  CallResponseBody = 4,
  VmConfiguration = 6,
  PluginConfiguration = 7,
}

/**
 * Copies bytes [start, start + length) of a buffer in, cut at its end, to `outPtr`, `outLen`.
 * False: no such buffer now, or no memory for it.
 */
export function getBuffer(type: BufferType, start: i32, length: i32): bool {
  if (start < 0 || length < 0) return takeOut(1);
  clearCells();
  return takeOut(proxy_get_buffer_bytes(type, start, length, PTR_CELL, LEN_CELL));
}

/** Bytes that are copied in at a time: all pieces lie in the same place, which stays in the processor's cache. */
const PIECE_BYTES: i32 = 32 * 1024;
let lastPiece: usize = 0;

/**
 * Copies the next piece of [start, end) of a buffer in, to `outPtr`, `outLen`: to read a buffer of any size piece by piece,
 * from 0 on. Takes the place of the piece before, and of what was copied in since.
 * False: nothing more comes.
 */
export function getPiece(type: BufferType, start: i32, end: i32): bool {
  if (start > 0 && lastPiece != 0) arenaRelease(lastPiece);
  lastPiece = 0;
  if (start >= end || !getBuffer(type, start, min(PIECE_BYTES, end - start))) return false;
  lastPiece = outPtr;
  return outLen > 0;
}
