/**
 * `node --import tsx tools/start/load.ts --url http://HOST:PORT`: asks a gateway the conversations of
 * `npm start`, without end, until SIGINT or SIGTERM, and tells each ten seconds how it goes. With several
 * `--url`s a conversation's turns go to them one after the other.
 */
import { setMaxListeners } from "node:events";
import { parseArgs } from "node:util";
import { drive, type Progress, type Target } from "./drive.ts";
import { figuresOf } from "./figures.ts";
import { planTraffic } from "./traffic.ts";
import { milliseconds, percent } from "./view.ts";

/** The traffic is planned for so long; then the next plan, with the next seed, follows. */
const PLAN_SECONDS = 120;
const LINE_MS = 10_000;

const { targets, rate, firstSeed } = readOptions();
const stopped = new AbortController();
setMaxListeners(0, stopped.signal);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopped.abort());

const started = performance.now();
let progress: Progress = { outcomes: [], inFlight: 0 };
const line = setInterval(() => {
  const { done, failed, p50Ms, p90Ms, cachedShare } = figuresOf(progress, []);
  console.log(
    `${Math.round((performance.now() - started) / 1000)} s  ${done} answered, ${failed} failed, ` +
      `TTFT p50 ${milliseconds(p50Ms)} p90 ${milliseconds(p90Ms)}, cached ${percent(cachedShare)}`,
  );
  progress.outcomes.length = 0;
}, LINE_MS);
for (let seed = firstSeed; !stopped.signal.aborted; seed++) {
  progress = { outcomes: [], inFlight: 0 };
  const plan = planTraffic(PLAN_SECONDS, rate, seed);
  await drive(targets, plan, progress, performance.now(), stopped.signal);
}
clearInterval(line);

function readOptions(): { targets: Target[]; rate: number; firstSeed: number } {
  const { values } = parseArgs({
    options: {
      url: { type: "string", multiple: true, default: ["http://127.0.0.1:8080"] },
      rate: { type: "string", default: "10" },
      seed: { type: "string", default: "1" },
    },
  });
  const targets = values.url.map((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url?.protocol !== "http:") fail(`--url: expected http://host:port, got "${text}"`);
    return { host: url.hostname, port: Number(url.port || 80) };
  });
  const rate = Number(values.rate);
  if (!(rate > 0 && rate <= 1000)) fail(`--rate: expected 0 < rate <= 1000, got "${values.rate}"`);
  const firstSeed = Number(values.seed);
  if (!Number.isInteger(firstSeed)) fail(`--seed: expected an integer, got "${values.seed}"`);
  return { targets, rate, firstSeed };
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}
