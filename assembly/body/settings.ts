/**
 * What the fields outside the prompt say: model, limits, sessions, adapters, media. Each field has a place
 * of its own that a later value under the same key overwrites; what they mean together is worked
 * out at the end.
 */
import { mix } from "../prefix/hash";
import { Facts } from "./facts";
import { MAX_BODY_FIELDS } from "./fields";
import { RootKey } from "./rootkeys";

const MAX_COUNT: f64 = 2147483647;
const MAX_ANSWERS: f64 = 1024;

@final
export class Settings {
  stream: bool = false;
  /** By key: hash of a string, 0 for absent. */
  private hashes: StaticArray<u64> = new StaticArray<u64>(RootKey.Count);
  /** By key: a number, how many images, videos or sounds; 0 for absent. */
  private numbers: StaticArray<f64> = new StaticArray<f64>(RootKey.Count);
  /** By rank of the body field: hash of the session, 0 for absent. */
  private sessions: StaticArray<u64> = new StaticArray<u64>(MAX_BODY_FIELDS);
  private isResponseId: StaticArray<bool> = new StaticArray<bool>(MAX_BODY_FIELDS);

  reset(): void {
    this.stream = false;
    memory.fill(changetype<usize>(this.hashes), 0, (<usize>RootKey.Count) << 3);
    memory.fill(changetype<usize>(this.numbers), 0, (<usize>RootKey.Count) << 3);
    memory.fill(changetype<usize>(this.sessions), 0, (<usize>MAX_BODY_FIELDS) << 3);
  }

  /** Forgets what an earlier value under the same key gave. */
  clear(key: RootKey): void {
    if (key == RootKey.Stream) this.stream = false;
    unchecked((this.hashes[key] = 0));
    unchecked((this.numbers[key] = 0));
    if (key == RootKey.Parameters) {
      unchecked((this.numbers[RootKey.ParametersMaxNewTokens] = 0));
      unchecked((this.numbers[RootKey.ParametersBestOf] = 0));
      unchecked((this.hashes[RootKey.ParametersAdapterId] = 0));
    } else if (key == RootKey.SamplingParams) {
      unchecked((this.numbers[RootKey.SamplingMaxNewTokens] = 0));
      unchecked((this.numbers[RootKey.SamplingN] = 0));
    } else if (key == RootKey.Prompt) {
      unchecked((this.hashes[RootKey.PromptTemplate] = 0));
    }
  }

  /** Forgets the sessions of these ranks (a bit each). */
  clearSessions(ranks: u32): void {
    for (let left = ranks; left != 0; left &= left - 1) {
      unchecked((this.sessions[ctz(left)] = 0));
    }
  }

  setHash(key: RootKey, hash: u64): void {
    unchecked((this.hashes[key] = hash));
  }

  setSession(rank: i32, hash: u64, isResponseId: bool): void {
    if (<u32>rank >= <u32>MAX_BODY_FIELDS) return;
    unchecked((this.sessions[rank] = hash));
    unchecked((this.isResponseId[rank] = isResponseId));
  }

  /** Takes a number; what isn't positive and finite is as good as absent. */
  setNumber(key: RootKey, value: f64): void {
    const isUsable = value >= 1 && value < Infinity;
    unchecked((this.numbers[key] = isUsable ? Math.floor(Math.min(value, MAX_COUNT)) : 0));
  }

  /** Writes what the fields mean together. */
  writeTo(facts: Facts): void {
    facts.stream = this.stream;
    facts.modelHash = this.hash(RootKey.Model);
    facts.userHash = this.hash(RootKey.User);
    facts.cacheSaltHash = this.hash(RootKey.CacheSalt);
    facts.previousResponseIdHash = this.hash(RootKey.PreviousResponseId);
    facts.outputCap = this.firstLimit();
    facts.n = this.answers(RootKey.N, RootKey.SamplingN);
    facts.bestOf = this.answers(RootKey.BestOf, RootKey.ParametersBestOf);
    let adapter: u64 = 0;
    for (let key: i32 = RootKey.ExtraKey; key <= RootKey.AudioData; key++) {
      const hash = this.hash(key);
      if (hash != 0) adapter = adapter == 0 ? hash : mix(adapter, hash);
    }
    facts.adapterHash = adapter;
    for (let rank = 0; rank < MAX_BODY_FIELDS; rank++) {
      const session = unchecked(this.sessions[rank]);
      if (session == 0) continue;
      facts.sessionHash = session;
      facts.sessionRank = rank;
      facts.sessionIsResponseId = unchecked(this.isResponseId[rank]);
      return;
    }
  }

  /** Images and videos beside the prompt. */
  get images(): u32 {
    return <u32>(
      (unchecked(this.numbers[RootKey.ImageData]) + unchecked(this.numbers[RootKey.VideoData]))
    );
  }

  /** Sounds beside the prompt. */
  get audios(): u32 {
    return <u32>unchecked(this.numbers[RootKey.AudioData]);
  }

  private hash(key: RootKey): u64 {
    return unchecked(this.hashes[key]);
  }

  private firstLimit(): u32 {
    for (let key: i32 = RootKey.MaxCompletionTokens; key <= RootKey.NPredict; key++) {
      const value = unchecked(this.numbers[key]);
      if (value > 0) return <u32>value;
    }
    const inner = unchecked(this.numbers[RootKey.ParametersMaxNewTokens]);
    return <u32>(inner > 0 ? inner : unchecked(this.numbers[RootKey.SamplingMaxNewTokens]));
  }

  private answers(key: RootKey, inner: RootKey): u32 {
    const outer = unchecked(this.numbers[key]);
    const value = outer > 0 ? outer : unchecked(this.numbers[inner]);
    return <u32>Math.min(Math.max(value, 1), MAX_ANSWERS);
  }
}
