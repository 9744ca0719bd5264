import assert from "node:assert/strict";
import { test } from "node:test";
import { chat, Gateway, hostNames } from "./gateway.ts";

const STATUS = { config: { status: { path: "/warmroute/status" } } };

function get(gateway: Gateway, path: string) {
  return gateway.send(Buffer.alloc(0), { method: "GET", path }).stream.localReply;
}

test("status: off by default, so its path is the upstream's", () => {
  const gateway = new Gateway(hostNames(2));
  assert.equal(get(gateway, "/warmroute/status.json"), undefined);
});

test("status: the data names each host with what is known, null for what isn't", () => {
  const hosts = hostNames(2);
  const gateway = new Gateway(hosts, STATUS);
  gateway.send(chat("hello ".repeat(100)));
  gateway.host.advance(100);
  const reply = get(gateway, "/warmroute/status.json?x=1");
  assert.equal(reply?.status, 200);
  assert.equal(reply?.headers.get("content-type"), "application/json");
  const data = JSON.parse(reply?.body.toString() ?? "");
  assert.deepEqual(
    data.hosts.map((host: { host: string }) => host.host),
    hosts,
  );
  const [first] = data.hosts;
  assert.equal(first.running, null);
  assert.equal(first.prefill_ms_per_token, null);
  assert.equal(first.usable, true);
  const inFlight = data.hosts.map((host: { in_flight: number }) => host.in_flight);
  assert.equal(inFlight[0] + inFlight[1], 1);
  assert.deepEqual(data.queue, { length: 0, bytes: 0 });
  assert.ok(data.table.entries > 0);
  assert.ok(data.table.bytes > 0);
});

test("status: reports and learned speeds show", () => {
  const gateway = new Gateway(hostNames(1), {
    config: { ...STATUS.config, metrics: { source: "hosts" } },
    onCall: (call) =>
      call.respond(
        200,
        "vllm:num_requests_running 3\nvllm:num_requests_waiting 1\nvllm:kv_cache_usage_perc 0.25\n",
      ),
  });
  gateway.host.advance(1000);
  const exchange = gateway.send(chat("hello ".repeat(400))).begin();
  gateway.host.advance(400);
  exchange.end();
  gateway.host.advance(200);
  const data = JSON.parse(get(gateway, "/warmroute/status.json")?.body.toString() ?? "");
  assert.equal(data.decisions.cold, 1);
  assert.equal(data.decisions.queue_full, 0);
  assert.ok(data.tokens.prompt > 0);
  assert.equal(data.tokens.cached_expected, 0);
  const { ttft_ms: ttft, prompt_tokens: prompt, output_tokens: output } = data.predictions;
  assert.deepEqual(ttft, { predicted: 0, observed: 0, missed: 0 });
  assert.equal(prompt.missed, Math.abs(prompt.predicted - prompt.observed));
  assert.ok(prompt.observed > 0 && output.observed > 0);
  const [host] = data.hosts;
  assert.equal(host.running, 3);
  assert.equal(host.waiting, 1);
  assert.equal(host.kv_usage, 0.25);
  assert.equal(host.gpu_utilization, null);
  assert.equal(host.stale, false);
  assert.ok(host.age_ms >= 0 && host.age_ms < 1000);
  assert.ok(host.prefill_ms_per_token > 0);
  assert.ok(host.decode_ms_per_token > 0);
});

test("status: the page is one document that needs nothing else; other methods and paths pass", () => {
  const gateway = new Gateway(hostNames(1), STATUS);
  const page = get(gateway, "/warmroute/status");
  assert.equal(page?.headers.get("content-type"), "text/html; charset=utf-8");
  const html = page?.body.toString() ?? "";
  assert.match(html, /^<!doctype html>/);
  assert.doesNotMatch(html, /https?:\/\//);
  assert.equal(get(gateway, "/warmroute/status2"), undefined);
  const post = gateway.send(Buffer.from("x"), { method: "POST", path: "/warmroute/status" });
  assert.equal(post.stream.localReply, undefined);
});
