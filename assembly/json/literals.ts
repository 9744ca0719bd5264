/** What must follow the first letter of a literal, little-endian; 0 where it begins none. */
export function restOfLiteral(first: u32): u32 {
  if (first == 0x74) return 0x657572;
  if (first == 0x66) return 0x65736c61;
  return first == 0x6e ? 0x6c6c75 : 0;
}
