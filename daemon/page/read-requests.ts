import { printRequestQuery } from "../../core/pricing/view/request-query.ts";
import { DEFAULT_USAGE_QUERY } from "../../core/pricing/view/usage-query.ts";
import { addQueries } from "../../core/values/text/query-string.ts";
import type { CoverageFigure } from "../../pages/coverage-figure.ts";
import { type PartReader, UNREAD_COVERAGE } from "../../pages/page-parts.ts";
import type { PagePeriod } from "../../pages/page-period.ts";
import { type RequestsAnswer, type RequestsView, requestsSpec } from "../../pages/views/requests.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import { LOCAL_DIMENSIONS, readCoverage, readUsageAnswer } from "../api/read-usage.ts";
import { nextListCursor, parseListCursor } from "../store/list-cursor.ts";
import type { RequestListQuery } from "../store/port/records.ts";
import type { ReportRow } from "../store/port/reports.ts";
import { readLocalPeriod } from "./page-period.ts";

/** The list of a machine's requests. */
export const LOCAL_REQUESTS = requestsSpec("/requests", LOCAL_DIMENSIONS);

/** The rows of one page. */
const PAGE_ROWS = 50;

/** The columns that have a menu of their values. Whole days have sums by each of them. */
const MENUS = ["project", "model", "provider", "client"] as const;

/** The filters whose requests the rollups count. */
const COUNTED: readonly string[] = [
  ...["project", "branch", "model", "provider", "client", "status", "http_status", "error", "billing"],
  ...["cost", "tokens", "source"],
];

/** The most values of a filter that a menu has. */
const MAX_CHOICES = 100;

/** Returns the query of a list of requests, with the view's filters, order and period. */
export function requestListQuery(
  { query, values }: RequestsView,
  { from, to }: PagePeriod,
  limit = PAGE_ROWS,
): RequestListQuery {
  const cursor = parseListCursor(values.cursor ?? "", query.sort);
  return { ...query, ...(cursor ?? { beforeSeq: null }), from, to, limit };
}

/** Returns the parameters of the API that select a period. */
export const periodParameters = ({ from, to }: Pick<PagePeriod, "from" | "to">): string =>
  `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;

/** Returns the address of the API that lists the requests of a view. */
export function requestsApiPath({ query }: RequestsView, period: PagePeriod): string {
  return addQueries("/v1/requests", periodParameters(period), printRequestQuery(query));
}

/** Reads one page of requests. */
export async function readRequests(
  ports: ApiPorts,
  view: RequestsView,
  signal: AbortSignal,
  parts: PartReader,
): Promise<RequestsAnswer> {
  const { store, turn, clock } = ports;
  const period = readLocalPeriod(view, clock.now());
  const page = await store.records.list(requestListQuery(view, period), turn, signal);
  return {
    requests: page.requests,
    nextCursor: nextListCursor(page),
    periodWords: period.words,
    coverage: await parts.read<CoverageFigure>(
      "coverage",
      () => readCoverage(ports, period),
      UNREAD_COVERAGE,
    ),
    choices: await parts.read("menus of filters", () => readMenus(store, period), {}),
    total: await parts.read<number | null>(
      "number of requests",
      () => countRequests(ports, view, period),
      null,
    ),
    failed: parts.failed,
  };
}

/** Reads the values that the filters with a menu have in a period. */
export async function readMenus(
  { reports }: Pick<ApiPorts["store"], "reports">,
  { from, to }: PagePeriod,
): Promise<RequestsAnswer["choices"]> {
  const lists = await reports.readEach([...MENUS], { from, to });
  return Object.fromEntries(MENUS.map((name, at) => [name, listChoices(lists[at] ?? [])]));
}

const listChoices = (rows: readonly ReportRow[]): readonly string[] =>
  rows
    .flatMap(({ key }) => (key === null || key === "" ? [] : [key]))
    .slice(0, MAX_CHOICES)
    .sort();

/** Counts the requests of a view from the rollups; null for what they do not count. */
async function countRequests(
  ports: ApiPorts,
  { query: { filters, text } }: RequestsView,
  { from, to }: PagePeriod,
): Promise<number | null> {
  if (text !== null || !filters.every(({ dimension }) => COUNTED.includes(dimension))) return null;
  const period = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  const sums = { ...DEFAULT_USAGE_QUERY, period, compare: "none", bucket: "none", filters } as const;
  const answer = await readUsageAnswer(ports, sums);
  return answer.ok ? answer.value.totals.requests : null;
}
