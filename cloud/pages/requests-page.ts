import { html } from "hono/html";
import { explainRequest, priceWithoutCache } from "../../core/pricing/explain-request.ts";
import { findPublication } from "../../core/pricing/price-fix.ts";
import {
  listSamePrompts,
  SAME_PROMPT_SEARCHED,
  type SamePrompts,
} from "../../core/pricing/savings/same-prompt.ts";
import { printRequestQuery, type RequestQuery } from "../../core/pricing/view/request-query.ts";
import type { UsageQuery } from "../../core/pricing/view/usage-query.ts";
import { PLAN_TABLE } from "../../core/privacy/plans/plan-table.ts";
import { isWithinReach, retentionFloor } from "../../core/privacy/retention/windows.ts";
import { addQueries } from "../../core/values/text/query-string.ts";
import { DAY_MS } from "../../core/values/time.ts";
import { isUuid } from "../../core/values/uuid.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { UsageAnswer, UsageDimension } from "../../core/wire/usage.ts";
import type { CoverageFigure } from "../../pages/coverage-figure.ts";
import { renderUsd } from "../../pages/figures.ts";
import { renderPeriods } from "../../pages/filters.ts";
import { renderName } from "../../pages/names.ts";
import { fileFormatOf } from "../../pages/page-file.ts";
import { renderUnread, UNREAD_COVERAGE } from "../../pages/page-parts.ts";
import { type PagePeriod, readPagePeriod } from "../../pages/page-period.ts";
import { pageHref } from "../../pages/page-place.ts";
import { calculationJson } from "../../pages/request-file.ts";
import { renderState } from "../../pages/states.ts";
import { renderTime } from "../../pages/times.ts";
import { type ViewSpec, viewHref, viewParameters } from "../../pages/view.ts";
import { type Fact, renderNoRequest, renderRequest, requestHeading } from "../../pages/views/request.ts";
import {
  type RequestsAnswer,
  type RequestsView,
  readRequestsView,
  renderRequests,
  requestsSpec,
} from "../../pages/views/requests.ts";
import type { RequestSender } from "../../pages/views/shown-request.ts";
import { createPaging } from "../routes/reads/paging.ts";
import { readNames } from "../routes/reads/read-names.ts";
import { reachOf } from "../routes/reads/read-period.ts";
import { readPeriodCoverage } from "../routes/reads/read-usage.ts";
import { toTrace, toTraceSummary } from "../routes/reads/to-trace.ts";
import { findSamePrompt } from "../store/reads/newest-calls.ts";
import {
  findTrace,
  isListId,
  listTraces,
  MAX_SORTED_PERIOD_MS,
  type TraceRow,
} from "../store/reads/traces.ts";
import { renderAuditTabs } from "./audit-parts.ts";
import { createPeriodReader, NO_MENUS, readFilterMenus, type UsageRead } from "./filter-menus.ts";
import { tracesCsv } from "./list-csv.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { readNamesPart, sendFile, toolsOf } from "./page-tools.ts";
import { type BodyPanel, readBodyPanel, showBodyPanel } from "./request-body.ts";
import { toShownRequest } from "./shown-request.ts";
import { CLOUD_DIMENSIONS } from "./usage-pages.ts";

const PATH = "/requests";

/** The rows of one page. */
const PAGE_ROWS = 50;

/** The most requests in one file. */
const MAX_FILE_ROWS = 10_000;

/** The filters that have a menu of their values. The rollups have them. */
const MENUS = ["project", "model", "provider", "person", "machine"] as const satisfies UsageDimension[];

/** Which requests a list has: those of the API's traces, or those as far back as the audit log. */
interface RequestList {
  readonly endpoint: "traces" | "audit_requests";
  readonly spec: ViewSpec;
  /** The path of the API that lists the same. */
  readonly apiPath: string;
  /** Where the retention of the list ends, in words. */
  readonly cut: string;
}

const TRACES: RequestList = {
  endpoint: "traces",
  spec: requestsSpec(PATH, CLOUD_DIMENSIONS),
  apiPath: "/traces",
  cut: "Earlier requests are not listed: the plan and the retention of this workspace end before them.",
};

const AUDIT_REQUESTS: RequestList = {
  endpoint: "audit_requests",
  spec: requestsSpec("/audit/requests", CLOUD_DIMENSIONS),
  apiPath: "/audit/requests",
  cut: "Earlier requests are not listed: the retention of the audit log ends before them.",
};

/** `GET /w/{ws}/requests`: the requests of a period, the latest first. Its beginning is cut as that of a list of traces is refused. */
export const showRequests = (call: PageCall): Promise<PageAnswer> => showList(call, TRACES);

/** `GET /w/{ws}/audit/requests`: the same list, as far back as the audit log. */
export async function showAuditRequests(call: PageCall): Promise<PageAnswer> {
  const page = await showList(call, AUDIT_REQUESTS);
  if (page instanceof Response) return page;
  const tabs = renderAuditTabs(call, AUDIT_REQUESTS.spec.path);
  return { ...page, heading: "Audit", path: "/audit", main: html`${tabs}${page.main}` };
}

async function showList(call: PageCall, list: RequestList): Promise<PageAnswer> {
  const { place, workspace } = call;
  const view = readRequestsView(list.spec, call.parameters, place.base);
  const asked = readPagePeriod(view, place, retentionFloor(list.endpoint, reachOf(workspace, place.now)));
  const isTooLong = view.query.sort !== "time" && asked.to - asked.from > MAX_SORTED_PERIOD_MS;
  const period = isTooLong ? lastDays(asked) : asked;
  const format = fileFormatOf(call.parameters);
  if (format !== null) return await sendList(call, view, period, format);
  const read = await readRequests(call, list, view, period);
  if (read instanceof Response) return read;
  const caveats = [...(isTooLong ? [TOO_LONG] : []), ...(asked.isCut ? [list.cut] : [])];
  const times = `from=${formatInstant(period.from)}&to=${formatInstant(period.to)}`;
  const file = (as: string) =>
    `${pageHref(place.base, list.spec.path)}?${new URLSearchParams([...viewParameters(view), ["format", as]])}`;
  return {
    heading: "Requests",
    path: PATH,
    address: viewHref(view, { values: {} }),
    controls: renderPeriods(view, place),
    main: renderRequests({ ...read, ...(caveats.length > 0 && { caveat: caveats.join(" ") }) }, view, place),
    tools: toolsOf(call, addQueries(list.apiPath, times, printRequestQuery(view.query)), {
      csv: file("csv"),
      json: file("json"),
    }),
  };
}

const TOO_LONG = `Only the last ${MAX_SORTED_PERIOD_MS / DAY_MS} days of the period are listed, because every request must be read to sort by anything but time.`;

/** Returns the part of a period that can be sorted, which is that of the API. */
function lastDays(period: PagePeriod): PagePeriod {
  const from = period.to - MAX_SORTED_PERIOD_MS;
  return { ...period, from, words: `${period.words}, from ${formatInstant(from).slice(0, 10)}` };
}

/** Answers with the requests of a view as a file. */
async function sendList(
  call: PageCall,
  view: RequestsView,
  { from, to }: PagePeriod,
  format: "csv" | "json",
): Promise<Response> {
  const { env, workspace, context } = call;
  const { parts } = env;
  const bounds = { from, to, after: null, limit: MAX_FILE_ROWS, query: view.query };
  const page = await listTraces(parts.db, workspace.workspaceId, bounds);
  const names = await readNames(
    parts.accounts,
    page.rows.map(({ user_id }) => user_id),
  );
  const items = page.rows.map((row) => toTraceSummary(row, names));
  context.header("content-disposition", `attachment; filename="requests.${format}"`);
  if (format === "json") return context.json({ items, has_more: page.next !== null });
  return context.body(tracesCsv(items), 200, { "content-type": "text/csv; charset=utf-8; header=present" });
}

async function readRequests(
  call: PageCall,
  list: RequestList,
  view: RequestsView,
  period: PagePeriod,
): Promise<RequestsAnswer | Response> {
  const { parts } = call.env;
  const { workspace, place, reader } = call;
  const { workspaceId } = workspace;
  const { query } = view;
  const binding = {
    workspaceId,
    query: { endpoint: `${list.endpoint}_page`, query: printRequestQuery(query) },
  };
  const paging = createPaging(binding, (id) => isListId(id, query.sort), parts.sha256);
  const after = paging.read(view.values.cursor || null);
  if (!after.ok) return after.refusal;
  const { from, to } = period;
  const [page, total, menus, coverage] = await Promise.all([
    listTraces(parts.db, workspaceId, { from, to, after: after.value, limit: PAGE_ROWS, query }),
    // Totals go back as far as the retention of data, which can end before that of the audit log.
    from < retentionFloor("overview", reachOf(workspace, place.now)) || query.text !== null
      ? null
      : reader.read("number of requests", () => countRequests(query, createPeriodReader(call, period)), null),
    reader.read("menus of filters", () => readFilterMenus(call, period, MENUS), NO_MENUS),
    reader.read<CoverageFigure>(
      "coverage",
      () => readPeriodCoverage(parts, workspaceId, period),
      UNREAD_COVERAGE,
    ),
  ]);
  return {
    requests: page.rows.map(toShownRequest),
    nextCursor: paging.next(page),
    periodWords: period.words,
    coverage,
    ...menus,
    total,
    senders: await readSenders(call, page.rows),
    failed: reader.failed,
  };
}

/** The filters whose requests are counted in the totals of the other filters. */
const COUNTED: Readonly<Record<string, (totals: UsageAnswer["totals"]) => number>> = {
  "status=failed": (totals) => totals.failed_requests,
  "status=blocked": (totals) => totals.blocked_requests ?? 0,
  "status=ok": (totals) => totals.requests - totals.failed_requests - (totals.blocked_requests ?? 0),
  "cost=unpriced": (totals) => totals.unpriced_requests,
  "tokens=incomplete": (totals) => totals.incomplete_requests,
};

/** Counts the requests of a view; null if no sums can be read of the period. */
async function countRequests(
  { filters }: RequestQuery,
  ask: (change: Partial<UsageQuery>) => Promise<UsageRead>,
): Promise<number | null> {
  const counted = filters.flatMap((filter) => {
    const { dimension, not, values } = filter;
    const count = not || values.length > 1 ? undefined : COUNTED[`${dimension}=${values[0]}`];
    return count === undefined ? [] : [{ filter, count }];
  });
  // The totals have no count for two of these filters together.
  const [own] = counted.length === 1 ? counted : [];
  const answer = await ask({ by: null, filters: filters.filter((filter) => filter !== own?.filter) });
  if (!answer.ok) return null;
  return own === undefined ? answer.value.totals.requests : own.count(answer.value.totals);
}

/** Reads who sent requests, by their IDs. */
export async function readSenders(
  call: PageCall,
  rows: readonly TraceRow[],
): Promise<ReadonlyMap<string, RequestSender>> {
  const names = await readNamesPart(
    call,
    rows.map(({ user_id }) => user_id),
  );
  return new Map(
    rows.map(({ request_id, user_id, hostname }) => [
      request_id,
      { person: names.get(user_id) ?? user_id, machine: hostname },
    ]),
  );
}

/** `GET /w/{ws}/requests/{id}`: one request, its tokens, and its cost to the last digit. */
export const showRequest = (call: PageCall): Promise<PageAnswer> => renderOne(call, null);

/** `POST /w/{ws}/requests/{id}`: the same page with the stored prompt and answer. */
export const readRequestBody = (call: PageCall, form: URLSearchParams): Promise<PageAnswer> =>
  renderOne(call, form);

async function renderOne(call: PageCall, form: URLSearchParams | null): Promise<PageAnswer> {
  const { env, context, workspace, place } = call;
  const { parts } = env;
  const id = context.req.param("id") ?? "";
  const row = isUuid(id) ? await findTrace(parts.db, workspace.workspaceId, id) : null;
  const back = { path: PATH, name: "Requests" };
  const reach = reachOf(workspace, place.now);
  if (row === null || !isWithinReach(row.requested_at, "traces", reach)) {
    // Only the audit log lists requests that are older than single requests are shown.
    const isListed = row !== null && isWithinReach(row.requested_at, "audit_requests", reach);
    const main =
      isListed && PLAN_TABLE[workspace.plan].auditSurface ? renderTooOld() : renderNoRequest(place);
    return { heading: "Not found", path: PATH, back, main, status: 404 };
  }
  const request = toShownRequest(row);
  const { book } = await parts.rates.current();
  const explanation = explainRequest(request, book);
  if (form === null && fileFormatOf(call.parameters) === "json")
    return await sendRequest(call, row, calculationJson(explanation));
  const hasRate = explanation.priced.unpricedReason === null || explanation.priced.row !== null;
  const answer = {
    explanation,
    withoutCachePicoUsd: priceWithoutCache(request, book),
    advice: hasRate ? null : adviceFor(request, place.now),
    update: null,
    origin: null,
    samePrompts: await call.reader.read<SamePrompts | null>(
      "requests with the same prompt",
      () => readSamePrompts(call, row, reach),
      null,
    ),
    facts: await listSenderFacts(call, row, request.costPicoUsd),
    failed: call.reader.failed,
  };
  const body = form === null ? await readPanel(call, row) : await readBodyPanel(call, row, form);
  if (body instanceof Response) return body;
  return {
    heading: requestHeading(request.requestedAt, place),
    path: PATH,
    back,
    main: html`${renderRequest(answer, place)}${body.panel}`,
    tools: toolsOf(call, `/traces/${row.request_id}`, {
      json: `${pageHref(place.base, PATH)}/${row.request_id}?format=json`,
    }),
    status: body.status,
  };
}

/** Reads how a visitor may read the stored prompt and answer. */
const readPanel = (call: PageCall, row: TraceRow): Promise<BodyPanel> =>
  call.reader.read<BodyPanel>("stored prompt and answer", () => showBodyPanel(call, row), {
    panel: renderUnread("stored prompt and answer"),
    status: 200,
  });

/** Answers with a request as in the API and the calculation of its cost, as a file. The stored prompt is not part of it. */
async function sendRequest(
  call: PageCall,
  row: TraceRow,
  calculation: ReturnType<typeof calculationJson>,
): Promise<Response> {
  const request = toTrace(row, await readNames(call.env.parts.accounts, [row.user_id]));
  const text = JSON.stringify({ request, ...calculation });
  return sendFile(call, { name: `request-${row.request_id}.json`, type: "application/json", text });
}

/** Reads the calls around a request that had the same prompt and can be shown. Null if its prompt is not known. */
async function readSamePrompts(
  { env: { parts }, workspace: { workspaceId } }: PageCall,
  row: Pick<TraceRow, "request_id" | "requested_at" | "prompt_hash">,
  reach: ReturnType<typeof reachOf>,
): Promise<SamePrompts | null> {
  const { request_id: requestId, requested_at: requestedAt, prompt_hash: promptHash } = row;
  if (promptHash === null) return null;
  const found = await findSamePrompt(
    parts.db,
    workspaceId,
    { requestedAt, promptHash },
    SAME_PROMPT_SEARCHED,
  );
  return listSamePrompts(
    { requestId, requestedAt },
    found.filter((each) => isWithinReach(each.requestedAt, "traces", reach)),
  );
}

const renderTooOld = () =>
  renderState(
    "This request is older than single requests are shown",
    "The plan and the retention of this workspace end before it. The audit log lists its metadata.",
  );

function adviceFor(model: { readonly provider: string; readonly model: string }, now: number) {
  const { text, json, command } = findPublication([model], now);
  return { text, lines: [...json, "", command] };
}

/** Lists who sent a request and when it arrived, and the machine's cost if it is not the cloud's. */
async function listSenderFacts(
  call: PageCall,
  row: TraceRow,
  costPicoUsd: bigint | null,
): Promise<readonly Fact[]> {
  const sender = (await readSenders(call, [row])).get(row.request_id);
  const reported = row.reported_cost_pico_usd === null ? null : BigInt(row.reported_cost_pico_usd);
  return [
    ["Person", renderName(sender?.person)],
    ["Machine", renderName(sender?.machine)],
    ["Received", renderTime(row.received_at, call.place, true)],
    ...(reported === null || reported === costPicoUsd
      ? []
      : [["Cost by the machine", renderUsd(reported)] as const]),
  ];
}
