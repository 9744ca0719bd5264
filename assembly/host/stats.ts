import { text } from "../bytes";
import {
  proxy_define_metric,
  proxy_get_metric,
  proxy_increment_metric,
  proxy_record_metric,
} from "./imports";
import { VALUE_CELL } from "./memory";

const enum MetricType {
  Counter = 0,
  Gauge = 1,
  Histogram = 2,
}

/** Id of a metric, the same for each VM that names it; 0 (never one of Envoy's) when refused. */
function define(type: MetricType, name: string): u32 {
  let bytes = text(name);
  store<u32>(VALUE_CELL, 0);
  let status = proxy_define_metric(type, bytes.ptr, bytes.len, VALUE_CELL);
  return status == 0 ? load<u32>(VALUE_CELL) : 0;
}

/** The present value of a counter or gauge, 0 if it can't be read. */
function read(id: u32): u64 {
  store<u64>(VALUE_CELL, 0);
  if (id) proxy_get_metric(id, VALUE_CELL);
  return load<u64>(VALUE_CELL);
}

/** A number that only grows. */
export class Counter {
  /** Counted by `note`, and not told yet. */
  private noted: i64 = 0;

  private constructor(private id: u32) {}

  /** Allocates: define once, at start. */
  static define(name: string): Counter {
    return new Counter(define(MetricType.Counter, name));
  }

  /** One that shows from the start, at zero. Allocates: define once, at start. */
  static zero(name: string): Counter {
    const counter = Counter.define(name);
    counter.add(0);
    return counter;
  }

  /** @param n ≥ 0 */
  add(n: i64): void {
    if (this.id) proxy_increment_metric(this.id, n);
  }

  /** Counts without telling Envoy, which costs a host call: `tell` does. @param n ≥ 0 */
  @inline
  note(n: i64): void {
    this.noted += n;
  }

  /** Tells Envoy what was noted. */
  tell(): void {
    if (this.noted == 0) return;
    this.add(this.noted);
    this.noted = 0;
  }

  /** The count over all VMs, without what they have only noted; 0 if it can't be read. */
  get(): u64 {
    return read(this.id);
  }
}

/** A number that is set. All workers share it. */
export class Gauge {
  private constructor(private id: u32) {}

  /** Allocates: define once, at start. */
  static define(name: string): Gauge {
    return new Gauge(define(MetricType.Gauge, name));
  }

  set(value: u64): void {
    if (this.id) proxy_record_metric(this.id, value);
  }

  /** The value that all VMs share, 0 if it can't be read. */
  get(): u64 {
    return read(this.id);
  }

  add(n: i64): void {
    if (this.id) proxy_increment_metric(this.id, n);
  }
}

/** A distribution. */
export class Histogram {
  private constructor(private id: u32) {}

  /** Allocates: define once, at start. */
  static define(name: string): Histogram {
    return new Histogram(define(MetricType.Histogram, name));
  }

  record(value: u64): void {
    if (this.id) proxy_record_metric(this.id, value);
  }
}
