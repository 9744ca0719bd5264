import { Signal } from "../config/signals";

/** Knows the backends: turns the value of the host label into one of them. */
export abstract class HostMatcher {
  /**
   * @param signal what the sample tells
   * @returns the backend whose `ip:port` the bytes are, else the only backend with that ip, as a
   * number below the reader's `maxHosts`; -1 for anything else
   */
  abstract find(ptr: usize, len: i32, signal: Signal): i32;
}

/** Whether an address `ip:port` is at this ip (IPv6 with or without brackets). */
export function isAtIp(address: usize, addressLen: i32, ip: usize, ipLen: i32): bool {
  let hostLen = addressLen;
  while (hostLen > 0 && load<u8>(address + hostLen - 1) != 0x3a) hostLen--;
  hostLen--;
  if (hostLen <= 0 || ipLen <= 0) return false;
  if (load<u8>(address) == 0x5b && load<u8>(ip) != 0x5b) {
    address++;
    hostLen -= 2;
  }
  return hostLen == ipLen && memory.compare(address, ip, ipLen) == 0;
}
