/**
 * How long a server is to decode between prefills, so that its answers keep to a time per output token. While a prompt is
 * prefilled each answer gets one token a step; with m further steps of `stepMs` there are m + 1 tokens in `prefillMs` + m ·
 * `stepMs`, which is `goalMs` a token for
 *
 *   m · stepMs = stepMs · (prefillMs − goalMs) / (goalMs − stepMs)
 *
 * A prefill that an engine cuts into several steps gives as many tokens, so this is enough for it, too.
 *
 * @param prefillMs what it prefilled last, or what is to come, ms ≥ 0
 * @param stepMs a step that only decodes, ms ≥ 0
 * @param goalMs time per output token to keep to, ms; 0 for none
 * @returns ms ≥ 0; 0, too, where steps alone take longer than the goal: waiting won't help
 */
export function decodeGapMs(prefillMs: f64, stepMs: f64, goalMs: f64): f64 {
  if (prefillMs <= goalMs || stepMs >= goalMs) return 0;
  return (stepMs * (prefillMs - goalMs)) / (goalMs - stepMs);
}
