import { Config } from "../../config/config";
import { FailureCause, HostRecord } from "../../state/hostrecord";
import { CAS_ATTEMPTS } from "../../state/layout";
import { noteCasGaveUp } from "../../state/record";
import { Fleet } from "./fleet";

/** A trial request that hasn't ended after this long no longer keeps others away, ms. */
const TRIAL_MS: f64 = 30000;
/** Good scrapes further apart than this many intervals had failed ones between them. */
const GAP_INTERVALS: f64 = 3;
/** A host that takes nothing more counts as failing after so many times for each failure that would do. */
const DECLINES_PER_FAILURE: i32 = 5;
/** The back-off doubles at most this often. */
const DOUBLINGS_MAX: i32 = 16;

/**
 * Sets hosts aside that fail again and again, and lets one trial request decide when their time is over. Failures are told
 * apart by cause: only a connection's can be forgiven by a good scrape.
 */
export class Health {
  constructor(
    private config: Config,
    private fleet: Fleet,
  ) {}

  /** Whether a host may be sent requests now. */
  usable(slot: i32, nowMs: f64): bool {
    const record = this.fleet.states.at(slot);
    const until = record.ejectedUntilMs;
    if (until == 0) return true;
    if (nowMs < until) return false;
    // On probation: another worker may have sent the trial since the last tick.
    const trial = this.fleet.states.open(slot).trialMs;
    return trial == 0 || nowMs - trial > TRIAL_MS;
  }

  /** A request was sent: if the host is on probation, this is its trial. */
  sent(slot: i32, nowMs: f64): void {
    const states = this.fleet.states;
    if (states.at(slot).ejectedUntilMs == 0) return;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const record = states.open(slot);
      // Another worker may have set it aside, or found it well, in the meantime.
      if (record.ejectedUntilMs == 0 || nowMs < record.ejectedUntilMs) return;
      record.trialMs = nowMs;
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  /** A request to the host failed. */
  failed(slot: i32, cause: FailureCause, nowMs: f64): void {
    const states = this.fleet.states;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const record = states.open(slot);
      const failures = record.failures + 1;
      const until = record.ejectedUntilMs;
      const onTrial = until > 0 && nowMs >= until && record.trialMs > 0;
      record.cause = <u8>cause;
      record.failures = failures;
      if (onTrial || failures >= this.config.health.failures) {
        // Requests that were under way when the host was set aside don't double its time again.
        if (nowMs >= until) this.eject(record, nowMs);
        record.failures = 0;
      }
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  /**
   * A try at a host that is at work failed, and was repeated elsewhere: it took nothing more, most likely. Only a host that
   * does nothing else for long is set aside. Told once for each time that it is left alone.
   */
  declined(slot: i32, nowMs: f64): void {
    const states = this.fleet.states;
    const most = this.config.health.failures * DECLINES_PER_FAILURE;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const record = states.open(slot);
      const declines = record.declines + 1;
      record.declines = declines < most ? declines : 0;
      if (declines >= most && nowMs >= record.ejectedUntilMs) {
        record.cause = <u8>FailureCause.Answer;
        this.eject(record, nowMs);
      }
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  /** A request brought a first token: its trial is over if it was one, unless it is the rest of answers that fails. */
  proved(slot: i32, sentMs: f64): void {
    const record = this.fleet.states.at(slot);
    if (record.ejectedUntilMs == 0) return;
    if (record.cause != FailureCause.BrokenOff) this.succeeded(slot, sentMs);
  }

  /** A request to the host succeeded. */
  succeeded(slot: i32, sentMs: f64): void {
    const states = this.fleet.states;
    const seen = states.at(slot);
    const until = seen.ejectedUntilMs;
    if (seen.failures == 0 && seen.declines == 0 && until == 0) return;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const record = states.open(slot);
      record.failures = 0;
      record.declines = 0;
      // An answer to a request sent before the host was set aside is no proof that it is well now.
      if (sentMs >= record.ejectedUntilMs) this.clear(record);
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  /**
   * A scrape of the host succeeded: a host set aside for its connection may have its trial now. One whose trial then failed is
   * no further proved by scrapes, nor is one that breaks answers off: it serves its metrics all the same. Unless scrapes had
   * failed as well: then it was away. Changes the open record, which still tells of the good scrape before.
   */
  scraped(record: HostRecord, nowMs: f64): void {
    const cause = record.cause;
    if (cause != FailureCause.Connect && cause != FailureCause.BrokenOff) return;
    const gapMs = nowMs - record.scrapedMs;
    if (gapMs > GAP_INTERVALS * <f64>this.config.metrics.intervalMs) {
      record.failures = 0;
      record.cause = <u8>FailureCause.Connect;
    } else if (cause == FailureCause.BrokenOff || record.ejections > 1) return;
    if (record.ejectedUntilMs > nowMs) record.ejectedUntilMs = nowMs;
  }

  /** A request ended without telling anything of the host: if it was the trial, another may be sent. */
  abandoned(slot: i32, sentMs: f64): void {
    const states = this.fleet.states;
    const until = states.at(slot).ejectedUntilMs;
    if (until == 0 || sentMs < until) return;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      states.open(slot).trialMs = 0;
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  private eject(record: HostRecord, nowMs: f64): void {
    const ejections = record.ejections;
    const first = <f64>this.config.health.ejectMs;
    const longest = Math.max(first, <f64>this.config.health.ejectMaxMs);
    const backOff = first * Math.pow(2, <f64>min(ejections, DOUBLINGS_MAX));
    record.ejections = ejections + 1;
    record.ejectedUntilMs = nowMs + Math.min(backOff, longest);
    record.trialMs = 0;
  }

  private clear(record: HostRecord): void {
    record.ejectedUntilMs = 0;
    record.ejections = 0;
    record.trialMs = 0;
    record.cause = <u8>FailureCause.None;
  }
}
