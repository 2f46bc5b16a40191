import type { PagePeriod } from "../../pages/page-period.ts";
import { filterValue, type View } from "../../pages/view.ts";
import type { RequestsAnswer } from "../../pages/views/requests.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import type { RequestListQuery } from "../store/port/records.ts";
import type { ReportColumn, ReportRow } from "../store/port/reports.ts";
import { parseRequestStatus } from "../store/request-status.ts";
import { readLocalPeriod } from "./page-period.ts";

/** The rows of one page. */
const PAGE_ROWS = 50;

/** The columns that have a menu of their values. */
const MENUS = ["project", "model", "client"] as const;

/** The most values of a filter that a menu has. */
const MAX_CHOICES = 100;

/** Returns the query of a list of requests, with the view's filters and period. */
export function requestListQuery(view: View, period: PagePeriod, limit = PAGE_ROWS): RequestListQuery {
  const { cursor = "", billing = "" } = view.values;
  const status = view.values.http || view.values.status || "";
  const filters: Pick<RequestListQuery, "project" | "model" | "provider" | "client"> = {};
  for (const name of ["project", "model", "provider", "client"] as const) {
    const value = filterValue(view, name);
    if (value !== undefined) filters[name] = value;
  }
  const parsed = status === "" ? null : parseRequestStatus(status);
  return {
    ...filters,
    ...(parsed !== null && { status: parsed }),
    ...(billing !== "" && { billing: billing as NonNullable<RequestListQuery["billing"]> }),
    from: period.from,
    to: period.to,
    beforeSeq: /^\d{1,15}$/.test(cursor) ? Number(cursor) : null,
    limit,
  };
}

/** Reads one page of requests. */
export async function readRequests(
  { store, turn, clock }: ApiPorts,
  view: View,
  signal: AbortSignal,
): Promise<RequestsAnswer> {
  const period = readLocalPeriod(view, clock.now());
  const page = await store.records.list(requestListQuery(view, period), turn, signal);
  const { from, to } = period;
  const [total = [], ...lists] = await store.reports.readEach(["total", ...MENUS], { from, to });
  return {
    requests: page.requests,
    nextCursor: page.nextBeforeSeq?.toString() ?? null,
    periodWords: period.words,
    choices: Object.fromEntries(MENUS.map((name, at) => [name, listChoices(lists[at] ?? [])])),
    total: await countRequests(store, view, period, total[0]),
  };
}

/** Reads the values of a column in a period, by name. */
export async function readChoices(
  { reports }: Pick<ApiPorts["store"], "reports">,
  by: ReportColumn,
  { from, to }: PagePeriod,
): Promise<readonly string[]> {
  return listChoices(await reports.read({ by, from, to }));
}

const listChoices = (rows: readonly ReportRow[]): readonly string[] =>
  rows
    .flatMap(({ key }) => (key === null || key === "" ? [] : [key]))
    .slice(0, MAX_CHOICES)
    .sort();

/** Counts the requests of a view from the rollups; null for filters that they do not have. `all` is the sum of the period. */
async function countRequests(
  { reports }: Pick<ApiPorts["store"], "reports">,
  view: View,
  { from, to }: PagePeriod,
  all: ReportRow | undefined,
): Promise<number | null> {
  const { status, billing } = view.values;
  if (filterValue(view, "client") !== undefined || billing !== "" || view.values.http !== "") return null;
  const names = ["project", "model", "provider"] as const;
  const filters = Object.fromEntries(
    names.flatMap((name) => {
      const value = filterValue(view, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const isFiltered = Object.keys(filters).length > 0;
  const [row] = isFiltered ? await reports.read({ by: "total", from, to, ...filters }) : [all];
  if (row === undefined) return 0;
  if (status === "failed") return row.errors;
  if (status === "ok") return row.requests - row.errors;
  if (status === "unpriced") return row.unpriced;
  return status === "incomplete" ? row.incomplete : row.requests;
}
