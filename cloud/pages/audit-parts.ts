import { html } from "hono/html";
import {
  clampWindow,
  defaultFrom,
  type ReadEndpoint,
  retentionFloor,
} from "../../core/privacy/retention/windows.ts";
import type { Millis } from "../../core/values/time.ts";
import { addDays, findZone } from "../../core/values/zone.ts";
import type { CursorPosition } from "../../core/wire/cursor.ts";
import { parseCalendarDate } from "../../core/wire/instant.ts";
import type { Html } from "../../pages/html.ts";
import { formatDate } from "../../pages/times.ts";
import { type View, type ViewSpec, viewHref } from "../../pages/view.ts";
import { checkStanding } from "../access/authorise.ts";
import type { ApiRoute } from "../api/api-routes.ts";
import { reachOf } from "../routes/reads/read-period.ts";
import type { Page } from "../store/reads/page.ts";
import type { PageCall } from "./page-call.ts";
import { PLAN_NAMES } from "./plan-names.ts";

type Access = NonNullable<ApiRoute["workspace"]>;

/** The pages below Audit, each with the role and the plan that its route of the API requires. */
export const AUDIT_ACCESS = {
  "/audit": { feature: "auditSurface" },
  "/audit/events": { role: "admin", feature: "auditSurface" },
  "/audit/prompt-views": { role: "admin", feature: "readPromptViews" },
  "/audit/requests": { feature: "auditSurface" },
  "/audit/verification": { role: "admin", feature: "auditSurface" },
} as const satisfies Readonly<Record<string, Access>>;

const TABS = [
  ["/audit/events", "Changes"],
  ["/audit/prompt-views", "Prompt views"],
  ["/audit/requests", "Requests"],
  ["/audit/verification", "Verification"],
] as const satisfies readonly (readonly [keyof typeof AUDIT_ACCESS, string])[];

/** Renders links to the pages below Audit that the visitor can open. */
export const renderAuditTabs = ({ workspace, place }: PageCall, current: string): Html =>
  html`<nav aria-label="Audit"><ul class="switch">${TABS.map(([path, name]) =>
    checkStanding(workspace, AUDIT_ACCESS[path]) === null
      ? html`<li><a href="${place.base}${path}"${path === current ? html` aria-current="true"` : ""}>${name}</a></li>`
      : "",
  )}</ul></nav>`;

/** Returns the view of a list of the audit log: dates in the zone of the workspace, a cursor, and other filters. */
export const auditView = (path: string, filters: readonly string[] = []): ViewSpec => ({
  path,
  keys: { from: [], to: [], cursor: [] },
  filters,
});

/** A period of the audit log. */
export interface AuditPeriod {
  readonly from: Millis;
  readonly to: Millis;
  /** Its first and its last day. */
  readonly dates: readonly [first: string, last: string];
  /** What the workspace's retention cuts, as a sentence; null if nothing. */
  readonly caveat: string | null;
}

/**
 * Reads the period of a view: both dates are included, in the zone of the workspace. A missing or invalid date has the API's
 * default. The retention clamps the beginning, as in the API.
 */
export function readAuditPeriod(
  { place, workspace }: Pick<PageCall, "place" | "workspace">,
  { values }: Pick<View, "values">,
  endpoint: ReadEndpoint,
): AuditPeriod {
  const reach = reachOf(workspace, place.now);
  const zone = findZone(place.zone);
  const startOf = (date = "", days = 0): Millis | null => {
    const isUsable = /^(?:19|[2-8]\d)/.test(date) && parseCalendarDate(date) !== null;
    return isUsable && zone !== null ? zone.startOf(addDays(date, days)) : null;
  };
  const to = startOf(values.to, 1) ?? place.now + 1;
  const asked = startOf(values.from) ?? defaultFrom(endpoint, to, reach);
  const window = clampWindow(endpoint, { from: Math.min(asked, to), to }, reach);
  const { from, to: end } = window.ok ? window : { from: retentionFloor(endpoint, reach), to };
  const isCut = window.ok && window.clampedFrom !== null;
  return {
    from,
    to: Math.max(from, end),
    dates: [formatDate(from, place.zone), formatDate(Math.max(from, end - 1), place.zone)],
    caveat: isCut
      ? `Nothing before ${formatDate(from, place.zone)} is listed: the audit log of this workspace goes back ${workspace.auditLogRetentionDays} days on ${PLAN_NAMES[workspace.plan]}.`
      : null,
  };
}

/** Renders the form of a list's dates, with more fields. */
export function renderAuditForm(
  { place }: Pick<PageCall, "place">,
  { spec, values }: View,
  fields: readonly Html[] = [],
): Html {
  const date = (name: "from" | "to", label: string) =>
    html`<label>${label} <input id="filter-${name}" name="${name}" type="date" value="${values[name]}"></label>`;
  return html`<form class="bar" method="get" action="${place.base}${spec.path}">${date("from", "From")}${date("to", "To")}${fields}<button>Show</button></form>`;
}

/** Returns the address of a view as a file. */
export function auditFileHref(view: View, format: "csv" | "json"): string {
  const href = viewHref(view, { values: { cursor: "" } });
  return `${href}${href.includes("?") ? "&" : "?"}format=${format}`;
}

/** How a list becomes a file. */
export interface AuditFile<Row> {
  readonly name: string;
  readonly format: "csv" | "json";
  /** Reads a page after a position. */
  read(after: CursorPosition | null): Promise<Page<Row>>;
  /** Returns rows as lines of CSV. */
  toCsv(rows: readonly Row[]): Promise<string> | string;
  readonly csvHeader: string;
  /** Returns a row as the API does. */
  toItem(row: Row): unknown;
}

/** Answers with the whole list as a file. Its pages are read while they are sent, so memory stays constant. */
export function sendAuditFile<Row>({ context }: PageCall, file: AuditFile<Row>): Response {
  const pieces = writePieces(file);
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: () => void pieces.return(undefined),
  });
  const { name, format } = file;
  return context.body(stream, 200, {
    "content-type": format === "csv" ? "text/csv; charset=utf-8; header=present" : "application/json",
    "content-disposition": `attachment; filename="${name}.${format}"`,
  });
}

async function* writePieces<Row>(file: AuditFile<Row>): AsyncGenerator<string, undefined> {
  const isCsv = file.format === "csv";
  yield isCsv ? file.csvHeader : '{"items":[';
  let after: CursorPosition | null = null;
  let isFirst = true;
  do {
    const page: Page<Row> = await file.read(after);
    if (isCsv) yield await file.toCsv(page.rows);
    else if (page.rows.length > 0) {
      yield `${isFirst ? "" : ","}${page.rows.map((row) => JSON.stringify(file.toItem(row))).join(",")}`;
      isFirst = false;
    }
    after = page.next;
  } while (after !== null);
  if (!isCsv) yield "]}";
  return undefined;
}
