import { type RawBuilder, sql, type Transaction } from "kysely";
import { passes, selectKinds, type ValueFilter } from "../../../core/metering/coverage/coverage-filter.ts";
import { type CoverageState, findCoverageState } from "../../../core/metering/coverage/fleet-coverage.ts";
import {
  findSharedStoppedTimes,
  findStoppedTimes,
  type RunningTime,
} from "../../../core/metering/coverage/running-times.ts";
import { DAY_MS, HOUR_MS, type Millis } from "../../../core/values/time.ts";
import { formatCalendarDate, formatInstant } from "../../../core/wire/instant.ts";
import type { CloudDatabase } from "../open-database.ts";
import type { CloudSchema } from "../schema.ts";
import { inReadScope, type ReadTransaction } from "./read-scope.ts";
import { findMovedHours, type Span, spanUnit } from "./usage-spans.ts";

/** Which counters are read. */
export interface CoverageSelection {
  readonly machines: ValueFilter | null;
  readonly kinds: ValueFilter | null;
}

/** All counters of all machines. */
const ALL_COVERAGE: CoverageSelection = { machines: null, kinds: null };

/** SQL for the metered and the seen calls of the selected kinds of a row `h`. */
function selectCalls(table: "coverage_days" | "coverage_hours", kinds: ValueFilter | null) {
  if (kinds === null) return { metered: "h.metered", seen: "h.seen" };
  const { hasMetered, missing } = selectKinds(kinds);
  const count = (kind: string) =>
    table === "coverage_days" ? `h.counts -> '${kind}' ->> 'count'` : `h.counts ->> '${kind}'`;
  const counted = ["0", ...missing.kinds.map((kind) => `coalesce((${count(kind)})::bigint, 0)`)].join(" + ");
  const missed = missing.not ? `h.seen - h.metered - (${counted})` : counted;
  const metered = hasMetered ? "h.metered" : "0";
  return { metered, seen: `${metered} + ${missed}` };
}

/** SQL, preceded by `and`, for the condition that a machine is selected. Texts are compared, since a filter may have any. */
const ofMachines = (machines: ValueFilter | null): RawBuilder<unknown> =>
  machines === null
    ? sql``
    : sql` and machine_id::text ${sql.raw(machines.not ? "<> all" : "= any")} (${`{${machines.values.map((id) => JSON.stringify(id)).join(",")}}`}::text[])`;

/** A counter of a machine, and the hour in which it last went up. */
export interface KindCount {
  readonly kind: string;
  readonly count: number;
  readonly lastSeenAt: Millis;
}

/** How many calls of one machine were metered in a period. */
export interface MachineSums {
  readonly machineId: string;
  readonly name: string;
  readonly state: CoverageState;
  readonly reportedAt: Millis | null;
  readonly queued: number | null;
  readonly metered: number;
  readonly seen: number;
  /** Whether it had requests whose coverage is not known. */
  readonly isUnknown: boolean;
}

/** The coverage of one machine in a period. */
export interface StoredCoverage extends MachineSums {
  readonly counts: readonly KindCount[];
  /** When its daemon did not run, though it had run before. */
  readonly stopped: readonly RunningTime[];
  /** When its daemon ran. */
  readonly runs: readonly RunningTime[];
}

/** Returns the metered calls in tenths of a percent of the seen ones, rounded down; null if none was seen. */
export const permilleOf = (metered: number, seen: number): number | null =>
  seen === 0 ? null : Math.floor((metered / seen) * 1000);

/** Adds up the machines that stated their coverage, and counts those whose coverage is not known. */
export function sumMachines(machines: readonly MachineSums[]) {
  const metered = machines.reduce((sum, each) => sum + each.metered, 0);
  const seen = machines.reduce((sum, each) => sum + each.seen, 0);
  return {
    metered,
    seen,
    permille: permilleOf(metered, seen),
    unknown_machines: machines.filter(({ isUnknown }) => isUnknown).length,
  };
}

/** Returns when no machine ran, the earliest first; null if that is not known of all machines with requests. */
export const findStopped = (machines: readonly StoredCoverage[], span: Span): RunningTime[] | null =>
  machines.some(({ isUnknown }) => isUnknown) || machines.every(({ runs }) => runs.length === 0)
    ? null
    : findSharedStoppedTimes(
        machines.map(({ runs }) => runs),
        span,
      );

/** Adds up the hours of all machines by the bucket that each begins in. Buckets are in order, without gaps. */
export async function sumCoverageBuckets(
  db: CloudDatabase,
  workspaceId: string,
  buckets: readonly Span[],
  { machines, kinds }: CoverageSelection = ALL_COVERAGE,
): Promise<readonly { readonly metered: number; readonly seen: number }[]> {
  const [first, last] = [buckets[0], buckets.at(-1)];
  if (first === undefined || last === undefined) return [];
  const starts = `{${buckets.map(({ from }) => formatInstant(from)).join(",")}}`;
  // An hour counts where it begins, so one that a bucket begins within belongs to the bucket before.
  const bounds = buckets.slice(1).map(({ from }) => Math.ceil(from / HOUR_MS) * HOUR_MS);
  const span = { from: first.from, to: last.to };
  const useDays = spanUnit(bounds) === "day";
  const moved = findMovedHours(useDays ? [daysOf(span)] : [], bounds);
  const shift = sql.raw(moved.dayIsIn === "first" ? "interval '0'" : "interval '23 hours'");
  const [ofDays, ofHours] = [selectCalls("coverage_days", kinds), selectCalls("coverage_hours", kinds)];
  const parts = selectCoverage(workspaceId, span, {
    ofDays: `select h.day::timestamp at time zone 'UTC' as at, true as is_day, ${ofDays.metered} as metered, ${ofDays.seen} as seen
      from coverage_days h`,
    ofHours: `select h.hour, false, ${ofHours.metered}, ${ofHours.seen} from coverage_hours h`,
    useDays,
    machines,
  });
  const hours = `{${moved.hours.map(formatInstant).join(",")}}`;
  const { rows } = await inReadScope(db, { workspaceId }, (trx) =>
    sql<{ bucket: number; metered: string; seen: string }>`
      with moved as (
        select h.hour, sum(${sql.raw(ofHours.metered)}) as metered, sum(${sql.raw(ofHours.seen)}) as seen from coverage_hours h
        where h.workspace_id = ${workspaceId}::uuid and h.hour = any(${hours}::text::timestamptz[])${ofMachines(machines)}
        group by h.hour
      ),
      times as (
        select case when is_day then at + ${shift} else at end as at, sum(metered) as metered, sum(seen) as seen
        from (${parts}) as parts group by 1
        union all select hour, metered, seen from moved
        union all select date_trunc('day', hour, 'UTC') + ${shift}, -metered, -seen from moved
      )
      select width_bucket(at, (select ${starts}::text::timestamptz[])) as bucket, sum(metered) as metered, sum(seen) as seen
      from times group by 1`.execute(trx),
  );
  const sums = new Map(rows.map((row) => [row.bucket - 1, row]));
  return buckets.map((_, at) => ({
    metered: Number(sums.get(at)?.metered ?? 0),
    seen: Number(sums.get(at)?.seen ?? 0),
  }));
}

/** Reads the coverage of each of a workspace's machines in a period, by name. */
export async function readCoverage(
  db: CloudDatabase,
  workspaceId: string,
  span: Span,
  selection: CoverageSelection = ALL_COVERAGE,
): Promise<readonly StoredCoverage[]> {
  return await inReadScope(db, { workspaceId }, async (trx) => {
    const machines = await readMachineSums(trx, workspaceId, span, selection);
    const counts = await readCounts(trx, workspaceId, span, selection);
    const runs = await readRuns(trx, workspaceId, span);
    return machines.map((machine) => ({
      ...machine,
      counts: counts.get(machine.machineId) ?? [],
      runs: runs.get(machine.machineId) ?? [],
      stopped: findStoppedTimes(runs.get(machine.machineId) ?? [], span),
    }));
  });
}

/** Reads the sums of each machine, by name, and whether they lack any requests. */
export async function readMachineSums(
  trx: ReadTransaction,
  workspaceId: string,
  span: Span,
  selection: CoverageSelection = ALL_COVERAGE,
): Promise<readonly MachineSums[]> {
  const machines = (await readMachines(trx, workspaceId))
    .filter(({ machineId }) => passes(selection.machines, machineId))
    .map((machine) => ({ ...machine, state: findCoverageState(machine, span.to) }));
  const sums = await readSums(trx, workspaceId, span, selection);
  const silent = machines.filter(({ state, lastSeenAt }) => state !== "current" && lastSeenAt !== null);
  const lastDays = await readLastDays(
    trx,
    workspaceId,
    span,
    silent.map(({ machineId }) => machineId),
  );
  return machines.map(({ lastSeenAt: _, ...machine }) => {
    const { machineId, reportedAt } = machine;
    const lastDay = lastDays.get(machineId);
    return {
      ...machine,
      ...(sums.get(machineId) ?? { metered: 0, seen: 0 }),
      isUnknown: lastDay !== undefined && lastDay >= formatCalendarDate(reportedAt ?? 0),
    };
  });
}

async function readMachines(trx: Transaction<CloudSchema>, workspaceId: string) {
  const { rows } = await sql<{
    machine_id: string;
    name: string;
    coverage_at: Millis | null;
    queued_requests: string | null;
    last_seen_at: Millis | null;
  }>`
    select m.machine_id, coalesce(m.label, m.hostname) as name, m.coverage_at, m.queued_requests, k.last_seen_at
    from machines m left join (
      select machine_id, max(last_used_at) as last_seen_at from sync_keys
      where workspace_id = ${workspaceId}::uuid group by machine_id
    ) as k using (machine_id)
    where m.workspace_id = ${workspaceId}::uuid order by 2, 1`.execute(trx);
  return rows.map((row) => ({
    machineId: row.machine_id,
    name: row.name,
    reportedAt: row.coverage_at,
    queued: row.queued_requests === null ? null : Number(row.queued_requests),
    lastSeenAt: row.last_seen_at,
  }));
}

const dayOf = (at: Millis): Millis => Math.floor(at / DAY_MS) * DAY_MS;

/** Returns the whole UTC days of a period. Without any, the span is empty. */
function daysOf({ from, to }: Span): Span {
  const first = Math.min(dayOf(from + DAY_MS - 1), to);
  return { from: first, to: Math.max(dayOf(to), first) };
}

/**
 * SQL for the rows of `coverage_days` for the whole UTC days of a period, and of `coverage_hours` before and after them. `ofDays` and
 * `ofHours` select from them, up to the `where`, in which the table is `h`; `filter` follows. All rows are of hours if not `useDays`.
 */
export function selectCoverage(
  workspaceId: string,
  { from, to }: Span,
  { ofDays, ofHours, filter = "", machines = null, useDays = true }: PeriodRows,
): RawBuilder<unknown> {
  const { from: first, to: end } = useDays ? daysOf({ from, to }) : { from: to, to };
  const hours = (span: Span) => sql`${sql.raw(ofHours)} where h.workspace_id = ${workspaceId}::uuid
    and h.hour >= ${formatInstant(span.from)}::timestamptz and h.hour < ${formatInstant(span.to)}::timestamptz ${sql.raw(filter)}${ofMachines(machines)}`;
  return sql`${sql.raw(ofDays)} where h.workspace_id = ${workspaceId}::uuid
      and h.day >= ${formatCalendarDate(first)}::date and h.day < ${formatCalendarDate(end)}::date ${sql.raw(filter)}${ofMachines(machines)}
    union all ${hours({ from, to: first })}
    union all ${hours({ from: end, to })}`;
}

export interface PeriodRows {
  readonly ofDays: string;
  readonly ofHours: string;
  readonly filter?: string;
  readonly machines?: ValueFilter | null;
  readonly useDays?: boolean;
}

async function readSums(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  span: Span,
  { machines, kinds }: CoverageSelection,
) {
  const of = (table: "coverage_days" | "coverage_hours") => {
    const { metered, seen } = selectCalls(table, kinds);
    return `select h.machine_id, ${metered} as metered, ${seen} as seen from ${table} h`;
  };
  const parts = selectCoverage(workspaceId, span, {
    ofDays: of("coverage_days"),
    ofHours: of("coverage_hours"),
    machines,
  });
  const { rows } = await sql<{ machine_id: string; metered: string; seen: string }>`
    select machine_id, sum(metered) as metered, sum(seen) as seen from (${parts}) as parts group by machine_id`.execute(
    trx,
  );
  return new Map(
    rows.map((row) => [row.machine_id, { metered: Number(row.metered), seen: Number(row.seen) }]),
  );
}

/** SQL for the counters of each machine by kind, with the text of the hour in which each last went up. */
function selectCounts(workspaceId: string, span: Span, machines: ValueFilter | null): RawBuilder<unknown> {
  const parts = selectCoverage(workspaceId, span, {
    ofDays: `select h.machine_id, c.kind, (c.value ->> 'count')::bigint as count, (c.value ->> 'hour') collate "C" as hour
      from coverage_days h cross join lateral jsonb_each(h.counts) as c (kind, value)`,
    ofHours: `select h.machine_id, c.kind, c.count::bigint, to_char(h.hour at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') collate "C"
      from coverage_hours h cross join lateral jsonb_each_text(h.counts) as c (kind, count)`,
    filter: "and h.counts <> '{}'::jsonb",
    machines,
  });
  return sql`select machine_id, kind, sum(count) as count, max(hour) as hour from (${parts}) as parts group by machine_id, kind`;
}

async function readCounts(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  span: Span,
  { machines, kinds }: CoverageSelection,
): Promise<ReadonlyMap<string, KindCount[]>> {
  const { rows } = await sql<{ machine_id: string; kind: string; count: string; hour: Millis }>`
    select machine_id, kind, count, hour::timestamptz as hour from (${selectCounts(workspaceId, span, machines)}) as counts
    order by machine_id, kind`.execute(trx);
  const counts = new Map<string, KindCount[]>();
  for (const { machine_id, kind, count, hour } of rows) {
    if (!passes(kinds, kind)) continue;
    const own = counts.get(machine_id) ?? [];
    own.push({ kind, count: Number(count), lastSeenAt: hour });
    counts.set(machine_id, own);
  }
  return counts;
}

/** A counter of a machine, with the sums of its kind over all machines. */
export interface RankedCount extends KindCount {
  readonly machineId: string;
  readonly machine: string;
  /** How many machines have the kind, and their counters together. */
  readonly machines: number;
  readonly total: number;
}

/** Reads the counters of each kind, those that went up last first: at most `limit` of a kind, and all of hosts that are not metered. */
export async function readLatestCounts(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  span: Span,
  machines: ValueFilter | null,
  limit: number,
): Promise<readonly RankedCount[]> {
  const latest = sql.raw("(partition by kind order by hour desc, count desc, name, machine_id)");
  const { rows } = await sql<
    Record<"machine_id" | "name" | "kind" | "count" | "machines" | "total", string> & { hour: Millis }
  >`
    select machine_id, name, kind, count, hour::timestamptz as hour, machines, total from (
      select *, row_number() over ${latest} as place, count(*) over (partition by kind) as machines,
        sum(count) over (partition by kind) as total
      from (
        select c.*, coalesce(m.label, m.hostname) as name
        from (${selectCounts(workspaceId, span, machines)}) as c join machines m on m.machine_id = c.machine_id
        where m.workspace_id = ${workspaceId}::uuid and c.count > 0
      ) as named
    ) as ranked
    where place <= ${sql.lit(limit)} or kind like 'unlisted\\_%'
    order by hour desc, count desc, name, machine_id`.execute(trx);
  return rows.map((row) => ({
    ...{ machineId: row.machine_id, machine: row.name, kind: row.kind, count: Number(row.count) },
    ...{ lastSeenAt: row.hour, machines: Number(row.machines), total: Number(row.total) },
  }));
}

/**
 * SQL for the running times that overlap the period, by machine, with the last instant of those before it and the first of those after.
 */
export function runsOf(
  workspaceId: string,
  { from, to }: Span,
  machines: ValueFilter | null = null,
): RawBuilder<unknown> {
  const [first, last] = [formatInstant(from), formatInstant(to)];
  const own = ofMachines(machines);
  return sql`
    select machine_id, run_from, run_to from daemon_runs where workspace_id = ${workspaceId}::uuid
      and run_to >= ${first}::timestamptz and run_from < ${last}::timestamptz${own}
    union all select machine_id, at, at from (
      select machine_id, max(run_to) filter (where run_to < ${first}::timestamptz) as before,
        min(run_from) filter (where run_from >= ${last}::timestamptz) as after
      from daemon_runs where workspace_id = ${workspaceId}::uuid
        and (run_to < ${first}::timestamptz or run_from >= ${last}::timestamptz)${own}
      group by machine_id
    ) as others cross join lateral (values (before), (after)) as v (at) where at is not null`;
}

async function readRuns(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  span: Span,
): Promise<ReadonlyMap<string, RunningTime[]>> {
  const { rows } = await sql<{
    machine_id: string;
    run_from: Millis;
    run_to: Millis;
  }>`${runsOf(workspaceId, span)}`.execute(trx);
  const runs = new Map<string, RunningTime[]>();
  for (const { machine_id, run_from, run_to } of rows) {
    const own = runs.get(machine_id) ?? [];
    own.push({ from: run_from, to: run_to });
    runs.set(machine_id, own);
  }
  return runs;
}

/** Reads the last day of the period on which each of these machines had requests. */
export async function readLastDays(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { from, to }: Span,
  machineIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (machineIds.length === 0) return new Map();
  const rows = await trx
    .selectFrom("usage_daily")
    .select(["machine_id", sql<string>`max(day)::text`.as("day")])
    .where("workspace_id", "=", workspaceId)
    .where("day", ">=", formatCalendarDate(from))
    .where("day", "<=", formatCalendarDate(to))
    .where("machine_id", "in", machineIds)
    .groupBy("machine_id")
    .execute();
  return new Map(rows.map(({ machine_id, day }) => [machine_id, day]));
}
