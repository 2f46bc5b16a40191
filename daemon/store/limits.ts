import type { LimitPoint } from "../../core/metering/limits/limit-change.ts";
import {
  LIMIT_STATUSES,
  LIMIT_UNITS,
  type LimitReading,
  type LimitStatus,
  type LimitUnit,
} from "../../core/metering/limits/stated-limit.ts";
import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { StoreConnections } from "./connections.ts";
import type { LimitChanged, LimitStore, StoredLimit } from "./port/limits.ts";

/** A row of `limit_windows`. The account and the scope are empty instead of null, because they are part of the key. */
interface LimitRow {
  readonly window_id: number;
  readonly provider: string;
  readonly account: string;
  readonly window_name: string;
  readonly scope: string;
  readonly unit: string;
  readonly window_ms: number | null;
  readonly used_ppm: number | null;
  readonly limit_amount: number | null;
  readonly remaining_amount: number | null;
  readonly reset_at: number | null;
  readonly status: string | null;
  readonly seen_at: number;
}

/** Implements `LimitStore`. Readings are captured, so they are as durable as records. */
export function createLimitStore({
  capture,
  state,
}: Pick<StoreConnections, "capture" | "state">): LimitStore {
  return {
    save: (changed) =>
      capture.transaction(() => {
        for (const each of changed) saveOne(capture, each);
      }),

    list: () =>
      state
        .prepare<LimitRow>("SELECT * FROM limit_windows ORDER BY seen_at DESC, window_id DESC")
        .all([])
        .map(toStoredLimit),

    history: (id, since) =>
      state
        .prepare<{ seen_at: number; used_ppm: number | null; reset_at: number | null }>(
          `SELECT seen_at, used_ppm, reset_at FROM limit_points WHERE window_id = ? AND seen_at >= coalesce(
             (SELECT max(seen_at) FROM limit_points WHERE window_id = ? AND seen_at < ?), 0) ORDER BY seen_at`,
        )
        .all([id, id, since])
        .map(
          ({ seen_at, used_ppm, reset_at }): LimitPoint => ({
            seenAt: seen_at,
            usedPpm: used_ppm,
            resetAt: reset_at,
          }),
        ),

    trim: ({ before, maxWindows, maxPoints }) =>
      capture.transaction(() => {
        capture
          .prepare(
            `DELETE FROM limit_windows WHERE seen_at < ? OR window_id NOT IN
               (SELECT window_id FROM limit_windows ORDER BY seen_at DESC, window_id DESC LIMIT ?)`,
          )
          .run([before, maxWindows]);
        capture
          .prepare(
            `DELETE FROM limit_points WHERE seen_at < max(?, coalesce(
               (SELECT seen_at FROM limit_points ORDER BY seen_at DESC LIMIT 1 OFFSET ?), 0))`,
          )
          .run([before, maxPoints - 1]);
        deleteUnownedPoints(capture);
      }),
  };
}

function saveOne(capture: SqliteConnection, { reading, isPoint }: LimitChanged): void {
  const { provider, window, unit, windowMs, usedPpm, limit, remaining, resetAt, status, seenAt } = reading;
  const saved = capture
    .prepare<{ window_id: number }>(
      `INSERT INTO limit_windows (provider, account, window_name, scope, unit, window_ms, used_ppm, limit_amount,
         remaining_amount, reset_at, status, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (provider, account, window_name, scope, unit) DO UPDATE SET window_ms = excluded.window_ms,
         used_ppm = excluded.used_ppm, limit_amount = excluded.limit_amount,
         remaining_amount = excluded.remaining_amount, reset_at = excluded.reset_at, status = excluded.status,
         seen_at = excluded.seen_at
       RETURNING window_id`,
    )
    .get([
      ...[provider, reading.account ?? "", window, reading.scope ?? "", unit],
      ...[windowMs, usedPpm, limit, remaining, resetAt, status, seenAt],
    ]);
  if (!isPoint || saved === null) return;
  capture
    .prepare(
      "INSERT OR REPLACE INTO limit_points (window_id, seen_at, used_ppm, reset_at) VALUES (?, ?, ?, ?)",
    )
    .run([saved.window_id, seenAt, usedPpm, resetAt]);
}

/** Deletes the points of windows that are gone. */
function deleteUnownedPoints(connection: SqliteConnection): void {
  connection
    .prepare("DELETE FROM limit_points WHERE window_id NOT IN (SELECT window_id FROM limit_windows)")
    .run([]);
}

/** Deletes readings before the instant. The caller has begun a transaction. */
export function deleteLimitsBefore(connection: SqliteConnection, before: number): void {
  connection.prepare("DELETE FROM limit_windows WHERE seen_at < ?").run([before]);
  connection.prepare("DELETE FROM limit_points WHERE seen_at < ?").run([before]);
  deleteUnownedPoints(connection);
}

function toStoredLimit(row: LimitRow): StoredLimit {
  const reading: LimitReading = {
    provider: row.provider,
    account: row.account === "" ? null : row.account,
    window: row.window_name,
    scope: row.scope === "" ? null : row.scope,
    // A newer version may have stored a unit or a status that this one does not know.
    unit: LIMIT_UNITS.find((unit): unit is LimitUnit => unit === row.unit) ?? "share",
    windowMs: row.window_ms,
    usedPpm: row.used_ppm,
    limit: row.limit_amount,
    remaining: row.remaining_amount,
    resetAt: row.reset_at,
    status: LIMIT_STATUSES.find((status): status is LimitStatus => status === row.status) ?? null,
    seenAt: row.seen_at,
  };
  return { id: row.window_id, ...reading };
}
