import type { Field, Shape } from "./protobuf-fields.ts";

const shape = (fields: Readonly<Record<number, Field>>): Shape =>
  new Map(Object.entries(fields).map(([number, field]) => [Number(number), field]));

const list = (name: string, kind: Shape): Field => ({ name, kind, isList: true });

/** Lists, maps and bytes are not read: no attribute that is used has such a value. */
const anyValue = shape({
  1: { name: "stringValue", kind: "text" },
  2: { name: "boolValue", kind: "flag" },
  3: { name: "intValue", kind: "varint" },
  4: { name: "doubleValue", kind: "double" },
});

const attributes = list(
  "attributes",
  shape({ 1: { name: "key", kind: "text" }, 2: { name: "value", kind: anyValue } }),
);

const resource: Field = { name: "resource", kind: shape({ 1: attributes }) };

const logRecord = shape({
  1: { name: "timeUnixNano", kind: "fixed64" },
  5: { name: "body", kind: anyValue },
  6: attributes,
  11: { name: "observedTimeUnixNano", kind: "fixed64" },
  12: { name: "eventName", kind: "text" },
});

const numberDataPoint = shape({
  2: { name: "startTimeUnixNano", kind: "fixed64" },
  3: { name: "timeUnixNano", kind: "fixed64" },
  4: { name: "asDouble", kind: "double" },
  6: { name: "asInt", kind: "fixed64" },
  7: attributes,
});

const metric = shape({
  1: { name: "name", kind: "text" },
  7: {
    name: "sum",
    kind: shape({
      1: list("dataPoints", numberDataPoint),
      2: { name: "aggregationTemporality", kind: "varint" },
    }),
  },
});

const span = shape({
  1: { name: "traceId", kind: "bytes" },
  2: { name: "spanId", kind: "bytes" },
  5: { name: "name", kind: "text" },
  8: { name: "endTimeUnixNano", kind: "fixed64" },
  9: attributes,
});

/**
 * The export requests by signal, as far as they are read. Source: opentelemetry-proto 1.x, `collector/*\/v1/*_service.proto` and the
 * messages that they contain.
 */
export const OTLP_REQUESTS = {
  logs: shape({
    1: list(
      "resourceLogs",
      shape({ 1: resource, 2: list("scopeLogs", shape({ 2: list("logRecords", logRecord) })) }),
    ),
  }),
  metrics: shape({
    1: list(
      "resourceMetrics",
      shape({ 1: resource, 2: list("scopeMetrics", shape({ 2: list("metrics", metric) })) }),
    ),
  }),
  traces: shape({
    1: list(
      "resourceSpans",
      shape({ 1: resource, 2: list("scopeSpans", shape({ 2: list("spans", span) })) }),
    ),
  }),
} as const;

/** The name of a signal in the path of a receiver. */
export type OtlpSignal = keyof typeof OTLP_REQUESTS;
