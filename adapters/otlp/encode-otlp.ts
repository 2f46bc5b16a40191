import { Buffer } from "node:buffer";
import type { OtlpCall } from "../../core/delivery/otlp/otlp-call.ts";
import type { OtlpEncoder } from "../../core/delivery/otlp/otlp-message.ts";
import {
  listMetrics,
  type OtlpMetric,
  type OtlpMetrics,
  type OtlpPoint,
} from "../../core/delivery/otlp/otlp-metrics.ts";
import { importOptional } from "../optional-packages.ts";

type Transformer = typeof import("@opentelemetry/otlp-transformer");
type Span = Parameters<Transformer["JsonTraceSerializer"]["serializeRequest"]>[0][number];
type LogRecord = Parameters<Transformer["JsonLogsSerializer"]["serializeRequest"]>[0][number];
type ResourceMetrics = Parameters<Transformer["JsonMetricsSerializer"]["serializeRequest"]>[0];
type MetricData = ResourceMetrics["scopeMetrics"][number]["metrics"][number];

/** Enumerations of the SDK, which would otherwise be loaded for three numbers. Source: @opentelemetry/api and sdk-metrics. */
const SPAN_KIND_CLIENT = 2;
const STATUS = { unset: 0, error: 2 };
const DATA_POINT = { histogram: 0, sum: 3 };
const CUMULATIVE = 1;
const VALUE_TYPE = { int: 0, double: 1 };

/** The severity that the conventions state for this event. Source: client-inference.md, 2026-10. */
const SEVERITY_DEBUG = 5;
const EVENT_NAME = "gen_ai.client.inference.operation.details";

/** Seconds and nanoseconds. */
const toHrTime = (ms: number): [number, number] => [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)];

/** Loads the encoder. Rejects with a `MissingPackageError` if its package is not installed. */
export async function loadOtlpEncoder(version: string): Promise<OtlpEncoder> {
  const { JsonLogsSerializer, JsonMetricsSerializer, JsonTraceSerializer } = await importOptional(
    "@opentelemetry/otlp-transformer",
    "The export of telemetry",
    () => import("@opentelemetry/otlp-transformer"),
  );
  // No attribute names the machine: only what the records state is sent.
  const common = {
    resource: { attributes: { "service.name": "meter", "service.version": version } },
    instrumentationScope: { name: "meter", version },
  };
  const serialize = {
    traces: (calls: readonly OtlpCall[]) =>
      JsonTraceSerializer.serializeRequest(
        calls.map((call) => ({ ...toSpan(call), ...common }) as unknown as Span),
      ),
    logs: (calls: readonly OtlpCall[], _metrics: OtlpMetrics, now: number) =>
      JsonLogsSerializer.serializeRequest(
        calls.map((call) => ({ ...toLogRecord(call, now), ...common }) as unknown as LogRecord),
      ),
    metrics: (_calls: readonly OtlpCall[], metrics: OtlpMetrics, now: number) =>
      JsonMetricsSerializer.serializeRequest({
        resource: common.resource,
        scopeMetrics: [
          {
            scope: common.instrumentationScope,
            metrics: listMetrics(metrics).map((metric) => toMetric(metric, metrics.startedAt, now)),
          },
        ],
      } as unknown as ResourceMetrics),
  };
  return {
    encode: (signal, calls, metrics, now) =>
      Buffer.from(serialize[signal](calls, metrics, now) ?? new Uint8Array()).toString("utf8"),
  };
}

const contextOf = ({ traceId, spanId }: OtlpCall) => ({ traceId, spanId, traceFlags: 1 });

function toSpan(call: OtlpCall) {
  return {
    name: call.name,
    kind: SPAN_KIND_CLIENT,
    spanContext: () => contextOf(call),
    startTime: toHrTime(call.startMs),
    endTime: toHrTime(call.endMs),
    status: { code: call.isFailed ? STATUS.error : STATUS.unset },
    attributes: call.attributes,
    ...{ links: [], events: [], ended: true },
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  };
}

function toLogRecord(call: OtlpCall, now: number) {
  return {
    hrTime: toHrTime(call.endMs),
    hrTimeObserved: toHrTime(now),
    severityNumber: SEVERITY_DEBUG,
    severityText: "DEBUG",
    eventName: EVENT_NAME,
    spanContext: contextOf(call),
    attributes: call.attributes,
    droppedAttributesCount: 0,
  };
}

function toMetric(metric: OtlpMetric, startedAt: number, now: number): MetricData {
  const { name, unit, description, isInteger, bounds } = metric;
  const toValue = ({ count, sum, min, max, buckets }: OtlpPoint) =>
    bounds === null ? sum : { count, sum, min, max, buckets: { boundaries: bounds, counts: buckets } };
  return {
    descriptor: { name, unit, description, valueType: isInteger ? VALUE_TYPE.int : VALUE_TYPE.double },
    aggregationTemporality: CUMULATIVE,
    dataPointType: bounds === null ? DATA_POINT.sum : DATA_POINT.histogram,
    isMonotonic: true,
    dataPoints: [...metric.points.values()].map((point) => ({
      attributes: point.attributes,
      startTime: toHrTime(startedAt),
      endTime: toHrTime(now),
      value: toValue(point),
    })),
  } as unknown as MetricData;
}
