import assert from "node:assert/strict";
import { after } from "node:test";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { type Fleet, startServers } from "../llm/fleet.ts";
import type { LlmServerOptions } from "../llm/server.ts";
import { post } from "./harness.ts";

/** Quick servers that end with the test. */
export async function quickServers(
  count: number,
  options: Partial<LlmServerOptions> = {},
): Promise<Fleet> {
  const fleet = await startServers(count, { timeScale: 20, ...options });
  after(() => fleet.stop());
  return fleet;
}

let serial = 0;

/** A body with a short question, unlike any other by default. */
export function question(text = `Question ${serial++ * 7919}`): object {
  return { model: "test-model", messages: [{ role: "user", content: text }], max_tokens: 8 };
}

/** Asks, and expects an answer; its headers. */
export async function ask(
  envoy: EnvoyProcess,
  body: object = question(),
): Promise<Record<string, string>> {
  const answer = await post(envoy.port, body);
  assert.equal(answer.status, 200, answer.body.toString());
  return answer.headers as Record<string, string>;
}

/** The list that the filter set, from an answer's headers. */
export const choiceOf = (headers: Record<string, string>) =>
  (headers["x-warmroute-choice"] ?? "").split(",");
