/** Places for keys; one that falls on another's place, while requests of that are open, isn't counted. */
const PLACES: i32 = 1024;
/** So many open requests of one conversation are nothing odd: an agent's parallel calls. */
const USUAL: i32 = 8;

/**
 * How many requests of one conversation a worker has open. A conversation is worth keeping where its cache is because its next
 * request comes when this one is answered. One that many send at once (a prompt that everybody asks, a session that everybody
 * shares) isn't one: what it takes to serve it elsewhere too is paid once, for all of them.
 */
export class Crowd {
  private keys: StaticArray<u64> = new StaticArray<u64>(PLACES);
  private counts: StaticArray<i32> = new StaticArray<i32>(PLACES);

  /** A request was sent. @returns whether it was counted, and so must be taken off */
  came(key: u64): bool {
    const at = placeOf(key);
    const count = unchecked(this.counts[at]);
    if (key == 0 || (count > 0 && unchecked(this.keys[at]) != key)) return false;
    unchecked((this.keys[at] = key));
    unchecked((this.counts[at] = count + 1));
    return true;
  }

  /** A request that was counted has left its host. */
  left(key: u64): void {
    unchecked(this.counts[placeOf(key)]--);
  }

  /** Open requests of a conversation beyond what is usual. */
  beyondUsual(key: u64): i32 {
    const at = placeOf(key);
    if (unchecked(this.counts[at]) <= USUAL || unchecked(this.keys[at]) != key) return 0;
    return unchecked(this.counts[at]) - USUAL;
  }
}

@inline
function placeOf(key: u64): i32 {
  return <i32>(key & <u64>(PLACES - 1));
}
