/**
 * Where boundaries lie inside long text: after 16, 64, 256 and 1024 bytes, then each an eighth
 * further on (in steps of 64 bytes), so that a shared start is found to within an eighth of its
 * length. The places depend on nothing but the distance from the start.
 */

/** Enough to pass 2^31 bytes. */
const COUNT: i32 = 128;
const positions = new StaticArray<u32>(COUNT);

function fill(): void {
  unchecked((positions[0] = 16));
  unchecked((positions[1] = 64));
  unchecked((positions[2] = 256));
  let at: u64 = 1024;
  for (let i = 3; i < COUNT; i++) {
    unchecked((positions[i] = <u32>min<u64>(at, u32.MAX_VALUE)));
    at = (at + (at >> 3)) & ~(<u64>63);
  }
}
fill();

/** The boundary with number `index` (0 or more), in bytes from the start. */
@inline
export function positionAt(index: i32): u32 {
  return index < COUNT ? unchecked(positions[index]) : u32.MAX_VALUE;
}
