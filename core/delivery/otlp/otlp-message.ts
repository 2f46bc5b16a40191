import type { CloudRequest } from "../../ports/cloud-client.ts";
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
 * Source: OTLP 1.x, "Bad Data". Other errors may come from the configuration, so the message waits.
 */
export const isRejected = (result: CloudResult): boolean =>
  result.kind === "http" && (result.status === 400 || result.status === 413 || result.status === 422);

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
