import { Text, equalsText, text } from "../bytes";
import { SIGNALS, Signal } from "../config/signals";
import { LabelSet } from "./labels";
import { nameHash } from "./samples";

/** Metric names over all signals. */
const MAX_NAMES: i32 = 512;

/** Ranks from here on count for a host only where no better rank reports the signal. */
export const FALLBACK_RANK: i32 = 64;

const BUCKETS: i32 = 1024;

/** A metric name that stands for a signal. */
class Name {
  /** Next entry with the same name, -1 for none. */
  next: i32 = -1;

  constructor(
    public signal: Signal,
    public name: Text,
    /** Of two names for one signal of one engine the lower rank counts. */
    public rank: i32,
    /** Factor on the reported value; 0: not known, so a share over 1.5 is percent. */
    public scale: f64,
    /** Only series with this label and value; null: all. */
    public label: Text | null,
    public value: Text | null,
  ) {}
}

/**
 * Which metric names stand for which signal: presets for the engines that are known (engines.ts), replaced per
 * signal by what the user lists. Built at configuration, only read afterwards.
 */
export class MetricNameTable {
  private names: Array<Name> = [];
  /** Heads of the chains by hash, as entry + 1; linear probing. */
  private buckets: StaticArray<i32> = new StaticArray<i32>(BUCKETS);
  private sealed: bool = false;

  /**
   * Adds one name.
   * @param scale factor on the value, 0 if unknown
   * @param label with `value`: only series with that label
   */
  add(
    signal: Signal,
    name: Text,
    rank: i32,
    scale: f64 = 0,
    label: Text | null = null,
    value: Text | null = null,
  ): void {
    if (this.names.length >= MAX_NAMES) return;
    this.names.push(new Name(signal, name, rank, scale, label, value));
    this.sealed = false;
  }

  /**
   * Puts the user's names in the place of a signal's presets; the first that a server reports
   * counts. A name may be narrowed by one label: `name{label=value}`.
   */
  replace(signal: Signal, names: Array<Text>): void {
    const old = this.names;
    const kept: Array<Name> = [];
    for (let i = 0; i < old.length; i++) if (old[i].signal != signal) kept.push(old[i]);
    this.names = kept;
    for (let i = 0; i < names.length && i < FALLBACK_RANK; i++) {
      this.addSpelled(signal, names[i], i, scaleOf(old, names[i]));
    }
    this.sealed = false;
  }

  /** Puts the user's lists, one per signal, in place of the presets; null keeps the presets. */
  replaceAll(bySignal: StaticArray<Array<Text> | null>): void {
    for (let signal = 0; signal < SIGNALS && signal < bySignal.length; signal++) {
      const names = bySignal[signal];
      if (names) this.replace(signal, names);
    }
  }

  private addSpelled(signal: Signal, spelled: Text, rank: i32, scale: f64): void {
    const whole = String.UTF8.decodeUnsafe(spelled.ptr, spelled.len);
    const brace = whole.indexOf("{");
    const equal = whole.indexOf("=");
    if (brace <= 0 || equal < brace || !whole.endsWith("}")) {
      this.add(signal, spelled, rank, scale);
      return;
    }
    const label = whole.substring(brace + 1, equal).trim();
    let value = whole.substring(equal + 1, whole.length - 1).trim();
    if (value.length >= 2 && value.startsWith('"') && value.endsWith('"')) {
      value = value.substring(1, value.length - 1);
    }
    this.add(signal, text(whole.substring(0, brace).trim()), rank, scale, text(label), text(value));
  }

  /** Builds the index; called by itself before the first look-up. */
  private seal(): void {
    for (let i = 0; i < BUCKETS; i++) unchecked((this.buckets[i] = 0));
    // Backwards, so that chains are in the order in which names were added.
    for (let i = this.names.length - 1; i >= 0; i--) {
      const name = this.names[i];
      let at = nameHash(name.name.ptr, name.name.len) & (BUCKETS - 1);
      name.next = -1;
      while (unchecked(this.buckets[at]) != 0) {
        const head = unchecked(this.buckets[at]) - 1;
        if (equalsText(name.name.ptr, name.name.len, this.names[head].name)) {
          name.next = head;
          break;
        }
        at = (at + 1) & (BUCKETS - 1);
      }
      unchecked((this.buckets[at] = i + 1));
    }
    this.sealed = true;
  }

  /** First entry of a name, -1 if it stands for nothing. `hash` is its `nameHash`. */
  find(hash: u32, ptr: usize, len: i32): i32 {
    if (!this.sealed) this.seal();
    let at = hash & (BUCKETS - 1);
    while (unchecked(this.buckets[at]) != 0) {
      const entry = unchecked(this.buckets[at]) - 1;
      if (equalsText(ptr, len, unchecked(this.names[entry]).name)) return entry;
      at = (at + 1) & (BUCKETS - 1);
    }
    return -1;
  }

  /** Next entry of the same name, -1 after the last. */
  @inline
  next(entry: i32): i32 {
    return unchecked(this.names[entry]).next;
  }

  @inline
  signal(entry: i32): Signal {
    return unchecked(this.names[entry]).signal;
  }

  @inline
  rank(entry: i32): i32 {
    return unchecked(this.names[entry]).rank;
  }

  @inline
  scale(entry: i32): f64 {
    return unchecked(this.names[entry]).scale;
  }

  /** Whether the series has the label that the entry asks for. */
  accepts(entry: i32, labels: LabelSet): bool {
    const name = unchecked(this.names[entry]);
    const label = name.label;
    const value = name.value;
    return !label || !value || labels.has(label, value);
  }
}

/** The factor that the presets know for a name. */
function scaleOf(names: Array<Name>, name: Text): f64 {
  for (let i = 0; i < names.length; i++) {
    if (equalsText(name.ptr, name.len, names[i].name)) return names[i].scale;
  }
  return 0;
}
