import { Overview } from "./overview";

/** Weight of one choice once the mean is settled: about the last fifty. */
const SETTLED_WEIGHT: f64 = 0.02;
/** Reports are older than own accounting, so a gateway alone seems to have this share of others beside it. */
const NOISE: f64 = 0.15;
/** From this share on (one other gateway and more) others count in full. */
const FULL: f64 = 0.4;

/** Mean requests in flight per host at which agreeing counts half as much, where nobody else is about. */
const LIGHT: f64 = 3;

/**
 * How much of the traffic comes by other gateways, of which nothing is known but what servers report. Only then is it worth
 * something to send what is new where the others would.
 */
export class Others {
  /** Until it shows that there are none, others are there. */
  private share: f64 = FULL;
  private noted: f64 = 0;

  /** Takes in what servers report at a choice. */
  note(o: Overview): void {
    const all = o.ownReported + o.othersReported;
    if (all == 0) return;
    const weight = Math.max(1 / ++this.noted, SETTLED_WEIGHT);
    this.share += (o.othersReported / all - this.share) * weight;
  }

  /** 0 alone … 1 one among several. */
  get weight(): f64 {
    return Math.min(Math.max((this.share - NOISE) / (FULL - NOISE), 0), 1);
  }

  /**
   * How much agreeing counts at a choice, 0..1: in full where others are about or hardly anything is in flight. Then it costs
   * no time, and a gateway that starts anew finds conversations where it left them.
   */
  agreement(o: Overview): f64 {
    const crowd = o.meanInFlight / LIGHT;
    return Math.max(this.weight, 1 / (1 + crowd * crowd));
  }
}
