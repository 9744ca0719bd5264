import { Candidates } from "./candidates";

/** Reports down to this freshness stand for the unknown ones in full, older ones ever less. */
const TELLING_FRESHNESS: f64 = 0.25;

/** What a choice asks of all usable hosts together, in one pass over them: with hundreds of hosts each pass counts. */
export class Overview {
  /** Highest reported values, 0 where nobody reports or is asked to; old reports weigh less. */
  busiestRunning: f64 = 0;
  busiestWaiting: f64 = 0;
  busiestKv: f64 = 0;
  busiestGpu: f64 = 0;
  /** Own requests in flight per host; those of others that are known to run there, too. */
  meanInFlight: f64 = 0;
  meanBatch: f64 = 0;
  /** Requests at the hosts that report: own ones, and those of others. */
  ownReported: f64 = 0;
  othersReported: f64 = 0;
  /** Least of any host: prefill to do before a new request's, ms; load as `loadOf` has it; prefill factor. */
  leastPendingMs: f64 = 0;
  leastLoad: f64 = 0;
  leastPrefillFactor: f64 = 0;

  /** Takes in what is known of the hosts, as of now. */
  take(c: Candidates): void {
    let running: f64 = 0;
    let waiting: f64 = 0;
    let kv: f64 = 0;
    let gpu: f64 = 0;
    let usable: f64 = 0;
    let inFlight: f64 = 0;
    let own: f64 = 0;
    let others: f64 = 0;
    let othersRunning: f64 = 0;
    let pendingMs: f64 = Infinity;
    let load: f64 = Infinity;
    let prefillFactor: f64 = Infinity;
    for (let slot = 0; slot < c.count; slot++) {
      if (!unchecked(c.usable[slot])) continue;
      usable++;
      const ownHere = unchecked(c.inFlight[slot]);
      inFlight += ownHere;
      pendingMs = least(pendingMs, unchecked(c.pendingMs[slot]));
      prefillFactor = least(prefillFactor, unchecked(c.prefillFactor[slot]));
      const fresh = unchecked(c.freshness[slot]);
      if (fresh == 0) {
        load = least(load, ownHere);
        continue;
      }
      const runningHere = unchecked(c.running[slot]);
      const waitingHere = unchecked(c.waiting[slot]);
      const kvHere = unchecked(c.kvUsage[slot]);
      const gpuHere = unchecked(c.gpuUtilization[slot]);
      load = least(load, loadBy(ownHere, runningHere, waitingHere, kvHere, gpuHere, fresh));
      const weight = fresh < TELLING_FRESHNESS ? fresh / TELLING_FRESHNESS : 1;
      running = most(running, runningHere * weight);
      waiting = most(waiting, waitingHere * weight);
      kv = most(kv, kvHere * weight);
      gpu = most(gpu, gpuHere * weight);
      if (isNaN(runningHere)) continue;
      othersRunning += runningHere * fresh;
      others += runningHere + or0(waitingHere);
      own += ownHere;
    }
    const asked: f64 = c.areAsked ? 1 : 0;
    this.busiestRunning = running * asked;
    this.busiestWaiting = waiting * asked;
    this.busiestKv = kv * asked;
    this.busiestGpu = gpu * asked;
    this.meanInFlight = usable > 0 ? inFlight / usable : 0;
    this.meanBatch = usable > 0 ? (inFlight + othersRunning) / usable : 0;
    this.ownReported = own;
    this.othersReported = others;
    this.leastPendingMs = pendingMs;
    this.leastLoad = load;
    this.leastPrefillFactor = prefillFactor;
  }
}

/** Requests at a host, own and others' as far as reports are fresh; a tenth of a request per share of KV or GPU in use. */
export function loadOf(c: Candidates, slot: i32): f64 {
  return loadBy(
    unchecked(c.inFlight[slot]),
    unchecked(c.running[slot]),
    unchecked(c.waiting[slot]),
    unchecked(c.kvUsage[slot]),
    unchecked(c.gpuUtilization[slot]),
    unchecked(c.freshness[slot]),
  );
}

@inline
function loadBy(own: f64, running: f64, waiting: f64, kv: f64, gpu: f64, fresh: f64): f64 {
  return own + (or0(running) + or0(waiting) + (or0(kv) + or0(gpu)) / 10) * fresh;
}

@inline
function least(known: f64, value: f64): f64 {
  return value < known ? value : known;
}

/** The larger one; `value` may be NaN, unknown. */
@inline
function most(known: f64, value: f64): f64 {
  return value > known ? value : known;
}

@inline
function or0(value: f64): f64 {
  return isNaN(value) ? 0 : value;
}
