import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";
import type { CostSource, RateSource, RequestRecord } from "../../core/record.ts";
import type { Millis } from "../../core/time.ts";
import type { Period, StoreConnections } from "./connections.ts";
import {
  bindRecord,
  capturedColumns,
  type RequestRow,
  type StoredRequest,
  toStoredRequest,
} from "./request-rows.ts";

/** What a search by id found. */
export type FoundRequest =
  | { kind: "found"; request: StoredRequest }
  /** Several ids begin so; the first ten of them. */
  | { kind: "ambiguous"; requestIds: readonly string[] }
  | { kind: "not_found" };

/** A new price for a stored request. */
export interface CostUpdate {
  requestId: string;
  costPicoUsd: bigint | null;
  costSource: CostSource;
  ratesSource: RateSource | null;
}

/** Which stored requests to walk over. */
export interface RequestRange extends Period {
  /** The `seq` of the last one seen; 0 to begin. */
  afterSeq: number;
  limit: number;
}

/** A response that was met before. */
export interface KeptResponse {
  requestId: string;
  tokensComplete: boolean;
}

/** Reading and writing of requests. */
export interface RecordStore {
  /**
   * Stores the records in one transaction. An id that is there already is left as it is, so a retry is safe; only where
   * its usage was incomplete, one that is complete fills in what it cost, and is pending again. Throws a `StoreError`, and then nothing is
   * stored: `busy` and `disk_full` pass, `invalid_value` and `constraint` do not.
   */
  insertRecords(records: readonly RequestRecord[]): void;
  /** Finds by request id or a unique beginning of it, or else by the provider's own response id. */
  findRequest(text: string): Promise<FoundRequest>;
  /** The id of the request that began last; `null` when there is none. */
  latestRequestId(): string | null;
  /** When each client, by its program's name, was last metered since the instant; the latest first. */
  lastCaptures(since: Millis): { client: string | null; at: Millis }[];
  /** The request that a response is stored under, among those that their provider hands out again. */
  findKeptResponse(providerResponseId: string): KeptResponse | null;
  /** The next requests in the order of arrival. */
  readRequests(range: RequestRange): StoredRequest[];
  countRequests(period: Period): number;
  /** Writes new costs in one transaction and stamps `recomputed_at`. Gives the number of requests found. */
  updateCosts(updates: readonly CostUpdate[], at: Millis): number;
}

/** How many ids an ambiguous beginning lists. */
const maxAmbiguous = 10;

/** What a complete usage tells of a response whose usage was incomplete; who asked, when and how it ended stays. */
const usageColumns = [
  "model",
  "prompt_tokens",
  "completion_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "thinking_tokens",
  "tokens_complete",
  "cost_pico_usd",
  "cost_source",
  "provider_cost_pico_usd",
  "rates_source",
  "service_tier",
  "usage_extras",
] as const satisfies readonly (typeof capturedColumns)[number][];

const insertSql = `INSERT INTO requests (${capturedColumns.join(", ")})
  VALUES (${capturedColumns.map(() => "?").join(", ")}) ON CONFLICT (request_id) DO NOTHING`;

/** What was sent without these goes again, since the cloud fills in what it lacks. */
const fillSql = `UPDATE requests SET ${usageColumns.map((name) => `${name} = ?`).join(", ")}, synced_at = NULL
  WHERE request_id = ? AND tokens_complete = 0`;

/** The sync looks behind its cursor alone. */
const lookAgainSql = `UPDATE cloud_sync_state
  SET cursor_seq = min(cursor_seq, (SELECT seq - 1 FROM requests WHERE request_id = ?))`;

const usageIndexes = usageColumns.map((name) => capturedColumns.indexOf(name));

/** SQL and values of a period; `requested_at` is indexed. */
function periodSql(period: Period): { sql: string; values: number[] } {
  const parts: [string, number][] = [];
  if (period.from !== null) parts.push(["requested_at >= ?", period.from]);
  if (period.to !== null) parts.push(["requested_at < ?", period.to]);
  return { sql: parts.map(([sql]) => ` AND ${sql}`).join(""), values: parts.map(([, value]) => value) };
}

/** One array for all rows: the driver reads it during the call. */
const values: SqliteValue[] = [];

/** Inserts within a transaction that the caller has begun. */
export function insertRecordRows(connection: SqliteConnection, records: readonly RequestRecord[]): void {
  const insert = connection.prepare(insertSql);
  for (const record of records) {
    bindRecord(record, values);
    if (insert.run(values) > 0 || !record.tokensComplete) continue;
    const usage = usageIndexes.map((index) => values[index] as SqliteValue);
    const filled = connection.prepare(fillSql).run([...usage, record.requestId]);
    if (filled > 0) connection.prepare(lookAgainSql).run([record.requestId]);
  }
}

/** Makes the part of the store that holds the requests. */
export function createRecordStore({ capture, state, reader }: StoreConnections): RecordStore {
  return {
    insertRecords: (records) => capture.transaction(() => insertRecordRows(capture, records)),

    async findRequest(text) {
      const id = text.trim();
      const found = (row: unknown): FoundRequest => ({
        kind: "found",
        request: toStoredRequest(row as RequestRow),
      });
      if (/^[0-9a-f-]{1,36}$/i.test(id)) {
        const start = id.toLowerCase();
        const rows = await reader
          .selectFrom("requests")
          .selectAll()
          .where("request_id", ">=", start)
          .where("request_id", "<", `${start}~`)
          .orderBy("request_id")
          .limit(maxAmbiguous)
          .execute();
        if (rows.length === 1) return found(rows[0]);
        if (rows.length > 1) return { kind: "ambiguous", requestIds: rows.map((row) => row.request_id) };
      }
      // No index: reads the whole table, about 0.3 s for a million requests, and only when a person asks.
      const row =
        id === ""
          ? undefined
          : await reader
              .selectFrom("requests")
              .selectAll()
              .where("provider_response_id", "=", id)
              .orderBy("seq", "desc")
              .limit(1)
              .executeTakeFirst();
      return row === undefined ? { kind: "not_found" } : found(row);
    },

    latestRequestId: () =>
      state
        .prepare<{ id: string }>("SELECT request_id AS id FROM requests ORDER BY requested_at DESC LIMIT 1")
        .get([])?.id ?? null,

    lastCaptures: (since) =>
      state
        .prepare<{ client: string | null; at: number }>(
          `SELECT client, max(requested_at) AS at FROM requests WHERE requested_at >= ? GROUP BY client ORDER BY at DESC`,
        )
        .all([since]),

    findKeptResponse(providerResponseId) {
      const row = capture
        .prepare<{ id: string; complete: number }>(
          `SELECT request_id AS id, tokens_complete AS complete FROM requests
           WHERE provider_response_id = ? AND response_kept = 1 ORDER BY seq LIMIT 1`,
        )
        .get([providerResponseId]);
      return row === null ? null : { requestId: row.id, tokensComplete: row.complete === 1 };
    },

    readRequests({ afterSeq, limit, ...period }) {
      const bounds = periodSql(period);
      return state
        .prepare<RequestRow>(
          `SELECT * FROM requests NOT INDEXED WHERE seq > ?${bounds.sql} ORDER BY seq LIMIT ?`,
        )
        .all([afterSeq, ...bounds.values, limit])
        .map(toStoredRequest);
    },

    countRequests(period) {
      const bounds = periodSql(period);
      const row = state
        .prepare<{ n: number }>(`SELECT count(*) AS n FROM requests WHERE 1${bounds.sql}`)
        .get(bounds.values);
      return row?.n ?? 0;
    },

    updateCosts(updates, at) {
      const update = state.prepare(
        `UPDATE requests SET cost_pico_usd = ?, cost_source = ?, rates_source = ?, recomputed_at = ?
         WHERE request_id = ?`,
      );
      return state.transaction(() => {
        let found = 0;
        for (const { requestId, costPicoUsd, costSource, ratesSource } of updates) {
          found += update.run([costPicoUsd, costSource, ratesSource, at, requestId]);
        }
        return found;
      });
    },
  };
}
