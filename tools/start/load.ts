/** The conversations of `npm start` for a gateway that is there already: what the Compose example's traffic is. */
import { setMaxListeners } from "node:events";
import { parseArgs } from "node:util";
import { commandLine, MAX_SEED, number, whole } from "../commandline.ts";
import { drive, type Progress, type Target } from "./drive.ts";
import { figuresOf } from "./figures.ts";
import { planTraffic } from "./traffic.ts";
import { milliseconds, percent } from "./view.ts";

const USAGE = `node --import tsx tools/start/load.ts [options]

Asks a gateway the conversations of npm start, without end, until SIGINT or SIGTERM, and tells each ten
seconds how it goes.

  --url http://HOST:PORT   (http://127.0.0.1:8080); with several, a conversation's turns go to them one
                           after the other
  --rate X                 requests per second, on average (10)
  --seed N                 (1)
`;

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
  return commandLine(USAGE, (args) => {
    const { values } = parseArgs({
      args,
      options: {
        url: { type: "string", multiple: true, default: ["http://127.0.0.1:8080"] },
        rate: { type: "string", default: "10" },
        seed: { type: "string", default: "1" },
      },
    });
    return {
      targets: values.url.map(target),
      rate: number("--rate", values.rate, 0.1, 1000),
      firstSeed: whole("--seed", values.seed, 0, MAX_SEED),
    };
  });
}

function target(text: string): Target {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:") {
    throw new RangeError(`--url: expected http://host:port, got "${text}"`);
  }
  return { host: url.hostname, port: Number(url.port || 80) };
}
