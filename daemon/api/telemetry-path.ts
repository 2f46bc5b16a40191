/** The path below which OpenTelemetry is received. Exporters append `/v1/logs`, `/v1/metrics` or `/v1/traces`. */
export const TELEMETRY_PATH = "/otlp";

/** Whether the path receives OpenTelemetry. */
export const isTelemetryPath = (path: string): boolean =>
  /^\/otlp\/?$|^\/otlp\/v1\/(?:logs|metrics|traces)$/.test(path);
