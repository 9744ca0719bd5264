import { Text, equalsText, text } from "../bytes";
import { JsonScanner, ScanState } from "../json/scanner";
import { JsonSink } from "../json/sink";

/** Hosts of a cluster that are read; more are counted in `left`. */
export const MAX_CLUSTER_HOSTS: i32 = 512;

/** Longest `ip:port`. */
const ADDRESS_BYTES: i32 = 64;

/** Longest string that is compared; longer ones equal nothing known. */
const STRING_BYTES: i32 = 512;

const CLUSTERS = text("cluster_statuses");
const NAME = text("name");
const HOSTS = text("host_statuses");
const ADDRESS = text("address");
const SOCKET = text("socket_address");
const PORT = text("port_value");
const HEALTH = text("health_status");
const EDS = text("eds_health_status");
const STATS = text("stats");
const VALUE = text("value");
const RQ_ACTIVE = text("rq_active");
const DEGRADED = text("failed_active_degraded_check");
const DEGRADED_STATUS = text("DEGRADED");

/** Flags of `health_status` with which Envoy itself sends nothing to a host. */
const UNUSABLE_FLAGS: StaticArray<Text> = [
  text("failed_active_health_check"),
  text("failed_outlier_check"),
  text("pending_dynamic_removal"),
  text("excluded_via_immediate_hc_fail"),
  text("active_hc_timeout"),
];

/** Values of `eds_health_status` with which Envoy itself sends nothing to a host. */
const UNUSABLE_STATUS: StaticArray<Text> = [
  text("UNHEALTHY"),
  text("DRAINING"),
  text("TIMEOUT"),
];

/** Where a value stands; everything not listed is skipped. */
const enum Place {
  None,
  Root,
  Clusters,
  Cluster,
  Hosts,
  Host,
  Address,
  Socket,
  Health,
  Stats,
  Stat,
}

const MAX_PLACES: i32 = 10;

/**
 * Reads Envoy's `/clusters?format=json` in chunks of any size and keeps one cluster's hosts:
 *
 *   {"cluster_statuses":[{"name":"llm","host_statuses":[
 *     {"address":{"socket_address":{"address":"10.0.0.1","port_value":8000}},
 *      "stats":[{"type":"GAUGE","value":"3","name":"rq_active"}],
 *      "health_status":{"failed_active_health_check":true,"eds_health_status":"HEALTHY"}}]}]}
 *
 * Keys may come in any order, a cluster's name after its hosts too. Hosts without ip and port
 * (pipes) are left out.
 */
export class ClustersReader extends JsonSink {
  /** Hosts of the cluster. */
  count: i32 = 0;
  /** Hosts that found no room. */
  left: i32 = 0;
  private scanner!: JsonScanner;
  private target: Text = text("");
  private seen: bool = false;
  private places: StaticArray<u8> = new StaticArray<u8>(MAX_PLACES);
  /** Levels that are known places, and levels below them that are skipped. */
  private depth: i32 = 0;
  private skipped: i32 = 0;
  private key: Text | null = null;
  private flag: i32 = -1;
  private bytes: StaticArray<u8> = new StaticArray<u8>(STRING_BYTES);
  private byteCount: i32 = 0;
  private inString: bool = false;
  private addresses: StaticArray<u8> = new StaticArray<u8>(MAX_CLUSTER_HOSTS * ADDRESS_BYTES);
  private addressLens: StaticArray<i32> = new StaticArray<i32>(MAX_CLUSTER_HOSTS);
  private usables: StaticArray<bool> = new StaticArray<bool>(MAX_CLUSTER_HOSTS);
  private degradeds: StaticArray<bool> = new StaticArray<bool>(MAX_CLUSTER_HOSTS);
  private actives: StaticArray<i32> = new StaticArray<i32>(MAX_CLUSTER_HOSTS);
  /** Hosts before the cluster that is being read. */
  private base: i32 = 0;
  private baseLeft: i32 = 0;
  private isTarget: bool = false;
  private ip: StaticArray<u8> = new StaticArray<u8>(ADDRESS_BYTES);
  private ipLen: i32 = 0;
  private port: i64 = -1;
  private usableNow: bool = true;
  private degradedNow: bool = false;
  private activeNow: i64 = 0;
  private statIsActive: bool = false;
  private statValue: i64 = 0;

  constructor() {
    super();
    this.scanner = new JsonScanner(this);
  }

  /** Starts on a new answer; `target` names the cluster. */
  begin(target: Text): void {
    this.target = target;
    this.seen = false;
    this.count = 0;
    this.left = 0;
    this.depth = 0;
    this.skipped = 0;
    this.key = null;
    this.flag = -1;
    this.inString = false;
    this.scanner.reset();
  }

  /** Reads the next bytes of the answer. */
  feed(ptr: usize, len: i32): void {
    this.scanner.feed(ptr, len);
  }

  /** Ends the answer: whether it was whole and held the cluster. Only then do the hosts count. */
  finish(): bool {
    return this.scanner.finish() == ScanState.Complete && this.seen;
  }

  /** `ip:port` of host i, as Envoy prints it. */
  addressPtr(i: i32): usize {
    return changetype<usize>(this.addresses) + <usize>(i * ADDRESS_BYTES);
  }

  addressLen(i: i32): i32 {
    return unchecked(this.addressLens[i]);
  }

  /** Whether Envoy's own load balancing would send to host i. */
  usable(i: i32): bool {
    return unchecked(this.usables[i]);
  }

  /** Whether Envoy would send to host i only for want of better ones. */
  degraded(i: i32): bool {
    return unchecked(this.degradeds[i]);
  }

  /** Requests that this Envoy has at host i now. */
  activeRequests(i: i32): i32 {
    return unchecked(this.actives[i]);
  }

  private get place(): Place {
    if (this.depth == 0) return Place.None;
    return <Place>unchecked(this.places[this.depth - 1]);
  }

  /** The place that opens below the present one, `None` if it is of no interest. */
  private below(isObject: bool): Place {
    if (this.depth == 0) return isObject ? Place.Root : Place.None;
    const key = this.key;
    switch (this.place) {
      case Place.Root:
        return key == CLUSTERS && !isObject ? Place.Clusters : Place.None;
      case Place.Clusters:
        return isObject ? Place.Cluster : Place.None;
      case Place.Cluster:
        return key == HOSTS && !isObject ? Place.Hosts : Place.None;
      case Place.Hosts:
        return isObject ? Place.Host : Place.None;
      case Place.Host:
        if (isObject && key == ADDRESS) return Place.Address;
        if (isObject && key == HEALTH) return Place.Health;
        return !isObject && key == STATS ? Place.Stats : Place.None;
      case Place.Address:
        return isObject && key == SOCKET ? Place.Socket : Place.None;
      case Place.Stats:
        return isObject ? Place.Stat : Place.None;
      default:
        return Place.None;
    }
  }

  private open(isObject: bool): void {
    const place = this.skipped > 0 ? Place.None : this.below(isObject);
    this.key = null;
    this.flag = -1;
    if (place == Place.None || this.depth >= MAX_PLACES) {
      this.skipped++;
      return;
    }
    unchecked((this.places[this.depth] = <u8>place));
    this.depth++;
    if (place == Place.Cluster) {
      this.base = this.count;
      this.baseLeft = this.left;
      this.isTarget = false;
    } else if (place == Place.Host) {
      this.ipLen = 0;
      this.port = -1;
      this.usableNow = true;
      this.degradedNow = false;
      this.activeNow = 0;
    } else if (place == Place.Stat) {
      this.statIsActive = false;
      this.statValue = 0;
    }
  }

  private close(): void {
    if (this.skipped > 0) {
      this.skipped--;
      return;
    }
    const place = this.place;
    this.depth--;
    if (place == Place.Host) this.keepHost();
    else if (place == Place.Stat && this.statIsActive) this.activeNow = this.statValue;
    else if (place == Place.Cluster) {
      if (this.isTarget) this.seen = true;
      else {
        this.count = this.base;
        this.left = this.baseLeft;
      }
    }
  }

  onObjectStart(): void {
    this.open(true);
  }

  onObjectEnd(): void {
    this.close();
  }

  onArrayStart(): void {
    this.open(false);
  }

  onArrayEnd(): void {
    this.close();
  }

  onKey(ptr: usize, len: i32, cut: bool): void {
    this.key = null;
    this.flag = -1;
    if (this.skipped > 0 || cut) return;
    switch (this.place) {
      case Place.Root:
        if (equalsText(ptr, len, CLUSTERS)) this.key = CLUSTERS;
        break;
      case Place.Cluster:
        if (equalsText(ptr, len, NAME)) this.key = NAME;
        else if (equalsText(ptr, len, HOSTS)) this.key = HOSTS;
        break;
      case Place.Host:
        if (equalsText(ptr, len, ADDRESS)) this.key = ADDRESS;
        else if (equalsText(ptr, len, HEALTH)) this.key = HEALTH;
        else if (equalsText(ptr, len, STATS)) this.key = STATS;
        break;
      case Place.Address:
        if (equalsText(ptr, len, SOCKET)) this.key = SOCKET;
        break;
      case Place.Socket:
        if (equalsText(ptr, len, ADDRESS)) this.key = ADDRESS;
        else if (equalsText(ptr, len, PORT)) this.key = PORT;
        break;
      case Place.Health:
        if (equalsText(ptr, len, EDS)) this.key = EDS;
        else if (equalsText(ptr, len, DEGRADED)) this.key = DEGRADED;
        else this.flag = indexOf(ptr, len, UNUSABLE_FLAGS);
        break;
      case Place.Stat:
        if (equalsText(ptr, len, NAME)) this.key = NAME;
        else if (equalsText(ptr, len, VALUE)) this.key = VALUE;
        break;
    }
  }

  onStringStart(): void {
    this.inString = this.skipped == 0 && this.key !== null;
    this.byteCount = 0;
  }

  onStringBytes(ptr: usize, len: i32): void {
    if (!this.inString) return;
    if (len > STRING_BYTES - this.byteCount) {
      // A longer string is none that is looked for.
      this.inString = false;
      return;
    }
    memory.copy(changetype<usize>(this.bytes) + this.byteCount, ptr, len);
    this.byteCount += len;
  }

  onStringEnd(): void {
    if (!this.inString) return;
    this.inString = false;
    const ptr = changetype<usize>(this.bytes);
    const len = this.byteCount;
    switch (this.place) {
      case Place.Cluster:
        if (this.key == NAME) this.isTarget = equalsText(ptr, len, this.target);
        break;
      case Place.Socket:
        if (this.key == ADDRESS && len <= ADDRESS_BYTES - 8) {
          memory.copy(changetype<usize>(this.ip), ptr, len);
          this.ipLen = len;
        }
        break;
      case Place.Health:
        if (this.key == EDS) {
          if (indexOf(ptr, len, UNUSABLE_STATUS) >= 0) this.usableNow = false;
          else if (equalsText(ptr, len, DEGRADED_STATUS)) this.degradedNow = true;
        }
        break;
      case Place.Stat:
        if (this.key == NAME) this.statIsActive = equalsText(ptr, len, RQ_ACTIVE);
        else if (this.key == VALUE) this.statValue = wholeNumber(ptr, len);
        break;
    }
  }

  onNumber(ptr: usize, len: i32): void {
    if (this.skipped > 0) return;
    if (this.key == PORT) this.port = wholeNumber(ptr, len);
    else if (this.key == VALUE) this.statValue = wholeNumber(ptr, len);
  }

  onTrue(): void {
    if (this.skipped > 0 || this.place != Place.Health) return;
    if (this.flag >= 0) this.usableNow = false;
    if (this.key == DEGRADED) this.degradedNow = true;
  }

  /** Keeps the host that has been read; IPv6 is put in brackets. */
  private keepHost(): void {
    if (this.ipLen == 0 || this.port <= 0 || this.port > 65535) return;
    if (this.count >= MAX_CLUSTER_HOSTS) {
      this.left++;
      return;
    }
    const at = this.count;
    const ip = changetype<usize>(this.ip);
    let to = this.addressPtr(at);
    const start = to;
    let isV6 = false;
    for (let i = 0; i < this.ipLen; i++) if (load<u8>(ip + i) == 0x3a) isV6 = true;
    if (isV6) store<u8>(to++, 0x5b);
    memory.copy(to, ip, this.ipLen);
    to += this.ipLen;
    if (isV6) store<u8>(to++, 0x5d);
    store<u8>(to++, 0x3a);
    let divisor = 10000;
    while (divisor > 1 && this.port < divisor) divisor /= 10;
    for (; divisor > 0; divisor /= 10) store<u8>(to++, <u8>(0x30 + (this.port / divisor) % 10));
    unchecked((this.addressLens[at] = <i32>(to - start)));
    unchecked((this.usables[at] = this.usableNow));
    unchecked((this.degradeds[at] = this.degradedNow));
    unchecked((this.actives[at] = <i32>min<i64>(this.activeNow, i32.MAX_VALUE)));
    this.count = at + 1;
  }
}

function indexOf(ptr: usize, len: i32, names: StaticArray<Text>): i32 {
  for (let i = 0; i < names.length; i++) if (equalsText(ptr, len, unchecked(names[i]))) return i;
  return -1;
}

/** Digits only, at most 15; else 0. */
function wholeNumber(ptr: usize, len: i32): i64 {
  if (len > 15) return 0;
  let value: i64 = 0;
  for (let i: usize = 0; i < <usize>len; i++) {
    const digit = <u32>load<u8>(ptr + i) - 0x30;
    if (digit > 9) return 0;
    value = value * 10 + digit;
  }
  return value;
}
