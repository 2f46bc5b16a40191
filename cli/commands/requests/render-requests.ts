import { isUnpriced } from "../../../core/pricing/unpriced.ts";
import { effectiveBilling } from "../../../core/values/billing.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { formatCount, UNKNOWN } from "../../../core/values/text/format-count.ts";
import { totalInputTokens, totalOutputTokens } from "../../../core/values/token-totals.ts";
import { formatShortCount } from "../../../pages/formats.ts";
import { formatTime } from "../../render/format-time.ts";
import { fixedUsd } from "../../render/report.ts";
import { type Column, MIN_SHRUNK_WIDTH, renderTable, tableFits } from "../../render/table.ts";

/** How a list is printed. */
interface ListFormat {
  /** The width of the output in columns. */
  readonly width: number;
  /** Whether times are in UTC; otherwise they are in local time. */
  readonly utc: boolean;
}

interface ListColumn extends Column {
  readonly of: (request: RequestRecord, index: number) => string;
}

interface Layout {
  readonly columns: readonly ListColumn[];
  /** Whether cells have marks instead of words. */
  readonly isCompact: boolean;
}

/** The shortest name that is still readable, in terminal cells. */
const READABLE_NAME = 14;

/**
 * Renders requests as a table, then the command that explains one, and the line about the next page, if there is one. `ids`
 * are the shortened ids.
 */
export function renderRequests(
  requests: readonly RequestRecord[],
  ids: readonly string[],
  more: string | null,
  format: ListFormat,
): string {
  if (requests.length === 0) return "No requests match.";
  const { columns, rows, isCompact } = chooseTable(requests, ids, format);
  return [
    renderTable(columns, rows, format.width),
    "",
    ...(isCompact ? describeMarks(requests) : []),
    "Explain one: meter explain <id>",
    ...(more === null ? [] : [more]),
  ].join("\n");
}

/** Returns the widest layout that fits. Columns are narrowed before names are truncated, and names before the project is left out. */
function chooseTable(requests: readonly RequestRecord[], ids: readonly string[], format: ListFormat) {
  const tables = layouts(ids, format.utc).map((layout) => ({
    ...layout,
    rows: requests.map((request, index) => layout.columns.map(({ of }) => of(request, index))),
  }));
  const last = tables.pop() as (typeof tables)[number];
  for (const minShrunk of [Number.POSITIVE_INFINITY, READABLE_NAME, MIN_SHRUNK_WIDTH]) {
    const found = tables.find(({ columns, rows }) => tableFits(columns, rows, format.width, minShrunk));
    if (found !== undefined) return found;
  }
  return last;
}

/** Returns the layouts, the widest first. Only the last one has no project. */
function layouts(ids: readonly string[], utc: boolean): Layout[] {
  const align = "right" as const;
  const title = utc ? "time (UTC)" : "time";
  const id: ListColumn = { title: "id", of: (_, index) => ids[index] ?? "" };
  const time: ListColumn = { title, of: ({ requestedAt }) => formatTime(requestedAt, utc) };
  // From the month to the minute. `meter explain` shows the rest.
  const shortTime: ListColumn = { title, of: (request) => time.of(request, 0).slice(5, 16) };
  const project: ListColumn = { title: "project", of: (request) => request.project, shrink: true };
  const model: ListColumn = { title: "model", of: (request) => request.model, shrink: true };
  const words: ListColumn[] = [
    { title: "input", of: ({ tokens }) => formatCount(totalInputTokens(tokens)), align },
    { title: "output", of: ({ tokens }) => formatCount(totalOutputTokens(tokens)), align },
    { title: "cost", of: (request) => formatCost(request, (amount) => `plan ${amount}`), align },
    { title: "result", of: formatResult },
  ];
  const marks: ListColumn[] = [
    { title: "in", of: ({ tokens }) => formatShortCount(totalInputTokens(tokens)), align },
    { title: "out", of: ({ tokens }) => formatShortCount(totalOutputTokens(tokens)), align },
    { title: "cost", of: (request) => formatCost(request, (amount) => `(${amount})`), align },
    { title: "result", of: formatShortResult },
  ];
  return [
    { columns: [id, time, project, model, ...words], isCompact: false },
    { columns: [id, shortTime, project, model, ...words], isCompact: false },
    { columns: [id, shortTime, project, model, ...marks], isCompact: true },
    { columns: [id, shortTime, model, ...marks], isCompact: true },
  ];
}

/** Explains the marks of a compact layout that occur. */
function describeMarks(requests: readonly RequestRecord[]): string[] {
  return [
    ...(requests.some(isMarkedIncomplete) ? ["* The token counts are incomplete."] : []),
    ...(requests.some((each) => effectiveBilling(each) === "plan" && each.costPicoUsd !== null)
      ? ["Costs in parentheses are covered by a plan, at API prices."]
      : []),
  ];
}

function formatCost(request: RequestRecord, formatPlan: (amount: string) => string): string {
  if (isUnpriced(request)) return "unpriced";
  if (request.costPicoUsd === null) return UNKNOWN;
  const amount = fixedUsd(request.costPicoUsd);
  return effectiveBilling(request) === "plan" ? formatPlan(amount) : amount;
}

function formatResult({
  blockedBy,
  httpStatus,
  errorClass,
  tokensComplete,
  recordSource,
}: RequestRecord): string {
  if (blockedBy !== null) return `blocked (${blockedBy})`;
  const note = errorClass ?? (tokensComplete ? null : "incomplete");
  if (httpStatus === null) return note ?? (recordSource === "logs" ? "logs" : "ok");
  return note === null ? String(httpStatus) : `${httpStatus} ${note}`;
}

const isMarkedIncomplete = ({ errorClass, tokensComplete }: RequestRecord) =>
  errorClass === null && !tokensComplete;

/** Formats the result without the class of an error that has a status of its own. */
function formatShortResult(request: RequestRecord): string {
  const { blockedBy, httpStatus, errorClass, recordSource } = request;
  if (blockedBy !== null) return "blocked";
  if (errorClass !== null) return httpStatus !== null && httpStatus >= 400 ? String(httpStatus) : errorClass;
  return `${httpStatus ?? (recordSource === "logs" ? "logs" : "ok")}${isMarkedIncomplete(request) ? "*" : ""}`;
}
