import type { CloudRequest } from "../../ports/cloud-client.ts";
import { readJson } from "../../wire/read-json.ts";
import type { CloudResult } from "../retry/cloud-result.ts";
import type { OtlpCall } from "./otlp-call.ts";
import type { OtlpMetrics } from "./otlp-metrics.ts";

/** The signals of OpenTelemetry, in the order in which they are sent. */
export const OTLP_SIGNALS = ["traces", "logs", "metrics"] as const;
export type OtlpSignal = (typeof OTLP_SIGNALS)[number];

/** Where telemetry is sent. */
export interface OtlpEndpoint {
  /** An https URL, or http on this machine, without the paths of the signals. */
  readonly endpoint: string;
  readonly signals: readonly OtlpSignal[];
  /** Sent with each request, by name in lower case. The values are secrets. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Encodes telemetry as OTLP/JSON. Throws if its package is not installed. */
export interface OtlpEncoder {
  encode(signal: OtlpSignal, calls: readonly OtlpCall[], metrics: OtlpMetrics, now: number): string;
}

/** The default timeout of an OTLP exporter, in milliseconds. Source: OpenTelemetry, "OTLP Exporter Configuration". */
const TIMEOUT_MS = 10_000;

const MAX_RESPONSE_BYTES = 64 * 1024;

/** Creates the request that sends one signal. Source: OTLP 1.x, "OTLP/HTTP". */
export function createOtlpRequest(
  { endpoint, headers }: Pick<OtlpEndpoint, "endpoint" | "headers">,
  signal: OtlpSignal,
  body: string,
): CloudRequest {
  return {
    ...{ method: "POST", bearer: null, body, headers },
    url: `${endpoint.replace(/\/+$/, "")}/v1/${signal}`,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    timeoutMs: TIMEOUT_MS,
  };
}

/**
 * Whether a response means that sending the same message again is useless: the collector can't read it, or it is too large.
 * Source: OTLP 1.x, "Bad Data" and "OTLP/HTTP Request". Decision: the specification says the same of all errors but 429, 502, 503
 * and 504. Others, such as 401 and 404, come from the configuration, and the calls are stored, so they wait until it is right.
 */
export const isRejected = (result: CloudResult): boolean =>
  result.kind === "http" && (result.status === 400 || result.status === 413 || result.status === 422);

const REJECTED_COUNTS = {
  traces: "rejectedSpans",
  logs: "rejectedLogRecords",
  metrics: "rejectedDataPoints",
} as const satisfies Record<OtlpSignal, string>;

/**
 * Returns how many spans, log records or data points the collector refused of a message that it accepted. They must not be sent
 * again. Source: OTLP 1.x, "Partial Success". 0 if the response does not say so.
 */
export function readRejectedCount(signal: OtlpSignal, body: Uint8Array): number {
  const read = readJson(body);
  if (!read.ok) return 0;
  const { partialSuccess } = (read.value ?? {}) as { partialSuccess?: Record<string, unknown> | null };
  // OTLP writes integers of 64 bits as decimal texts, and reads numbers too.
  const count = Number(partialSuccess?.[REJECTED_COUNTS[signal]] ?? 0);
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}

/** Header names that the client sets itself. */
const OWN_HEADERS = ["content-type", "content-length", "host", "connection", "transfer-encoding"];

/** Whether a name and a value can be sent as a header. */
export function isOtlpHeader(name: string, value: string): boolean {
  return (
    /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/i.test(name) &&
    !OWN_HEADERS.includes(name.toLowerCase()) &&
    /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/.test(value)
  );
}
