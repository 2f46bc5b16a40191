import { html } from "hono/html";
import { explainRequest } from "../../core/pricing/explain-request.ts";
import { findPublication } from "../../core/pricing/price-fix.ts";
import type { UsageFilter, UsageQuery } from "../../core/pricing/view/usage-query.ts";
import { PLAN_TABLE } from "../../core/privacy/plans/plan-table.ts";
import { isWithinReach, retentionFloor } from "../../core/privacy/retention/windows.ts";
import { isUuid } from "../../core/values/uuid.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { TracesQuery } from "../../core/wire/queries.ts";
import type { UsageDimension } from "../../core/wire/usage.ts";
import { renderUsd } from "../../pages/figures.ts";
import { renderPeriods } from "../../pages/filters.ts";
import { renderName } from "../../pages/names.ts";
import { type PagePeriod, readPagePeriod } from "../../pages/page-period.ts";
import { renderState } from "../../pages/states.ts";
import { renderTime } from "../../pages/times.ts";
import { filterValue, readView, type View, type ViewSpec } from "../../pages/view.ts";
import { type Fact, renderNoRequest, renderRequest } from "../../pages/views/request.ts";
import {
  type RequestsAnswer,
  renderRequests,
  toRequestParameters,
  WORKSPACE_REQUESTS_VIEW,
} from "../../pages/views/requests.ts";
import type { RequestSender } from "../../pages/views/shown-request.ts";
import { createPaging } from "../routes/reads/paging.ts";
import { readNames } from "../routes/reads/read-names.ts";
import { reachOf } from "../routes/reads/read-period.ts";
import { findTrace, listTraces, type TraceFilter, type TraceRow } from "../store/reads/traces.ts";
import { renderAuditTabs } from "./audit-parts.ts";
import { askOfPeriod, readFilterMenus, type UsageRead } from "./filter-menus.ts";
import { toolsOf } from "./page-tools.ts";
import { readBodyPanel, showBodyPanel } from "./request-body.ts";
import { toShownRequest } from "./shown-request.ts";
import type { PageAnswer, PageCall } from "./workspace-page.ts";

const PATH = "/requests";

/** The rows of one page. */
const PAGE_ROWS = 50;

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
  spec: WORKSPACE_REQUESTS_VIEW,
  apiPath: "/traces",
  cut: "Earlier requests are not listed: the plan and the retention of this workspace end before them.",
};

const AUDIT_REQUESTS: RequestList = {
  endpoint: "audit_requests",
  spec: { ...WORKSPACE_REQUESTS_VIEW, path: "/audit/requests" },
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
  const view = readView(list.spec, toRequestParameters(call.parameters), place.base);
  const period = readPagePeriod(view, place, retentionFloor(list.endpoint, reachOf(workspace, place.now)));
  const filter = filterOf(view);
  const read = await readRequests(call, list, view, period, filter);
  if (read instanceof Response) return read;
  const query = new URLSearchParams({ from: formatInstant(period.from), to: formatInstant(period.to) });
  for (const [name, value] of Object.entries(filter)) if (value !== null) query.set(name, value);
  return {
    heading: "Requests",
    path: PATH,
    controls: renderPeriods(view),
    main: renderRequests(read, view, place),
    tools: toolsOf(call, `${list.apiPath}?${query}`, {}),
  };
}

/** Returns the filters of a view as those of the API. */
function filterOf(view: View): TraceFilter {
  const text = (name: string) => filterValue(view, name) ?? null;
  const machine = text("machine");
  return {
    project: text("project"),
    model: text("model"),
    provider: text("provider"),
    session: text("session"),
    user: text("person"),
    // No machine has an ID of another form, and Postgres refuses one.
    machine: machine === null || isUuid(machine) ? machine : NO_ID,
    status: (/^[1-9]\d\d$/.test(view.values.http ?? "") ? view.values.http : view.values.status) || null,
    billing: (view.values.billing || null) as TracesQuery["billing"],
  };
}

const NO_ID = "00000000-0000-0000-0000-000000000000";

async function readRequests(
  call: PageCall,
  list: RequestList,
  view: View,
  period: PagePeriod,
  filter: TraceFilter,
): Promise<RequestsAnswer | Response> {
  const { parts } = call.env;
  const { workspace, place } = call;
  const { workspaceId } = workspace;
  const binding = { workspaceId, query: { endpoint: `${list.endpoint}_page`, ...filter } };
  const paging = createPaging(binding, isUuid, parts.sha256);
  const after = paging.read(view.values.cursor || null);
  if (!after.ok) return after.refusal;
  const { from, to } = period;
  const [page, total, menus] = await Promise.all([
    listTraces(parts.db, workspaceId, { from, to, after: after.value, limit: PAGE_ROWS, filter }),
    // Totals go back as far as the retention of data, which can end before that of the audit log.
    from < retentionFloor("overview", reachOf(workspace, place.now))
      ? null
      : countRequests(filter, askOfPeriod(call, period)),
    readFilterMenus(call, period, MENUS),
  ]);
  return {
    requests: page.rows.map(toShownRequest),
    nextCursor: paging.next(page),
    periodWords: period.words,
    ...menus,
    total,
    senders: await readSenders(parts, page.rows),
    ...(period.isCut && { caveat: list.cut }),
  };
}

/** Counts the requests of a view. The rollups have the counts of all statuses; null if no sums can be read of the period. */
async function countRequests(
  { status, billing, user, ...others }: TraceFilter,
  ask: (change: Partial<UsageQuery>) => Promise<UsageRead>,
): Promise<number | null> {
  const isHttp = status !== null && /^\d/.test(status);
  const texts = { ...others, person: user, billing, http_status: isHttp ? status : null };
  const filters = Object.entries(texts).flatMap(([dimension, value]): UsageFilter[] =>
    value === null ? [] : [{ dimension: dimension as UsageDimension, not: false, values: [value] }],
  );
  const answer = await ask({ by: null, filters });
  if (!answer.ok) return null;
  const { requests, failed_requests, unpriced_requests, incomplete_requests } = answer.value.totals;
  if (status === "failed") return failed_requests;
  if (status === "ok") return requests - failed_requests;
  if (status === "unpriced") return unpriced_requests;
  return status === "incomplete" ? incomplete_requests : requests;
}

async function readSenders(
  { accounts }: PageCall["env"]["parts"],
  rows: readonly TraceRow[],
): Promise<ReadonlyMap<string, RequestSender>> {
  const names = await readNames(
    accounts,
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
  const hasRate = explanation.priced.unpricedReason === null || explanation.priced.row !== null;
  const answer = {
    explanation,
    advice: hasRate ? null : adviceFor(request, place.now),
    update: null,
    origin: null,
    facts: await listSenderFacts(call, row, request.costPicoUsd),
  };
  const body = form === null ? await showBodyPanel(call, row) : await readBodyPanel(call, row, form);
  if (body instanceof Response) return body;
  return {
    heading: "One request",
    path: PATH,
    back,
    main: html`${renderRequest(answer, place)}${body.panel}`,
    tools: toolsOf(call, `/traces/${row.request_id}`, {}),
    status: body.status,
  };
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
  { env, place }: PageCall,
  row: TraceRow,
  costPicoUsd: bigint | null,
): Promise<readonly Fact[]> {
  const sender = (await readSenders(env.parts, [row])).get(row.request_id);
  const reported = row.reported_cost_pico_usd === null ? null : BigInt(row.reported_cost_pico_usd);
  return [
    ["Person", renderName(sender?.person)],
    ["Machine", renderName(sender?.machine)],
    ["Received", renderTime(row.received_at, place, true)],
    ...(reported === null || reported === costPicoUsd
      ? []
      : [["Cost by the machine", renderUsd(reported)] as const]),
  ];
}
