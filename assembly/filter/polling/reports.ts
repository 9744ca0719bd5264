import { HostMatcher, isAtIp } from "../../metrics/matcher";
import { OrcaReader } from "../../metrics/orca";
import { HostReport } from "../../metrics/report";
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

/** Knows hosts by a metrics label: `ip:port`, else an ip that only one host has. */
export class DirectoryMatcher extends HostMatcher {
  /** Whether an unknown `ip:port` makes its host known: where nothing else names hosts. */
  enters: bool = false;
  nowMs: f64 = 0;

  constructor(private hosts: HostDirectory) {
    super();
  }

  find(ptr: usize, len: i32): i32 {
    const hosts = this.hosts;
    const exact = hosts.find(ptr, len);
    if (exact >= 0) return exact;
    let found = -1;
    for (let slot = 0; slot < hosts.count; slot++) {
      if (!hosts.isKnown(slot)) continue;
      if (!isAtIp(hosts.addressPtr(slot), hosts.addressLen(slot), ptr, len)) continue;
      if (found >= 0) return -1;
      found = slot;
    }
    if (found < 0 && this.enters && hasPort(ptr, len)) {
      return hosts.add(ptr, len, Source.Metrics, this.nowMs);
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
      const at = states.open(slot);
      if (ownPage) {
        this.health.scraped(at, nowMs);
        HostRecord.setScrapedMs(at, nowMs);
      }
      if (sampleMs < HostRecord.sampleMs(at)) {
        if (!ownPage || states.commit(slot)) return;
        continue;
      }
      this.noteRestart(at, slot, report, nowMs);
      this.noteOthers(at, slot, report.running, report.waiting);
      HostRecord.setSampleMs(at, sampleMs);
      HostRecord.setRunning(at, report.running);
      HostRecord.setWaiting(at, report.waiting);
      HostRecord.setKvUsage(at, report.kvUsage);
      this.noteGpu(at, report.gpuUtilization, sampleMs);
      HostRecord.setCapacityTokens(at, report.capacityTokens);
      if (!isNaN(report.startTimeS)) HostRecord.setStartTimeS(at, report.startTimeS);
      if (!isNaN(report.promptTokens)) HostRecord.setPromptTokens(at, report.promptTokens);
      this.noteModels(at, report);
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  /** Takes over an ORCA report that came with an answer. */
  carried(slot: i32, ptr: usize, len: i32, nowMs: f64): void {
    const orca = this.orca;
    if (!orca.read(ptr, len)) return;
    const states = this.fleet.states;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const at = states.open(slot);
      if (HostRecord.sampleMs(at) == 0) {
        HostRecord.setRunning(at, NaN);
        HostRecord.setWaiting(at, NaN);
        HostRecord.setKvUsage(at, NaN);
        HostRecord.setCapacityTokens(at, NaN);
      }
      // A report of shares alone doesn't make counts of requests young again.
      const counts = !isNaN(orca.running) || !isNaN(orca.waiting);
      const counted = !isNaN(HostRecord.running(at)) || !isNaN(HostRecord.waiting(at));
      if (!isNaN(orca.running)) HostRecord.setRunning(at, orca.running);
      if (!isNaN(orca.waiting)) HostRecord.setWaiting(at, orca.waiting);
      if (counts) this.noteOthers(at, slot, HostRecord.running(at), HostRecord.waiting(at));
      if (counts || !counted) HostRecord.setSampleMs(at, nowMs);
      if (!isNaN(orca.kvUsage)) HostRecord.setKvUsage(at, orca.kvUsage);
      this.noteGpu(at, orca.gpuUtilization, nowMs);
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  /**
   * What a report shows beyond what this Envoy and its peers have there is others' traffic. Known requests are known better, and
   * to the moment; a request that began or ended while the report was on its way shows once at most.
   */
  private noteOthers(at: usize, slot: i32, running: f64, waiting: f64): void {
    const inFlight = this.fleet.inFlight;
    const ownWaiting = <f64>inFlight.totalWaiting(slot);
    const own = isNaN(running) ? ownWaiting : <f64>inFlight.total(slot);
    if (isNaN(running) && isNaN(waiting)) {
      HostRecord.noteOthers(at, NaN, NaN);
      return;
    }
    const queued = isNaN(waiting) ? 0 : waiting;
    const beyond = Math.max((isNaN(running) ? 0 : running) + queued - own, 0);
    const othersWaiting = Math.min(beyond, Math.max(queued - ownWaiting, 0));
    HostRecord.noteOthers(at, beyond - othersWaiting, othersWaiting);
  }

  /** A GPU's utilisation may come from another page than the engine's signals, and has an age of its own. */
  private noteGpu(at: usize, share: f64, sampleMs: f64): void {
    if (isNaN(share)) return;
    HostRecord.setGpuUtilization(at, share);
    HostRecord.setGpuSampleMs(at, sampleMs);
  }

  /** A later start, or counters that fell: the server is new, its cache empty, its speed to be seen. */
  private noteRestart(at: usize, slot: i32, report: HostReport, nowMs: f64): void {
    const started = HostRecord.startTimeS(at);
    const tokens = HostRecord.promptTokens(at);
    const later = started > 0 && report.startTimeS > started + SAME_START_S;
    const fell = tokens > 0 && report.promptTokens < tokens;
    if (!later && !fell) {
      if (HostRecord.joinedMs(at) == 0) HostRecord.setJoinedMs(at, nowMs);
      return;
    }
    HostRecord.flush(at, this.fleet.inFlight.clockTokens(slot));
    HostRecord.setCapacityFactor(at, 0);
    HostRecord.setMisses(at, 0);
    HostRecord.setJoinedMs(at, nowMs);
  }

  /** Models, then adapters; a report that names none leaves what was known. */
  private noteModels(at: usize, report: HostReport): void {
    if (report.modelCount == 0) return;
    let count = 0;
    for (let i = 0; i < report.modelCount && count < HOST_MODELS; i++) {
      if (report.isAdapter(i)) continue;
      HostModels.set(at, count++, report.modelHash(i), <u8>NameKind.Model);
    }
    for (let i = 0; i < report.modelCount && count < HOST_MODELS; i++) {
      if (!report.isAdapter(i)) continue;
      const kind = report.modelLoaded(i) ? NameKind.LoadedAdapter : NameKind.WaitingAdapter;
      HostModels.set(at, count++, report.modelHash(i), <u8>kind);
    }
    HostModels.setCount(at, count);
  }
}

function hasPort(ptr: usize, len: i32): bool {
  if (len < 3) return false;
  let digits = 0;
  let i = len - 1;
  while (i > 0 && <u32>load<u8>(ptr + i) - 0x30 < 10) {
    i--;
    digits++;
  }
  return digits > 0 && digits < 6 && i > 0 && load<u8>(ptr + i) == 0x3a;
}
