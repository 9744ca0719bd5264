/** A priority queue by time; what is due at the same time comes out in the order it went in. */
export class TimeHeap<T> {
  private readonly times: number[] = [];
  private readonly serials: number[] = [];
  private readonly items: T[] = [];
  private serial = 0;

  get size(): number {
    return this.items.length;
  }

  /** Time of the first item; infinite if there is none. */
  get nextMs(): number {
    return this.times[0] ?? Number.POSITIVE_INFINITY;
  }

  push(timeMs: number, item: T): void {
    this.serial += 1;
    let at = this.items.length;
    this.times.push(timeMs);
    this.serials.push(this.serial);
    this.items.push(item);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.before(at, parent)) break;
      this.swap(at, parent);
      at = parent;
    }
  }

  pop(): T | undefined {
    const first = this.items[0];
    const last = this.items.length - 1;
    if (last < 0) return undefined;
    this.swap(0, last);
    this.times.pop();
    this.serials.pop();
    this.items.pop();
    let at = 0;
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < last && this.before(child, least)) least = child;
      }
      if (least === at) return first;
      this.swap(at, least);
      at = least;
    }
  }

  private before(a: number, b: number): boolean {
    const difference = (this.times[a] as number) - (this.times[b] as number);
    if (difference !== 0) return difference < 0;
    return (this.serials[a] as number) < (this.serials[b] as number);
  }

  private swap(a: number, b: number): void {
    for (const list of [this.times, this.serials, this.items] as unknown[][]) {
      const held = list[a];
      list[a] = list[b];
      list[b] = held;
    }
  }
}
