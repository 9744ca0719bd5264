/**
 * The arena behind `malloc`. Envoy hands in everything (headers, bodies, shared data) through
 * `malloc`; what it hands in is used within one callback, so a bump pointer that starts again at
 * each outermost callback needs no free and leaves no garbage.
 */

/** Bytes of the block that every callback starts with. */
const FIRST_BLOCK_BYTES: usize = 64 * 1024;
/** Bytes that larger requests may hold between two outermost callbacks; more is refused. */
const MAX_LARGE_BYTES: usize = 64 * 1024 * 1024;
/** A large block begins with the address of the one before it. */
const LARGE_HEADER_BYTES: usize = 16;
const ALIGN_MASK: usize = 7;

const firstBlock: usize = heap.alloc(FIRST_BLOCK_BYTES);
let nextFree: usize = firstBlock;
let lastLarge: usize = 0;
let largeBytes: usize = 0;

let depth: i32 = 0;
let collectAtEnd: bool = false;

/** Where host functions write their results: an address, a length, and a number of 8 bytes. */
export const PTR_CELL: usize = memory.data(24, 8);
export const LEN_CELL: usize = PTR_CELL + 4;
export const VALUE_CELL: usize = PTR_CELL + 8;

/** Address of what the last successful getter read; valid until the next outermost callback. */
export let outPtr: usize = 0;
/** Its length in bytes. After `httpCall` the host's status instead. */
export let outLen: i32 = 0;
/** Version of the shared value that `getShared` read last, for `setShared`. */
export let outCas: u32 = 0;

/**
 * Reserves `size` bytes until the next outermost callback.
 * @returns the address, 8-byte aligned, or 0 when the bound is reached
 */
export function arenaAlloc(size: usize): usize {
  // Also keeps the sums below from wrapping.
  if (size > MAX_LARGE_BYTES) return 0;
  let ptr = nextFree;
  let rounded = (size + ALIGN_MASK) & ~ALIGN_MASK;
  if (ptr + rounded <= firstBlock + FIRST_BLOCK_BYTES) {
    nextFree = ptr + rounded;
    return ptr;
  }
  if (largeBytes + rounded > MAX_LARGE_BYTES) return 0;
  let block = heap.alloc(LARGE_HEADER_BYTES + rounded);
  store<usize>(block, lastLarge);
  lastLarge = block;
  largeBytes += rounded;
  return block + LARGE_HEADER_BYTES;
}

/** Gives back what was reserved at `ptr` and after it, as far as it lies in the first block. */
export function arenaRelease(ptr: usize): void {
  if (ptr >= firstBlock && ptr < nextFree) nextFree = ptr;
}

/** The host's allocator. 0 tells the host that there is no memory for it. */
export function malloc(size: usize): usize {
  return arenaAlloc(size);
}

function resetArena(): void {
  nextFree = firstBlock;
  let block = lastLarge;
  while (block) {
    let previous = load<usize>(block);
    heap.free(block);
    block = previous;
  }
  lastLarge = 0;
  largeBytes = 0;
}

/**
 * Begins a callback. Callbacks nest (`sendLocalResponse` calls back into the response path before
 * it returns), and the outer one may still read what it got, so only the outermost starts afresh.
 */
// @ts-ignore: decorator
@inline
export function enterCallback(): void {
  if (!depth) resetArena();
  depth++;
}

/** Ends a callback. */
// @ts-ignore: decorator
@inline
export function leaveCallback(): void {
  depth--;
  if (collectAtEnd && !depth) collect();
}

function collect(): void {
  collectAtEnd = false;
  __collect();
}

/** Asks for one garbage collection at the end of the outermost callback, when no local is live. */
export function collectSoon(): void {
  collectAtEnd = true;
}

/** Empties the result cells, so that a host that writes nothing is read as nothing. */
// @ts-ignore: decorator
@inline
export function clearCells(): void {
  store<u64>(PTR_CELL, 0);
}

/**
 * Takes a host function's status and result cells over into `outPtr` and `outLen`.
 * @returns false for any error status, and for a value without memory
 */
export function takeOut(status: u32): bool {
  let ptr = load<usize>(PTR_CELL);
  let len = <i32>load<u32>(LEN_CELL);
  if (status != 0 || len < 0 || (ptr == 0 && len != 0)) {
    outPtr = 0;
    outLen = 0;
    return false;
  }
  outPtr = ptr;
  outLen = len;
  return true;
}

/** Sets `outCas`. */
// @ts-ignore: decorator
@inline
export function takeCas(cas: u32): void {
  outCas = cas;
}

/** Sets `outLen` to a status, for calls that return something else than bytes. */
// @ts-ignore: decorator
@inline
export function takeStatus(status: u32): void {
  outLen = <i32>status;
}
