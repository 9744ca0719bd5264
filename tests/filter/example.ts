/**
 * The worked example of README.md, as the filter decides it. `node tools/run.mjs tests/filter/example.ts` writes it there;
 * a test compares.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../../tools/paths.ts";
import { chat, Gateway } from "./gateway.ts";

const README = join(ROOT, "README.md");
const BEGIN = "<!-- example: written by tests/filter/example.ts from the filter's own log -->\n";
const END = "<!-- /example -->";

/** Three servers at the speeds of the defaults, nothing learned. */
const HOSTS = ["10.0.0.1:8000", "10.0.0.2:8000", "10.0.0.3:8000"];
const CONFIG = { cost: { learn: false } };
/** Text of about four bytes per token. */
const TEXT = "Ships wait for a free berth. ";

/** A row of the worked example: what a server was expected to take. */
export interface Expected {
  server: string;
  totalMs: number;
  waitMs: number;
  prefillMs: number;
  uncachedTokens: number;
  restMs: number;
}

/** How a conversation's second turn is decided, while its server has a prompt of so many tokens to compute. */
export interface Case {
  queuedTokens: number;
  promptTokens: number;
  reason: string;
  servers: Expected[];
}

const conversation = () => ({
  system: TEXT.repeat(1000),
  question: "Which berth is free?",
  answer: "Berth four.",
  next: "And tomorrow?",
});

/** Decides the same second turn in a new gateway. */
export function decideCase(queuedTokens: number): Case {
  const gateway = new Gateway(HOSTS, { config: CONFIG, logLevel: "debug" });
  const { system, question, answer, next } = conversation();
  const start = [
    { role: "system", content: system },
    { role: "user", content: question },
  ];
  const first = gateway.send(messages(start));
  const [home = ""] = first.choice;
  first.answer();
  gateway.host.advance(1000);
  if (queuedTokens > 0) queue(gateway, home, queuedTokens);
  gateway.host.logs.length = 0;
  gateway.send(
    messages([...start, { role: "assistant", content: answer }, { role: "user", content: next }]),
  );
  const line = gateway.host.logs
    .map(({ message }) => message)
    .find((text) => / tokens, /.test(text));
  const [, tokens = "", reason = "", rest = ""] =
    /^warmroute: (\d+) tokens, (\w+): (.*)$/.exec(line ?? "") ?? [];
  // The conversation's server by the name that the README gives it.
  const names = new Map(
    [home, ...HOSTS.filter((host) => host !== home)].map((host, i) => [host, "ABC"[i] ?? ""]),
  );
  const servers = rest.split(" | ").map((text): Expected => {
    const match =
      /^(\S+) (-?\d+) ms = (-?\d+) wait \+ (-?\d+) prefill of (\d+) \+ (-?\d+) answer and prices$/.exec(
        text,
      );
    if (match === null) throw new Error(`not a price: ${line}`);
    const [totalMs = 0, waitMs = 0, prefillMs = 0, uncachedTokens = 0, restMs = 0] = match
      .slice(2)
      .map(Number);
    return {
      server: names.get(match[1] ?? "") ?? "",
      totalMs,
      waitMs,
      prefillMs,
      uncachedTokens,
      restMs,
    };
  });
  return { queuedTokens, promptTokens: Number(tokens), reason, servers };
}

function messages(list: { role: string; content: string }[]) {
  return chat("", { messages: list, max_tokens: 64 });
}

/** Sends prompts of other conversations until one of them goes to the server, and doesn't answer it. */
function queue(gateway: Gateway, host: string, tokens: number): void {
  for (let serial = 0; serial < 100; serial++) {
    const other = gateway.send(chat(`${serial} ${"x y z. ".repeat((tokens * 4) / 7)}`));
    if (other.choice[0] === host) return;
    other.answer();
    gateway.host.advance(1000);
  }
  throw new Error(`no prompt went to ${host}`);
}

/** Queues of the conversation's server that the README shows, tokens. */
export const QUEUES = [0, 8_000, 24_000];

/** README.md with the example as the filter decides it now. */
export function withExample(text: string): string {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin) throw new Error("README.md has no worked example");
  return `${text.slice(0, begin + BEGIN.length)}\n${table(QUEUES.map(decideCase))}\n\n${text.slice(end)}`;
}

function table(cases: Case[]): string {
  const number = (value: number) => value.toLocaleString("en");
  const rows = cases.flatMap(({ queuedTokens, reason, servers }) => {
    const [chosen] = servers;
    return [...servers]
      .sort((a, b) => a.server.localeCompare(b.server))
      .map((one, i) => {
        const situation =
          queuedTokens === 0 ? "A is idle" : `A computes ${number(queuedTokens)} tokens`;
        const total = `${number(one.totalMs)} ms`;
        const cells = [
          i === 0 ? situation : "",
          one.server,
          number(one.waitMs),
          `${number(one.prefillMs)} (${number(one.uncachedTokens)} tokens)`,
          number(one.restMs),
          one === chosen ? `**${total}** ← \`${reason}\`` : total,
        ];
        return `| ${cells.join(" | ")} |`;
      });
  });
  const [idle, short, long] = cases;
  const of = (decided: Case | undefined, server: string) =>
    decided?.servers.find((one) => one.server === server);
  const [home, away] = ["A", "B"].map((server) => of(idle, server));
  const ms = (value = Number.NaN) => `${number(value)} ms`;
  const before =
    `An example: the second turn of a conversation, ${number(idle?.promptTokens ?? 0)} tokens, whose first turn server A ` +
    `answered. B and C are idle; speeds are the defaults, 0.055 ms per prompt token. In milliseconds, as the filter logs them:`;
  const after =
    `Computing the prompt anew takes ${ms(away?.prefillMs)}, and leaving home has a price of ` +
    `${ms((away?.restMs ?? 0) - (home?.restMs ?? 0))}: a wait of ${ms(of(short, "A")?.waitMs)} is worth it, ` +
    `one of ${ms(of(long, "A")?.waitMs)} isn't.`;
  const head = "| | server | waits | computes the prompt | answer and prices | in all |";
  return [before, "", head, "|---|---|---|---|---|---|", ...rows, "", after].join("\n");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  writeFileSync(README, withExample(readFileSync(README, "utf8")));
}
