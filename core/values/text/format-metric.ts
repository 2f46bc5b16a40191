/** The labels of a sample. */
export type MetricLabels = Readonly<Record<string, string>>;

/** A sample: labels, value, and what its name has after the metric's, such as `_bucket`. */
export type MetricSample = readonly [labels: MetricLabels, value: number | string, suffix?: string];

/** Formats one metric in Prometheus' text format, version 0.0.4, without the last line feed. */
export function formatMetric(
  name: string,
  type: "counter" | "gauge" | "histogram",
  help: string,
  samples: readonly MetricSample[],
): string {
  const lines = samples.map(
    ([labels, value, suffix = ""]) => `${name}${suffix}${formatLabels(labels)} ${value}`,
  );
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join("\n");
}

/** Formats labels in braces. Without labels the text is empty. */
export function formatLabels(labels: MetricLabels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escapeLabelValue(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabelValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
