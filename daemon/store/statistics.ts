import { type Kysely, sql } from "kysely";
import type { CalendarDate, Millis } from "../../core/values/time.ts";
import { type Day, dayOf } from "./days.ts";
import type { ModelRow, ProjectRow, ReportRow, Statistics, StatisticsQuery } from "./port/reports.ts";
import type { Turn } from "./port/values.ts";
import { addRows, byCost, emptyReportRow } from "./report-rows.ts";
import { billing, type SumRow, sums, toReportRow } from "./reports.ts";
import type { Tables } from "./tables.ts";

/** How many rows one slice sums: measured 13 ms per slice at 500,000 rows. */
const SLICE_ROWS = 5_000;

/** The sums of a slice by project, model, cost source and billing mode. */
interface SliceRow extends SumRow {
  project: string;
  provider: string;
  model: string;
  last_at: number;
}

/** The sums so far. */
interface Sums {
  total: ReportRow;
  readonly days: Map<string, ReportRow>;
  readonly projects: Map<string, ProjectRow>;
  readonly models: Map<string, ModelRow>;
}

/** Sums a period by day, project and model, in slices with `turn` in between. */
export async function readStatistics(
  reader: Kysely<Tables>,
  { from, to, days: zone }: StatisticsQuery,
  turn: Turn,
): Promise<Statistics> {
  const read: Sums = { total: emptyReportRow(null), days: new Map(), projects: new Map(), models: new Map() };
  let at: Millis | null = await nextRequestAt(reader, from, to);
  while (at !== null) {
    const day: Day = dayOf(at, zone);
    const end = await findSliceEnd(reader, at, Math.min(day.to, to));
    for (const row of await readSlice(reader, at, end)) addSlice(read, day.date, row);
    await turn();
    at = await nextRequestAt(reader, end, to);
  }
  return {
    total: read.total,
    days: [...read.days.values()],
    projects: [...read.projects.values()].sort(byCost),
    models: [...read.models.values()].sort(byCost),
  };
}

/** Returns when the first request of the period was made, or null if there is none. */
async function nextRequestAt(reader: Kysely<Tables>, from: Millis, to: Millis): Promise<Millis | null> {
  const first = await reader
    .selectFrom("requests")
    .select((eb) => eb.fn.min<number | null>("requested_at").as("at"))
    .where("requested_at", ">=", from)
    .where("requested_at", "<", to)
    .executeTakeFirst();
  return first?.at ?? null;
}

/** Returns where the slice that begins at `from` ends: after `SLICE_ROWS` requests, or at `end`. */
async function findSliceEnd(reader: Kysely<Tables>, from: Millis, end: Millis): Promise<Millis> {
  const next = await reader
    .selectFrom("requests")
    .select("requested_at as at")
    .where("requested_at", ">=", from)
    .where("requested_at", "<", end)
    .orderBy("requested_at")
    .limit(1)
    .offset(SLICE_ROWS)
    .executeTakeFirst();
  return next === undefined ? end : Math.max(next.at, from + 1);
}

function readSlice(reader: Kysely<Tables>, from: Millis, to: Millis): Promise<SliceRow[]> {
  return reader
    .selectFrom("requests")
    .select(["project", "provider", "model", "cost_source", billing.as("billing")])
    .select((eb) => eb.fn.max<number>("requested_at").as("last_at"))
    .select(sql<string | null>`NULL`.as("key"))
    .select(sums)
    .where("requested_at", ">=", from)
    .where("requested_at", "<", to)
    .groupBy(["project", "provider", "model", "cost_source", "billing"])
    .execute();
}

function addSlice(read: Sums, date: CalendarDate, slice: SliceRow): void {
  const { project, provider, model } = slice;
  const added = toReportRow(slice);
  read.total = addRows(read.total, added);
  addTo(read.days, date, added, () => emptyReportRow(date));
  addTo(read.models, JSON.stringify([provider, model]), added, () => ({
    ...emptyReportRow(model),
    provider,
  }));
  const row = addTo(read.projects, project, added, () => ({
    ...emptyReportRow(project),
    lastRequestedAt: 0,
  }));
  row.lastRequestedAt = Math.max(row.lastRequestedAt, slice.last_at);
}

/** Adds sums to the row of a group, which is created if there is none. Returns the row. */
function addTo<Row extends ReportRow>(
  rows: Map<string, Row>,
  group: string,
  added: ReportRow,
  createRow: () => Row,
): Row {
  const row = rows.get(group) ?? createRow();
  const sum = { ...row, ...addRows(row, added) };
  rows.set(group, sum);
  return sum;
}
