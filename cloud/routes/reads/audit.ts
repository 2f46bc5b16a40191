import type { Context } from "hono";
import {
  type AuditEvents,
  auditEventsQuerySchema,
  formatInstant,
  type PromptViews,
  parseWire,
  promptViewsQuerySchema,
} from "../../../core/wire/mod.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { orRefusal } from "../../read-payload.ts";
import { listAuditEvents, listPromptViews } from "../../store/reads/audit.ts";
import { isUuid } from "../../uuid.ts";
import { createPaging } from "./paging.ts";
import { readPeriodOf } from "./read-period.ts";

/** `GET /v1/workspaces/{ws}/audit/prompt-views`: the ledger, clamped by `audit_log_retention_days`. */
export async function getPromptViews(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const workspace = context.get("workspace");
  const { workspaceId } = workspace;
  const query = orRefusal(parseWire(promptViewsQuerySchema, context.req.query()));
  if (!query.ok) return query.refusal;
  const { cursor, limit, ...asked } = query.value;
  const period = readPeriodOf("prompt_views", asked, workspace, parts.clock.now());
  if (!period.ok) return period.refusal;
  const binding = { workspaceId, query: { endpoint: "prompt_views", ...asked } };
  const paging = createPaging(binding, (id) => /^\d{1,15}$/.test(id), parts.sha256);
  const after = paging.read(cursor);
  if (!after.ok) return after.refusal;
  const { from, to, stated } = period.value;
  const page = await listPromptViews(parts.db, workspaceId, {
    from,
    to,
    after: after.value,
    limit,
    viewer: asked.viewer,
    subject: asked.subject,
  });
  const answer: PromptViews = {
    clamped_from: stated.clamped_from,
    items: [...page.rows],
    next_cursor: paging.next(page),
  };
  return context.json(answer);
}

/** `GET /v1/workspaces/{ws}/audit/events`: what was changed by whom, clamped likewise. */
export async function getAuditEvents(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const workspace = context.get("workspace");
  const { workspaceId } = workspace;
  const query = orRefusal(parseWire(auditEventsQuerySchema, context.req.query()));
  if (!query.ok) return query.refusal;
  const { cursor, limit, ...asked } = query.value;
  const period = readPeriodOf("audit_events", asked, workspace, parts.clock.now());
  if (!period.ok) return period.refusal;
  const binding = { workspaceId, query: { endpoint: "audit_events", ...asked } };
  const paging = createPaging(binding, isUuid, parts.sha256);
  const after = paging.read(cursor);
  if (!after.ok) return after.refusal;
  const { from, to, stated } = period.value;
  const page = await listAuditEvents(parts.db, workspaceId, { from, to, after: after.value, limit });
  const answer: AuditEvents = {
    clamped_from: stated.clamped_from,
    items: page.rows.map((row) => ({
      event_id: row.event_id,
      at: formatInstant(row.at),
      kind: row.kind,
      actor_user_id: row.actor_user_id,
      details: row.details,
      retain_until: formatInstant(row.retain_until),
    })),
    next_cursor: paging.next(page),
  };
  return context.json(answer);
}
