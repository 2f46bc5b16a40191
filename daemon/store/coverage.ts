import type {
  CoverageGap,
  CoverageKind,
  UnmeteredCall,
} from "../../core/metering/coverage/coverage-kinds.ts";
import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import type { StoreConnections } from "./connections.ts";
import type { CoverageCount, CoverageStore } from "./port/coverage.ts";
import type { Period } from "./port/values.ts";

/** The length of a slot, in milliseconds: the days of every time zone begin on a quarter of an hour. */
export const coverageSlotMs = 15 * 60_000;

/** Returns the start of the slot that contains the instant. */
export const coverageSlot = (at: Millis): Millis => Math.floor(at / coverageSlotMs) * coverageSlotMs;

/** How many different calls are stored in one slot, and in all. Beyond the latter, those of the oldest slots are deleted. */
export const MAX_CALLS_PER_SLOT = 200;
export const MAX_CALLS = 10_000;

/** Adds counts. The caller has begun a transaction. */
export function addCoverageRows(connection: SqliteConnection, counts: readonly CoverageCount[]): void {
  const add = connection.prepare(
    `INSERT INTO coverage (slot, host, kind, count) VALUES (?, ?, ?, ?)
     ON CONFLICT (slot, host, kind) DO UPDATE SET count = count + excluded.count`,
  );
  for (const { at, host, kind, count } of counts) add.run([coverageSlot(at), host ?? "", kind, count]);
  for (const each of counts) if (each.call !== undefined) addCall(connection, each, each.call);
}

/** Adds to a call's counter, within the bounds. */
function addCall(
  connection: SqliteConnection,
  { at, host, kind, count }: CoverageCount,
  { method, path }: UnmeteredCall,
): void {
  const slot = coverageSlot(at);
  const key = [slot, host ?? "", kind, method, path];
  const isKnown = connection
    .prepare(
      "SELECT 1 FROM coverage_calls WHERE slot = ? AND host = ? AND kind = ? AND method = ? AND path = ?",
    )
    .get(key);
  const rows = (where: string, values: readonly number[]) =>
    connection.prepare<{ n: number }>(`SELECT count(*) AS n FROM coverage_calls ${where}`).get(values)?.n ??
    0;
  if (isKnown === null && rows("WHERE slot = ?", [slot]) >= MAX_CALLS_PER_SLOT) return;
  if (isKnown === null && rows("", []) >= MAX_CALLS)
    connection
      .prepare("DELETE FROM coverage_calls WHERE slot = (SELECT min(slot) FROM coverage_calls)")
      .run([]);
  connection
    .prepare(
      `INSERT INTO coverage_calls (slot, host, kind, method, path, count) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (slot, host, kind, method, path) DO UPDATE SET count = count + excluded.count`,
    )
    .run([...key, count]);
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

    readGaps: (kinds, period) => readGaps(state, kinds, period),
  };
}

interface GapRow {
  readonly host: string;
  readonly kind: string;
  /** Null for all calls of the host and kind together. */
  readonly method: string | null;
  readonly path: string | null;
  readonly count: number;
  readonly lastSlot: number;
}

function readGaps(
  state: SqliteConnection,
  kinds: readonly CoverageKind[],
  { from, to }: Period,
): CoverageGap[] {
  const wanted = new Set<string>(kinds);
  const inPeriod = "WHERE slot >= coalesce(?, slot) AND slot < coalesce(?, slot + 1)";
  const all = state
    .prepare<GapRow>(
      `SELECT host, kind, NULL AS method, NULL AS path, sum(count) AS count, max(slot) AS lastSlot
       FROM coverage ${inPeriod} GROUP BY host, kind`,
    )
    .all([from, to])
    .filter(({ kind }) => wanted.has(kind));
  const calls = state
    .prepare<GapRow>(
      `SELECT host, kind, method, path, sum(count) AS count, max(slot) AS lastSlot
       FROM coverage_calls ${inPeriod} GROUP BY host, kind, method, path`,
    )
    .all([from, to])
    .filter(({ kind }) => wanted.has(kind));
  const rest = all.map((total) => {
    const named = calls.filter(({ host, kind }) => host === total.host && kind === total.kind);
    return { ...total, count: named.reduce((left, { count }) => left - count, total.count) };
  });
  return [...calls, ...rest]
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.lastSlot - one.lastSlot || other.count - one.count)
    .map(({ host, kind, method, path, count, lastSlot }) => ({
      host: host === "" ? null : host,
      kind: kind as CoverageKind,
      call: method === null || path === null ? null : { method, path },
      count,
      lastSeenAt: lastSlot,
    }));
}
