/** Seeded random numbers (sfc32); equal seeds give equal runs on every machine. */
export class Random {
  private a: number;
  private b: number;
  private c: number;
  private d = 1;

  /** `stream` tells apart generators that share a seed, by number or by name. */
  constructor(seed: number, stream: number | string = 0) {
    this.a = seed | 0;
    this.b = typeof stream === "number" ? stream | 0 : hashName(stream);
    this.c = 0x9e3779b9;
    for (let i = 0; i < 15; i += 1) this.next();
  }

  /** [0, 1) */
  next(): number {
    const t = (((this.a + this.b) | 0) + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (this.c << 21) | (this.c >>> 11);
    this.c = (this.c + t) | 0;
    return (t >>> 0) / 2 ** 32;
  }

  /** 0 … n − 1 */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  exponential(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }

  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.next()));
    return radius * Math.cos(2 * Math.PI * this.next());
  }

  /** Half of the values are below `median`; `sigma` is that of the logarithm. */
  lognormal(median: number, sigma: number): number {
    return median * Math.exp(sigma * this.normal());
  }

  /** 1, 2, 3, … with this mean. */
  geometric(mean: number): number {
    if (mean <= 1) return 1;
    return 1 + Math.floor(Math.log(1 - this.next()) / Math.log(1 - 1 / mean));
  }
}

/** Picks 0 … n − 1 with weights 1 / (rank ^ exponent). */
export class Zipf {
  private readonly sums: number[] = [];

  constructor(n: number, exponent: number) {
    let sum = 0;
    for (let rank = 1; rank <= n; rank += 1) {
      sum += rank ** -exponent;
      this.sums.push(sum);
    }
  }

  pick(random: Random): number {
    const at = random.next() * (this.sums.at(-1) as number);
    return this.sums.findIndex((sum) => at < sum);
  }
}

function hashName(name: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < name.length; i += 1) h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
  return h | 0;
}
