import type { EnvoyOptions } from "../../tools/envoy/process.ts";
import type { Configuration } from "../e2e/harness.ts";

/** An everyday mistake: how it is made, and what is to be seen of it. */
export interface Mistake {
  name: string;
  configuration?: Configuration;
  /** @param port a free one */
  edit?: (yaml: string, port: number) => string;
  envoy?: Partial<EnvoyOptions>;
  /** Headers of each request. */
  headers?: Record<string, string>;
  /** Requests go to the free port of `edit`, too. */
  isPast?: boolean;
  /** In Envoy's log, within a minute: what is wrong, where, what was expected. */
  log: RegExp[];
  /** A statistic that counts it. */
  statistic: string;
  /** The doctor's checks that fail or warn, with what they say. */
  checks: [name: string, level: "fail" | "warn", says: RegExp][];
}

const POLLS = { interval_ms: 100, timeout_ms: 80 };
const SCRAPES = { source: "hosts", stale_after_ms: 5000, ...POLLS };
const NOBODY = "127.0.0.1:1";

/** A further cluster beside `llm`, on an address where nobody listens. */
function deadCluster(name: string): string {
  const address = "address: 127.0.0.1, port_value: 1";
  return (
    `    - name: ${name}\n      type: STATIC\n      connect_timeout: 1s\n      load_assignment:\n` +
    `        cluster_name: ${name}\n        endpoints:\n          - lb_endpoints:\n` +
    `              - endpoint: { address: { socket_address: { ${address} } } }\n`
  );
}

/** A further listener that leads to the servers without the filter. */
export function bypass(yaml: string, port: number): string {
  const from = yaml.indexOf("    - name: llm\n");
  const to = yaml.indexOf("  clusters:\n");
  const copy = yaml
    .slice(from, to)
    .replace("- name: llm\n", "- name: bypass\n")
    .replace(/port_value: \d+/, `port_value: ${port}`)
    .replace(/^ {18}# <filter>\n[\s\S]*?^ {18}# <\/filter>\n/m, "");
  return yaml.slice(0, to) + copy + yaml.slice(to);
}

/** The cluster `llm` without its load balancing policy: Envoy's round robin. */
function withoutOverride(yaml: string): string {
  return yaml.replace(/ {6}load_balancing_policy:\n[\s\S]*?(?= {6}load_assignment:)/, "");
}

export const MISTAKES: Mistake[] = [
  {
    name: "metrics.cluster isn't a cluster",
    configuration: { metrics: { ...SCRAPES, cluster: "lmm" } },
    log: [/metrics\.cluster: Envoy refused a call to lmm .*expected the name of a cluster/],
    statistic: "warmroute_scrape_failures_total",
    checks: [
      ["clusters named", "fail", /metrics\.cluster.*lmm.*llm/],
      ["metrics polls", "fail", /no poll succeeded/],
    ],
  },
  {
    name: "discovery.cluster isn't a cluster",
    configuration: { discovery: { source: "envoy_admin", cluster: "admin", ...POLLS } },
    log: [/discovery\.cluster: Envoy refused a call to admin .*expected the name of a cluster/],
    statistic: "warmroute_scrape_failures_total",
    checks: [
      ["clusters named", "fail", /discovery\.cluster.*admin.*envoy_admin/],
      ["discovery polls", "fail", /no poll succeeded/],
    ],
  },
  {
    name: "discovery.target_cluster isn't a cluster",
    configuration: { discovery: { source: "envoy_admin", target_cluster: "vllm", ...POLLS } },
    log: [/discovery\.target_cluster: Envoy has no cluster vllm; expected the name/],
    statistic: "warmroute_scrape_failures_total",
    checks: [
      ["clusters named", "fail", /discovery\.target_cluster.*vllm/],
      ["discovery polls", "fail", /no poll succeeded/],
    ],
  },
  {
    name: "the admin interface can't be reached from the filter",
    configuration: { discovery: { source: "envoy_admin", cluster: "nobody", ...POLLS } },
    edit: (yaml) => yaml + deadCluster("nobody"),
    log: [
      /discovery\.cluster: nobody did not answer \/clusters\?format=json .*expected the address of a server that does/,
    ],
    statistic: "warmroute_scrape_failures_total",
    checks: [["discovery polls", "fail", /no poll succeeded/]],
  },
  {
    name: "a page without metrics",
    configuration: { metrics: { ...SCRAPES, path: "/nothing" } },
    log: [/metrics\.path: \/nothing has no metric of a known engine; expected .*metrics\.names/],
    statistic: "warmroute_scrape_failures_total",
    checks: [["metrics polls", "fail", /no poll succeeded/]],
  },
  {
    name: "metrics without the label that names the server",
    // A server's own page where one about all servers is expected.
    configuration: { metrics: { ...SCRAPES, source: "endpoint" } },
    log: [/metrics\.host_label: \d+ series of known metrics, none with a label instance; expected/],
    statistic: "warmroute_scrape_failures_total",
    checks: [["metrics polls", "fail", /no poll succeeded/]],
  },
  {
    name: "Envoy can't pause headers",
    edit: (yaml) => yaml.replace("allow_on_headers_stop_iteration: true", ""),
    log: [/set allow_on_headers_stop_iteration: true .*Envoy 1\.35 or newer/],
    statistic: "warmroute_headers_not_held_total",
    checks: [
      ["headers can be held", "fail", /allow_on_headers_stop_iteration: true/],
      ["requests read", "fail", /routed by their headers alone/],
    ],
  },
  {
    name: "a cluster that doesn't follow the header",
    edit: withoutOverride,
    log: [/Envoy does not follow the choice: .* was chosen, .* served.*override_host/],
    statistic: "warmroute_choices_ignored_total",
    checks: [
      ["choice is followed", "fail", /cluster llm.*override_host/],
      ["choices followed", "fail", /\d+ of \d+/],
    ],
  },
  {
    name: "a cluster that follows another header",
    configuration: { routing: { header: "x-llm-host" } },
    log: [/Envoy does not follow the choice: .*\[\{header: x-llm-host\}\]/],
    statistic: "warmroute_choices_ignored_total",
    checks: [
      ["choice is followed", "fail", /x-llm-host.*x-gateway-destination-endpoint/],
      ["choices followed", "fail", /\d+ of \d+/],
    ],
  },
  {
    name: "a header nobody strips: clients send it",
    headers: { "X-Gateway-Destination-Endpoint": NOBODY },
    log: [
      /routing\.header: a request came with a x-gateway-destination-endpoint .*request_headers_to_remove/,
    ],
    statistic: "warmroute_headers_removed_total",
    checks: [["nobody else chooses", "warn", /\d+ requests .*strip it/]],
  },
  {
    name: "a header nobody strips: a way to the servers leads past the filter",
    configuration: { discovery: { source: "envoy_admin", ...POLLS } },
    edit: bypass,
    isPast: true,
    log: [
      /\d+ of the last \d+ requests to cluster llm came past this filter; .*request_headers_to_remove: \[x-gateway-destination-endpoint\]/,
    ],
    statistic: "warmroute_outside_requests_total",
    checks: [
      ["header is stripped", "warn", /listener bypass to cluster llm/],
      ["all requests are seen", "warn", /\d+ reached the servers past the filter/],
    ],
  },
  {
    name: "servers that the cluster doesn't have",
    configuration: { hosts: [NOBODY] },
    log: [/Envoy does not follow the choice: 127\.0\.0\.1:1 was chosen/],
    statistic: "warmroute_choices_ignored_total",
    checks: [
      ["hosts are members", "fail", /127\.0\.0\.1:1/],
      ["choices followed", "fail", /\d+ of \d+/],
    ],
  },
];
