import { readFileSync, writeFileSync } from "node:fs";
import { commandLine } from "../../tools/commandline.ts";
import { htmlPage, type PlotRun } from "./html.ts";
import { HELP, parseOptions, type SimOptions } from "./options.ts";
import { predictionLine } from "./prediction.ts";
import { Progress } from "./progress.ts";
import { makeReport } from "./report.ts";
import { runPolicy } from "./run.ts";
import { type Summary, summarise } from "./summary.ts";
import { table } from "./table.ts";
import { many } from "./text.ts";
import { loadWorkload } from "./trace.ts";
import { atRate, half, head, type Workload } from "./workload.ts";

function main(): void {
  const options = commandLine(HELP, parseOptions);
  const workload = prepare(options);
  const runs: PlotRun[] = [];
  const rates: { rate: number; summaries: Summary[] }[] = [];
  for (const rate of options.rates) {
    const scaled = atRate(workload, rate);
    const summaries: Summary[] = [];
    for (const name of options.policies) {
      const progress = new Progress(`${name}, rate ${rate}`);
      const result = runPolicy(name, scaled, {
        servers: options.servers,
        gateways: options.gateways,
        seed: options.seed,
        engine: {},
        slow: options.slow,
        outages: options.outages,
        workers: options.workers,
        config: readConfig(options.config),
        onProgress: (done, total, nowMs) => progress.show(done, total, nowMs),
      });
      progress.end();
      const summary = summarise(result, options.slo);
      summaries.push(summary);
      // Plots of single requests are of the first rate only.
      if (rate === options.rates[0]) runs.push({ result, summary });
    }
    rates.push({ rate, summaries });
    const title = `${workload.name}, ${many(options.servers, "server")}, ${many(options.gateways, "gateway")}`;
    process.stdout.write(`\n${title}, rate ${rate}, seed ${options.seed}\n`);
    process.stdout.write(`${table(summaries, process.stdout.columns)}\n`);
    for (const { policy, prediction } of summaries) {
      if (prediction) process.stdout.write(`${predictionLine(policy, prediction)}\n`);
    }
  }
  const report = makeReport(options, workload.name, rates);
  if (options.json) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  if (options.html) writeFileSync(options.html, htmlPage(report, runs));
}

function prepare(options: SimOptions): Workload {
  const requests = Number.isFinite(options.requests) ? options.requests : 0;
  let workload = loadWorkload(options.trace, { seed: options.seed, requests });
  if (options.half !== "all") workload = half(workload, options.half);
  return options.trace.startsWith("generated:") ? workload : head(workload, options.requests);
}

function readConfig(file: string | undefined): object {
  if (file === undefined) return {};
  try {
    return JSON.parse(readFileSync(file, "utf8")) as object;
  } catch (error) {
    throw new Error(`--config ${file}: ${(error as Error).message}`);
  }
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
