import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { validate } from "../../tools/envoy/process.ts";
import { WHEEL_VERSIONS } from "../../tools/envoy/wheel.ts";
import { ROOT } from "../../tools/paths.ts";
import { random, words } from "../../tools/seeded.ts";
import { startServers } from "../llm/fleet.ts";
import { ALIKE, events, gateway, post, sinks } from "./harness.ts";
import { known, STATUS } from "./known.ts";

/*
 * What must hold on every Envoy that the compatibility table of README.md names as tested; the other
 * files of this folder run on the newest alone. Each part asks for one thing that the filter needs of
 * Envoy, so that a version that lacks it says which.
 */

const MIB = 2 ** 20;
const WARM_UP = 12;

interface Message {
  role: string;
  content: string;
}

const chat = (content: string) => ({ model: "test-model", messages: [{ role: "user", content }] });

it("README names the versions that are tested", () => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const table = readme.slice(readme.indexOf("### Compatibility"));
  for (const version of WHEEL_VERSIONS) assert.ok(table.includes(version), version);
});

for (const version of WHEEL_VERSIONS) {
  describe(`Envoy ${version}`, { concurrency: false }, () => {
    it("finds servers by its admin interface and keeps conversations where their cache is", async (t) => {
      const fleet = await startServers(3, { timeScale: 20, chunkTokens: 4 });
      t.after(() => fleet.stop());
      const settings = {
        ...ALIKE,
        hosts: [],
        discovery: { source: "envoy_admin", interval_ms: 200 },
        metrics: { source: "hosts", interval_ms: 200, stale_after_ms: 2000 },
        status: STATUS,
      };
      const envoy = await gateway(fleet.addresses, settings, { version, workers: 2 });
      // Envoy takes a server for ill until it has answered a health check: on a busy machine that can take a while.
      await known(envoy, "all servers", (hosts) => {
        return hosts.length === 3 && hosts.every(({ usable }) => usable);
      });
      // So that each worker has decided once, and knows of the other.
      for (let i = 0; i < WARM_UP; i++) await post(envoy.port, chat(`${i} is where it begins`));
      await sleep(200);
      const rand = random(3);
      const cachedShares: number[] = [];
      // One at a time: a server that is late with another's first token is worth leaving.
      for (let conversation = 0; conversation < 12; conversation++) {
        const messages: Message[] = [{ role: "system", content: words(rand, 4000) }];
        let host: unknown;
        for (let turn = 0; turn < 3; turn++) {
          messages.push({ role: "user", content: words(rand, 200) });
          const stream = { stream: true, stream_options: { include_usage: true } };
          const body = { model: "test-model", messages, max_tokens: 8, ...stream };
          const answer = await post(envoy.port, body);
          assert.equal(answer.status, 200);
          host ??= answer.headers["x-served-by"];
          assert.equal(answer.headers["x-served-by"], host);
          assert.equal(answer.headers["x-warmroute-host"], host);
          const parts = events(answer)
            .filter((data) => data !== "[DONE]")
            .map((data) => JSON.parse(data));
          const text = parts.map(({ choices }) => choices[0]?.delta?.content ?? "").join("");
          messages.push({ role: "assistant", content: text });
          const { usage } = parts.find(({ usage }) => usage) ?? {};
          const { cached_tokens } = usage.prompt_tokens_details;
          if (turn > 0) cachedShares.push(cached_tokens / usage.prompt_tokens);
        }
      }
      assert.ok(Math.min(...cachedShares) > 0.8, `${cachedShares}`);
      const stats = await envoy.stats();
      assert.equal(stats.sum("warmroute_decisions_total"), WARM_UP + 36);
      assert.ok(stats.sum("warmroute_decisions_total", { reason: "prefix" }) >= 24);
      assert.equal(stats.sum("warmroute_rejected_total", { cause: "queue_full" }), 0);
      for (const host of fleet.addresses) {
        assert.equal(stats.find("warmroute_in_flight", { host }).length, 1, host);
      }
      assert.ok(stats.sum("warmroute_scrapes_total") > 0);
      assert.equal(stats.sum("warmroute_stale_hosts"), 0);
      assert.equal(stats.sum("warmroute_internal_errors_total"), 0);
      assert.equal(stats.sum("warmroute_headers_not_held_total"), 0);
      const line = (await envoy.accessLog(36)).find(({ key }) => key !== null);
      assert.equal(line?.host, line?.upstream);
      assert.match(String(line?.key), /^[0-9a-f]{16}$/);
    });

    it("passes bodies of any size whole, retries on the next host of the list, and ends in order", async () => {
      const upstreams = await sinks(3);
      const hosts = upstreams.map(({ host }) => host);
      const envoy = await gateway(hosts, {}, { version, workers: 2 });
      for (const bytes of [300, 64 * 1024, MIB - 1, MIB + 1, 3 * MIB]) {
        const body = Buffer.from(JSON.stringify(chat("k".repeat(bytes))));
        const answer = await post(envoy.port, body);
        assert.equal(answer.status, 200, `${bytes}`);
        const seen = JSON.parse(answer.body.toString());
        assert.equal(seen.sha256, createHash("sha256").update(body).digest("hex"), `${bytes}`);
      }
      const headers = { "x-session-id": "s-1" };
      const first = await post(envoy.port, chat("hello"), { headers });
      const home = upstreams.find(({ host }) => host === first.headers["x-warmroute-host"]);
      await home?.stop();
      const next = await post(envoy.port, chat("hello"), { headers });
      assert.equal(next.status, 200);
      assert.equal(next.headers["x-warmroute-reason"], "fallback");
      const log = envoy.log();
      await envoy.stop();
      assert.equal(envoy.exitCode, 0);
      assert.doesNotMatch(log, /wasm.*(error|critical)|abort|trap|Uncaught/i);
    });

    it("says no to a configuration that the filter refuses", () => {
      const configuration = { metrics: { interval_ms: -5 } };
      const { ok, output } = validate({
        version,
        hosts: ["127.0.0.1:1"],
        configuration,
        listenerPort: 1,
        adminPort: 2,
      });
      assert.ok(!ok);
      assert.match(output, /metrics\.interval_ms: expected 10\.\.3600000, got -5/);
    });
  });
}
