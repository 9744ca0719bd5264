import { LogLevel, log } from "../../host/log";
import { reasonName } from "../../policy/reason";
import { Decision } from "./decision";
import { Core } from "../core";

/** Hosts that are told, cheapest first as far as they were chosen. */
const TOLD_MAX: i32 = 8;

/**
 * Tells how a decision came about, at Envoy's debug level (`POST /logging?wasm=debug`): for each host what it was expected to
 * take, in ms. Numbers and addresses only, no text of the prompt.
 *
 *   warmroute: 9034 tokens, prefix: 10.0.0.1:8000 95 ms = 0 wait + 12 prefill of 221 + 83 answer and prices | 10.0.0.2:8000 …
 */
export function tellPrices(core: Core, d: Decision): void {
  const c = core.decider.candidates;
  let told = 0;
  let message = `warmroute: ${whole(d.promptTokens)} tokens, ${reasonName(d.reason)}: `;
  for (let i = 0; i < d.choice.count && told < TOLD_MAX; i++) {
    message += hostPrice(core, d, d.choice.slots[i], told++);
  }
  for (let slot = 0; slot < c.count && told < TOLD_MAX; slot++) {
    let isChosen = false;
    for (let i = 0; i < d.choice.count; i++) isChosen = isChosen || d.choice.slots[i] == slot;
    if (!isChosen && c.usable[slot]) message += hostPrice(core, d, slot, told++);
  }
  log(LogLevel.Debug, told > 0 ? message : message + "no host is usable, Envoy chooses");
}

function hostPrice(core: Core, d: Decision, slot: i32, told: i32): string {
  const c = core.decider.candidates;
  const uncached = Math.max(d.promptTokens - c.cachedTokens[slot], 0);
  const rest = c.costMs[slot] - c.waitMs[slot] - c.prefillMs[slot];
  return (
    `${told > 0 ? " | " : ""}${core.addressOf(slot)} ${whole(c.costMs[slot])} ms = ${whole(c.waitMs[slot])} wait + ` +
    `${whole(c.prefillMs[slot])} prefill of ${whole(uncached)} + ${whole(rest)} answer and prices`
  );
}

function whole(value: f64): i64 {
  return <i64>Math.round(value);
}
