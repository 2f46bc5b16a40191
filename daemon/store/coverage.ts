import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/time.ts";
import type { Period, StoreConnections } from "./connections.ts";

/**
 * What is counted beside the records, so that a person sees what the totals lack. `connections` are those to provider
 * hosts; `tunnelled_*` passed unread; of the exchanges on a provider host each is exactly one of `metered`, `free` (a
 * known path without usage), `unknown_path`, `unreadable`, `lost` (log frames dropped) and `dropped` (a record that could
 * not be stored), `websocket` (passed on unread), `repeated` (carried responses that were metered before) and
 * `capture_failed` (the meter itself failed). Of a WebSocket that is read, each response is one. `without_usage` are those
 * metered whose answer stated no tokens; `body_*` are legs that capture left out. `unfinished` counts up when a metered
 * exchange begins and down when it is one of the others: what is left of a daemon that was killed are the calls without
 * a record.
 */
export const coverageKinds = [
  "connections",
  "tunnelled_not_provider",
  "tunnelled_http2_only",
  "tunnelled_sni_mismatch",
  "tunnelled_not_tls",
  "tunnelled_no_certificate",
  "metered",
  "free",
  "unknown_path",
  "unreadable",
  "lost",
  "dropped",
  "without_usage",
  "websocket",
  "repeated",
  "capture_failed",
  "unfinished",
  "body_too_large",
  "body_not_utf8",
  "body_not_redactable",
] as const;

/** One of the counters. */
export type CoverageKind = (typeof coverageKinds)[number];

/** An addition to a counter. */
export interface CoverageCount {
  at: Millis;
  /** A provider's host; `null` for any other, whose names are nobody's business. */
  host: string | null;
  kind: CoverageKind;
  /** Below zero where `unfinished` counts down. */
  count: number;
}

/** A counter over a period. */
export type CoverageTotal = Omit<CoverageCount, "at">;

/** Counters of what was seen and metered. */
export interface CoverageStore {
  /** Adds to the counters in one transaction. */
  addCoverage(counts: readonly CoverageCount[]): void;
  /** Sums over whole quarters of an hour that begin in the period, by host and kind; those of zero are left out. */
  readCoverage(period: Period): CoverageTotal[];
}

/** Counters are kept per quarter of an hour: every time zone's days begin on one, so any day can be asked for. */
export const coverageSlotMs = 15 * 60_000;

/** The slot that holds the instant. */
export const coverageSlot = (at: Millis): Millis => Math.floor(at / coverageSlotMs) * coverageSlotMs;

/** Adds within a transaction that the caller has begun. */
export function addCoverageRows(connection: SqliteConnection, counts: readonly CoverageCount[]): void {
  const add = connection.prepare(
    `INSERT INTO coverage (slot, host, kind, count) VALUES (?, ?, ?, ?)
     ON CONFLICT (slot, host, kind) DO UPDATE SET count = count + excluded.count`,
  );
  for (const { at, host, kind, count } of counts) add.run([coverageSlot(at), host ?? "", kind, count]);
}

/** Makes the part of the store that holds the counters. */
export function createCoverageStore({
  capture,
  state,
}: Pick<StoreConnections, "capture" | "state">): CoverageStore {
  return {
    addCoverage: (counts) => capture.transaction(() => addCoverageRows(capture, counts)),

    readCoverage({ from, to }) {
      return state
        .prepare<{ host: string; kind: string; count: number }>(
          `SELECT host, kind, sum(count) AS count FROM coverage
           WHERE slot >= coalesce(?, slot) AND slot < coalesce(?, slot + 1) GROUP BY host, kind
           HAVING sum(count) <> 0 ORDER BY host, kind`,
        )
        .all([from, to])
        .map(({ host, kind, count }) => ({
          host: host === "" ? null : host,
          kind: kind as CoverageKind,
          count,
        }));
    },
  };
}
