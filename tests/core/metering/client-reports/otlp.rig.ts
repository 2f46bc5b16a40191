import { OTLP_REQUESTS, type OtlpSignal } from "../../../../core/metering/client-reports/otlp-shapes.ts";
import type { Shape } from "../../../../core/metering/client-reports/protobuf-fields.ts";

/** The time of the samples. */
export const AT = Date.UTC(2026, 10, 20, 9, 30);

/** Nanoseconds as OTLP's JSON writes them. */
export const nanos = (millis: number): string => `${millis}000000`;

type Value = string | number | boolean;

/** Attributes as OTLP's JSON writes them: 64-bit integers as texts. */
export const attributes = (values: Readonly<Record<string, Value>>) =>
  Object.entries(values).map(([key, value]) => ({
    key,
    value:
      typeof value === "string"
        ? { stringValue: value }
        : typeof value === "boolean"
          ? { boolValue: value }
          : Number.isInteger(value)
            ? { intValue: String(value) }
            : { doubleValue: value },
  }));

const resource = (service: string) => ({ attributes: attributes({ "service.name": service }) });

/** An export request with log records, each with its event and its attributes. */
export const logsRequest = (
  service: string,
  ...records: readonly {
    readonly event: string;
    readonly at?: number;
    readonly values: Record<string, Value>;
  }[]
) => ({
  resourceLogs: [
    {
      resource: resource(service),
      scopeLogs: [
        {
          logRecords: records.map(({ event, at = AT, values }) => ({
            timeUnixNano: nanos(at),
            body: { stringValue: event },
            attributes: attributes({ "event.name": event, ...values }),
          })),
        },
      ],
    },
  ],
});

/** An export request with the points of counters. */
export const metricsRequest = (
  temporality: 1 | 2,
  ...metrics: readonly {
    readonly name: string;
    readonly points: readonly { value: number; at?: number; start?: number; values: Record<string, Value> }[];
  }[]
) => ({
  resourceMetrics: [
    {
      resource: resource("x"),
      scopeMetrics: [
        {
          metrics: metrics.map(({ name, points }) => ({
            name,
            sum: {
              aggregationTemporality: temporality,
              dataPoints: points.map(({ value, at = AT, start = AT - 60_000, values }) => ({
                startTimeUnixNano: nanos(start),
                timeUnixNano: nanos(at),
                asDouble: value,
                attributes: attributes(values),
              })),
            },
          })),
        },
      ],
    },
  ],
});

/** An export request with spans. */
export const tracesRequest = (
  service: string,
  ...spans: readonly { readonly id: string; readonly values: Record<string, Value> }[]
) => ({
  resourceSpans: [
    {
      resource: resource(service),
      scopeSpans: [
        {
          spans: spans.map(({ id, values }) => ({
            traceId: "0af7651916cd43dd8448eb211c80319c",
            spanId: id,
            endTimeUnixNano: nanos(AT),
            attributes: attributes(values),
          })),
        },
      ],
    },
  ],
});

/** Encodes an export request as protobuf, independently of the decoder. */
export const encodeOtlp = (signal: OtlpSignal, request: unknown): Uint8Array =>
  Uint8Array.from(encodeMessage(request as Record<string, unknown>, OTLP_REQUESTS[signal]));

function encodeMessage(message: Record<string, unknown>, shape: Shape): number[] {
  const bytes: number[] = [];
  for (const [number, { name, kind, isList }] of shape) {
    if (message[name] === undefined) continue;
    for (const value of isList === true ? (message[name] as unknown[]) : [message[name]]) {
      const tag = (wireType: number) => varint((BigInt(number) << 3n) | BigInt(wireType));
      const sized = (content: readonly number[]) =>
        bytes.push(...tag(2), ...varint(BigInt(content.length)), ...content);
      if (kind === "flag") bytes.push(...tag(0), value === true ? 1 : 0);
      else if (kind === "varint")
        bytes.push(...tag(0), ...varint(BigInt.asUintN(64, BigInt(value as string))));
      else if (kind === "fixed64")
        bytes.push(...tag(1), ...eight((view) => view.setBigInt64(0, BigInt(value as string), true)));
      else if (kind === "double")
        bytes.push(...tag(1), ...eight((view) => view.setFloat64(0, value as number, true)));
      else if (kind === "text") sized([...new TextEncoder().encode(value as string)]);
      else if (kind === "bytes")
        sized((value as string).match(/../g)!.map((hex) => Number.parseInt(hex, 16)));
      else sized(encodeMessage(value as Record<string, unknown>, kind));
    }
  }
  return bytes;
}

function eight(write: (view: DataView) => void): number[] {
  const bytes = new Uint8Array(8);
  write(new DataView(bytes.buffer));
  return [...bytes];
}

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    if (rest < 0x80n) return [...bytes, Number(rest)];
    bytes.push(Number(rest & 0x7fn) | 0x80);
  }
}
