import type { OtlpAttributes, OtlpCall, OtlpTokens } from "./otlp-call.ts";

/** A metric by its name in the conventions; `meter.cost.usd` is ours, since they have none for money. */
interface Instrument {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  /** The upper bounds of the buckets. Null: a counter. */
  readonly bounds: readonly number[] | null;
  /** Whether its values are whole numbers. */
  readonly isInteger: boolean;
}

/** The bounds that the conventions state. Source: client-inference.md and gen-ai-metrics.md, 2026-10. */
const DURATION_BOUNDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
const TOKEN_BOUNDS = Array.from({ length: 14 }, (_, index) => 4 ** index);

const counter = (name: string, unit: string, description: string, isInteger = true): Instrument => ({
  ...{ name, unit, description, isInteger, bounds: null },
});

const COST = counter("meter.cost.usd", "{USD}", "Cost of calls in US dollars", false);
const DURATION: Instrument = {
  ...counter("gen_ai.client.operation.duration", "s", "GenAI operation duration", false),
  bounds: DURATION_BOUNDS,
};
const TOKEN_USAGE: Instrument = {
  ...counter("gen_ai.client.token.usage", "{token}", "Input and output tokens used"),
  bounds: TOKEN_BOUNDS,
};
const TOKEN_COUNTERS: readonly (readonly [keyof OtlpTokens, Instrument])[] = (
  [
    ["input", "input_tokens"],
    ["output", "output_tokens"],
    ["cacheRead", "cache_read.input_tokens"],
    ["cacheWrite", "cache_write.input_tokens"],
    ["reasoning", "reasoning.output_tokens"],
  ] as const
).map(([part, name]) => [
  part,
  counter(
    `gen_ai.client.inference.usage.${name}`,
    "{token}",
    `Billable tokens: ${name.replaceAll("_", " ")}`,
  ),
]);

/** The sum of one metric for one set of attributes, since the daemon started. */
export interface OtlpPoint {
  readonly attributes: OtlpAttributes;
  count: number;
  sum: number;
  min: number;
  max: number;
  /** The counts of the buckets; one more than there are bounds. Empty for a counter. */
  readonly buckets: number[];
}

/** A metric with its points. */
export interface OtlpMetric extends Instrument {
  readonly points: ReadonlyMap<string, OtlpPoint>;
}

/** The sums of all metrics since the daemon started. */
export interface OtlpMetrics {
  readonly startedAt: number;
  readonly metrics: Map<string, { readonly instrument: Instrument; readonly points: Map<string, OtlpPoint> }>;
}

/** The most sets of attributes of one metric. Source: OpenTelemetry, "Metrics SDK", cardinality limits. */
const MAX_POINTS = 2_000;

/** Where the values of further sets of attributes are added. Source: the same. */
const OVERFLOW: OtlpAttributes = { "otel.metric.overflow": true };

export const createOtlpMetrics = (startedAt: number): OtlpMetrics => ({ startedAt, metrics: new Map() });

/** Adds a call. */
export function addCall(state: OtlpMetrics, { attributes, costUsd, durationS, tokens }: OtlpCall): void {
  const standard = pick(attributes, [
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.model",
  ]);
  const ours = pick(attributes, ["meter.project", "meter.billing_mode"]);
  if (costUsd !== null) add(state, COST, costUsd, { ...standard, ...ours });
  if (durationS !== null)
    add(state, DURATION, durationS, { ...standard, ...pick(attributes, ["error.type"]) });
  for (const type of ["input", "output"] as const)
    if (tokens[type] !== null)
      add(state, TOKEN_USAGE, tokens[type], { ...standard, "gen_ai.token.type": type });
  for (const [part, instrument] of TOKEN_COUNTERS)
    if (tokens[part] !== null) add(state, instrument, tokens[part], { ...standard, ...ours });
}

function add({ metrics }: OtlpMetrics, instrument: Instrument, value: number, attributes: OtlpAttributes) {
  let metric = metrics.get(instrument.name);
  if (metric === undefined) {
    metric = { instrument, points: new Map() };
    metrics.set(instrument.name, metric);
  }
  const { points } = metric;
  const key = JSON.stringify(attributes);
  const point = points.get(key) ?? (points.size < MAX_POINTS - 1 ? null : points.get("overflow")) ?? null;
  const into = point ?? createPoint(instrument, points.size < MAX_POINTS - 1 ? attributes : OVERFLOW);
  if (point === null) points.set(into.attributes === OVERFLOW ? "overflow" : key, into);
  into.count++;
  into.sum += value;
  into.min = Math.min(into.min, value);
  into.max = Math.max(into.max, value);
  if (instrument.bounds === null) return;
  const bucket = instrument.bounds.findIndex((bound) => value <= bound);
  into.buckets[bucket === -1 ? instrument.bounds.length : bucket]!++;
}

const createPoint = ({ bounds }: Instrument, attributes: OtlpAttributes): OtlpPoint => ({
  attributes,
  count: 0,
  sum: 0,
  min: Number.POSITIVE_INFINITY,
  max: Number.NEGATIVE_INFINITY,
  buckets: bounds === null ? [] : Array.from({ length: bounds.length + 1 }, () => 0),
});

/** Returns the metrics that have points. */
export function listMetrics({ metrics }: OtlpMetrics): OtlpMetric[] {
  return [...metrics.values()].map(({ instrument, points }) => ({ ...instrument, points }));
}

/** Returns how many points all metrics have. */
export const countPoints = ({ metrics }: OtlpMetrics): number =>
  [...metrics.values()].reduce((sum, { points }) => sum + points.size, 0);

const pick = (attributes: OtlpAttributes, names: readonly string[]): OtlpAttributes =>
  Object.fromEntries(names.flatMap((name) => (name in attributes ? [[name, attributes[name]!]] : [])));
