import {
  formatLabels,
  formatMetric,
  type MetricLabels,
  type MetricSample,
} from "../../core/values/text/format-metric.ts";

/** A metric. `text()` formats it for Prometheus, without the last line feed. */
export interface Instrument {
  text(): string;
}

/** A number that only grows, for each combination of labels. */
interface Counter extends Instrument {
  add(labels: Labels, value: number): void;
}

/** Observations sorted into buckets, for each combination of labels. */
interface Histogram extends Instrument {
  observe(labels: Labels, value: number): void;
}

type Labels = MetricLabels;

/** Maximum number of series of one metric. More mean that clients control the values of a label. */
const MAX_SERIES = 2_000;

/** Creates a counter. Its name should end in `_total`. */
export function createCounter(name: string, help: string): Counter {
  const series = createSeries(() => ({ value: 0 }));
  return {
    add(labels, value) {
      const found = series.find(labels);
      if (found !== null) found.value += value;
    },
    text: () =>
      formatMetric(
        name,
        "counter",
        help,
        series.all().map(([labels, { value }]): MetricSample => [labels, value]),
      ),
  };
}

/** Creates a gauge, which is read when it is formatted. */
export function createGauge(name: string, help: string, read: () => number): Instrument {
  return { text: () => formatMetric(name, "gauge", help, [[{}, read()]]) };
}

interface Observations {
  readonly counts: number[];
  sum: number;
  count: number;
}

/** Creates a histogram. The upper bounds must be ascending. */
export function createHistogram(name: string, help: string, bounds: readonly number[]): Histogram {
  const series = createSeries((): Observations => ({ counts: bounds.map(() => 0), sum: 0, count: 0 }));
  return {
    observe(labels, value) {
      const found = series.find(labels);
      if (found === null) return;
      found.sum += value;
      found.count += 1;
      const at = bounds.findIndex((bound) => value <= bound);
      if (at >= 0) found.counts[at] = (found.counts[at] ?? 0) + 1;
    },
    text: () =>
      formatMetric(
        name,
        "histogram",
        help,
        series.all().flatMap(([labels, observations]) => histogramSamples(labels, observations, bounds)),
      ),
  };
}

/** Returns the samples of one series. Each bucket includes the counts of the smaller ones. */
function histogramSamples(
  labels: Labels,
  { counts, sum, count }: Observations,
  bounds: readonly number[],
): MetricSample[] {
  let below = 0;
  const buckets = bounds.map((bound, at): MetricSample => {
    below += counts[at] ?? 0;
    return [{ ...labels, le: String(bound) }, below, "_bucket"];
  });
  return [
    ...buckets,
    [{ ...labels, le: "+Inf" }, count, "_bucket"],
    [labels, sum, "_sum"],
    [labels, count, "_count"],
  ];
}

interface SeriesSet<T> {
  /** Returns the series of the labels, or null if it is new and there are too many. */
  find(labels: Labels): T | null;
  all(): readonly (readonly [Labels, T])[];
}

function createSeries<T>(createEmpty: () => T): SeriesSet<T> {
  const known = new Map<string, readonly [Labels, T]>();
  return {
    find(labels) {
      const key = formatLabels(labels);
      let found = known.get(key);
      if (found === undefined) {
        if (known.size >= MAX_SERIES) return null;
        found = [labels, createEmpty()];
        known.set(key, found);
      }
      return found[1];
    },
    all: () => [...known.values()],
  };
}
