/** Checks of Envoy itself and of how the filter is put into it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { compareVersions, MIN_VERSION } from "../envoy/find.ts";
import { ROOT } from "../paths.ts";
import type { Snapshot } from "./admin.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import type { FilterSetup, Setup } from "./setup.ts";

/** Checks that need no filter. */
export function checkEnvoy({ version, state }: Snapshot, { filters }: Setup): Finding[] {
  const name = "Envoy";
  const found: Finding[] = [];
  if (compareVersions(version, MIN_VERSION) < 0) {
    const remedy = `Use Envoy ${MIN_VERSION} or newer: older ones can't hold headers while a body is read.`;
    found.push(fail(name, `version ${version}`, remedy));
  } else if (state !== "LIVE") {
    found.push(warn(name, `version ${version}, ${state}`, "Wait until it is LIVE."));
  } else found.push(ok(name, `version ${version}, live`));
  if (filters.length === 0) {
    const remedy =
      "Put the Wasm filter of envoy/envoy.yaml into http_filters, before the router; or look into Envoy's log: it refuses a listener whose plugin configuration is wrong.";
    return [...found, fail("filter", "no listener has warmroute", remedy)];
  }
  return [...found, ok("filter", filters.map(({ listener }) => `listener ${listener}`).join(", "))];
}

/** Checks of one filter's own settings. */
export function checkFilter(filter: FilterSetup): Finding[] {
  return [holds(filter), recovers(filter), configuration(filter), statusPage(filter)].flat();
}

function holds({ plugin }: FilterSetup): Finding {
  const name = "headers can be held";
  if (plugin.allow_on_headers_stop_iteration) return ok(name, "allow_on_headers_stop_iteration");
  return fail(
    name,
    "requests are routed by their headers alone",
    "Set allow_on_headers_stop_iteration: true in the Wasm filter's config (Istio: with an EnvoyFilter, WasmPlugin doesn't have it).",
  );
}

function recovers({ plugin }: FilterSetup): Finding {
  const name = "VM recovers";
  const policy = plugin.failure_policy ?? "UNSPECIFIED";
  if (plugin.fail_open) return ok(name, "fail_open: open streams go on without the filter");
  if (policy === "FAIL_RELOAD" || policy === "FAIL_OPEN") return ok(name, policy);
  const remedy = "Set failure_policy: FAIL_RELOAD in the Wasm filter's config.";
  return warn(name, `${policy}: after a trap every request gets 503`, remedy);
}

function configuration({ given, unreadable, settings }: FilterSetup): Finding {
  const name = "configuration";
  const remedy = "See the table in README.md; envoy --mode validate tells the same.";
  if (unreadable !== "") return fail(name, `not JSON: ${unreadable}`, remedy);
  const schema = readFileSync(join(ROOT, "envoy", "filter.schema.json"), "utf8");
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  if (!ajv.validate(JSON.parse(schema), given)) {
    const [error] = ajv.errors ?? [];
    const path = (error?.instancePath ?? "").slice(1).replaceAll("/", ".");
    const extra = (error?.params as { additionalProperty?: string })?.additionalProperty;
    const field = [path, extra].filter(Boolean).join(".");
    return fail(name, `${field || "it"} ${error?.message}`, remedy);
  }
  if (settings.routing.mode !== "shadow") return ok(name, "mode enforce");
  return ok(name, "mode shadow: it decides and counts, Envoy chooses");
}

/** The page shows addresses and loads to whoever reaches the listener. */
function statusPage({ settings, address, listener }: FilterSetup): Finding[] {
  const { path } = settings.status;
  if (path === "") return [];
  const name = "status page";
  if (/^(127\.|::1$)/.test(address)) return [ok(name, `${path}, on loopback`)];
  return [
    warn(
      name,
      `${path} is served by listener ${listener} at ${address} to whoever reaches it`,
      "Set status.path only in a listener for operators (envoy/README.md).",
    ),
  ];
}
