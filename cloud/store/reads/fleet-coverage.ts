import { type RawBuilder, sql } from "kysely";
import type { ValueFilter } from "../../../core/metering/coverage/coverage-filter.ts";
import type { CoverageKind } from "../../../core/metering/coverage/coverage-kinds.ts";
import { type CoverageSummary, summariseCoverage } from "../../../core/metering/coverage/coverage-summary.ts";
import { COVERAGE_STALE_MS, findCoverageState } from "../../../core/metering/coverage/fleet-coverage.ts";
import { MIN_STOP_MS, type RunningTime } from "../../../core/metering/coverage/running-times.ts";
import type { Millis } from "../../../core/values/time.ts";
import { formatCalendarDate, formatInstant } from "../../../core/wire/instant.ts";
import { permilleOf, readLastDays, runsOf, selectCoverage } from "./coverage.ts";
import type { ReadTransaction } from "./read-scope.ts";
import type { Span } from "./usage-spans.ts";

/** The coverage of all machines of a workspace together. */
export interface FleetCoverage {
  readonly metered: number;
  readonly seen: number;
  readonly permille: number | null;
  /** How many machines had requests whose coverage is not known. */
  readonly unknown_machines: number;
  /** What was not metered, by kind; empty if it was not asked for. */
  readonly missing: CoverageSummary["missing"][number][];
  /** When no machine ran, the earliest first; null if it is not known, or was not asked for. */
  readonly stopped: readonly RunningTime[] | null;
}

/** What is read besides the sums of calls. */
export interface FleetCoverageParts {
  readonly withMissing: boolean;
  readonly withStopped: boolean;
}

/** Reads the coverage of a period as sums over all machines, which the database adds up: a fleet has tens of thousands of rows. */
export async function readFleetCoverage(
  trx: ReadTransaction,
  workspaceId: string,
  span: Span,
  { withMissing, withStopped }: FleetCoverageParts,
): Promise<FleetCoverage> {
  const { metered, seen } = await sumCalls(trx, workspaceId, span);
  const unknown = await countUnknown(trx, workspaceId, span);
  return {
    ...{ metered, seen, permille: permilleOf(metered, seen), unknown_machines: unknown },
    missing: !withMissing || metered === seen ? [] : await sumMissing(trx, workspaceId, span),
    stopped: withStopped && unknown === 0 ? await readSharedStops(trx, workspaceId, span) : null,
  };
}

async function sumCalls(trx: ReadTransaction, workspaceId: string, span: Span) {
  const of = (table: string) => `select h.metered, h.seen from ${table} h`;
  const parts = selectCoverage(workspaceId, span, {
    ofDays: of("coverage_days"),
    ofHours: of("coverage_hours"),
  });
  const { rows } = await sql<{ metered: string | null; seen: string | null }>`
    select sum(metered) as metered, sum(seen) as seen from (${parts}) as parts`.execute(trx);
  return { metered: Number(rows[0]?.metered ?? 0), seen: Number(rows[0]?.seen ?? 0) };
}

async function sumMissing(
  trx: ReadTransaction,
  workspaceId: string,
  span: Span,
): Promise<FleetCoverage["missing"]> {
  const parts = selectCoverage(workspaceId, span, {
    ofDays: `select c.kind, (c.value ->> 'count')::bigint as count
      from coverage_days h cross join lateral jsonb_each(h.counts) as c (kind, value)`,
    ofHours: `select c.kind, c.count::bigint
      from coverage_hours h cross join lateral jsonb_each_text(h.counts) as c (kind, count)`,
    filter: "and h.seen > h.metered",
  });
  const { rows } = await sql<{ kind: CoverageKind; count: string }>`
    select kind, sum(count) as count from (${parts}) as parts group by kind order by kind`.execute(trx);
  const totals = rows.map(({ kind, count }) => ({ host: null, kind, count: Number(count) }));
  return [...summariseCoverage(totals).missing];
}

/** Counts the machines that had requests after their last report. */
export async function countUnknown(trx: ReadTransaction, workspaceId: string, span: Span): Promise<number> {
  // Only machines that were seen after their last report can have any, so the others are not read.
  const { rows } = await sql<{ machine_id: string; coverage_at: Millis | null; last_seen_at: Millis }>`
    select m.machine_id, m.coverage_at, k.last_seen_at
    from machines m join (
      select machine_id, max(last_used_at) as last_seen_at from sync_keys
      where workspace_id = ${workspaceId}::uuid group by machine_id
    ) as k using (machine_id)
    where m.workspace_id = ${workspaceId}::uuid and k.last_seen_at is not null
      and (m.coverage_at is null or m.coverage_at < k.last_seen_at - interval '1 millisecond' * ${sql.lit(COVERAGE_STALE_MS)})`.execute(
    trx,
  );
  const silent = rows.filter(
    ({ coverage_at, last_seen_at }) =>
      findCoverageState({ reportedAt: coverage_at, lastSeenAt: last_seen_at }, span.to) !== "current",
  );
  const lastDays = await readLastDays(
    trx,
    workspaceId,
    span,
    silent.map(({ machine_id }) => machine_id),
  );
  return silent.filter(({ machine_id, coverage_at }) => {
    const lastDay = lastDays.get(machine_id);
    return lastDay !== undefined && lastDay >= formatCalendarDate(coverage_at ?? 0);
  }).length;
}

/** The shortest stop, in SQL. It is added to a time, since a difference of times takes longer to compare. */
const MIN_STOP = sql.raw(`interval '1 millisecond' * ${MIN_STOP_MS}`);

/**
 * SQL for common table expressions that end with `shared`: the times in which no machine ran, of those in `runs`. Runs that begin within
 * the length of the shortest stop are joined first, which leaves fewer to sort: there can be no stop between them. The runs are read once, for
 * these and for the ends of each machine.
 */
const sharedStopsOf = (runs: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  grouped as materialized (
    select grouping(machine_id) = 0 as is_machine, min(run_from) as run_from, max(run_to) as run_to,
      min(run_to) as first, max(run_from) as last
    from ${runs} as runs
    group by grouping sets ((date_bin(${MIN_STOP}, run_from, timestamptz 'epoch')), (machine_id))
  ),
  joined as (select run_from, run_to from grouped where not is_machine),
  machine_ends as (select first, last from grouped where is_machine),
  shared as (
    select ended, began from (
      select run_from as began,
        max(run_to) over (order by run_from rows between unbounded preceding and 1 preceding) as ended from joined
    ) as pairs
    where began >= ended + ${MIN_STOP} and exists (select from machine_ends where first <= ended and last >= began)
  )`;

/** SQL for the columns of `SharedRow`. */
const SHARED_COLUMNS = sql`exists (select from grouped) as has_runs, (
    select coalesce(json_agg(json_build_array(extract(epoch from ended) * 1000, extract(epoch from began) * 1000) order by ended), '[]')
    from shared
  ) as shared`;

interface SharedRow {
  readonly has_runs: boolean;
  readonly shared: readonly (readonly [Millis, Millis])[];
}

/** Returns the times in which no machine ran, within the period; null if none reported its running times. */
function toSharedStops(row: SharedRow | undefined, { from, to }: Span): RunningTime[] | null {
  if (row?.has_runs !== true) return null;
  return row.shared
    .map(([ended, began]) => ({ from: Math.max(ended, from), to: Math.min(began, to) }))
    .filter((stop) => stop.from < stop.to);
}

/** Finds when no machine ran, as `findSharedStoppedTimes()`. Null if none reported its running times. */
export async function readSharedStops(
  trx: ReadTransaction,
  workspaceId: string,
  span: Span,
): Promise<RunningTime[] | null> {
  const { rows } = await sql<SharedRow>`
    with ${sharedStopsOf(sql`(${runsOf(workspaceId, span)})`)}
    select ${SHARED_COLUMNS}`.execute(trx);
  return toSharedStops(rows[0], span);
}

/** A time in which a machine's daemon did not run. */
export interface MachineStop extends RunningTime {
  readonly machineId: string;
  readonly machine: string;
}

/** The times in which daemons did not run: how many, how long together, and the latest of them. */
export interface FleetStops {
  readonly times: number;
  readonly totalMs: number;
  readonly latest: readonly MachineStop[];
  /** When no machine ran, as `readSharedStops()`. */
  readonly shared: RunningTime[] | null;
}

/** SQL for the runs in `runs`, each with the end of those of its machine before it. */
const pairsOf = (runs: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select machine_id, run_from, run_to, max(run_to) over (
    partition by machine_id order by run_from rows between unbounded preceding and 1 preceding
  ) as ended from ${runs} as runs`;

/** SQL for the times between the runs of each machine in `pairs`, within the period, as `findStoppedTimes()`. */
const stopsOf = (pairs: RawBuilder<unknown>, { from, to }: Span): RawBuilder<unknown> => sql`
  select machine_id, greatest(ended, ${formatInstant(from)}::timestamptz) as stop_from,
    least(run_from, ${formatInstant(to)}::timestamptz) as stop_to
  from ${pairs} as pairs
  where run_from >= ended + ${MIN_STOP}
    and run_from > ${formatInstant(from)}::timestamptz and ended < ${formatInstant(to)}::timestamptz`;

/**
 * Reads when the daemons of machines did not run, with the latest times first, and when none of them ran. The running times are read
 * once, and stored once with what the stops need: finding the stops in them again takes less than storing the stops too. Only stops that can be
 * among the latest get the name of their machine.
 */
export async function readStops(
  trx: ReadTransaction,
  workspaceId: string,
  span: Span,
  limit: number,
  machines: ValueFilter | null = null,
): Promise<FleetStops> {
  const { rows } = await sql<SharedRow & { times: string; total_ms: string; latest: LatestStop[] }>`
    with pairs as materialized (${pairsOf(sql`(${runsOf(workspaceId, span, machines)})`)}), ${sharedStopsOf(sql`pairs`)},
    stops as not materialized (${stopsOf(sql`pairs`, span)})
    select count(*) as times, coalesce((extract(epoch from sum(stop_to - stop_from)) * 1000)::bigint, 0) as total_ms, (
      select coalesce(json_agg(json_build_array(machine_id, name, stop_from_ms, stop_to_ms)), '[]') from (
        select s.machine_id, coalesce(m.label, m.hostname) as name,
          extract(epoch from s.stop_from) * 1000 as stop_from_ms, extract(epoch from s.stop_to) * 1000 as stop_to_ms
        from stops s join machines m on m.machine_id = s.machine_id
        where m.workspace_id = ${workspaceId}::uuid and s.stop_from >= coalesce(
          (select stop_from from stops order by stop_from desc offset ${sql.lit(limit - 1)} limit 1), '-infinity')
        order by s.stop_from desc, name, s.machine_id limit ${sql.lit(limit)}
      ) as listed
    ) as latest, ${SHARED_COLUMNS}
    from stops`.execute(trx);
  const [row] = rows;
  return {
    times: Number(row?.times ?? 0),
    totalMs: Number(row?.total_ms ?? 0),
    latest: (row?.latest ?? []).map(([machineId, machine, from, to]) => ({ machineId, machine, from, to })),
    shared: toSharedStops(row, span),
  };
}

type LatestStop = readonly [machineId: string, machine: string, from: Millis, to: Millis];

/** Reads the latest time in which the daemon of each of these machines did not run. */
export async function readLastStops(
  trx: ReadTransaction,
  workspaceId: string,
  span: Span,
  machineIds: readonly string[],
): Promise<ReadonlyMap<string, RunningTime>> {
  if (machineIds.length === 0) return new Map();
  const { rows } = await sql<{ machine_id: string; stop_from: Millis; stop_to: Millis }>`
    select distinct on (machine_id) machine_id, stop_from, stop_to from (${stopsOf(sql`(${pairsOf(sql`(${runsOf(workspaceId, span)})`)})`, span)}) as s
    where machine_id in (${sql.join(machineIds.map((id) => sql`${id}::uuid`))})
    order by machine_id, stop_from desc`.execute(trx);
  return new Map(
    rows.map(({ machine_id, stop_from, stop_to }) => [machine_id, { from: stop_from, to: stop_to }]),
  );
}
