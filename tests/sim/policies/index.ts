import type { PolicyFactory } from "../policy.ts";
import { chwbl } from "./chwbl.ts";
import { dynamo } from "./dynamo.ts";
import { epp } from "./epp.ts";
import { higress } from "./higress.ts";
import { leastRequest } from "./least_request.ts";
import { oracle } from "./oracle.ts";
import { random } from "./random.ts";
import { ringHash } from "./ring_hash.ts";
import { roundRobin } from "./round_robin.ts";
import { sglang } from "./sglang.ts";

/** All baselines by the names that `--policy` takes. */
export const BASELINES: Readonly<Record<string, PolicyFactory>> = {
  random,
  round_robin: roundRobin,
  least_request: leastRequest,
  ring_hash: ringHash,
  chwbl,
  epp,
  dynamo,
  sglang,
  higress,
  oracle,
};
