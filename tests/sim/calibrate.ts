import { Engine } from "../llm/engine.ts";
import { DEFAULT_ENGINE, type EngineOptions } from "../llm/model.ts";
import { distribution } from "./summary.ts";
import { findTrace, readRows, readText } from "./trace.ts";
import { readPlain } from "./traces/plain.ts";
import type { Workload } from "./workload.ts";

/** One request of a measured run. */
interface Measured {
  queued_at_ms: number;
  measured: { queue_ms: number; prefill_ms: number; decode_ms: number };
}

/** What is fitted; the rest of the engine's options stands. */
type Fitted =
  | "stepMs"
  | "prefillMsPerToken"
  | "decodeMsPerSequence"
  | "decodeMsPerContextToken"
  | "maxRunning";
const FITTED: readonly Fitted[] = [
  "stepMs",
  "prefillMsPerToken",
  "decodeMsPerSequence",
  "decodeMsPerContextToken",
  "maxRunning",
];

/** How far a model is from what was measured: modelled over measured at three percentiles. */
interface Fit {
  options: EngineOptions;
  error: number;
  ttft: string;
  decode: string;
}

/** Replays a measured run on the engine model. */
function replay(workload: Workload, rows: readonly Measured[], options: EngineOptions): Fit {
  const ttft: number[] = [];
  const decode: number[] = [];
  const engine = new Engine(
    {
      onFinish: (sequence, nowMs) => {
        ttft[sequence.request.id] = sequence.firstTokenMs - sequence.arrivedMs;
        decode[sequence.request.id] = nowMs - sequence.firstTokenMs;
      },
    },
    options,
  );
  const order = workload.requests.map((request) => ({
    request,
    atMs: (rows[request.id] as Measured).queued_at_ms,
  }));
  order.sort((a, b) => a.atMs - b.atMs);
  for (const { request, atMs } of order) engine.submit(request, atMs);
  engine.advance(1e9);
  const measuredTtft = rows.map(({ measured }) => measured.queue_ms + measured.prefill_ms);
  const measuredDecode = rows.map(({ measured }) => measured.decode_ms);
  return {
    options,
    error: logError(ttft, measuredTtft) + logError(decode, measuredDecode),
    ttft: ratios(ttft, measuredTtft),
    decode: ratios(decode, measuredDecode),
  };
}

/** Mean of |log(model / measured)|. */
function logError(model: readonly number[], measured: readonly number[]): number {
  const errors = measured.map((value, i) => Math.abs(Math.log((model[i] ?? 1) / value)));
  return errors.reduce((sum, error) => sum + error, 0) / errors.length;
}

function ratios(model: readonly number[], measured: readonly number[]): string {
  const a = distribution(model);
  const b = distribution(measured);
  const typical = Math.exp(logError(model, measured));
  const at = [a.p50 / b.p50, a.p90 / b.p90, a.p99 / b.p99].map((ratio) => ratio.toFixed(2));
  return `p50 ${at[0]}, p90 ${at[1]}, p99 ${at[2]} of measured; each within ×${typical.toFixed(2)}`;
}

/** Moves one parameter after the other, in shrinking steps, while it helps. */
function fit(workload: Workload, rows: readonly Measured[]): Fit {
  let best = replay(workload, rows, { ...DEFAULT_ENGINE });
  for (let step = 1; step > 0.01; step *= 0.6) {
    let helped = true;
    while (helped) {
      helped = false;
      for (const name of FITTED) {
        for (const factor of [1 + step, 1 / (1 + step)]) {
          const moved = best.options[name] * factor;
          const value = name === "maxRunning" ? Math.round(moved) : moved;
          const tried = replay(workload, rows, { ...best.options, [name]: value });
          if (tried.error < best.error - 1e-6) {
            best = tried;
            helped = true;
          }
        }
      }
    }
  }
  return best;
}

/** Least squares of y = a + b·x1 + c·x2, relative errors weighed alike. */
function plane(points: readonly { x1: number; x2: number; y: number }[]): [number, number, number] {
  const m = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  for (const { x1, x2, y } of points) {
    const row = [1 / y, x1 / y, x2 / y, 1];
    for (let i = 0; i < 3; i += 1) {
      for (let j = 0; j < 4; j += 1) {
        m[4 * i + j] = (m[4 * i + j] as number) + (row[i] as number) * (row[j] as number);
      }
    }
  }
  const at = (i: number, j: number): number => m[4 * i + j] as number;
  for (let i = 0; i < 3; i += 1) {
    for (let k = 0; k < 3; k += 1) {
      if (k === i || at(i, i) === 0) continue;
      const factor = at(k, i) / at(i, i);
      for (let j = 0; j < 4; j += 1) m[4 * k + j] = at(k, j) - factor * at(i, j);
    }
  }
  const solved = (i: number): number => (at(i, i) === 0 ? 0 : at(i, 3) / at(i, i));
  return [solved(0), solved(1), solved(2)];
}

/** The model's form against timings of real servers: one line per model and hardware. */
function splitwise(file: string): void {
  const [head = "", ...lines] = readText(file).trim().split("\n");
  const names = head.split(",");
  const groups = new Map<string, Record<string, number>[]>();
  for (const line of lines) {
    const cells = line.split(",");
    const row = Object.fromEntries(names.map((name, i) => [name, cells[i] ?? ""]));
    const key = `${row.model} ${row.hardware} tp${row.tensor_parallel}`;
    const numbers = Object.fromEntries(Object.entries(row).map(([k, v]) => [k, Number(v)]));
    groups.set(key, [...(groups.get(key) ?? []), numbers]);
  }
  for (const [key, rows] of groups) {
    const prompts = rows.map((row) => ({
      x1: (row.prompt_size ?? 0) * (row.batch_size ?? 0),
      x2: 0,
      y: row.prompt_time ?? 1,
    }));
    const tokens = rows.map((row) => ({
      x1: row.batch_size ?? 0,
      x2: (row.batch_size ?? 0) * ((row.prompt_size ?? 0) + (row.token_size ?? 0) / 2),
      y: row.token_time ?? 1,
    }));
    const prefill = plane(prompts);
    const decode = plane(tokens);
    process.stdout.write(
      `${key.padEnd(34)} prefill ${prefill[0].toFixed(0)} ms + ${prefill[1].toFixed(4)} a token ` +
        `(${spread(prompts, prefill)}), decode ${decode[0].toFixed(1)} ms + ` +
        `${decode[1].toFixed(3)} a sequence + ${(decode[2] * 1e5).toFixed(2)}e-5 a context token ` +
        `(${spread(tokens, decode)})\n`,
    );
  }
}

function spread(
  points: readonly { x1: number; x2: number; y: number }[],
  [a, b, c]: readonly [number, number, number],
): string {
  const errors = points.map(({ x1, x2, y }) => Math.abs((a + b * x1 + c * x2) / y - 1));
  const { p50, p90 } = distribution(errors);
  return `off by ${(100 * p50).toFixed(0)} %, p90 ${(100 * p90).toFixed(0)} %`;
}

function main(): void {
  const file = findTrace("splitwise_perf_model");
  if (file === undefined) {
    process.stdout.write("skipped: the folder of traces isn't there\n");
    return;
  }
  splitwise(file);
  for (const name of ["sharegpt_vllm_rtxpro6000_llama", "sharegpt_vllm_rtxpro6000_qwen"]) {
    const trace = findTrace(name);
    if (trace === undefined) continue;
    const rows = readRows(trace) as (Measured & Parameters<typeof readPlain>[1][number])[];
    const workload = readPlain(name, rows);
    const shipped = replay(workload, rows, { ...DEFAULT_ENGINE });
    process.stdout.write(`\n${name}\n  defaults: TTFT ${shipped.ttft}\n`);
    process.stdout.write(`            decode ${shipped.decode}\n`);
    const fitted = fit(workload, rows);
    const values = FITTED.map((key) => `${key} ${Number(fitted.options[key].toPrecision(3))}`);
    process.stdout.write(`  fitted (${values.join(", ")}):\n`);
    process.stdout.write(`            TTFT ${fitted.ttft}\n            decode ${fitted.decode}\n`);
  }
}

main();
