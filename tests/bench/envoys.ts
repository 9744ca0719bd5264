import { type EnvoyOptions, startEnvoy } from "../../tools/envoy/process.ts";
import type { Contender, Setting } from "./contender.ts";
import { withFilter, withoutAccessLog } from "./edit.ts";
import { luaFilter } from "./lua.ts";
import { buildThin } from "./thin.ts";

/** Envoy with the shipped bootstrap, less its access log, which costs the same everywhere. */
function envoy(name: string, options: (setting: Setting) => Partial<EnvoyOptions>): Contender {
  return {
    name,
    missing: () => undefined,
    start: (setting) =>
      startEnvoy({
        hosts: setting.hosts,
        core: setting.core,
        workers: 1,
        fallback: "round_robin",
        edit: withoutAccessLog,
        ...options(setting),
      }),
  };
}

/** Envoy alone, the least filter that routes by bodies, the same with all calls that the interface asks for, warmroute, its variants, and Envoy's Lua filter. */
export function envoyContenders(
  configuration: object,
  variants: ReadonlyMap<string, object> = new Map(),
): Contender[] {
  return [
    envoy("envoy", () => ({ wasm: false })),
    envoy("thin filter", ({ hosts }) => ({
      wasm: buildThin(),
      configuration: hosts[0] ?? "",
    })),
    envoy("its calls alone", ({ hosts }) => ({
      wasm: buildThin(),
      configuration: `${hosts[0] ?? ""} calls`,
    })),
    envoy("warmroute", ({ hosts }) => ({ configuration: { hosts, ...configuration } })),
    ...[...variants].map(([name, over]) =>
      envoy(name, ({ hosts }) => ({ configuration: { hosts, ...configuration, ...over } })),
    ),
    envoy("lua hash", ({ hosts }) => ({
      wasm: false,
      edit: (yaml) => withFilter(withoutAccessLog(yaml), luaFilter(hosts)),
    })),
  ];
}
