import assert from "node:assert/strict";
import test from "node:test";
import type { ConfigDump, Listener, Manager } from "../../tools/doctor/dump.ts";
import { readSetup } from "../../tools/doctor/setup.ts";

const WASM = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm";

/** A listener as control planes make them: what it holds comes by names. */
function dump(filter: object, ecds: object[] = []): ConfigDump {
  const manager: Manager = {
    "@type": "type.googleapis.com/x.v3.HttpConnectionManager",
    rds: { route_config_name: "routes" },
    http_filters: [{ name: "extensions.warmroute", ...filter }],
  };
  const listener = { name: "ingress", filter_chains: [{ filters: [{ typed_config: manager }] }] };
  return {
    configs: [
      { dynamic_listeners: [{ active_state: { listener: listener as Listener } }, {}] },
      { dynamic_active_clusters: [{ cluster: { name: "outbound|8000||llm" } }] },
      {
        dynamic_route_configs: [
          {
            route_config: {
              name: "routes",
              virtual_hosts: [{ routes: [{ route: { cluster: "outbound|8000||llm" } }, {}] }],
            },
          },
        ],
      },
      { ecds_filters: ecds.map((ecds_filter) => ({ ecds_filter })) },
    ],
  };
}

const config = {
  name: "warmroute",
  configuration: {
    "@type": "type.googleapis.com/google.protobuf.StringValue",
    value: '{"routing":{"mode":"shadow"}}',
  },
};

test("a filter is found in the listener, as a typed struct, and by itself", () => {
  const typed = { "@type": WASM, config };
  const struct = { "@type": "x.TypedStruct", type_url: WASM, value: { config } };
  const byName = { config_discovery: {} };
  for (const one of [
    dump({ typed_config: typed }),
    dump({ typed_config: struct }),
    dump(byName, [{ name: "extensions.warmroute", typed_config: typed }]),
  ]) {
    const { filters, clusters, bare } = readSetup(one);
    assert.equal(filters.length, 1);
    assert.equal(filters[0]?.listener, "ingress");
    assert.equal(filters[0]?.settings.routing.mode, "shadow");
    // What isn't given has its default.
    assert.equal(filters[0]?.settings.routing.header, "x-gateway-destination-endpoint");
    assert.deepEqual(filters[0]?.settings.hosts, []);
    assert.equal(filters[0]?.settings.inspect_limit_bytes, 1_048_576);
    assert.equal(filters[0]?.routes[0]?.route?.cluster, "outbound|8000||llm");
    assert.equal(filters[0]?.routes.length, 1);
    assert.ok(clusters.has("outbound|8000||llm"));
    assert.deepEqual(bare, []);
  }
});

test("another filter is none of ours; a configuration that isn't JSON is told", () => {
  const other = dump({ typed_config: { "@type": WASM, config: { name: "coraza" } } });
  assert.equal(readSetup(other).filters.length, 0);
  assert.equal(readSetup(other).bare[0]?.listener, "ingress");
  const broken = { ...config, configuration: { "@type": "x.StringValue", value: "{" } };
  const [filter] = readSetup(dump({ typed_config: { "@type": WASM, config: broken } })).filters;
  assert.notEqual(filter?.unreadable, "");
  assert.equal(readSetup({}).filters.length, 0);
});
