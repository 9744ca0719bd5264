import { writeU64 } from "../bytes";

/** Hosts of a cluster that are kept. */
export const MAX_CLUSTER_HOSTS: i32 = 512;

/** Longest `ip:port`. */
export const ADDRESS_BYTES: i32 = 64;

/** What Envoy says of the members of one cluster. */
export class ClusterHosts {
  /** Hosts kept. */
  count: i32 = 0;
  /** Hosts that found no room. */
  left: i32 = 0;
  private addresses: StaticArray<u8> = new StaticArray<u8>(MAX_CLUSTER_HOSTS * ADDRESS_BYTES);
  private addressLens: StaticArray<i32> = new StaticArray<i32>(MAX_CLUSTER_HOSTS);
  private usables: StaticArray<bool> = new StaticArray<bool>(MAX_CLUSTER_HOSTS);
  private ranks: StaticArray<i32> = new StaticArray<i32>(MAX_CLUSTER_HOSTS);
  private requestCounts: StaticArray<i64> = new StaticArray<i64>(MAX_CLUSTER_HOSTS);

  /** Forgets all hosts from `count` on. */
  truncate(count: i32, left: i32): void {
    this.count = count;
    this.left = left;
  }

  /**
   * Adds a host.
   * @param ipLen at most ADDRESS_BYTES − 8
   * @param port 1..65535
   * @param rank 0 for those that Envoy prefers
   * @param requests handed to it so far
   */
  add(ip: usize, ipLen: i32, port: i32, usable: bool, rank: i32, requests: i64): void {
    if (this.count >= MAX_CLUSTER_HOSTS) {
      this.left++;
      return;
    }
    const at = this.count++;
    unchecked((this.addressLens[at] = writeAddress(this.addressPtr(at), ip, ipLen, port)));
    unchecked((this.usables[at] = usable));
    unchecked((this.ranks[at] = rank));
    unchecked((this.requestCounts[at] = requests));
  }

  addressPtr(i: i32): usize {
    return changetype<usize>(this.addresses) + <usize>(i * ADDRESS_BYTES);
  }

  addressLen(i: i32): i32 {
    return unchecked(this.addressLens[i]);
  }

  usable(i: i32): bool {
    return unchecked(this.usables[i]);
  }

  rank(i: i32): i32 {
    return unchecked(this.ranks[i]);
  }

  requests(i: i32): i64 {
    return unchecked(this.requestCounts[i]);
  }
}

/** Writes `ip:port` as Envoy prints it, IPv6 in brackets; returns its length. */
function writeAddress(to: usize, ip: usize, ipLen: i32, port: i32): i32 {
  const start = to;
  const isV6 = findColon(ip, ipLen);
  if (isV6) store<u8>(to++, 0x5b);
  memory.copy(to, ip, ipLen);
  to += ipLen;
  if (isV6) store<u8>(to++, 0x5d);
  store<u8>(to++, 0x3a);
  return <i32>(to - start) + writeU64(to, port);
}

function findColon(ptr: usize, len: i32): bool {
  for (let i = 0; i < len; i++) if (load<u8>(ptr + i) == 0x3a) return true;
  return false;
}
