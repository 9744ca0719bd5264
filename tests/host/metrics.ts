import { type Bytes, MetricType, Status } from "./abi.ts";

/** What a histogram keeps of its samples. */
export interface Samples {
  count: number;
  sum: number;
  min: number;
  max: number;
}

interface Metric {
  type: number;
  value: number;
  samples: Samples;
}

/** The lowest two bits of an id are its type, and no id is 0, as in Envoy. */
const ID_STEP = 4;

/** Metrics by name: all VMs that define a name share it. */
export class Metrics {
  private readonly ids = new Map<string, number>();
  private readonly metrics = new Map<number, Metric>();

  /** Id of a metric, or 0 for a type that doesn't exist. */
  define(type: number, name: Bytes): number {
    if (type > MetricType.Histogram) return 0;
    const key = `${type}${name}`;
    let id = this.ids.get(key);
    if (id === undefined) {
      id = (this.ids.size + 1) * ID_STEP + type;
      this.ids.set(key, id);
      const samples = { count: 0, sum: 0, min: Number.POSITIVE_INFINITY, max: 0 };
      this.metrics.set(id, { type, value: 0, samples });
    }
    return id;
  }

  increment(id: number, by: number): number {
    const metric = this.metrics.get(id);
    if (!metric) return Status.NotFound;
    if (metric.type === MetricType.Histogram) return Status.BadArgument;
    if (metric.type === MetricType.Counter && by <= 0) return Status.BadArgument;
    metric.value += by;
    return Status.Ok;
  }

  record(id: number, value: number): number {
    const metric = this.metrics.get(id);
    if (!metric) return Status.NotFound;
    if (metric.type === MetricType.Counter) {
      metric.value += value;
    } else if (metric.type === MetricType.Gauge) {
      metric.value = value;
    } else {
      const samples = metric.samples;
      samples.count++;
      samples.sum += value;
      samples.min = Math.min(samples.min, value);
      samples.max = Math.max(samples.max, value);
    }
    return Status.Ok;
  }

  /** Value of the metric with this id, undefined if there is none or it is a histogram. */
  read(id: number): number | undefined {
    const metric = this.metrics.get(id);
    return metric && metric.type !== MetricType.Histogram ? metric.value : undefined;
  }

  counter(name: string): number | undefined {
    return this.find(MetricType.Counter, name)?.value;
  }

  gauge(name: string): number | undefined {
    return this.find(MetricType.Gauge, name)?.value;
  }

  histogram(name: string): Readonly<Samples> | undefined {
    return this.find(MetricType.Histogram, name)?.samples;
  }

  /** Names of all metrics, sorted. */
  names(): string[] {
    return [...this.ids.keys()].map((key) => key.slice(1)).sort();
  }

  private find(type: number, name: string): Metric | undefined {
    const id = this.ids.get(`${type}${name}`);
    return id === undefined ? undefined : this.metrics.get(id);
  }
}
