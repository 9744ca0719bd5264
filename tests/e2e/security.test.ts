/** What SECURITY.md claims, on real Envoy as it ships. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { ROOT } from "../../tools/paths.ts";
import { type Configuration, gateway, post, type RequestOptions, send, sinks } from "./harness.ts";
import type { Sink } from "./sink.ts";
import { until } from "./until.ts";

const hostsOf = (upstreams: Sink[]) => upstreams.map(({ host }) => host);
const ROUTING = "x-gateway-destination-endpoint";

const chat = (content: string, more: object = {}) =>
  JSON.stringify({ model: "m", messages: [{ role: "user", content }], ...more });

/** Ways through the filter: each must treat what clients send alike. */
function paths(text: string): [what: string, request: Partial<RequestOptions>][] {
  const json = { "content-type": "application/json" };
  return [
    ["chat", { body: chat(text), headers: json }],
    ["session", { body: chat(text), headers: { ...json, "x-session-id": text } }],
    ["malformed", { body: `{"messages": [${text}`, headers: json }],
    ["no prompt", { body: JSON.stringify({ x: text }), headers: json }],
    ["opaque", { body: gzipSync(chat(text)), headers: { ...json, "content-encoding": "gzip" } }],
    ["multipart", { body: text, headers: { "content-type": "multipart/form-data; boundary=x" } }],
    ["large", { body: chat(text + "x".repeat(1_200_000)), headers: json }],
    ["chunked", { body: [Buffer.from(chat(text))], headers: json }],
    ["bypass", { path: `/v1/models?key=${encodeURIComponent(text)}`, method: "GET" }],
    ["bypass with a body", { path: "/v1/files", body: text }],
    ["no body", { method: "POST", headers: { ...json, "content-length": "0" } }],
  ];
}

test("what only the filter may say is taken from clients on every path", async () => {
  const upstreams = await sinks(3);
  const hosts = hostsOf(upstreams);
  const envoy = await gateway(hosts, {}, { fallback: "round_robin" });
  const wanted = hosts[2] as string;
  for (const [what, request] of paths("steer")) {
    for (let i = 0; i < 3; i++) {
      const headers = {
        ...request.headers,
        [ROUTING]: wanted,
        "x-warmroute-host": wanted,
        "x-warmroute-reason": "session",
        "x-warmroute-key": "0123456789abcdef",
      };
      const { status } = await send({ port: envoy.port, ...request, headers });
      assert.equal(status, 200, what);
    }
    for (const { headers } of upstreams.flatMap(({ seen }) => seen.splice(0))) {
      for (const name of ["host", "reason", "key"]) {
        assert.equal(headers[`x-warmroute-${name}`], undefined, `${what}: ${name}`);
      }
      const choice = headers[ROUTING];
      if (what.startsWith("bypass") || what === "no body") assert.equal(choice, undefined, what);
      else assert.match(String(choice), /^127\.0\.0\.1:\d+(,127\.0\.0\.1:\d+){2}$/, what);
    }
  }
});

test("a client reaches no host outside the cluster, and none that it names", async () => {
  const [inside, second, outside] = (await sinks(3)) as [Sink, Sink, Sink];
  const envoy = await gateway([inside.host, second.host], {}, { fallback: "round_robin" });
  for (let i = 0; i < 20; i++) {
    const headers = { [ROUTING]: i % 2 ? outside.host : `${second.host},${outside.host}` };
    const path = i % 3 === 0 ? "/v1/files" : "/v1/chat/completions";
    assert.equal((await post(envoy.port, chat(`Q ${i}`), { path, headers })).status, 200);
  }
  assert.equal(outside.seen.length, 0);
  assert.ok(inside.seen.length > 0, "named hosts get no more than their share");
});

const HELD = "allow_on_headers_stop_iteration: true";
const WAYS: [what: string, Configuration, (yaml: string) => string][] = [
  ["in shadow mode", { routing: { mode: "shadow" } }, (yaml) => yaml],
  ["where headers can't be held", {}, (yaml) => yaml.replace(HELD, "")],
];

for (const [what, overrides, edit] of WAYS) {
  test(`clients don't choose ${what}, on any path`, async () => {
    const upstreams = await sinks(3);
    const envoy = await gateway(hostsOf(upstreams), overrides, { fallback: "round_robin", edit });
    for (const [path, request] of paths("steer")) {
      let followed = 0;
      for (const wanted of hostsOf(upstreams)) {
        const headers = {
          ...request.headers,
          [ROUTING]: wanted,
          "x-warmroute-key": "0123456789abcdef",
        };
        for (let i = 0; i < 3; i++) {
          assert.equal((await send({ port: envoy.port, ...request, headers })).status, 200, path);
        }
        const seen = upstreams.flatMap((upstream) => upstream.seen.splice(0));
        assert.equal(seen.length, 3, path);
        for (const { headers: got } of seen) {
          assert.equal(got["x-warmroute-key"], undefined, path);
          // It may be the filter's own list, of all three.
          if (got[ROUTING] !== undefined) {
            assert.equal(`${got[ROUTING]}`.split(",").length, 3, path);
          }
        }
        if (seen.every(({ host }) => host === wanted)) followed++;
      }
      // A session is at home at one of them, whatever its client wants.
      assert.ok(followed < 3, `${path}: each time where the client wanted`);
    }
  });
}

test("a model's name can't break out of a header or a line of the access log", async () => {
  const upstreams = await sinks(1);
  const envoy = await gateway(hostsOf(upstreams));
  const names = [
    "m\r\nx-evil: 1\r\n\r\nHTTP/1.1 200 OK",
    'm","evil":"1',
    "m\u0000\u007f\n",
    "\u2028m",
  ];
  for (const model of names) {
    const answer = await post(envoy.port, chat("Hello", { model }));
    assert.equal(answer.status, 200);
    assert.equal(answer.headers["x-evil"], undefined);
    assert.doesNotMatch(String(answer.headers["x-warmroute-model"]), /[\x00-\x1f\x7f]/);
  }
  const lines = await envoy.accessLog(names.length);
  assert.equal(lines.length, names.length);
  for (const line of lines) {
    assert.equal(line.evil, undefined);
    assert.doesNotMatch(String(line.model), /[\x00-\x1f\x7f]/);
  }
});

test("clients can't set timeouts or retries of Envoy's that make servers look ill", async () => {
  const upstreams = await sinks(2);
  const envoy = await gateway(hostsOf(upstreams));
  const headers = {
    "x-envoy-upstream-rq-timeout-ms": "1",
    "x-envoy-upstream-rq-per-try-timeout-ms": "1",
    "x-envoy-max-retries": "50",
    "x-envoy-retry-on": "5xx,retriable-4xx",
    "x-envoy-hedge-on-per-try-timeout": "true",
    // An address that old Envoys took for one of their own network.
    "x-forwarded-for": "10.0.0.1",
  };
  for (let i = 0; i < 30; i++) {
    const { status } = await post(envoy.port, chat(`Q ${i} ${"x".repeat(200_000)}`), { headers });
    assert.equal(status, 200);
  }
  const retries = await envoy.admin(
    "/stats?filter=cluster.llm.upstream_rq_(retry|per_try_timeout|timeout)$",
  );
  assert.doesNotMatch(retries, /: [1-9]/);
  for (const { seen } of upstreams) {
    for (const { headers: got } of seen) assert.equal(got["x-envoy-max-retries"], undefined);
  }
});

test("no prompt, key, token or id is in logs, statistics, headers or on the status page", async () => {
  const upstreams = await sinks(2);
  // The second answers badly, so that failures are told of as well.
  (upstreams[1] as Sink).status = 500;
  const envoy = await gateway(
    hostsOf(upstreams),
    {
      status: { path: "/warmroute" },
      affinity: { tenant_header: "x-tenant" },
      admission: { queue_limit: 0, max_wait_ms: 100 },
    },
    { args: ["--component-log-level", "wasm:trace"] },
  );
  const CANARY = "canary7f3a";
  const told: string[] = [];
  for (const [what, request] of paths(`${CANARY}-prompt`)) {
    const headers = {
      authorization: `Bearer ${CANARY}-token`,
      "x-api-key": `${CANARY}-key`,
      "x-tenant": `${CANARY}-tenant`,
      "x-session-id": `${CANARY}-session`,
      cookie: `id=${CANARY}-cookie`,
      ...request.headers,
      ...(what === "chat" ? { "x-request-timeout-ms": "1" } : {}),
    };
    const answer = await send({ port: envoy.port, ...request, headers });
    told.push(JSON.stringify(answer.headers));
    // An answer of the filter's own; the servers' echo what they got.
    if (answer.status === 429) told.push(answer.body.toString());
  }
  const body = chat("x", {
    user: `${CANARY}-user`,
    metadata: { user_id: `${CANARY}-meta`, session_id: `${CANARY}-meta` },
    prompt_cache_key: `${CANARY}-cache`,
    cache_salt: `${CANARY}-salt`,
  });
  told.push(JSON.stringify((await post(envoy.port, body)).headers));
  told.push((await send({ port: envoy.port, path: "/warmroute" })).body.toString());
  told.push((await send({ port: envoy.port, path: "/warmroute.json" })).body.toString());
  for (const path of ["/stats", "/stats/prometheus"]) told.push(await envoy.admin(path));
  told.push(JSON.stringify(await envoy.accessLog(12)), envoy.log());
  for (const text of told) {
    const at = text.indexOf(CANARY);
    assert.equal(at, -1, text.slice(Math.max(0, at - 200), at + 100));
  }
});

test("statistics have as many names as there are hosts, whatever clients send", async () => {
  const upstreams = await sinks(2);
  const envoy = await gateway(hostsOf(upstreams));
  const names = async () =>
    new Set(
      (await envoy.stats()).samples
        .filter(({ name }) => name.startsWith("warmroute_"))
        .map(({ name, labels }) => `${name}${JSON.stringify(labels)}`),
    ).size;
  await post(envoy.port, chat("Hello"));
  const inFlight = async () => (await envoy.stats()).find("warmroute_in_flight");
  await until("each host's", async () => (await inFlight()).length === upstreams.length);
  const before = await names();
  for (let i = 0; i < 100; i++) {
    const body = chat(`Q ${i}`, { model: `model-${i}`, user: `user-${i}` });
    const headers = { "x-session-id": `s-${i}`, "x-warmroute-priority": String(i) };
    await post(envoy.port, body, { headers });
  }
  await sleep(600);
  assert.equal(await names(), before);
});

test("by default nothing of the filter or the admin interface answers at the public port", async () => {
  const upstreams = await sinks(1);
  const envoy = await gateway(hostsOf(upstreams));
  const asked = [
    "/warmroute",
    "/warmroute.json",
    "/warmroute/peers",
    "/stats",
    "/clusters",
    "/config_dump",
    "/quitquitquit",
  ];
  for (const path of asked) {
    for (const method of ["GET", "POST"]) {
      const answer = await send({
        port: envoy.port,
        path,
        method,
        headers: { "content-length": "0" },
      });
      assert.equal(
        JSON.parse(answer.body.toString()).path,
        path,
        "the server answers, nobody else",
      );
    }
  }
  const yaml = readFileSync(join(ROOT, "envoy", "envoy.yaml"), "utf8");
  assert.match(yaml, /^admin:\n {2}address:\n {4}socket_address:\n {6}address: 127\.0\.0\.1 /m);
});

test("a request line that is no HTTP is refused before it gets anywhere", async () => {
  const upstreams = await sinks(1);
  const envoy = await gateway(hostsOf(upstreams));
  const smuggled =
    "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n";
  const answer = await new Promise<string>((resolve) => {
    let text = "";
    const socket = connect(envoy.port, "127.0.0.1", () => socket.write(smuggled));
    socket.on("data", (chunk) => (text += chunk));
    socket.on("close", () => resolve(text));
    socket.on("error", () => resolve(text));
    setTimeout(() => socket.destroy(), 2000).unref();
  });
  assert.match(answer, /^HTTP\/1\.1 400/);
  assert.equal(upstreams[0]?.seen.length, 0);
});
