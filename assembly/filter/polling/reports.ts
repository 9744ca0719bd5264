import { Address, parseAddress } from "../../config/address";
import { Signal } from "../../config/signals";
import { HostMatcher, isAtIp } from "../../metrics/matcher";
import { OrcaReader } from "../../metrics/orca";
import { HostReport } from "../../metrics/report";
import { mix } from "../../prefix/hash";
import { HostDirectory, Source } from "../../state/hosts";
import { HOST_MODELS, HostModels, NameKind } from "../../state/hostmodels";
import { HostRecord } from "../../state/hostrecord";
import { CAS_ATTEMPTS } from "../../state/layout";
import { noteCasGaveUp } from "../../state/record";
import { Fleet } from "../fleet/fleet";
import { Health } from "../fleet/health";

/**
 * Start times that differ by less are the same start, told differently: some exporters reckon it anew at each scrape. No engine
 * loads a model in less, so a start that goes unnoticed by this never held a cache; fallen counters tell of it all the same.
 * Seconds.
 */
const SAME_START_S: f64 = 2;

/**
 * A server that is at work counts tokens at each step. One whose report of work has said the same for this long, in every
 * figure, isn't: some engines refresh what they report only when they step, so that after many clients left at once they stay
 * «full» until the next request. Less than the time that requests are held, ms.
 */
const LATCHED_MS: f64 = 20000;

/** Knows hosts by a metrics label: `ip:port`, else an ip that only one host has. */
export class DirectoryMatcher extends HostMatcher {
  /** Whether an unknown `ip:port` makes its host known: where nothing else names hosts. */
  enters: bool = false;
  /** The last answer told of GPUs only: then their labels are the servers'. */
  isGpuAlone: bool = false;
  nowMs: f64 = 0;
  private address: Address = new Address();

  constructor(private hosts: HostDirectory) {
    super();
  }

  find(ptr: usize, len: i32, signal: Signal): i32 {
    const hosts = this.hosts;
    const exact = hosts.find(ptr, len);
    if (exact >= 0) return exact;
    const address = this.address;
    if (parseAddress(ptr, len, address)) {
      const known = hosts.find(address.ptr, address.len);
      if (known >= 0 || !this.enters) return known;
      // A machine's other exporters have addresses too.
      const isEngine = signal <= Signal.KvUsage;
      if (!isEngine && !(this.isGpuAlone && signal == Signal.GpuUtilization)) return -1;
      return hosts.add(address.ptr, address.len, Source.Metrics, this.nowMs);
    }
    let found = -1;
    for (let slot = 0; slot < hosts.count; slot++) {
      if (!hosts.isKnown(slot)) continue;
      if (!isAtIp(hosts.addressPtr(slot), hosts.addressLen(slot), ptr, len)) continue;
      if (found >= 0) return -1;
      found = slot;
    }
    return found;
  }
}

/** Writes what servers report into the host records. */
export class Reports {
  private orca: OrcaReader = new OrcaReader();

  constructor(
    private fleet: Fleet,
    private health: Health,
  ) {}

  /**
   * Takes a scraped report over.
   * @param ownPage the host answered itself, so it is reachable
   * @param sampleMs when its newest sample was taken, on our clock
   */
  scraped(slot: i32, report: HostReport, ownPage: bool, sampleMs: f64, nowMs: f64): void {
    const states = this.fleet.states;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const record = states.open(slot);
      if (ownPage) {
        this.health.scraped(record, nowMs);
        record.scrapedMs = nowMs;
      }
      if (sampleMs < record.sampleMs) {
        if (!ownPage || states.commit(slot)) return;
        continue;
      }
      this.noteRestart(record, slot, report, nowMs);
      this.noteSame(record, report, sampleMs);
      // With nothing of ours there, it is as good as no report; the request that may then go there shows the truth.
      const isLatched = this.isLatched(record, slot, sampleMs);
      const running = isLatched ? NaN : report.running;
      const waiting = isLatched ? NaN : report.waiting;
      this.noteOthers(record, slot, running, waiting);
      this.noteBacklog(record, slot, report, nowMs);
      if (isLatched) record.backlogTokens = NaN;
      record.sampleMs = sampleMs;
      record.running = running;
      record.waiting = waiting;
      record.kvUsage = isLatched ? NaN : report.kvUsage;
      this.noteGpu(record, report.gpuUtilization, sampleMs);
      record.capacityTokens = report.capacityTokens;
      if (!isNaN(report.startTimeS)) record.startTimeS = report.startTimeS;
      if (!isNaN(report.promptTokens)) record.promptTokens = report.promptTokens;
      this.noteModels(record.models, report);
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  /** Notes since when a report of work says the same, where it has figures that work changes. */
  private noteSame(record: HostRecord, report: HostReport, sampleMs: f64): void {
    const atWork = report.running > 0 || report.waiting > 0;
    const tells =
      !isNaN(report.generationTokens) ||
      !isNaN(report.iterationTokens) ||
      (!isNaN(report.promptTokens) && !isNaN(report.kvUsage));
    const mark = markOf(report);
    const isSame = atWork && tells && record.reportMark == mark;
    record.reportMark = mark;
    if (!isSame) record.sameSinceMs = 0;
    else if (record.sameSinceMs == 0) record.sameSinceMs = record.sampleMs;
  }

  private isLatched(record: HostRecord, slot: i32, sampleMs: f64): bool {
    const since = record.sameSinceMs;
    return since > 0 && sampleMs - since >= LATCHED_MS && this.fleet.inFlight.total(slot) == 0;
  }

  /** Takes over an ORCA report that came with an answer. */
  carried(slot: i32, ptr: usize, len: i32, nowMs: f64): void {
    const orca = this.orca;
    if (!orca.read(ptr, len)) return;
    const states = this.fleet.states;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const record = states.open(slot);
      if (record.sampleMs == 0) {
        record.running = NaN;
        record.waiting = NaN;
        record.kvUsage = NaN;
        record.capacityTokens = NaN;
      }
      // A report of shares alone doesn't make counts of requests young again.
      const counts = !isNaN(orca.running) || !isNaN(orca.waiting);
      const counted = !isNaN(record.running) || !isNaN(record.waiting);
      if (!isNaN(orca.running)) record.running = orca.running;
      if (!isNaN(orca.waiting)) record.waiting = orca.waiting;
      if (counts) this.noteOthers(record, slot, record.running, record.waiting);
      if (counts || !counted) {
        record.sampleMs = nowMs;
        // Counters are as old as the last page.
        record.backlogTokens = NaN;
      }
      if (!isNaN(orca.kvUsage)) record.kvUsage = orca.kvUsage;
      this.noteGpu(record, orca.gpuUtilization, nowMs);
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  /**
   * What a report shows beyond what this Envoy and its peers have there is others' traffic. Known requests are known better, and
   * to the moment; a request that began or ended while the report was on its way shows once at most.
   */
  private noteOthers(record: HostRecord, slot: i32, running: f64, waiting: f64): void {
    const inFlight = this.fleet.inFlight;
    const ownWaiting = <f64>inFlight.totalWaiting(slot);
    const own = isNaN(running) ? ownWaiting : <f64>inFlight.total(slot);
    if (isNaN(running) && isNaN(waiting)) {
      record.noteOthers(NaN, NaN);
      return;
    }
    const queued = isNaN(waiting) ? 0 : waiting;
    const beyond = Math.max((isNaN(running) ? 0 : running) + queued - own, 0);
    const othersWaiting = Math.min(beyond, Math.max(queued - ownWaiting, 0));
    record.noteOthers(beyond - othersWaiting, othersWaiting);
  }

  /** What is in prefill there by its counters, and what of that is known. */
  private noteBacklog(record: HostRecord, slot: i32, report: HostReport, nowMs: f64): void {
    const missed = report.prefixQueries - report.prefixHits;
    const computed = report.iterationTokens - report.generationTokens;
    const isIdle = report.running == 0 && report.waiting == 0;
    const isNew = record.sampleMs == 0 || record.joinedMs == nowMs;
    record.noteBacklog(missed - computed, isIdle, isNew);
    record.knownMs = this.fleet.inFlight.pendingMs(slot, nowMs);
  }

  /** A GPU's utilisation may come from another page than the engine's signals, and has an age of its own. */
  private noteGpu(record: HostRecord, share: f64, sampleMs: f64): void {
    if (isNaN(share)) return;
    record.gpuUtilization = share;
    record.gpuSampleMs = sampleMs;
  }

  /** A later start, or counters that fell: the server is new, its cache empty, its speed to be seen. */
  private noteRestart(record: HostRecord, slot: i32, report: HostReport, nowMs: f64): void {
    const started = record.startTimeS;
    const tokens = record.promptTokens;
    const later = started > 0 && report.startTimeS > started + SAME_START_S;
    const fell = tokens > 0 && report.promptTokens < tokens;
    if (!later && !fell) {
      if (record.joinedMs == 0) record.joinedMs = nowMs;
      return;
    }
    record.flush(this.fleet.inFlight.clockTokens(slot));
    record.capacityFactor = 0;
    record.misses = 0;
    record.joinedMs = nowMs;
  }

  /** Models, then adapters; a report that names none leaves what was known. */
  private noteModels(models: HostModels, report: HostReport): void {
    if (report.modelCount == 0) return;
    let count = 0;
    for (let i = 0; i < report.modelCount && count < HOST_MODELS; i++) {
      if (report.isAdapter(i)) continue;
      models.set(count++, report.modelHash(i), <u8>NameKind.Model);
    }
    for (let i = 0; i < report.modelCount && count < HOST_MODELS; i++) {
      if (!report.isAdapter(i)) continue;
      const kind = report.modelLoaded(i) ? NameKind.LoadedAdapter : NameKind.WaitingAdapter;
      models.set(count++, report.modelHash(i), <u8>kind);
    }
    models.count = count;
  }
}

/** Hash of all that a report says of its server's work. */
function markOf(report: HostReport): u32 {
  let mark = mix(reinterpret<u64>(report.running), reinterpret<u64>(report.waiting));
  mark = mix(mark, reinterpret<u64>(report.kvUsage));
  mark = mix(mark, reinterpret<u64>(report.promptTokens));
  mark = mix(mark, reinterpret<u64>(report.generationTokens));
  return <u32>mix(mark, reinterpret<u64>(report.iterationTokens));
}
