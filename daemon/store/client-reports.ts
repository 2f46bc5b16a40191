import {
  type ClientReport,
  REPORT_SCOPES,
  REPORTING_CLIENTS,
} from "../../core/metering/client-reports/client-report.ts";
import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";
import type { StoreConnections } from "./connections.ts";
import type { ClientReportStore } from "./port/client-reports.ts";

/** The most reports that are stored: a client that makes a thousand requests a day fills this in a year and a half. */
const MAX_CLIENT_REPORTS = 500_000;

/** The columns and how a report is written to them. */
const COLUMNS: Readonly<Record<string, (report: ClientReport) => SqliteValue>> = {
  report_key: ({ key }) => key,
  client: ({ client }) => client,
  scope: ({ scope }) => scope,
  event: ({ event }) => event,
  session_id: ({ session }) => session,
  reported_at: ({ at }) => at,
  started_at: ({ startedAt }) => startedAt,
  model: ({ model }) => model,
  prompt_tokens: ({ tokens }) => tokens.promptTokens,
  cache_read_tokens: ({ tokens }) => tokens.cacheReadTokens,
  cache_write_tokens: ({ tokens }) => tokens.cacheWriteTokens,
  completion_tokens: ({ tokens }) => tokens.completionTokens,
  thinking_tokens: ({ tokens }) => tokens.thinkingTokens,
  stated_cost_pico_usd: ({ statedCostPicoUsd }) => statedCostPicoUsd,
  provider_request_id: ({ providerRequestId }) => providerRequestId,
  provider_response_id: ({ responseId }) => responseId,
  query_source: ({ querySource }) => querySource,
};

const names = Object.keys(COLUMNS);

/** What a later export of a running total replaces. Its cost may come in another export than its tokens. */
const REPLACED = names.filter((name) => /_tokens$|^stated_cost|^reported_at$/.test(name));

const INSERT = `INSERT INTO client_reports (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})
  ON CONFLICT (report_key) DO UPDATE SET
    ${REPLACED.map((name) => `${name} = coalesce(excluded.${name}, ${name})`).join(", ")}
  WHERE excluded.scope = 'running_total' AND excluded.reported_at >= reported_at`;

/** Implements `ClientReportStore`. Reports are captured, so they are as durable as records. */
export function createClientReportStore({
  capture,
  state,
}: Pick<StoreConnections, "capture" | "state">): ClientReportStore {
  return {
    save: (reports) =>
      capture.transaction(() => {
        const insert = capture.prepare(INSERT);
        for (const report of reports) insert.run(names.map((name) => COLUMNS[name]!(report)));
        capture
          .prepare("DELETE FROM client_reports WHERE seq <= (SELECT max(seq) FROM client_reports) - ?")
          .run([MAX_CLIENT_REPORTS]);
      }),
    read: ({ from, to }) =>
      state
        .prepare<Record<string, unknown>>(
          `SELECT * FROM client_reports WHERE reported_at >= coalesce(?, 0) AND reported_at < coalesce(?, 9e15)
           ORDER BY reported_at, seq`,
        )
        .all([from, to])
        .flatMap(toReports),
    last: () =>
      state
        .prepare<{ client: string; at: number }>(
          "SELECT client, reported_at AS at FROM client_reports ORDER BY reported_at DESC LIMIT 1",
        )
        .get([]) ?? null,
  };
}

/** Deletes reports before the instant. The caller has begun a transaction. */
export function deleteReportsBefore(connection: SqliteConnection, before: number): void {
  connection.prepare("DELETE FROM client_reports WHERE reported_at < ?").run([before]);
}

/** Converts a row to a report; to none if a newer version stored a client or a scope that this one does not know. */
function toReports(row: Record<string, unknown>): ClientReport[] {
  const client = REPORTING_CLIENTS.find((each) => each === row.client);
  const scope = REPORT_SCOPES.find((each) => each === row.scope);
  if (client === undefined || scope === undefined) return [];
  const text = (name: string) => row[name] as string | null;
  const number = (name: string) => row[name] as number | null;
  const cost = row.stated_cost_pico_usd as number | bigint | null;
  return [
    {
      ...{ client, scope, key: text("report_key") as string, event: text("event") as string },
      session: text("session_id"),
      at: number("reported_at") as number,
      startedAt: number("started_at"),
      model: text("model") as string,
      tokens: {
        promptTokens: number("prompt_tokens"),
        cacheReadTokens: number("cache_read_tokens"),
        cacheWriteTokens: number("cache_write_tokens"),
        cacheWrite1hTokens: null,
        completionTokens: number("completion_tokens"),
        thinkingTokens: number("thinking_tokens"),
      },
      statedCostPicoUsd: cost === null ? null : BigInt(cost),
      providerRequestId: text("provider_request_id"),
      responseId: text("provider_response_id"),
      querySource: text("query_source"),
    },
  ];
}
