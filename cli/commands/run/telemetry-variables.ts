import { basename } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** The settings with which a program reports its usage to the daemon. */
export interface TelemetrySettings {
  readonly variables: Readonly<Record<string, string>>;
  /** Arguments that come before the program's own: Codex reads no variables. */
  readonly words: readonly string[];
}

/** The variables that name a collector. */
const ENDPOINTS = [
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
  "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "GEMINI_TELEMETRY_OTLP_ENDPOINT",
] as const;

/**
 * Returns what makes Claude Code, Copilot CLI, Gemini CLI and Codex report to the daemon at this address; the name of the variable if
 * the environment names another collector, which is left as it is.
 */
export function telemetrySettings(
  env: Environment,
  program: string,
  apiAddress: string,
): TelemetrySettings | string {
  const endpoint = `${apiAddress}/otlp`;
  const other = ENDPOINTS.find(
    (name) => env[name] !== undefined && env[name] !== "" && env[name] !== endpoint,
  );
  if (other !== undefined) return other;
  const isCodex = /^codex(?:\.exe|\.cmd)?$/i.test(basename(program));
  const exporter = `{ otlp-http = { endpoint = "${endpoint}/v1/logs", protocol = "json" } }`;
  return {
    variables: {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_LOGS_EXPORTER: "otlp",
      OTEL_METRICS_EXPORTER: "otlp",
      CLAUDE_CODE_ENABLE_TELEMETRY: "1",
      COPILOT_OTEL_ENABLED: "true",
      GEMINI_TELEMETRY_ENABLED: "true",
      GEMINI_TELEMETRY_TARGET: "local",
      GEMINI_TELEMETRY_OTLP_PROTOCOL: "http",
      GEMINI_TELEMETRY_OTLP_ENDPOINT: endpoint,
      GEMINI_TELEMETRY_LOG_PROMPTS: "false",
    },
    words: isCodex ? ["-c", `otel.exporter=${exporter}`] : [],
  };
}
