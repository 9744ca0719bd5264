/** Address of the first `byte` in [ptr, end), or `end` if there is none. */
export function findByte(ptr: usize, end: usize, byte: u8): usize {
  const wanted = i8x16.splat(<i8>byte);
  while (ptr + 16 <= end) {
    const mask = i8x16.bitmask(i8x16.eq(v128.load(ptr), wanted));
    if (mask != 0) return ptr + ctz(mask);
    ptr += 16;
  }
  while (ptr < end && load<u8>(ptr) != byte) ptr++;
  return ptr;
}

@inline
export function isBlank(c: u32): bool {
  return c == 0x20 || c == 0x09;
}

/** Address of the first byte in [ptr, end) that is neither a space nor a tab, or `end`. */
@inline
export function skipBlanks(ptr: usize, end: usize): usize {
  while (ptr < end && isBlank(load<u8>(ptr))) ptr++;
  return ptr;
}
