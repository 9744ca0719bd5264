import { setMaxListeners } from "node:events";
import { operators, STATUS_PATH } from "../envoy/operators.ts";
import { freePorts } from "../envoy/ports.ts";
import { drive, type Progress } from "./drive.ts";
import { figuresOf } from "./figures.ts";
import { type StartedFleet, startFleet } from "./fleet.ts";
import type { Options } from "./options.ts";
import { isTerminal, padEnd, padStart, Screen } from "./terminal.ts";
import { planTraffic } from "./traffic.ts";
import { liveView, milliseconds, percent, type Shown, summary } from "./view.ts";

const SERVERS = 4;
const DEFAULT_SECONDS = 30;
/** How often the live view is drawn, and lines are written where there is no terminal. */
const VIEW_MS = 200;
const LINE_MS = 5000;
/** What is still running this long after the last request was sent is left. */
const DRAIN_MS = 20_000;

/**
 * Sends the same traffic to two fleets, one behind Envoy's round robin and one behind warmroute.
 * @returns the program's exit code
 */
export async function compare(
  options: Options,
  version: string,
  stopped: AbortSignal,
): Promise<number> {
  const seconds = options.seconds ?? DEFAULT_SECONDS;
  const { rate, seed } = options;
  const [pagePort = 0] = await freePorts(1);
  console.log(`Starting Envoy ${version} twice, with ${SERVERS} LLM servers behind each`);
  const started = await Promise.allSettled([
    startFleet("Envoy round robin", SERVERS, () => ({ wasm: false, fallback: "round_robin" })),
    startFleet("warmroute", SERVERS, (hosts) => ({
      configuration: { hosts },
      edit: (yaml) => operators(yaml, pagePort, STATUS_PATH),
      ...(options.port === undefined ? {} : { listenerPort: options.port }),
      ...(options.adminPort === undefined ? {} : { adminPort: options.adminPort }),
    })),
  ]);
  const fleets = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  try {
    const failure = started.find((one) => one.status === "rejected");
    if (failure !== undefined) throw failure.reason;
    if (stopped.aborted) return 130;
    console.log(`While it runs, its status page is at http://127.0.0.1:${pagePort}${STATUS_PATH}`);
    return await run(fleets, { seconds, rate, seed }, stopped);
  } finally {
    await Promise.all(fleets.map((fleet) => fleet.stop()));
  }
}

async function run(
  fleets: StartedFleet[],
  { seconds, rate, seed }: { seconds: number; rate: number; seed: number },
  stopped: AbortSignal,
): Promise<number> {
  const conversations = planTraffic(seconds, rate, seed);
  const startMs = performance.now();
  const nowMs = () => performance.now() - startMs;
  const progress: Progress[] = fleets.map(() => ({ outcomes: [], inFlight: 0 }));
  const shown = (): Shown[] =>
    fleets.map(({ name, hosts }, i) => {
      const own = progress[i] ?? { outcomes: [], inFlight: 0 };
      return { name, progress: own, figures: figuresOf(own, hosts) };
    });

  const screen = new Screen();
  const title = `${SERVERS} servers each, ${rate} requests/s each`;
  const view = setInterval(
    () => {
      if (isTerminal) screen.draw(liveView(title, shown(), nowMs(), seconds));
      else console.log(plainLines(shown(), nowMs()));
    },
    isTerminal ? VIEW_MS : LINE_MS,
  );
  const drained = AbortSignal.timeout(seconds * 1000 + DRAIN_MS);
  const stop = AbortSignal.any([stopped, drained]);
  setMaxListeners(0, stop);
  try {
    await Promise.all(
      fleets.map(({ envoy }, i) =>
        drive(
          [{ host: "127.0.0.1", port: envoy.port }],
          conversations,
          progress[i] as Progress,
          startMs,
          stop,
        ),
      ),
    );
  } finally {
    clearInterval(view);
    if (isTerminal) screen.clear();
  }
  const last = shown();
  if (isTerminal) console.log(liveView(title, last, nowMs(), seconds).join("\n"));
  console.log(summary(last).join("\n"));
  console.log(`\n  ${seconds} s, seed ${seed}; the same requests went to both.`);
  console.log(`  In front of your own servers: npm start -- --hosts 10.0.0.1:8000,10.0.0.2:8000\n`);
  if (stopped.aborted) return 130;
  return last.every(({ figures }) => figures.done > 0 && figures.failed === 0) ? 0 : 1;
}

/** A line for each fleet, for a log file. */
function plainLines(fleets: Shown[], nowMs: number): string {
  const time = `${(nowMs / 1000).toFixed(0).padStart(4)} s`;
  const lines = fleets.map(
    ({ name, figures }, i) =>
      `${padEnd(i === 0 ? time : "", 8)}${padEnd(name, 18)}${padStart(`${figures.done}`, 5)} answered` +
      `  TTFT p50 ${padStart(milliseconds(figures.p50Ms), 8)}  p90 ${padStart(milliseconds(figures.p90Ms), 8)}` +
      `  cached ${padStart(percent(figures.cachedShare), 5)}`,
  );
  return lines.join("\n");
}
