import type { Outcome, Prediction } from "./outcome.ts";

/** Answers that a policy may learn from before its predictions count. */
const LEARNING_ANSWERS = 50;

/** One kind of answers. */
export interface KindSummary {
  requests: number;
  /** True mean of the answers, tokens. */
  mean: number;
  /** Mean predicted over mean true. */
  ratio: number;
}

/** How well sizes were known beforehand, over all requests after the first 50 answers, as it goes to the JSON report. */
export interface PredictionSummary {
  requests: number;
  /** Mean of |predicted − true| / true over the prompts. */
  prompt_tokens_error: number;
  /** The same over the answers … */
  output_tokens_error: number;
  /** … and that of a predictor that knows the true mean of each kind: lengths are random, so it isn't 0. */
  output_tokens_error_floor: number;
  output_tokens: Record<string, KindSummary>;
}

type Predicted = Outcome & { predicted: Prediction };

/** Sums predictions up; null where there are none. */
export function summarisePrediction(outcomes: readonly Outcome[]): PredictionSummary | null {
  const done = outcomes.filter((outcome) => outcome.state === "done");
  const ends = done.map((outcome) => outcome.finishedMs).sort((a, b) => a - b);
  const learnedMs = ends[LEARNING_ANSWERS - 1] ?? Number.POSITIVE_INFINITY;
  const counted = done.filter(
    (outcome): outcome is Predicted =>
      outcome.predicted !== undefined && outcome.arrivedMs > learnedMs,
  );
  if (counted.length === 0) return null;
  const kinds: Record<string, KindSummary> = {};
  for (const kind of new Set(counted.map(kindOf))) {
    const of = counted.filter((outcome) => kindOf(outcome) === kind);
    const trueMean = mean(of, ({ request }) => request.outputTokens);
    const ratio = mean(of, ({ predicted }) => predicted.outputTokens) / trueMean;
    kinds[kind] = { requests: of.length, mean: trueMean, ratio };
  }
  const outputError = (guess: (outcome: Predicted) => number): number =>
    mean(counted, (outcome) => relativeError(guess(outcome), outcome.request.outputTokens));
  return {
    requests: counted.length,
    prompt_tokens_error: mean(counted, ({ predicted, request }) =>
      relativeError(predicted.promptTokens, request.promptTokens),
    ),
    output_tokens_error: outputError(({ predicted }) => predicted.outputTokens),
    output_tokens_error_floor: outputError((outcome) => kinds[kindOf(outcome)]?.mean ?? 0),
    output_tokens: kinds,
  };
}

/** The summary in one line for people. */
export function predictionLine(policy: string, summary: PredictionSummary): string {
  const kinds = Object.entries(summary.output_tokens).map(
    ([kind, { ratio, mean: tokens }]) => `${kind} ${ratio.toFixed(2)} × ${tokens.toFixed(0)}`,
  );
  const prompts = `prompt tokens off by ${percent(summary.prompt_tokens_error)}`;
  const means = `mean answer as predicted over true: ${kinds.join(", ")}`;
  const single = `single answers off by ${percent(summary.output_tokens_error)}, ${percent(summary.output_tokens_error_floor)} for who knows the true means`;
  return `${policy} predicted ${summary.requests} requests: ${prompts}; ${means}; ${single}`;
}

function kindOf({ request }: Outcome): string {
  return request.kind ?? "all";
}

function relativeError(predicted: number, truth: number): number {
  return Math.abs(predicted - truth) / truth;
}

function mean<T>(list: readonly T[], value: (item: T) => number): number {
  return list.reduce((sum, item) => sum + value(item), 0) / list.length;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
