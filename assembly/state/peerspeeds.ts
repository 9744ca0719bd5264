import { Learned } from "../peers/learned";
import { MAX_HOSTS } from "./layout";

/**
 * How fast the gateways that are heard found each host, by slot: with own answers alone, several gateways would each learn
 * slower than one does, and one odd first answer would brand a host for longer, as others keep it busy meanwhile.
 */
export class PeerSpeeds {
  /** Answers, and Σ answers × ln factor, of prefill. */
  readonly prefillSamples: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  readonly prefillLogs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  /** The same of decoding. */
  readonly decodeSamples: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);
  readonly decodeLogs: StaticArray<f64> = new StaticArray<f64>(MAX_HOSTS);

  /** Forgets all of a host. */
  clear(slot: i32): void {
    unchecked((this.prefillSamples[slot] = 0));
    unchecked((this.prefillLogs[slot] = 0));
    unchecked((this.decodeSamples[slot] = 0));
    unchecked((this.decodeLogs[slot] = 0));
  }

  /** Adds what a gateway says of a host. @param learned address of it (peers/learned.ts)  @param share how much it counts, 0..1 */
  add(slot: i32, learned: usize, share: f64): void {
    const prefill = <f64>Learned.prefillSamples(learned) * share;
    const decode = <f64>Learned.decodeSamples(learned) * share;
    unchecked((this.prefillSamples[slot] += prefill));
    unchecked((this.prefillLogs[slot] += prefill * Learned.prefillLog(learned)));
    unchecked((this.decodeSamples[slot] += decode));
    unchecked((this.decodeLogs[slot] += decode * Learned.decodeLog(learned)));
  }
}
