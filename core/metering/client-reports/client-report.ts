import type { TokenCounts } from "../../values/record.ts";
import type { Millis } from "../../values/time.ts";
import type { LogAgent } from "../agent-logs/log-entry.ts";

/** The clients whose OpenTelemetry is read. Source: docs/specification.md#reports-of-clients. */
export const REPORTING_CLIENTS = [
  "claude",
  "codex",
  "gemini",
  "copilot",
] as const satisfies readonly LogAgent[];

/** A client whose OpenTelemetry is read. */
export type ReportingClient = (typeof REPORTING_CLIENTS)[number];

/**
 * What the counts of a report cover: one request, all requests of an interval, or all requests since the counter began
 * (`running_total`, OpenTelemetry's cumulative temporality).
 */
export const REPORT_SCOPES = ["request", "interval", "running_total"] as const;

/** What the counts of a report cover. */
export type ReportScope = (typeof REPORT_SCOPES)[number];

/** The usage that a client states itself by OpenTelemetry. It contains no text of a prompt or a response. */
export interface ClientReport {
  /** Identifies the report: exporters send one again if they missed the answer. A later running total replaces an earlier one. */
  readonly key: string;
  readonly client: ReportingClient;
  readonly scope: ReportScope;
  /** The name of the event, metric or span. */
  readonly event: string;
  readonly session: string | null;
  /** When the request ended, or the end of the interval. */
  readonly at: Millis;
  /** The start of the interval or of the counter. Null for a request. */
  readonly startedAt: Millis | null;
  /** `unknown` if the client does not state it. */
  readonly model: string;
  readonly tokens: TokenCounts;
  /** What the client computed. */
  readonly statedCostPicoUsd: bigint | null;
  /** The provider's id of the request, in a response header. */
  readonly providerRequestId: string | null;
  /** The provider's id of the response. */
  readonly responseId: string | null;
  /** The part of the client that made the request, as the client names it. */
  readonly querySource: string | null;
}

/** Whether a report has neither a token count nor a cost. */
export const hasNoUsage = ({
  tokens,
  statedCostPicoUsd,
}: Pick<ClientReport, "tokens" | "statedCostPicoUsd">): boolean =>
  statedCostPicoUsd === null && Object.values(tokens).every((count) => count === null);
