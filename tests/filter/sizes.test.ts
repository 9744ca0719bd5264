import assert from "node:assert/strict";
import { test } from "node:test";
import { random } from "../../tools/seeded.ts";
import { chat, Gateway, hostNames } from "./gateway.ts";
import { prose } from "./lab.ts";

test("prompt tokens: within 5 % after 50 answers, one model and script apart from another", () => {
  const next = random(8);
  const gateway = new Gateway(hostNames(2), { workers: 2 });
  const cyrillic = (bytes: number) =>
    prose(bytes / 2, next).replace(/[a-z]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 975));
  const kinds = [
    { model: "prose", ratio: 4.6, text: (bytes: number) => prose(bytes, next) },
    { model: "code", ratio: 2.9, text: (bytes: number) => prose(bytes, next) },
    { model: "prose", ratio: 5.9, text: cyrillic },
  ];
  const errors: number[][] = kinds.map(() => []);
  for (let i = 0; i < 240; i++) {
    const kind = kinds[i % 3] as (typeof kinds)[number];
    const text = kind.text(Math.round(300 * 2 ** (next() * 5)));
    // Tokenizers differ by text, and chat templates add a few tokens.
    const ratio = kind.ratio * (0.96 + 0.08 * next());
    const promptTokens = Math.round(Buffer.byteLength(text) / ratio) + 8;
    const options = { worker: Math.floor(i / 3) % 2 };
    const exchange = gateway.send(chat(text, { model: kind.model }), options);
    exchange.begin();
    const predicted = Number(exchange.debug("prompt-tokens"));
    exchange.end({ promptTokens });
    gateway.host.advance(100);
    if (i >= 150) errors[i % 3]?.push(Math.abs(predicted - promptTokens) / promptTokens);
  }
  errors.forEach((list, i) => {
    const mean = list.reduce((sum, error) => sum + error) / list.length;
    assert.ok(mean <= 0.05, `${JSON.stringify(kinds[i])}: ${mean}`);
  });
  assert.ok(
    (gateway.host.metrics.histogram("warmroute.prompt_tokens_error_percent")?.count ?? 0) > 60,
  );
});

test("answer lengths: within 25 % on average, by model, API and the cap that was asked for", () => {
  const next = random(9);
  const gateway = new Gateway(hostNames(2));
  const kinds = [
    { model: "a", path: "/v1/chat/completions", median: 240 },
    { model: "a", path: "/v1/chat/completions", median: 30, cap: 50 },
    { model: "a", path: "/v1/completions", median: 700 },
    { model: "b", path: "/v1/chat/completions", median: 60 },
  ];
  const sums = kinds.map(() => ({ predicted: 0, actual: 0 }));
  for (let i = 0; i < 600; i++) {
    const kind = kinds[i % 4] as (typeof kinds)[number];
    const spread = Math.exp(0.7 * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(6.283 * next()));
    const completionTokens = Math.min(
      kind.cap ?? 1e6,
      Math.max(1, Math.round(kind.median * spread)),
    );
    const fields = { model: kind.model, ...(kind.cap ? { max_tokens: kind.cap } : {}) };
    const text = prose(200, next);
    const body = kind.path.endsWith("/chat/completions")
      ? chat(text, fields)
      : { prompt: text, ...fields };
    const exchange = gateway.send(body, { path: kind.path }).begin();
    const predicted = Number(exchange.debug("output-tokens"));
    exchange.end({ completionTokens });
    gateway.host.advance(100);
    if (i < 240) continue;
    const sum = sums[i % 4] as (typeof sums)[number];
    sum.predicted += predicted;
    sum.actual += completionTokens;
  }
  sums.forEach(({ predicted, actual }, i) => {
    const ratio = predicted / actual;
    assert.ok(Math.abs(ratio - 1) <= 0.25, `${JSON.stringify(kinds[i])}: ${ratio}`);
  });
});
