/** A second reader of Prometheus text, for three signals: line by line, for texts that no library takes. */

/** Signals of the metrics that fuzzing spells, with the rank of each name. */
const NAMES: Record<string, ["running" | "waiting" | "kvUsage", number]> = {
  "vllm:num_requests_running": ["running", 0],
  num_requests_running: ["running", 0],
  "lmdeploy:num_requests_running": ["running", 0],
  "sglang:num_running_reqs": ["running", 0],
  sglang_num_running_reqs: ["running", 0],
  "llamacpp:requests_processing": ["running", 0],
  tgi_batch_current_size: ["running", 0],
  "vllm:num_requests_waiting": ["waiting", 0],
  num_requests_waiting: ["waiting", 0],
  "sglang:num_queue_reqs": ["waiting", 0],
  sglang_num_queue_reqs: ["waiting", 0],
  "llamacpp:requests_deferred": ["waiting", 0],
  tgi_queue_size: ["waiting", 0],
  "vllm:kv_cache_usage_perc": ["kvUsage", 0],
  kv_cache_usage_perc: ["kvUsage", 0],
  "vllm:gpu_cache_usage_perc": ["kvUsage", 1],
  gpu_cache_usage_perc: ["kvUsage", 1],
  "sglang:token_usage": ["kvUsage", 0],
  sglang_token_usage: ["kvUsage", 0],
};

export const METRIC_NAMES = Object.keys(NAMES);

/** Labels by which engines differ, of those that damage can make of the fixtures. */
const IDENTITY = ["engine", "dp_rank", "model_name", "model", "version", "gpu", "uuid", "UUID"];

const STRING = '"((?:[^"\\\\]|\\\\.)*)"';
const LABEL = new RegExp(
  `^[ \\t]*([a-zA-Z0-9_:]+|${STRING})[ \\t]*=[ \\t]*${STRING}[ \\t]*(,|(?=\\}))`,
  "s",
);
const QUOTED_NAME = new RegExp(`^[ \\t]*${STRING}[ \\t]*(,|(?=\\}))`, "s");
const NUMBER = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|nan|inf|infinity)$/i;

/** More requests at one server are taken for nonsense. */
const REQUESTS_MAX = 1e6;

export type Totals = { running?: number; waiting?: number; kvUsage?: number };

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, (whole, c: string) =>
    c === "n" ? "\n" : c === "\\" || c === '"' ? c : whole,
  );
}

function parseNumber(text: string): number | undefined {
  if (!NUMBER.test(text)) return undefined;
  const word = text.toLowerCase();
  if (word.includes("nan")) return Number.NaN;
  if (word.includes("inf")) return word.startsWith("-") ? -Infinity : Infinity;
  return Number(text);
}

export interface Sample {
  name: string;
  labels: Map<string, string>;
  value: number;
}

/** Reads one line, `undefined` if it is no sample. Text is latin1: one character a byte. */
function parseLine(line: string): Sample | undefined {
  let rest = line.replace(/^[ \t]+/, "");
  let name = /^[a-zA-Z_:][a-zA-Z0-9_:]*(?=[ \t{])/.exec(rest)?.[0] ?? "";
  if (name === "" && !rest.startsWith("{")) return undefined;
  const plain = name !== "";
  rest = rest.slice(name.length).replace(/^[ \t]+/, "");
  const labels = new Map<string, string>();
  if (rest.startsWith("{")) {
    rest = rest.slice(1);
    while (!/^[ \t]*\}/.test(rest)) {
      const label = LABEL.exec(rest);
      const quoted = plain || name !== "" ? null : QUOTED_NAME.exec(rest);
      if (label !== null) {
        const key = label[2] === undefined ? (label[1] ?? "") : unescaped(label[2]);
        const value = unescaped(label[3] ?? "");
        if (value !== "" && !labels.has(key)) labels.set(key, value);
      } else if (quoted !== null) {
        name = unescaped(quoted[1] ?? "");
        if (name === "") return undefined;
      } else return undefined;
      rest = rest.slice((label ?? quoted)?.[0].length);
    }
    rest = rest.replace(/^[ \t]*\}/, "");
  }
  if (name === "") return undefined;
  const found = /^[ \t]*([^ \t]+)(?:[ \t]+([^ \t#][^ \t]*))?[ \t]*(?:[ \t]#.*)?$/s.exec(rest);
  const value = parseNumber(found?.[1] ?? "");
  if (found === null || value === undefined) return undefined;
  if (found[2] !== undefined && !Number.isFinite(parseNumber(found[2]) ?? Number.NaN))
    return undefined;
  return { name, labels, value };
}

/** What a backend's own answer says in total. */
export function reference(bytes: Uint8Array): Totals {
  const text = Buffer.from(bytes)
    .toString("latin1")
    .replace(/^\xef\xbb\xbf/, "");
  const samples: Sample[] = [];
  for (const raw of text.split("\n")) {
    if (raw.length > 16_384) continue;
    const line = raw.replace(/[ \t\r]+$/, "");
    const sample = /^[ \t]*#/.test(line) ? undefined : parseLine(line);
    if (sample !== undefined) samples.push(sample);
  }
  return totals(samples);
}

/** What samples say in total, however they were read. */
export function totals(samples: readonly Sample[]): Totals {
  const series = new Map<string, { signal: keyof Totals; rank: number; value: number }>();
  for (const sample of samples) {
    const known = NAMES[sample.name];
    if (known === undefined) continue;
    const [signal, rank] = known;
    let value = sample.value;
    if (signal === "kvUsage") {
      value =
        value >= 0 && value < Infinity
          ? Math.min(value > 1.5 ? value / 100 : value, 1)
          : Number.NaN;
    } else if (!(value >= 0 && value < Infinity)) value = Number.NaN;
    const identity = IDENTITY.map((label) => sample.labels.get(label) ?? "");
    const key = JSON.stringify([signal, ...identity]);
    const old = series.get(key);
    const better =
      old === undefined ||
      (rank === old.rank ? Number.isNaN(old.value) || value > old.value : rank < old.rank);
    if (better) series.set(key, { signal, rank, value });
  }
  const sums: Totals = {};
  let shares = 0;
  for (const { signal, value } of series.values()) {
    if (Number.isNaN(value)) continue;
    if (signal === "kvUsage") shares++;
    sums[signal] = (sums[signal] ?? 0) + value;
  }
  if (sums.kvUsage !== undefined) sums.kvUsage /= shares;
  for (const key of ["running", "waiting"] as const) {
    if ((sums[key] ?? 0) > REQUESTS_MAX) delete sums[key];
  }
  return sums;
}
