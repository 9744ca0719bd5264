import { Text, equalsText, text } from "../bytes";
import { JsonScanner, ScanState } from "../json/scanner";
import { LevelSink } from "../json/sink";
import { ADDRESS_BYTES, ClusterHosts, MAX_CLUSTER_HOSTS } from "./hosts";
import { Item, KEYS, Place, placeBelow } from "./places";

export { MAX_CLUSTER_HOSTS };

/** Longest string that is compared; longer ones equal nothing known. */
const STRING_BYTES: i32 = 512;

/** Requests that a host was handed: those that were sent there, and those that wait for a connection. */
const RQ_TOTAL = text("rq_total");
const RQ_PENDING = text("rq_pending_active");
const DEGRADED_STATUS = text("DEGRADED");

/** Values of `eds_health_status` with which Envoy itself sends nothing to a host. */
const UNUSABLE_STATUS: StaticArray<Text> = [text("UNHEALTHY"), text("DRAINING"), text("TIMEOUT")];

/** Envoy's priorities end here; degraded hosts rank behind all of them. */
const MAX_PRIORITY: i64 = 128;
const DEGRADED_RANK: i32 = 1000;

const MAX_PLACES: i32 = 10;

/**
 * Reads Envoy's `/clusters?format=json` in chunks of any size and keeps one cluster's hosts:
 *
 *   {"cluster_statuses":[{"name":"llm","host_statuses":[
 *     {"address":{"socket_address":{"address":"10.0.0.1","port_value":8000}},
 *      "stats":[{"value":"3","name":"rq_total"}],"priority":1,
 *      "health_status":{"failed_active_health_check":true,"eds_health_status":"HEALTHY"}}]}]}
 *
 * Keys may come in any order, a cluster's name after its hosts too. Hosts without ip and port
 * (pipes) are left out.
 */
export class ClustersReader extends LevelSink {
  private hosts: ClusterHosts = new ClusterHosts();
  private scanner!: JsonScanner;
  private target: Text = text("");
  private seen: bool = false;
  private places: StaticArray<u8> = new StaticArray<u8>(MAX_PLACES);
  /** Levels that are known places, and levels below them that are skipped. */
  private depth: i32 = 0;
  private skipped: i32 = 0;
  /** What the present key leads to. */
  private to: Place = Place.None;
  private item: Item = Item.None;
  private bytes: StaticArray<u8> = new StaticArray<u8>(STRING_BYTES);
  private byteCount: i32 = 0;
  private inString: bool = false;
  /** Hosts before the cluster that is being read. */
  private base: i32 = 0;
  private baseLeft: i32 = 0;
  private isTarget: bool = false;
  private ip: StaticArray<u8> = new StaticArray<u8>(ADDRESS_BYTES);
  private ipLen: i32 = 0;
  private port: i64 = -1;
  private usableNow: bool = true;
  private degradedNow: bool = false;
  private priorityNow: i64 = 0;
  private requestsNow: i64 = 0;
  private statCounts: bool = false;
  private statValue: i64 = 0;

  constructor() {
    super();
    this.scanner = new JsonScanner(this);
  }

  /** Starts on a new answer; `target` names the cluster. */
  begin(target: Text): void {
    this.target = target;
    this.seen = false;
    this.hosts.truncate(0, 0);
    this.depth = 0;
    this.skipped = 0;
    this.to = Place.None;
    this.item = Item.None;
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

  /** Whether the answer was whole JSON, whatever it held; after `finish`. */
  get isWhole(): bool {
    return this.scanner.finish() == ScanState.Complete;
  }

  /** Hosts of the cluster. */
  get count(): i32 {
    return this.hosts.count;
  }

  /** Hosts that found no room. */
  get left(): i32 {
    return this.hosts.left;
  }

  /** `ip:port` of host i, as Envoy prints it. */
  addressPtr(i: i32): usize {
    return this.hosts.addressPtr(i);
  }

  addressLen(i: i32): i32 {
    return this.hosts.addressLen(i);
  }

  /** Whether Envoy's own load balancing would send to host i. */
  usable(i: i32): bool {
    return this.hosts.usable(i);
  }

  /** Envoy would send to host i only for want of hosts of lower rank: by its priority, degraded ones after all others. */
  rank(i: i32): i32 {
    return this.hosts.rank(i);
  }

  /** Requests that this Envoy has handed to host i so far. */
  requests(i: i32): i64 {
    return this.hosts.requests(i);
  }

  private get place(): Place {
    if (this.depth == 0) return Place.None;
    return <Place>unchecked(this.places[this.depth - 1]);
  }

  protected open(isObject: bool): void {
    const place = this.skipped > 0 ? Place.None : placeBelow(this.place, this.to, isObject);
    this.to = Place.None;
    this.item = Item.None;
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
      this.priorityNow = 0;
      this.requestsNow = 0;
    } else if (place == Place.Stat) {
      this.statCounts = false;
      this.statValue = 0;
    }
  }

  protected close(): void {
    if (this.skipped > 0) {
      this.skipped--;
      return;
    }
    const place = this.place;
    this.depth--;
    if (place == Place.Host) this.keepHost();
    else if (place == Place.Stat && this.statCounts) this.requestsNow += this.statValue;
    else if (place == Place.Cluster) {
      if (this.isTarget) this.seen = true;
      else this.hosts.truncate(this.base, this.baseLeft);
    }
  }

  onKey(ptr: usize, len: i32, cut: bool): void {
    this.to = Place.None;
    this.item = Item.None;
    if (this.skipped > 0 || cut) return;
    const place = this.place;
    for (let i = 0; i < KEYS.length; i++) {
      const key = unchecked(KEYS[i]);
      if (key.place != place || !equalsText(ptr, len, key.name)) continue;
      this.to = key.to;
      this.item = key.item;
      return;
    }
  }

  onStringStart(): void {
    this.inString = this.skipped == 0 && this.item != Item.None;
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
    switch (this.item) {
      case Item.Name:
        if (this.place == Place.Cluster) this.isTarget = equalsText(ptr, len, this.target);
        else this.statCounts = equalsText(ptr, len, RQ_TOTAL) || equalsText(ptr, len, RQ_PENDING);
        break;
      case Item.Ip:
        if (len > ADDRESS_BYTES - 8) break;
        memory.copy(changetype<usize>(this.ip), ptr, len);
        this.ipLen = len;
        break;
      case Item.EdsStatus:
        if (indexOf(ptr, len, UNUSABLE_STATUS) >= 0) this.usableNow = false;
        else if (equalsText(ptr, len, DEGRADED_STATUS)) this.degradedNow = true;
        break;
      case Item.Value:
        this.statValue = wholeNumber(ptr, len);
        break;
    }
  }

  onNumber(ptr: usize, len: i32): void {
    if (this.skipped > 0) return;
    if (this.item == Item.Port) this.port = wholeNumber(ptr, len);
    else if (this.item == Item.Priority) this.priorityNow = wholeNumber(ptr, len);
    else if (this.item == Item.Value) this.statValue = wholeNumber(ptr, len);
  }

  onTrue(): void {
    if (this.skipped > 0) return;
    if (this.item == Item.Unusable) this.usableNow = false;
    else if (this.item == Item.Degraded) this.degradedNow = true;
  }

  /** Keeps the host that has been read, if it has an ip and a port. */
  private keepHost(): void {
    const port = this.port;
    const priority = <i32>min<i64>(this.priorityNow, MAX_PRIORITY);
    if (this.ipLen == 0 || port <= 0 || port > 65535) return;
    this.hosts.add(
      changetype<usize>(this.ip),
      this.ipLen,
      <i32>port,
      this.usableNow,
      this.degradedNow ? DEGRADED_RANK + priority : priority,
      this.requestsNow,
    );
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
