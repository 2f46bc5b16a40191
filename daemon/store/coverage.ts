import type { ValueFilter } from "../../core/metering/coverage/coverage-filter.ts";
import type {
  CoverageGap,
  CoverageKind,
  UnmeteredCall,
} from "../../core/metering/coverage/coverage-kinds.ts";
import type { RunningTime } from "../../core/metering/coverage/running-times.ts";
import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import { HOUR_MS, type Millis } from "../../core/values/time.ts";
import type { StoreConnections } from "./connections.ts";
import type { CoverageCount, CoverageStore, HourlyCoverage, TimedCoverage } from "./port/coverage.ts";
import type { Period } from "./port/values.ts";
import { SLOT_MS } from "./rollup-definition.ts";
import { readThroughSeq } from "./rollups.ts";
import { readSummedRows } from "./summed-rows.ts";
import { forgetDaysOfSlots, readDays, type SummedDay, type SummedDays } from "./summed-spans.ts";

/** Returns the start of the slot that contains the instant. */
export const coverageSlot = (at: Millis): Millis => Math.floor(at / SLOT_MS) * SLOT_MS;

/** How many different calls are stored in one slot, and in all. Beyond the latter, those of the oldest slots are deleted. */
export const MAX_CALLS_PER_SLOT = 200;
export const MAX_CALLS = 10_000;

/** Adds counts. The caller has begun a transaction. */
export function addCoverageRows(
  connection: SqliteConnection,
  counts: readonly CoverageCount[],
  summedDays: SummedDays,
): void {
  if (counts.length === 0) return;
  const add = connection.prepare(
    `INSERT INTO coverage (slot, host, kind, count) VALUES (?, ?, ?, ?)
     ON CONFLICT (slot, host, kind) DO UPDATE SET count = count + excluded.count`,
  );
  for (const { at, host, kind, count } of counts) add.run([coverageSlot(at), host ?? "", kind, count]);
  for (const each of counts) if (each.call !== undefined) addCall(connection, each, each.call);
  forgetDaysOfSlots(
    connection,
    summedDays,
    counts.map(({ at }) => coverageSlot(at)),
  );
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
export function createCoverageStore(
  { capture, state }: Pick<StoreConnections, "capture" | "state">,
  summedDays: SummedDays,
): CoverageStore {
  return {
    add: (counts) => capture.transaction(() => addCoverageRows(capture, counts, summedDays)),

    read: (period) =>
      state
        .snapshot(() => readTotals(state, period))
        .map(({ host, kind, count }) => ({
          host: host === "" ? null : host,
          kind: kind as CoverageKind,
          count,
        })),

    readGaps: (kinds, period) => state.snapshot(() => readGaps(state, kinds, period)),

    readTimes: (period, hosts = null) => state.snapshot(() => readTimes(state, period, hosts)),

    readHours: (from, maxHours) => readHours(state, from, maxHours),

    saveRun: ({ from, to }) =>
      void capture
        .prepare(
          `INSERT INTO daemon_runs (run_from, run_to) VALUES (?, ?)
           ON CONFLICT (run_from) DO UPDATE SET run_to = excluded.run_to`,
        )
        .run([from, to]),

    readRuns: (period) => readRuns(state, period),
  };
}

function readHours(state: SqliteConnection, from: Millis, maxHours: number): HourlyCoverage[] {
  return state
    .prepare<{ hour: number; kind: string; count: number }>(
      `SELECT slot - slot % ${HOUR_MS} AS hour, kind, sum(count) AS count FROM coverage
       WHERE slot >= ? AND slot < coalesce((SELECT DISTINCT slot - slot % ${HOUR_MS} FROM coverage
         WHERE slot >= ? ORDER BY 1 LIMIT 1 OFFSET ?), ${Number.MAX_SAFE_INTEGER})
       GROUP BY 1, 2 ORDER BY 1, 2`,
    )
    .all([from, from, maxHours])
    .map(({ hour, kind, count }) => ({ hour, kind: kind as CoverageKind, count }));
}

function readRuns(state: SqliteConnection, period: Period): RunningTime[] {
  const [from, to] = boundsOf(period);
  return state
    .prepare<{ run_from: number; run_to: number }>(
      `SELECT run_from, run_to FROM daemon_runs
       WHERE run_from >= coalesce((SELECT max(run_from) FROM daemon_runs WHERE run_to < ?), 0)
         AND run_from <= coalesce((SELECT min(run_from) FROM daemon_runs WHERE run_from >= ?), ?)
       ORDER BY run_from`,
    )
    .all([from, to, to])
    .map(({ run_from, run_to }) => ({ from: run_from, to: run_to }));
}

/** The sum of a host and kind. */
interface TotalRow {
  readonly host: string;
  readonly kind: string;
  readonly count: number;
  readonly lastSlot: Millis;
}

/** Returns the days of a period whose sums are stored. */
function daysWithin(state: SqliteConnection, from: Millis, to: Millis): SummedDay[] {
  if (readThroughSeq(state) === null) return [];
  return readDays(state).filter((day) => day.day_from >= from && day.day_to <= to);
}

/** Sums a period by time and kind: days whose sums are stored, and the slots between them. */
function readTimes(state: SqliteConnection, period: Period, hosts: ValueFilter | null): TimedCoverage[] {
  const [from, to] = boundsOf(period);
  const named = hosts?.values ?? [];
  const ofHosts =
    hosts === null ? "" : ` AND host ${hosts.not ? "NOT IN" : "IN"} (${named.map(() => "?").join(", ")})`;
  const days = daysWithin(state, from, to);
  const slots = state.prepare<TimedCoverage>(
    `SELECT slot AS at, kind, sum(count) AS count FROM coverage
     WHERE slot >= ? AND slot < ?${ofHosts} GROUP BY slot, kind`,
  );
  return [
    ...readSummedRows<TimedCoverage>(
      state,
      `SELECT day_from AS at, kind, sum(count) AS count FROM coverage_days
       WHERE day_from >= ? AND day_from < ?${ofHosts} GROUP BY day_from, kind`,
      [days[0]?.day_from ?? 0, days.at(-1)?.day_to ?? 0, ...named],
    ),
    ...gapsBetween(days, from, to).flatMap((gap) => slots.all([...gap, ...named])),
  ]
    .map(({ at, kind, count }) => ({ at, kind, count }))
    .sort((one, other) => one.at - other.at || byText(one.kind, other.kind));
}

/** Sums a period by host and kind, in order of both: days whose sums are stored, and the slots between them. */
function readTotals(state: SqliteConnection, period: Period): TotalRow[] {
  const [from, to] = boundsOf(period);
  const days = daysWithin(state, from, to);
  const rows = [
    ...sumDays(state, days[0]?.day_from ?? 0, days.at(-1)?.day_to ?? 0),
    ...gapsBetween(days, from, to).flatMap(([start, end]) => sumSlots(state, start, end)),
  ];
  return [...Map.groupBy(rows, ({ host, kind }) => JSON.stringify([host, kind])).values()]
    .map((own) => ({
      ...(own[0] as TotalRow),
      count: own.reduce((sum, { count }) => sum + count, 0),
      lastSlot: Math.max(...own.map(({ lastSlot }) => lastSlot)),
    }))
    .filter(({ count }) => count !== 0)
    .sort((one, other) => byText(one.host, other.host) || byText(one.kind, other.kind));
}

const byText = (one: string, other: string) => (one < other ? -1 : one === other ? 0 : 1);

/** The bounds of a period as values. No slot begins before 1970. */
const boundsOf = ({ from, to }: Period): [number, number] => [from ?? 0, to ?? Number.MAX_SAFE_INTEGER];

function gapsBetween(days: readonly SummedDay[], from: Millis, to: Millis): [Millis, Millis][] {
  const starts = [from, ...days.map(({ day_to }) => day_to)];
  const ends = [...days.map(({ day_from }) => day_from), to];
  return starts.flatMap((start, at): [Millis, Millis][] => {
    const end = ends[at] ?? to;
    return start < end ? [[start, end]] : [];
  });
}

function sumDays(state: SqliteConnection, from: Millis, to: Millis): readonly TotalRow[] {
  return readSummedRows(
    state,
    `SELECT host, kind, sum(count) AS count, max(last_slot) AS lastSlot FROM coverage_days
     WHERE day_from >= ? AND day_from < ? GROUP BY host, kind`,
    [from, to],
  );
}

function sumSlots(state: SqliteConnection, from: Millis, to: Millis): TotalRow[] {
  return state
    .prepare<TotalRow>(
      `SELECT host, kind, sum(count) AS count, max(slot) AS lastSlot FROM coverage
       WHERE slot >= ? AND slot < ? GROUP BY host, kind`,
    )
    .all([from, to]);
}

/** A sum of `readTotals()`, or the calls of one method and path. */
interface GapRow extends TotalRow {
  /** Null for all calls of the host and kind together. */
  readonly method: string | null;
  readonly path: string | null;
}

function readGaps(state: SqliteConnection, kinds: readonly CoverageKind[], period: Period): CoverageGap[] {
  const wanted = new Set<string>(kinds);
  const all = readTotals(state, period)
    .filter(({ kind }) => wanted.has(kind))
    .map((total) => ({ ...total, method: null, path: null }));
  const calls = state
    .prepare<GapRow>(
      `SELECT host, kind, method, path, sum(count) AS count, max(slot) AS lastSlot
       FROM coverage_calls WHERE slot >= ? AND slot < ? GROUP BY host, kind, method, path`,
    )
    .all(boundsOf(period))
    .filter(({ kind }) => wanted.has(kind));
  const rest: GapRow[] = all.map((total) => {
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
