import type { EnvoyProcess } from "../../tools/envoy/process.ts";
import { send } from "./client.ts";
import { until } from "./until.ts";

/** What a worker knows of a server, as on the status page. */
export interface Known {
  host: string;
  running: number | null;
  waiting: number | null;
  kv_usage: number | null;
  usable: boolean;
  stale: boolean;
}

/** Where `known` asks: put it into the plugin configuration. */
export const STATUS = { path: "/warmroute" };

/**
 * Answers in a row that have to agree, each from whichever worker takes the connection: that one of four workers is never
 * asked happens once in 3,000 times.
 */
const IN_A_ROW = 32;

/** Waits until every worker knows this of the servers, however long reports take on a busy machine. */
export async function known(
  envoy: EnvoyProcess,
  what: string,
  holds: (hosts: Known[]) => boolean,
): Promise<void> {
  let inARow = 0;
  await until(what, async () => {
    while (inARow < IN_A_ROW) {
      const answer = await send({ port: envoy.port, path: `${STATUS.path}.json` });
      const { hosts } = JSON.parse(answer.body.toString()) as { hosts: Known[] };
      if (!holds(hosts)) {
        inARow = 0;
        return false;
      }
      inARow++;
    }
    return true;
  });
}
