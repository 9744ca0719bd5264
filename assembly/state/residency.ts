/**
 * How far back does a server's cache reach? It evicts what was used least recently, so a prefix is gone when as many tokens as
 * the cache holds were used since: new ones, and cached ones that were used again (Mattson et al. 1970: LRU stack distance).
 * Agents with long contexts use ten times more of the second kind, so counting new tokens alone expects far too much.
 *
 * Kept as a histogram: all tokens in the cache by the token clock of their last use, in a few buckets of adaptive width.
 * Using a prefix again moves its tokens from the bucket of its stamp to the newest. Counting from the newest back gives the
 * clock at which the cache ends: what was last used before that is gone.
 *
 * ```
 * ┌──────────────┬───────┬───┐ ┌──────┬────────┐
 * │clock so far 8│count 4│ 4 │ │from 8│tokens 8│ × BUCKETS, oldest first
 * └──────────────┴───────┴───┘ └──────┴────────┘
 * ```
 */
import { STAMP_TOKENS } from "./layout";

const BUCKETS: i32 = 24;
const HEAD: i32 = 16;
export const RESIDENCY_BYTES: i32 = HEAD + BUCKETS * 16;

/** A bucket takes so much of the capacity, then a new one begins. */
const BUCKET_SHARE: f64 = 1.0 / 16.0;
/** Tokens beyond so many capacities are forgotten: more than is gone for sure, as the capacity is learned. */
const KEPT_CAPACITIES: f64 = 2;

/** The cache was emptied at a token clock. */
export function empty(at: usize, clock: f64): void {
  memory.fill(at, 0, RESIDENCY_BYTES);
  store<f64>(at, clock);
}

/** Enters what was inserted up to a token clock, unless that is entered already. */
export function advance(at: usize, clock: f64, capacity: f64): void {
  let seen = load<f64>(at);
  if (clock - seen > capacity * KEPT_CAPACITIES) {
    seen = clock - capacity * KEPT_CAPACITIES;
    empty(at, seen);
  }
  const width = capacity * BUCKET_SHARE;
  while (seen < clock) {
    const tokens = Math.min(clock - seen, width);
    add(at, tokens, capacity);
    seen = clock - seen > width ? seen + tokens : clock;
    store<f64>(at, seen);
  }
}

/**
 * A prefix that was last used at `stamp` is used again, at the clock entered last: its tokens move to the newest bucket. Should the bucket hold fewer,
 * then the rest, a start that others share, was used later.
 */
export function renew(at: usize, stamp: f64, tokens: f64, capacity: f64): void {
  const newest = countOf(at) - 1;
  let i = newest;
  while (i > 0 && fromOf(at, i) > stamp) i--;
  let left = tokens;
  for (; i < newest && left > 0; i++) {
    const held = tokensOf(at, i);
    const taken = Math.min(held, left);
    setTokens(at, i, held - taken);
    left -= taken;
  }
  if (left < tokens) add(at, tokens - left, capacity);
}

/**
 * Token clock before which nothing is left in a cache of `capacity` tokens; −∞ while it holds all.
 * @param clock token clock now: what was inserted since the last entry counts as well
 */
export function endOfCache(at: usize, clock: f64, capacity: f64): f64 {
  let to = load<f64>(at);
  let sum = Math.max(clock - to, 0);
  if (sum > capacity) return clock - capacity;
  for (let i = countOf(at) - 1; i >= 0; i--) {
    const tokens = tokensOf(at, i);
    const from = fromOf(at, i);
    if (sum + tokens > capacity) return to - ((capacity - sum) / tokens) * (to - from);
    sum += tokens;
    to = from;
  }
  return -Infinity;
}

/** Adds tokens that were used last. */
function add(at: usize, tokens: f64, capacity: f64): void {
  let newest = countOf(at) - 1;
  const now = load<f64>(at);
  const isFull = newest >= 0 && tokensOf(at, newest) + tokens > capacity * BUCKET_SHARE;
  if (newest < 0 || (isFull && fromOf(at, newest) < now)) newest = open(at, now, capacity);
  setTokens(at, newest, tokensOf(at, newest) + tokens);
}

/** Begins a bucket; returns its number. */
function open(at: usize, from: f64, capacity: f64): i32 {
  forget(at, capacity);
  let count = countOf(at);
  if (count == BUCKETS) {
    merge(at);
    count--;
  }
  store<i32>(at + 8, count + 1);
  // Stamps are whole ticks: what is stamped now belongs in this bucket.
  store<f64>(bucket(at, count), Math.floor(from / STAMP_TOKENS) * STAMP_TOKENS);
  setTokens(at, count, 0);
  return count;
}

/** Drops the oldest buckets that are surely gone. */
function forget(at: usize, capacity: f64): void {
  let sum: f64 = 0;
  for (let i = countOf(at) - 1; i > 0; i--) {
    sum += tokensOf(at, i);
    if (sum < capacity * KEPT_CAPACITIES) continue;
    remove(at, 0, i);
    return;
  }
}

/** Joins the two neighbours that hold least. */
function merge(at: usize): void {
  let best = 0;
  for (let i = 1; i < BUCKETS - 1; i++) {
    if (pair(at, i) < pair(at, best)) best = i;
  }
  setTokens(at, best, pair(at, best));
  remove(at, best + 1, 1);
}

@inline
function pair(at: usize, i: i32): f64 {
  return tokensOf(at, i) + tokensOf(at, i + 1);
}

function remove(at: usize, first: i32, buckets: i32): void {
  const rest = countOf(at) - first - buckets;
  memory.copy(bucket(at, first), bucket(at, first + buckets), (<usize>rest) << 4);
  store<i32>(at + 8, first + rest);
}

@inline
function countOf(at: usize): i32 {
  return load<i32>(at + 8);
}
@inline
function bucket(at: usize, i: i32): usize {
  return at + HEAD + ((<usize>i) << 4);
}
@inline
function fromOf(at: usize, i: i32): f64 {
  return load<f64>(bucket(at, i));
}
@inline
function tokensOf(at: usize, i: i32): f64 {
  return load<f64>(bucket(at, i) + 8);
}
@inline
function setTokens(at: usize, i: i32, tokens: f64): void {
  store<f64>(bucket(at, i) + 8, tokens);
}
