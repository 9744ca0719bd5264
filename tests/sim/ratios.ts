/** What tables of many runs show of a distribution. */
export type Percentile = "p50" | "p90" | "p99";
export const PERCENTILES: readonly Percentile[] = ["p50", "p90", "p99"];

/** Geometric mean of each percentile over rows of ratios, in the order of `PERCENTILES`. */
export function geometricMeans(rows: readonly (readonly number[])[]): number[] {
  return PERCENTILES.map((_, i) => geometricMean(rows.map((row) => row[i] as number)));
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
