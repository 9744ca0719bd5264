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
    const at = this.fleet.states.at(slot);
    const until = HostRecord.ejectedUntilMs(at);
    if (until == 0) return true;
    if (nowMs < until) return false;
    // On probation: another worker may have sent the trial since the last tick.
    const trial = HostRecord.trialMs(this.fleet.states.open(slot));
    return trial == 0 || nowMs - trial > TRIAL_MS;
  }

  /** A request was sent: if the host is on probation, this is its trial. */
  sent(slot: i32, nowMs: f64): void {
    const states = this.fleet.states;
    if (HostRecord.ejectedUntilMs(states.at(slot)) == 0) return;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const at = states.open(slot);
      // Another worker may have set it aside, or found it well, in the meantime.
      if (HostRecord.ejectedUntilMs(at) == 0 || nowMs < HostRecord.ejectedUntilMs(at)) return;
      HostRecord.setTrialMs(at, nowMs);
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  /** A request to the host failed. */
  failed(slot: i32, cause: FailureCause, nowMs: f64): void {
    const states = this.fleet.states;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const at = states.open(slot);
      const failures = HostRecord.failures(at) + 1;
      const until = HostRecord.ejectedUntilMs(at);
      const onTrial = until > 0 && nowMs >= until && HostRecord.trialMs(at) > 0;
      HostRecord.setCause(at, <u8>cause);
      HostRecord.setFailures(at, failures);
      if (onTrial || failures >= this.config.health.failures) {
        // Requests that were under way when the host was set aside don't double its time again.
        if (nowMs >= until) this.eject(at, nowMs);
        HostRecord.setFailures(at, 0);
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
      const at = states.open(slot);
      const declines = HostRecord.declines(at) + 1;
      HostRecord.setDeclines(at, declines < most ? declines : 0);
      if (declines >= most && nowMs >= HostRecord.ejectedUntilMs(at)) {
        HostRecord.setCause(at, <u8>FailureCause.Answer);
        this.eject(at, nowMs);
      }
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  /** A request brought a first token: its trial is over if it was one, unless it is the rest of answers that fails. */
  proved(slot: i32, sentMs: f64): void {
    const at = this.fleet.states.at(slot);
    if (HostRecord.ejectedUntilMs(at) == 0) return;
    if (HostRecord.cause(at) != FailureCause.BrokenOff) this.succeeded(slot, sentMs);
  }

  /** A request to the host succeeded. */
  succeeded(slot: i32, sentMs: f64): void {
    const states = this.fleet.states;
    const seen = states.at(slot);
    const until = HostRecord.ejectedUntilMs(seen);
    if (HostRecord.failures(seen) == 0 && HostRecord.declines(seen) == 0 && until == 0) return;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      const at = states.open(slot);
      HostRecord.setFailures(at, 0);
      HostRecord.setDeclines(at, 0);
      // An answer to a request sent before the host was set aside is no proof that it is well now.
      if (sentMs >= HostRecord.ejectedUntilMs(at)) this.clear(at);
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  /**
   * A scrape of the host succeeded: a host set aside for its connection may have its trial now. One whose trial then failed is
   * no further proved by scrapes, nor is one that breaks answers off: it serves its metrics all the same. Unless scrapes had
   * failed as well: then it was away. Changes the open record, which still tells of the good scrape before.
   */
  scraped(at: usize, nowMs: f64): void {
    const cause = HostRecord.cause(at);
    if (cause != FailureCause.Connect && cause != FailureCause.BrokenOff) return;
    const gapMs = nowMs - HostRecord.scrapedMs(at);
    if (gapMs > GAP_INTERVALS * <f64>this.config.metrics.intervalMs) {
      HostRecord.setFailures(at, 0);
      HostRecord.setCause(at, <u8>FailureCause.Connect);
    } else if (cause == FailureCause.BrokenOff || HostRecord.ejections(at) > 1) return;
    if (HostRecord.ejectedUntilMs(at) > nowMs) HostRecord.setEjectedUntilMs(at, nowMs);
  }

  /** A request ended without telling anything of the host: if it was the trial, another may be sent. */
  abandoned(slot: i32, sentMs: f64): void {
    const states = this.fleet.states;
    const until = HostRecord.ejectedUntilMs(states.at(slot));
    if (until == 0 || sentMs < until) return;
    for (let attempt = 0; attempt < CAS_ATTEMPTS; attempt++) {
      HostRecord.setTrialMs(states.open(slot), 0);
      if (states.commit(slot)) return;
    }
    noteCasGaveUp();
  }

  private eject(at: usize, nowMs: f64): void {
    const ejections = HostRecord.ejections(at);
    const first = <f64>this.config.health.ejectMs;
    const longest = Math.max(first, <f64>this.config.health.ejectMaxMs);
    const backOff = first * Math.pow(2, <f64>min(ejections, DOUBLINGS_MAX));
    HostRecord.setEjections(at, ejections + 1);
    HostRecord.setEjectedUntilMs(at, nowMs + Math.min(backOff, longest));
    HostRecord.setTrialMs(at, 0);
  }

  private clear(at: usize): void {
    HostRecord.setEjectedUntilMs(at, 0);
    HostRecord.setEjections(at, 0);
    HostRecord.setTrialMs(at, 0);
    HostRecord.setCause(at, <u8>FailureCause.None);
  }
}
