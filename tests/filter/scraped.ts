/** Gateways that learn of their servers' load from metrics, for the tests of those. */
import type { Call } from "../host/calls.ts";
import { chat, Gateway, type GatewayOptions, tally } from "./gateway.ts";

/** What a server says of itself. */
export interface Load {
  running?: number;
  waiting?: number;
  kv?: number;
  gpu?: number;
}

/** A server's own page. */
export function vllm({ running, waiting, kv, gpu }: Load): string {
  const lines: string[] = [];
  const add = (name: string, value?: number) => {
    if (value !== undefined) lines.push(`${name} ${value}`);
  };
  add('vllm:num_requests_running{engine="0"}', running);
  add('vllm:num_requests_waiting{engine="0"}', waiting);
  add('vllm:kv_cache_usage_perc{engine="0"}', kv);
  add('DCGM_FI_DEV_GPU_UTIL{gpu="0"}', gpu);
  return `${lines.join("\n")}\n`;
}

/** A gateway whose servers answer with these pages; undefined doesn't answer. */
export function scraping(
  pages: Record<string, string | undefined>,
  metrics: Record<string, unknown> = {},
): Gateway {
  const gateway = new Gateway(Object.keys(pages), {
    config: { metrics: { interval_ms: 500, ...metrics } },
    onCall: (call) => {
      const text = pages[call.headers.get(":authority") ?? ""];
      if (text === undefined) call.refuse();
      else call.respond(200, text);
    },
  });
  gateway.host.advance(2000);
  return gateway;
}

/** A gateway that reads one answer about all servers. */
export function endpoint(
  hosts: string[],
  answer: (call: Call) => void,
  options: Partial<GatewayOptions> = {},
): Gateway {
  const gateway = new Gateway(hosts, {
    clusters: ["llm", "prometheus"],
    ...options,
    config: {
      metrics: {
        source: "endpoint",
        cluster: "prometheus",
        path: "/federate?match[]=vllm",
        interval_ms: 1000,
        stale_after_ms: 15000,
      },
      ...options.config,
    },
    onCall: answer,
  });
  gateway.host.advance(1500);
  return gateway;
}

/** Where different short requests go, each answered before the next. */
export function spread(gateway: Gateway, count = 40, salt = ""): Map<string, number> {
  const targets: (string | undefined)[] = [];
  for (let i = 0; i < count; i++) {
    targets.push(gateway.send(chat(`request ${salt}${i * 7919}`)).answer().target);
    gateway.host.advance(5);
  }
  return tally(targets);
}
