/** Other shapes of Envoy's configuration than the shipped one: how the filter comes in, where routes lead, what stands beside it. */
import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { endpoints } from "../../tools/envoy/render.ts";
import { ALIKE, type Answer, gateway, post, sinks } from "./harness.ts";
import { until } from "./until.ts";

const TYPES = "type.googleapis.com/envoy.extensions.filters.http";
const FILTER = /^( *)# <filter>\n([\s\S]*?)^ *# <\/filter>\n/m;

const chat = (content: string) => ({ model: "m", messages: [{ role: "user", content }] });
const reason = ({ headers }: Answer) => headers["x-warmroute-reason"];
const servedBy = ({ headers }: Answer) => headers["x-warmroute-host"];
const choiceOf = ({ headers }: Answer) => `${headers["x-warmroute-choice"] ?? ""}`.split(",");

/** The bootstrap with lines before its last route, the indentation put before each. */
function withRoutes(yaml: string, lines: string[]): string {
  return yaml.replace(/^( *)- match: \{ prefix: "\/" \}/m, (last, indent: string) =>
    [...lines.map((line) => indent + line), last].join("\n"),
  );
}

/** The bootstrap with one more cluster, without our load balancing policy. */
function withCluster(yaml: string, name: string, hosts: string[]): string {
  const members = JSON.stringify(endpoints(hosts));
  const cluster = [
    `    - name: ${name}`,
    "      type: STATIC",
    `      load_assignment: { cluster_name: ${name}, endpoints: [{ lb_endpoints: ${members} }] }`,
  ];
  return yaml.replace(/^ {2}clusters:\n/m, (line) => `${line}${cluster.join("\n")}\n`);
}

/** The bootstrap with an HTTP filter before or behind ours. */
function beside(yaml: string, place: "before" | "behind", filter: string): string {
  return yaml.replace(FILTER, (ours, indent: string) =>
    place === "before" ? `${indent}${filter}\n${ours}` : `${ours}${indent}${filter}\n`,
  );
}

async function nothingIsCounted(envoy: EnvoyProcess): Promise<void> {
  await until("nothing in flight", async () => {
    const stats = await envoy.stats();
    return stats.sum("warmroute_in_flight") === 0;
  });
}

test("the filter comes by extension discovery: updates are taken, refused ones change nothing", async () => {
  const servers = await sinks(2);
  let path = "";
  let first = "";
  const envoy = await gateway(
    servers.map(({ host }) => host),
    ALIKE,
    {
      workers: 2,
      edit: (yaml) => {
        path = join(/path: "?(.*?)\/access\.log/.exec(yaml)?.[1] ?? "", "ecds.yaml");
        return yaml.replace(FILTER, (_ours, indent: string, text: string) => {
          const lines = text.split("\n").slice(1);
          const config = lines.map((line) => line.slice(indent.length)).join("\n");
          const type = '"@type": type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig';
          first = `resources:\n- ${type}\n  name: warmroute\n${config}`;
          writeFileSync(path, first);
          const source = `{ resource_api_version: V3, path_config_source: { path: ${path} } }`;
          return [
            `${indent}- name: warmroute`,
            `${indent}  config_discovery:`,
            `${indent}    config_source: ${source}`,
            `${indent}    type_urls: [${TYPES}.wasm.v3.Wasm]`,
            "",
          ].join("\n");
        });
      },
    },
  );
  const counter = async (name: string) => {
    const text = await envoy.admin(`/stats?filter=http_filter.warmroute.${name}`);
    return Number(/: (\d+)/.exec(text)?.[1] ?? 0);
  };
  const update = async (what: string, by: string) => {
    const next = first.replace(what, by);
    assert.notEqual(next, first, `${what} is nowhere in ${readFileSync(path, "utf8")}`);
    const [taken, refused] = [await counter("config_reload"), await counter("config_fail")];
    writeFileSync(`${path}.new`, next);
    renameSync(`${path}.new`, path);
    await until("the filter's update", async () => {
      const [taken2, refused2] = [await counter("config_reload"), await counter("config_fail")];
      return taken2 > taken || refused2 > refused;
    });
    return (await counter("config_fail")) === refused;
  };
  const options = { headers: { "x-session-id": "s" } };
  const home = servedBy(await post(envoy.port, chat("hello"), options));
  assert.ok(home !== undefined);
  assert.equal(servedBy(await post(envoy.port, chat("hello"), options)), home);
  assert.equal(await update('"debug_headers":true', '"debug_headers":7'), false);
  const after = await post(envoy.port, chat("hello"), options);
  assert.deepEqual([reason(after), servedBy(after)], ["session", home]);
  assert.equal(
    await update('"debug_headers":true', '"debug_headers":true,"routing":{"mode":"shadow"}'),
    true,
  );
  for (const { seen } of servers) seen.length = 0;
  const shadow = await post(envoy.port, chat("hello"), options);
  // It decides anew, as a new filter that shares what the old one knew of servers.
  assert.ok(choiceOf(shadow).length >= 1 && reason(shadow) !== "bypass");
  const [got] = servers.flatMap(({ seen }) => seen);
  assert.equal(got?.headers["x-gateway-destination-endpoint"], undefined);
});

test("a route on which the filter is switched off passes it by", async () => {
  const servers = await sinks(2);
  const envoy = await gateway(
    servers.map(({ host }) => host),
    {},
    {
      edit: (yaml) =>
        withRoutes(yaml, [
          '- match: { prefix: "/v1/embeddings" }',
          "  typed_per_filter_config:",
          '    warmroute: { "@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, disabled: true }',
          "  route: { cluster: llm }",
        ]),
    },
  );
  const past = await post(envoy.port, { model: "m", input: "a" }, { path: "/v1/embeddings" });
  assert.equal(past.status, 200);
  assert.deepEqual(
    Object.keys(past.headers).filter((name) => name.startsWith("x-warmroute")),
    [],
  );
  const through = await post(envoy.port, chat("hello"));
  assert.equal(servedBy(through), choiceOf(through)[0]);
  await until("one decision", async () => {
    return (await envoy.stats()).sum("warmroute_decisions_total") === 1;
  });
});

test("routes to several clusters: ours is chosen from, the other's servers stay Envoy's", async () => {
  const [a, b, other] = await sinks(3);
  assert.ok(a && b && other);
  const ours = [a.host, b.host];
  const edit = (yaml: string) =>
    withRoutes(withCluster(yaml, "embedders", [other.host]), [
      '- match: { prefix: "/v1/embeddings" }',
      "  route: { cluster: embedders }",
    ]);
  const discovery = { source: "envoy_admin", interval_ms: 100 };
  for (const configuration of [ALIKE, { ...ALIKE, hosts: [], discovery }]) {
    const envoy = await gateway(ours, configuration, { edit });
    await until("servers", async () => choiceOf(await post(envoy.port, chat("?"))).length === 2);
    for (let i = 0; i < 8; i++) {
      const embedded = await post(
        envoy.port,
        { model: "e", input: `${i}` },
        { path: "/v1/embeddings" },
      );
      assert.deepEqual([servedBy(embedded), reason(embedded)], [other.host, "fallback"]);
      const chosen = await post(envoy.port, chat(`${i}`));
      assert.deepEqual(choiceOf(chosen).sort(), [...ours].sort());
      assert.equal(chosen.status, 200);
    }
    await nothingIsCounted(envoy);
    const stats = await envoy.stats();
    assert.equal(stats.sum("warmroute_choices_ignored_total"), 0);
    assert.equal(envoy.log().split("answered by cluster embedders").length, 2);
  }
});

test("a limit of other filters is no server's answer; bodies that a filter buffers arrive", async () => {
  const servers = await sinks(2);
  const hosts = servers.map(({ host }) => host);
  const bucket = "{ max_tokens: 2, tokens_per_fill: 1, fill_interval: 3600s }";
  const always = "{ default_value: { numerator: 100 } }";
  const limit = `{ name: limit, typed_config: { "@type": ${TYPES}.local_ratelimit.v3.LocalRateLimit, stat_prefix: limit, token_bucket: ${bucket}, filter_enabled: ${always}, filter_enforced: ${always} } }`;
  const buffer = `{ name: buffer, typed_config: { "@type": ${TYPES}.buffer.v3.Buffer, max_request_bytes: 4194304 } }`;
  for (const place of ["before", "behind"] as const) {
    const envoy = await gateway(hosts, ALIKE, {
      edit: (yaml) => beside(beside(yaml, place, `- ${limit}`), place, `- ${buffer}`),
    });
    for (const content of ["x", "x".repeat(1_900_000)]) {
      const answer = await post(envoy.port, chat(content));
      assert.equal(answer.status, 200);
      const got = JSON.parse(answer.body.toString());
      assert.equal(got.bytes, JSON.stringify(chat(content)).length);
    }
    const limited = await post(envoy.port, chat("x"));
    assert.deepEqual([limited.status, servedBy(limited)], [429, undefined]);
    await nothingIsCounted(envoy);
  }
});

test("a buffer limit below what the filter would read: none hangs, all bodies arrive", async () => {
  const servers = await sinks(2);
  const envoy = await gateway(
    servers.map(({ host }) => host),
    ALIKE,
    {
      edit: (yaml) =>
        yaml
          .replace(
            /per_connection_buffer_limit_bytes: \d+/,
            "per_connection_buffer_limit_bytes: 8192",
          )
          .replace(/^ *request_body_buffer_limit: .*\n/m, ""),
    },
  );
  const sizes = [1000, 8100, 9000, 16_000, 17_000, 100_000, 3_000_000];
  const answers = await Promise.all(sizes.map((size) => post(envoy.port, chat("x".repeat(size)))));
  for (const [i, answer] of answers.entries()) {
    assert.equal(answer.status, 200);
    const { bytes } = JSON.parse(answer.body.toString());
    assert.equal(bytes, JSON.stringify(chat("x".repeat(sizes[i] as number))).length);
  }
});

test("priorities: the next is used when the first is ill, and left when that is well again", async () => {
  const servers = await sinks(4);
  const hosts = servers.map(({ host }) => host);
  const [first, second] = [hosts.slice(0, 2), hosts.slice(2)];
  const envoy = await gateway(
    hosts,
    { ...ALIKE, hosts: [], discovery: { source: "envoy_admin", interval_ms: 100 } },
    {
      edit: (yaml) =>
        yaml
          .replace(/^( *)- lb_endpoints: .*$/m, (_all, indent: string) =>
            [first, second]
              .map(
                (members, priority) =>
                  `${indent}- ${JSON.stringify({ priority, lb_endpoints: endpoints(members) })}`,
              )
              .join("\n"),
          )
          .replace(/interval: 5s/g, "interval: 0.2s"),
    },
  );
  // Each prompt is new: one that was asked before stays with its server.
  let asked = 0;
  const used = async () => {
    const found = new Set<unknown>();
    for (let i = 0; i < 12; i++) {
      const answer = await post(envoy.port, chat(`question ${asked++ * 7919}`));
      assert.equal(answer.status, 200);
      found.add(choiceOf(answer)[0]);
    }
    return [...found].sort();
  };
  const become = async (expected: string[]) => {
    const wanted = JSON.stringify([...expected].sort());
    await until(`the choice of ${wanted}`, async () => JSON.stringify(await used()) === wanted);
  };
  const [a, b] = servers;
  assert.ok(a && b);
  await become(first);
  a.healthy = false;
  await become([b.host]);
  b.healthy = false;
  await become(second);
  a.healthy = true;
  b.healthy = true;
  await become(first);
});
