import type { CoverageKind } from "../../core/metering/coverage/coverage-kinds.ts";
import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoreConnections } from "./connections.ts";
import type { CoverageCount, CoverageStore } from "./port/coverage.ts";

/** The length of a slot, in milliseconds: the days of every time zone begin on a quarter of an hour. */
export const coverageSlotMs = 15 * 60_000;

/** Returns the start of the slot that contains the instant. */
export const coverageSlot = (at: Millis): Millis => Math.floor(at / coverageSlotMs) * coverageSlotMs;

/** Adds counts. The caller has begun a transaction. */
export function addCoverageRows(connection: SqliteConnection, counts: readonly CoverageCount[]): void {
  const add = connection.prepare(
    `INSERT INTO coverage (slot, host, kind, count) VALUES (?, ?, ?, ?)
     ON CONFLICT (slot, host, kind) DO UPDATE SET count = count + excluded.count`,
  );
  for (const { at, host, kind, count } of counts) add.run([coverageSlot(at), host ?? "", kind, count]);
}

/** Implements `CoverageStore`. */
export function createCoverageStore({
  capture,
  state,
}: Pick<StoreConnections, "capture" | "state">): CoverageStore {
  return {
    add: (counts) => capture.transaction(() => addCoverageRows(capture, counts)),

    read({ from, to }) {
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
