import type { Context } from "hono";
import { isWithinReach } from "../../../core/retention/mod.ts";
import { parseWire, type Traces, tracesQuerySchema } from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { orRefusal } from "../../read-payload.ts";
import { findTrace, listTraces } from "../../store/reads/traces.ts";
import { isUuid } from "../../uuid.ts";
import { createPaging } from "./paging.ts";
import { namesOfPeople } from "./people-names.ts";
import { reachOf, readPeriodOf } from "./read-period.ts";
import { toTrace, toTraceSummary } from "./to-trace.ts";

/**
 * `GET /v1/workspaces/{ws}/traces`, and `…/audit/requests`, the same list under other bounds: the former answers 400 below
 * the plan's window, the latter reaches as far back as the audit log and clamps.
 */
export async function getTraces(
  parts: CloudParts,
  endpoint: "traces" | "audit_requests",
  context: Context<CloudEnv>,
): Promise<Response> {
  const workspace = context.get("workspace");
  const { workspaceId } = workspace;
  const query = orRefusal(parseWire(tracesQuerySchema, context.req.query()));
  if (!query.ok) return query.refusal;
  const { cursor, limit, ...asked } = query.value;
  const period = readPeriodOf(endpoint, asked, workspace, parts.clock.now());
  if (!period.ok) return period.refusal;
  const paging = createPaging({ workspaceId, query: { endpoint, ...asked } }, isUuid, parts.sha256);
  const after = paging.read(cursor);
  if (!after.ok) return after.refusal;
  const page = await listTraces(parts.db, workspaceId, {
    from: period.value.from,
    to: period.value.to,
    after: after.value,
    limit,
    filter: asked,
  });
  const names = await namesOfPeople(
    parts.accounts,
    page.rows.map(({ user_id }) => user_id),
  );
  const answer: Traces = {
    ...period.value.stated,
    items: page.rows.map((row) => toTraceSummary(row, names)),
    next_cursor: paging.next(page),
  };
  return context.json(answer);
}

/** `GET /v1/workspaces/{ws}/traces/{request_id}`: 404 below the floor, as for what was never there. */
export async function getTrace(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const workspace = context.get("workspace");
  const requestId = context.req.param("request_id") ?? "";
  const row = isUuid(requestId) ? await findTrace(parts.db, workspace.workspaceId, requestId) : null;
  const reach = reachOf(workspace, parts.clock.now());
  if (row === null || !isWithinReach(row.requested_at, "traces", reach)) return problem("request_unknown");
  return context.json(toTrace(row, await namesOfPeople(parts.accounts, [row.user_id])));
}
