/** Longest canonical address: `[` + 45 bytes of IPv6 + `]:65535`. */
const MAX_ADDRESS_BYTES: i32 = 53;

/**
 * One `ip:port` in the form in which Envoy prints upstream addresses: IPv4 dotted, IPv6 in brackets, lower-case, with the longest
 * run of zeros compressed (as inet_ntop does). Reusable: a parse overwrites the one before and allocates nothing.
 */
export class Address {
  private readonly bytes: StaticArray<u8> = new StaticArray<u8>(MAX_ADDRESS_BYTES + 3);
  readonly groups: StaticArray<u16> = new StaticArray<u16>(8);
  /** Bytes of the whole. */
  len: i32 = 0;
  /** 1..65535; 0 before the first parse, and after one that failed. */
  port: i32 = 0;

  /** The whole in canonical form, `len` bytes. */
  get ptr(): usize {
    return changetype<usize>(this.bytes);
  }

  clear(): void {
    this.len = 0;
    this.port = 0;
  }

  put(byte: u8): void {
    if (this.len >= MAX_ADDRESS_BYTES) return;
    store<u8>(this.ptr + this.len, byte);
    this.len++;
  }

  putDecimal(value: i32): void {
    if (value >= 10) this.putDecimal(value / 10);
    this.put(<u8>(48 + (value % 10)));
  }
}

/** Reads `ip:port` (IPv6 in brackets) into `out`; false, and `out` empty, if it isn't one. */
export function parseAddress(ptr: usize, len: i32, out: Address): bool {
  out.clear();
  const end = ptr + len;
  let colon = end;
  while (colon > ptr && load<u8>(colon - 1) != 0x3a) colon--;
  if (colon == ptr) return false;
  const port = parsePort(colon, <i32>(end - colon));
  const hostLen = <i32>(colon - 1 - ptr);
  if (port == 0 || hostLen == 0) return false;
  if (load<u8>(ptr) == 0x5b) {
    if (hostLen < 4 || load<u8>(colon - 2) != 0x5d) return false;
    if (!readIpv6(ptr + 1, hostLen - 2, out.groups)) return false;
    out.put(0x5b);
    putIpv6(out);
    out.put(0x5d);
  } else {
    if (!readIpv4(ptr, hostLen, out.groups, 0)) return false;
    putIpv4(out, 0);
  }
  out.port = port;
  out.put(0x3a);
  out.putDecimal(port);
  return true;
}

/** 1..65535 without leading zeros; 0 if it isn't a port. */
function parsePort(ptr: usize, len: i32): i32 {
  if (len < 1 || len > 5 || load<u8>(ptr) == 0x30) return 0;
  let port = 0;
  for (let i = 0; i < len; i++) {
    const digit = <i32>load<u8>(ptr + i) - 48;
    if (digit < 0 || digit > 9) return 0;
    port = port * 10 + digit;
  }
  return port <= 65535 ? port : 0;
}

/** Four decimal octets without leading zeros into two groups from `at`. */
function readIpv4(ptr: usize, len: i32, groups: StaticArray<u16>, at: i32): bool {
  let octets = 0;
  let value = -1;
  let bits: u32 = 0;
  for (let i = 0; i <= len; i++) {
    const byte = i < len ? <i32>load<u8>(ptr + i) : 0x2e;
    if (byte == 0x2e) {
      if (value < 0 || octets == 4) return false;
      bits = (bits << 8) | <u32>value;
      octets++;
      value = -1;
      continue;
    }
    const digit = byte - 48;
    if (digit < 0 || digit > 9 || value == 0) return false;
    value = value < 0 ? digit : value * 10 + digit;
    if (value > 255) return false;
  }
  if (octets != 4) return false;
  unchecked((groups[at] = <u16>(bits >> 16)));
  unchecked((groups[at + 1] = <u16>bits));
  return true;
}

/** IPv6 as inet_pton reads it (no zone), into eight groups. */
function readIpv6(ptr: usize, len: i32, groups: StaticArray<u16>): bool {
  const end = ptr + len;
  let count = 0;
  let gap = -1;
  if (len < 2) return false;
  if (load<u8>(ptr) == 0x3a) {
    if (load<u8>(ptr + 1) != 0x3a) return false;
    gap = 0;
    ptr += 2;
  }
  while (ptr < end) {
    if (count == 8) return false;
    const start = ptr;
    let value: u32 = 0;
    while (ptr < end && ptr - start < 5) {
      const digit = hexDigit(load<u8>(ptr));
      if (digit < 0) break;
      value = (value << 4) | <u32>digit;
      ptr++;
    }
    if (ptr < end && load<u8>(ptr) == 0x2e) {
      if (count > 6 || !readIpv4(start, <i32>(end - start), groups, count)) return false;
      count += 2;
      break;
    }
    if (ptr == start || ptr - start > 4) return false;
    unchecked((groups[count++] = <u16>value));
    if (ptr == end) break;
    if (load<u8>(ptr) != 0x3a || ++ptr == end) return false;
    if (load<u8>(ptr) == 0x3a) {
      if (gap >= 0) return false;
      gap = count;
      ptr++;
    }
  }
  if (gap < 0) return count == 8;
  if (count == 8) return false;
  const tail = count - gap;
  for (let i = 1; i <= tail; i++) unchecked((groups[8 - i] = groups[count - i]));
  for (let i = gap; i < 8 - tail; i++) unchecked((groups[i] = 0));
  return true;
}

function hexDigit(byte: u8): i32 {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 0x20;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

function putIpv4(out: Address, at: i32): void {
  const high = <i32>unchecked(out.groups[at]);
  const low = <i32>unchecked(out.groups[at + 1]);
  out.putDecimal(high >> 8);
  out.put(0x2e);
  out.putDecimal(high & 255);
  out.put(0x2e);
  out.putDecimal(low >> 8);
  out.put(0x2e);
  out.putDecimal(low & 255);
}

/** As inet_ntop prints: first longest run of two or more zero groups as `::`, IPv4 tails dotted. */
function putIpv6(out: Address): void {
  const groups = out.groups;
  let best = -1;
  let bestLen = 1;
  let run = 0;
  for (let i = 0; i < 8; i++) {
    run = unchecked(groups[i]) == 0 ? run + 1 : 0;
    if (run > bestLen) {
      bestLen = run;
      best = i + 1 - run;
    }
  }
  const dotted = best == 0 && (bestLen == 6 || (bestLen == 5 && unchecked(groups[5]) == 0xffff));
  for (let i = 0; i < 8; i++) {
    if (i == best) {
      out.put(0x3a);
      i += bestLen - 1;
      if (i == 7) out.put(0x3a);
      continue;
    }
    if (i > 0) out.put(0x3a);
    if (dotted && i == 6) {
      putIpv4(out, 6);
      break;
    }
    putHex(out, unchecked(groups[i]));
  }
}

function putHex(out: Address, value: u32): void {
  let shift = 12;
  while (shift > 0 && value >> shift == 0) shift -= 4;
  for (; shift >= 0; shift -= 4) {
    const digit = <u8>((value >> shift) & 15);
    out.put(digit < 10 ? 48 + digit : 87 + digit);
  }
}
