import { equalsOneOf, equalsText, text } from "../bytes";
import { Admission } from "../config/config";
import { isInferencePath } from "../config/paths";

const PRIORITY_MAX: i32 = 100;
const HIGH = text("high");
const NORMAL = text("normal");
const LOW = text("low");
const HIGH_PRIORITY: i32 = 10;
const LOW_PRIORITY: i32 = -10;

/**
 * Priority as a header states it: an integer −100..100, or `high` (10), `normal` (0), `low` (−10). Anything else is normal.
 *
 * @returns −100..100, higher goes first
 */
export function parsePriority(ptr: usize, len: i32): i32 {
  if (equalsText(ptr, len, HIGH)) return HIGH_PRIORITY;
  if (equalsText(ptr, len, LOW)) return LOW_PRIORITY;
  if (equalsText(ptr, len, NORMAL)) return 0;
  if (len < 1 || len > 4) return 0;
  const sign = load<u8>(ptr);
  let at = sign == 0x2d || sign == 0x2b ? 1 : 0;
  if (at == len) return 0;
  let value = 0;
  for (; at < len; at++) {
    const digit = <i32>load<u8>(ptr + at) - 0x30;
    if (digit < 0 || digit > 9) return 0;
    value = value * 10 + digit;
  }
  if (value > PRIORITY_MAX) return 0;
  return sign == 0x2d ? -value : value;
}

/** Priority that the configuration gives a path, without its query; 0 for none. */
export function pathPriority(config: Admission, ptr: usize, len: i32): i32 {
  if (isInferencePath(config.highPriority, ptr, len)) return HIGH_PRIORITY;
  return isInferencePath(config.lowPriority, ptr, len) ? LOW_PRIORITY : 0;
}

/** The same for a model's name. */
export function modelPriority(config: Admission, ptr: usize, len: i32): i32 {
  if (len == 0) return 0;
  if (equalsOneOf(ptr, len, config.highPriority)) return HIGH_PRIORITY;
  return equalsOneOf(ptr, len, config.lowPriority) ? LOW_PRIORITY : 0;
}
