import { Text, text } from "../bytes";
import { hashBytes } from "../prefix/hash";
import { LabelSet } from "./labels";

/**
 * Labels that tell apart the engines (or GPUs, or kinds of hit) behind one host, whose values add
 * up. All others name the same thing again: the ranks of one tensor-parallel engine, or the pod
 * before and after a restart.
 */
const IDENTITY: StaticArray<Text> = [
  text("engine"),
  text("engine_id"),
  text("engine_index"),
  text("dp_rank"),
  text("data_parallel_rank"),
  text("worker_id"),
  text("WorkerId"),
  text("model_name"),
  text("model"),
  text("version"),
  text("cache_source"),
  text("gpu"),
  text("UUID"),
  text("uuid"),
  text("gpu_uuid"),
  text("GPU_I_ID"),
];

/** Hash of the labels that tell the engines behind one host apart, whatever their order. */
export function engineHash(labels: LabelSet): u64 {
  let hash: u64 = 0;
  for (let i = 0; i < IDENTITY.length; i++) {
    const at = labels.find(unchecked(IDENTITY[i]));
    if (at < 0) continue;
    const value = hashBytes(labels.valuePtr(at), labels.valueLen(at));
    hash += rotl(value, i + 1) * 0x9e3779b97f4a7c15;
  }
  return hash;
}
