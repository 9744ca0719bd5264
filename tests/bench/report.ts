import type { Load } from "./load.ts";

/** One contender in one round at one body size. */
export interface Measured extends Load {
  name: string;
  bodyBytes: number;
  round: number;
  requestsPerSecond: number;
  /** CPU time of the router per request, in microseconds. */
  cpuUs: number;
  /** Share of its core that the router used: near 1, the router was the limit. */
  busy: number;
  residentBytes: number;
}

/** A contender's figures at one body size: medians over the rounds. */
export interface Row {
  name: string;
  bodyBytes: number;
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  cpuUs: number;
  busy: number;
  residentBytes: number;
  failed: number;
  /** CPU time per request over that of the first contender, median of each round's ratio. */
  cpuRatio: number;
  /** Requests per second over those of the first contender, likewise. */
  rateRatio: number;
}

/** Middle value, the mean of the middle two where their number is even. */
export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The rows of a run: body sizes as they come, contenders as they come; ratios to the first. */
export function rowsOf(measured: Measured[]): Row[] {
  const sizes = [...new Set(measured.map(({ bodyBytes }) => bodyBytes))];
  const names = [...new Set(measured.map(({ name }) => name))];
  return sizes.flatMap((bodyBytes) =>
    names.flatMap((name) => {
      const of = (wanted: string | undefined) =>
        measured.filter((one) => one.bodyBytes === bodyBytes && one.name === wanted);
      const own = of(name);
      const first = of(names[0]);
      if (own.length === 0) return [];
      const mid = (field: keyof Load | "cpuUs" | "busy" | "requestsPerSecond" | "residentBytes") =>
        median(own.map((one) => one[field]));
      const ratio = (field: "cpuUs" | "requestsPerSecond") =>
        median(
          own.map((one) => {
            const base = first.find(({ round }) => round === one.round);
            return one[field] / (base?.[field] ?? Number.NaN);
          }),
        );
      return [
        {
          name,
          bodyBytes,
          requestsPerSecond: mid("requestsPerSecond"),
          p50Ms: mid("p50Ms"),
          p99Ms: mid("p99Ms"),
          cpuUs: mid("cpuUs"),
          busy: mid("busy"),
          residentBytes: mid("residentBytes"),
          failed: own.reduce((sum, { failed, refused }) => sum + failed + refused, 0),
          cpuRatio: ratio("cpuUs"),
          rateRatio: ratio("requestsPerSecond"),
        },
      ];
    }),
  );
}

/** The rows as a table for the terminal. */
export function tableOf(rows: Row[]): string {
  const head = [
    "body",
    "router",
    "req/s",
    "×",
    "CPU µs",
    "×",
    "p50 ms",
    "p99 ms",
    "MiB",
    "busy",
    "failed",
  ];
  const cells = rows.map((row) => [
    row.bodyBytes >= 1024 ? `${Math.round(row.bodyBytes / 1024)}k` : String(row.bodyBytes),
    row.name,
    Math.round(row.requestsPerSecond).toLocaleString("en"),
    row.rateRatio.toFixed(2),
    row.cpuUs.toFixed(1),
    row.cpuRatio.toFixed(2),
    row.p50Ms.toFixed(2),
    row.p99Ms.toFixed(2),
    (row.residentBytes / 2 ** 20).toFixed(0),
    `${Math.round(row.busy * 100)} %`,
    String(row.failed),
  ]);
  const widths = head.map((title, i) =>
    Math.max(title.length, ...cells.map((line) => line[i]?.length ?? 0)),
  );
  const line = (texts: string[]) =>
    texts
      .map((text, i) => (i === 1 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0)))
      .join("  ");
  const out = [line(head), widths.map((width) => "─".repeat(width)).join("──")];
  cells.forEach((texts, i) => {
    if (i > 0 && texts[0] !== cells[i - 1]?.[0]) out.push("");
    out.push(line(texts));
  });
  return out.join("\n");
}
