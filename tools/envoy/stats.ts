/** One sample of a Prometheus text answer. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Envoy's statistics as `/stats/prometheus` tells them. */
export class Stats {
  readonly samples: Sample[];

  constructor(text: string) {
    this.samples = text.split("\n").flatMap((line) => parseSample(line));
  }

  /** All samples of a name whose labels include these. */
  find(name: string, labels: Record<string, string> = {}): Sample[] {
    const wanted = Object.entries(labels);
    return this.samples.filter(
      (sample) =>
        sample.name === name && wanted.every(([key, value]) => sample.labels[key] === value),
    );
  }

  /** Their sum; `NaN` when there is none. */
  sum(name: string, labels: Record<string, string> = {}): number {
    const samples = this.find(name, labels);
    return samples.length === 0 ? Number.NaN : samples.reduce((sum, { value }) => sum + value, 0);
  }
}

function parseSample(line: string): Sample[] {
  const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
  if (match === null) return [];
  const [, name = "", inner = "", value = ""] = match;
  const labels: Record<string, string> = {};
  for (const [, key = "", text = ""] of inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
    labels[key] = text.replace(/\\(["\\n])/g, (_all, escaped) =>
      escaped === "n" ? "\n" : escaped,
    );
  }
  return [{ name, labels, value: Number(value) }];
}
