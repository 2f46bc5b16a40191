/** One metric in Prometheus' text form (version 0.0.4), without its last line feed. */
export interface Instrument {
  text(): string;
}

/** A number that only grows, for each combination of labels. */
export interface Counter extends Instrument {
  add(labels: Labels, value: number): void;
}

/** Observations sorted into buckets, for each combination of labels. */
export interface Histogram extends Instrument {
  observe(labels: Labels, value: number): void;
}

export type Labels = Readonly<Record<string, string>>;

/** Combinations of labels that one metric holds; more would be a label that somebody else chooses. */
const MAX_SERIES = 2_000;

/** Makes a counter; its name should end in `_total`. */
export function createCounter(name: string, help: string): Counter {
  const series = createSeries(() => ({ value: 0 }));
  return {
    add(labels, value) {
      const found = series.of(labels);
      if (found !== null) found.value += value;
    },
    text: () =>
      page(
        name,
        help,
        "counter",
        [...series.all()].map(([labels, { value }]) => line(name, labels, value)),
      ),
  };
}

/** Makes a gauge that is read when somebody asks. */
export function createGauge(name: string, help: string, read: () => number): Instrument {
  return { text: () => page(name, help, "gauge", [line(name, "", read())]) };
}

/** Makes a histogram over upper bounds in rising order. */
export function createHistogram(name: string, help: string, bounds: readonly number[]): Histogram {
  const series = createSeries(() => ({ counts: bounds.map(() => 0), sum: 0, count: 0 }));
  return {
    observe(labels, value) {
      const found = series.of(labels);
      if (found === null) return;
      found.sum += value;
      found.count += 1;
      const at = bounds.findIndex((bound) => value <= bound);
      if (at >= 0) found.counts[at] = (found.counts[at] ?? 0) + 1;
    },
    text: () =>
      page(
        name,
        help,
        "histogram",
        [...series.all()].flatMap(([labels, { counts, sum, count }]) => {
          let below = 0;
          const buckets = bounds.map((bound, at) => {
            below += counts[at] ?? 0;
            return line(`${name}_bucket`, join(labels, `le="${bound}"`), below);
          });
          return [
            ...buckets,
            line(`${name}_bucket`, join(labels, 'le="+Inf"'), count),
            line(`${name}_sum`, labels, sum),
            line(`${name}_count`, labels, count),
          ];
        }),
      ),
  };
}

function createSeries<T>(empty: () => T): { of(labels: Labels): T | null; all(): Iterable<[string, T]> } {
  const known = new Map<string, T>();
  return {
    of(labels) {
      const key = Object.entries(labels)
        .map(([label, value]) => `${label}="${escaped(value)}"`)
        .join(",");
      let found = known.get(key);
      if (found === undefined) {
        if (known.size >= MAX_SERIES) return null;
        found = empty();
        known.set(key, found);
      }
      return found;
    },
    all: () => known.entries(),
  };
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

const join = (labels: string, more: string) => (labels === "" ? more : `${labels},${more}`);

const line = (name: string, labels: string, value: number) =>
  `${name}${labels === "" ? "" : `{${labels}}`} ${value}`;

function page(name: string, help: string, type: string, lines: readonly string[]): string {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join("\n");
}
