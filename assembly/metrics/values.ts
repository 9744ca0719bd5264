import { Text, text } from "../bytes";
import { LabelSet } from "./labels";
import { parseNumber } from "../number";

const BLOCK_SIZE = text("block_size");
const GPU_BLOCKS = text("num_gpu_blocks");
const PAGE_SIZE = text("page_size");
const PAGES = text("num_pages");
const CACHE_TOKENS = text("kv_cache_size_tokens");

/**
 * A share, 0..1.
 * @param scale factor on the value; 0: its unit is not known, so over 1.5 it is percent
 * @returns NaN for what is no share
 */
export function share(value: f64, scale: f64): f64 {
  if (!(value >= 0) || value == Infinity) return NaN;
  if (scale > 0) value *= scale;
  else if (value > 1.5) value /= 100;
  return Math.min(value, 1);
}

/** Above these a report is nonsense, and as good as none: requests at one server, and tokens in its cache. */
const REQUESTS_MAX: f64 = 1e6;
const CAPACITY_MAX: f64 = 1e12;

/** Requests at a server. @returns NaN for what can't be a number of them */
export function requests(value: f64): f64 {
  return value >= 0 && value <= REQUESTS_MAX ? value : NaN;
}

/** Tokens that a cache holds. @returns NaN for what can't be a number of them */
export function capacity(value: f64): f64 {
  return value > 0 && value <= CAPACITY_MAX ? value : NaN;
}

/** KV cache size from the labels of an info metric, NaN if they don't say. */
export function cacheTokens(labels: LabelSet): f64 {
  const tokens = numberLabel(labels, CACHE_TOKENS);
  if (tokens > 0) return tokens;
  const blocks = numberLabel(labels, GPU_BLOCKS) * numberLabel(labels, BLOCK_SIZE);
  if (blocks > 0) return blocks;
  const pages = numberLabel(labels, PAGES) * numberLabel(labels, PAGE_SIZE);
  return pages > 0 ? pages : NaN;
}

function numberLabel(labels: LabelSet, name: Text): f64 {
  const at = labels.find(name);
  if (at < 0) return NaN;
  const value = parseNumber(labels.valuePtr(at), labels.valueLen(at));
  return isFinite(value) ? value : NaN;
}
