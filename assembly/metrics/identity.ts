import { Text, equalsText, text } from "../bytes";
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

/** Bit n: some of these labels has n bytes. */
const LENGTHS: u32 = lengths();

function lengths(): u32 {
  let bits: u32 = 0;
  for (let i = 0; i < IDENTITY.length; i++) bits |= 1 << unchecked(IDENTITY[i]).len;
  return bits;
}

/** Hash of the labels that tell the engines behind one host apart, whatever their order. */
export function engineHash(labels: LabelSet): u64 {
  let hash: u64 = 0;
  let seen: u32 = 0;
  for (let at = 0; at < labels.count; at++) {
    const ptr = labels.namePtr(at);
    const len = labels.nameLen(at);
    if (len > 31 || ((LENGTHS >> len) & 1) == 0) continue;
    for (let i = 0; i < IDENTITY.length; i++) {
      if (!equalsText(ptr, len, unchecked(IDENTITY[i]))) continue;
      if (((seen >> i) & 1) == 0) {
        const value = hashBytes(labels.valuePtr(at), labels.valueLen(at));
        hash += rotl(value, i + 1) * 0x9e3779b97f4a7c15;
      }
      seen |= 1 << i;
      break;
    }
  }
  return hash;
}
