/** Counts above this are no counts. */
const MAX_COUNT: i64 = 1 << 50;

/** A count of tokens: a whole number, or one with a fraction of zeros; −1 for anything else. */
export function readCount(ptr: usize, len: i32): i64 {
  let value: i64 = 0;
  let i = 0;
  for (; i < len; i++) {
    const digit = <u32>load<u8>(ptr + i) - 0x30;
    if (digit > 9) break;
    value = value * 10 + digit;
    if (value > MAX_COUNT) return -1;
  }
  if (i == 0) return -1;
  if (i < len && load<u8>(ptr + i) == 0x2e) {
    i++;
    while (i < len && load<u8>(ptr + i) == 0x30) i++;
  }
  return i == len ? value : -1;
}
