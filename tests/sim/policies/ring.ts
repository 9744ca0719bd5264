import { hash32 } from "../policy.ts";

/** A hash ring: each server at several points, a key belongs to the next point clockwise. */
export class Ring {
  private readonly points: { hash: number; server: number }[] = [];

  constructor(servers: number, pointsPerServer: number) {
    for (let server = 0; server < servers; server += 1) {
      for (let point = 0; point < pointsPerServer; point += 1) {
        this.points.push({ hash: hash32(`server-${server}_${point}`), server });
      }
    }
    this.points.sort((a, b) => a.hash - b.hash);
  }

  /** Servers in the order in which the ring offers them to `key`, each once. */
  *walk(key: string): Iterable<number> {
    const hash = hash32(key);
    let low = 0;
    let high = this.points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.points[middle] as { hash: number }).hash < hash) low = middle + 1;
      else high = middle;
    }
    const seen = new Set<number>();
    for (let i = 0; i < this.points.length; i += 1) {
      const { server } = this.points[(low + i) % this.points.length] as { server: number };
      if (seen.has(server)) continue;
      seen.add(server);
      yield server;
    }
  }
}
