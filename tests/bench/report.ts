import type { Load } from "./wrk.ts";

/** What the routers are measured under. */
export interface Setting {
  bodyBytes: number;
  /** Backends behind each router. */
  hosts: number;
  /** Whether answers are event streams. */
  streamed: boolean;
}

/** One contender in one round of one setting. */
export interface Measured extends Load, Setting {
  name: string;
  round: number;
  requestsPerSecond: number;
  /** CPU time of the router per request, in microseconds. */
  cpuUs: number;
  /** Share of its core that the router used: near 1, the router was the limit. */
  busy: number;
  residentBytes: number;
}

/** A contender's figures in one setting: medians over the rounds. */
export interface Row extends Setting {
  name: string;
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

/** `32k, 3 hosts, streamed`. */
export function settingName({ bodyBytes, hosts, streamed }: Setting): string {
  const size = bodyBytes >= 1024 ? `${Math.round(bodyBytes / 1024)}k` : `${bodyBytes}`;
  return `${size} bodies, ${hosts} hosts, ${streamed ? "streamed" : "plain"} answers`;
}

/** The rows of a run: settings as they come, contenders as they come; ratios to the first. */
export function rowsOf(measured: Measured[]): Row[] {
  const settings = new Map(measured.map((one) => [settingName(one), one]));
  const names = [...new Set(measured.map(({ name }) => name))];
  return [...settings].flatMap(([setting, { bodyBytes, hosts, streamed }]) =>
    names.flatMap((name) => {
      const of = (wanted: string | undefined) =>
        measured.filter((one) => settingName(one) === setting && one.name === wanted);
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
          hosts,
          streamed,
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

const HEAD = [
  "router",
  "CPU µs/req",
  "×",
  "req/s",
  "×",
  "p50 ms",
  "p99 ms",
  "MiB",
  "busy",
  "failed",
];

/** The rows as tables for the terminal, one per setting; × is the ratio to the first router. */
export function tableOf(rows: Row[]): string {
  const cells = rows.map((row) => [
    row.name,
    row.cpuUs.toFixed(1),
    row.cpuRatio.toFixed(2),
    Math.round(row.requestsPerSecond).toLocaleString("en"),
    row.rateRatio.toFixed(2),
    row.p50Ms.toFixed(2),
    row.p99Ms.toFixed(2),
    (row.residentBytes / 2 ** 20).toFixed(0),
    `${Math.round(row.busy * 100)} %`,
    String(row.failed),
  ]);
  const widths = HEAD.map((title, i) =>
    Math.max(title.length, ...cells.map((line) => line[i]?.length ?? 0)),
  );
  const line = (texts: string[]) =>
    texts
      .map((text, i) => (i === 0 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0)))
      .join("  ");
  const rule = widths.map((width) => "─".repeat(width)).join("──");
  const settings = [...new Set(rows.map(settingName))];
  return settings
    .map((setting) => {
      const own = cells.filter((_cell, i) => settingName(rows[i] as Row) === setting);
      return [setting, line(HEAD), rule, ...own.map(line)].join("\n");
    })
    .join("\n\n");
}
