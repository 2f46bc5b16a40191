import { parseRequestQuery, printRequestQuery } from "../../../core/pricing/view/request-query.ts";
import { isWithinReach } from "../../../core/privacy/retention/windows.ts";
import { isUuid } from "../../../core/values/uuid.ts";
import { problem } from "../../http/problem.ts";
import { findTrace, isListId, listTraces, MAX_SORTED_PERIOD_MS } from "../../store/reads/traces.ts";
import type { ApiCall, ApiHandlers } from "../api-call.ts";
import { createPaging } from "./paging.ts";
import { parseFilters } from "./parse-filters.ts";
import { readNames } from "./read-names.ts";
import { parsePeriod, reachOf } from "./read-period.ts";
import { toTrace, toTraceSummary } from "./to-trace.ts";

/** The routes of the metadata of requests. */
export const traceHandlers = {
  /** Answers 400 below the plan's window. */
  "GET /v1/workspaces/:ws/traces": (call) => listPage(call, "traces"),

  /** The same list, as far back as the audit log; clamps. */
  "GET /v1/workspaces/:ws/audit/requests": (call) => listPage(call, "audit_requests"),

  /** Answers the same 404 below the retention floor as for an unknown request. */
  "GET /v1/workspaces/:ws/traces/:request_id": async ({ parts, workspace, params, answer }) => {
    const { request_id: requestId } = params;
    const row = isUuid(requestId) ? await findTrace(parts.db, workspace.workspaceId, requestId) : null;
    const reach = reachOf(workspace, parts.clock.now());
    if (row === null || !isWithinReach(row.requested_at, "traces", reach)) return problem("request_unknown");
    return answer(200, toTrace(row, await readNames(parts.accounts, [row.user_id])));
  },
} satisfies Partial<ApiHandlers>;

async function listPage(
  { parts, workspace, query, context, answer }: ApiCall<"GET /v1/workspaces/:ws/traces">,
  endpoint: "traces" | "audit_requests",
): Promise<Response> {
  const { workspaceId } = workspace;
  const { cursor, limit, from: statedFrom, to: statedTo } = query;
  const period = parsePeriod(endpoint, query, workspace, parts.clock.now());
  if (!period.ok) return period.refusal;
  const asked = parseFilters(parseRequestQuery(new URL(context.req.url).searchParams));
  if (!asked.ok) return asked.refusal;
  const { from, to, stated } = period.value;
  const { sort } = asked.value;
  if (sort !== "time" && to - from > MAX_SORTED_PERIOD_MS) return problem("period_too_long");
  const bound = { endpoint, from: statedFrom, to: statedTo, query: printRequestQuery(asked.value) };
  const paging = createPaging({ workspaceId, query: bound }, (id) => isListId(id, sort), parts.sha256);
  const after = paging.read(cursor);
  if (!after.ok) return after.refusal;
  const page = await listTraces(parts.db, workspaceId, {
    from,
    to,
    after: after.value,
    limit,
    query: asked.value,
  });
  const userIds = page.rows.map(({ user_id }) => user_id);
  const names = await readNames(parts.accounts, userIds);
  return answer(200, {
    ...stated,
    items: page.rows.map((row) => toTraceSummary(row, names)),
    next_cursor: paging.next(page),
  });
}
