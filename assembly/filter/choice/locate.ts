import { RequestReader } from "../../body/request";
import { Candidates } from "../../policy/candidates";
import { Overview, loadOf } from "../../policy/overview";
import { RequestCost } from "../../policy/request";
import { Decision } from "./decision";
import { Fleet } from "../fleet/fleet";

/** Of what can't be read of a prompt that goes on from what its host knows, this share is expected in the host's cache. */
const UNREAD_CACHED_SHARE: f64 = 0.8;
/** Speeds that differ by more than this ratio differ clearly. */
const CLEARLY: f64 = 1.1;
/** System, user, assistant, user: from so many messages on a prompt holds an earlier turn. */
const CONTINUED_MESSAGES: u32 = 4;

/** Which hosts have how much of a request cached: asks the location table as little as it takes to know. */
export class Locator {
  private turnTokens: f64 = 0;
  /** Most that any usable host has cached of the last request, tokens. */
  mostCached: f64 = 0;

  constructor(
    private fleet: Fleet,
    private candidates: Candidates,
    private overview: Overview,
  ) {}

  /**
   * Fills in what each host has cached of a request, and where its conversation is. Once a body was read (`reader`) its
   * boundaries are kept in `d`.
   * @param turnTokens tokens of a mean request that aren't cached
   */
  locate(d: Decision, reader: RequestReader | null, r: RequestCost, turnTokens: f64): void {
    this.turnTokens = turnTokens;
    const locations = this.fleet.locations;
    const c = this.candidates;
    r.sharedTokens = 0;
    r.forks = 0;
    this.mostCached = 0;
    if (reader && d.readable) {
      d.chainLength = reader.chain.length;
      d.headLength = reader.chain.within(reader.facts.headBytes);
      d.isContinued = reader.chain.messageCount >= CONTINUED_MESSAGES;
      d.nonceSkipped = reader.facts.nonceSkipped;
      memory.copy(
        changetype<usize>(d.chain),
        changetype<usize>(reader.chain.ids),
        d.chainLength << 3,
      );
    }
    // A named session goes on too, if not from earlier turns then with later ones.
    r.isContinued = d.hasSession || d.isContinued;
    const length = d.chainLength;
    locations.fetch(d.chain, length);
    const slot = d.conversationTag != 0 ? locations.find(d.conversationTag) : -1;
    r.knownSlot = slot >= 0 && unchecked(c.usable[slot]) ? slot : -1;
    r.isSession = d.hasSession && r.knownSlot >= 0;
    d.isNew = slot < 0;
    locations.match(d.chain, length, slot < 0 ? -1 : guess(locations.foundLength, length));
    // Where the conversation is, in the least loaded place, nothing that others have could be worth more.
    if (slot >= 0 && !this.isBest(r.knownSlot)) locations.matchRest(d.chain);
    if (length == 0) {
      if (r.knownSlot >= 0) this.note(r.knownSlot, d.promptTokens * UNREAD_CACHED_SHARE);
      return;
    }
    // A nonce ahead of the prompt spoils the engine's cache whatever the chain says: the conversation only stays in ties.
    if (d.nonceSkipped) return;
    for (let i = 0; i < locations.holderCount; i++) {
      const slot = unchecked(locations.holders[i]);
      if (!unchecked(c.usable[slot])) continue;
      this.note(slot, this.cachedUpTo(d, reader, unchecked(locations.depth[slot])));
    }
    if (locations.deepest >= 0) {
      r.sharedTokens = this.cachedUpTo(d, reader, locations.deepest);
      r.forks = <f64>locations.forks;
      if (r.knownSlot < 0 && this.isOwn(d, r)) r.knownSlot = this.deepestHost();
    }
  }

  /**
   * Whether the deepest known prefix is taken to be this conversation's own: nobody else went on from it yet. If it is no more
   * than the head that others may share, a session whose name is new, a later turn, and who comes while the other is still being
   * served know better: their place is where any gateway would look for them.
   */
  private isOwn(d: Decision, r: RequestCost): bool {
    if (r.forks > 0 || d.hasSession) return false;
    if (this.fleet.locations.deepest >= d.headLength) return true;
    const host = this.deepestHost();
    return !d.isContinued && host >= 0 && unchecked(this.candidates.inFlight[host]) == 0;
  }

  /** Whether a host has the deepest boundary, and no other is less loaded by any measure. */
  private isBest(best: i32): bool {
    const c = this.candidates;
    const locations = this.fleet.locations;
    // Nothing found yet says nothing: the prompt may differ at its end only.
    if (best < 0 || locations.deepest < 0) return false;
    if (locations.depth[best] != locations.deepest) return false;
    const o = this.overview;
    const speed = unchecked(c.prefillFactor[best]) / CLEARLY;
    return (
      unchecked(c.pendingMs[best]) <= o.leastPendingMs &&
      loadOf(c, best) <= o.leastLoad &&
      speed <= o.leastPrefillFactor
    );
  }

  /** First usable host that holds the deepest known boundary, −1 for none. */
  private deepestHost(): i32 {
    const locations = this.fleet.locations;
    let first = -1;
    for (let i = 0; i < locations.holderCount; i++) {
      const slot = unchecked(locations.holders[i]);
      if (unchecked(locations.depth[slot]) != locations.deepest) continue;
      if (unchecked(this.candidates.usable[slot]) && (first < 0 || slot < first)) first = slot;
    }
    return first;
  }

  /** A usable host has so many of the prompt's tokens. */
  private note(slot: i32, tokens: f64): void {
    unchecked((this.candidates.cachedTokens[slot] = tokens));
    if (tokens > this.mostCached) this.mostCached = tokens;
  }

  /** Prompt tokens that a host has which knows the prompt up to a boundary of the chain. */
  private cachedUpTo(d: Decision, reader: RequestReader | null, index: i32): f64 {
    const tokens = this.tokensAt(d, reader, index);
    // It knows all that was read of a prompt too long to be read whole: what it doesn't know is one turn, like others'.
    if (d.complete || index < d.chainLength - 1) return tokens;
    const unread = d.promptTokens - tokens;
    return d.promptTokens - Math.min(this.turnTokens, unread * (1 - UNREAD_CACHED_SHARE));
  }

  /** Prompt tokens up to a boundary of the chain. */
  tokensAt(d: Decision, reader: RequestReader | null, index: i32): f64 {
    if (!reader) {
      const kept = d.boundaryTokens;
      return kept ? unchecked(kept[index]) : 0;
    }
    const chain = reader.chain;
    const bytes = <f64>unchecked(chain.bytes[index]);
    const fixed = <f64>unchecked(chain.fixedTokens[index]);
    const textTokens = d.promptTokens - d.fixedTokens;
    const share = d.promptBytes > 0 ? bytes / d.promptBytes : 0;
    return Math.min(textTokens * share + fixed, d.promptTokens);
  }
}

/** Where to look first for the end of the conversation's last request. A length of 255 is that or more: two messages ago, then. */
function guess(foundLength: i32, length: i32): i32 {
  if (foundLength == 0) return length - 1;
  return (foundLength < 255 ? min(foundLength, length) : max(length - 2, 1)) - 1;
}
