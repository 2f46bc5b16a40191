import { isUuid } from "../../../core/values/uuid.ts";
import { listAuditEvents, listPromptViews } from "../../store/reads/audit.ts";
import type { ApiHandlers } from "../api-call.ts";
import { createPaging } from "./paging.ts";
import { parsePeriod } from "./read-period.ts";
import { toAuditEvent } from "./to-audit-event.ts";

/** The routes of the ledger and the audit events, clamped by `audit_log_retention_days`. */
export const auditHandlers = {
  "GET /v1/workspaces/:ws/audit/prompt-views": async ({ parts, workspace, query, answer }) => {
    const { workspaceId } = workspace;
    const { cursor, limit, ...asked } = query;
    const period = parsePeriod("prompt_views", asked, workspace, parts.clock.now());
    if (!period.ok) return period.refusal;
    const binding = { workspaceId, query: { endpoint: "prompt_views", ...asked } };
    const paging = createPaging(binding, (id) => /^\d{1,15}$/.test(id), parts.sha256);
    const after = paging.read(cursor);
    if (!after.ok) return after.refusal;
    const { from, to, stated } = period.value;
    const { viewer, subject } = asked;
    const bounds = { from, to, after: after.value, limit, viewer, subject };
    const page = await listPromptViews(parts.db, workspaceId, bounds);
    return answer(200, {
      clamped_from: stated.clamped_from,
      items: [...page.rows],
      next_cursor: paging.next(page),
    });
  },

  "GET /v1/workspaces/:ws/audit/events": async ({ parts, workspace, query, answer }) => {
    const { workspaceId } = workspace;
    const { cursor, limit, ...asked } = query;
    const period = parsePeriod("audit_events", asked, workspace, parts.clock.now());
    if (!period.ok) return period.refusal;
    const binding = { workspaceId, query: { endpoint: "audit_events", ...asked } };
    const paging = createPaging(binding, isUuid, parts.sha256);
    const after = paging.read(cursor);
    if (!after.ok) return after.refusal;
    const { from, to, stated } = period.value;
    const page = await listAuditEvents(parts.db, workspaceId, { from, to, after: after.value, limit });
    return answer(200, {
      clamped_from: stated.clamped_from,
      items: page.rows.map(toAuditEvent),
      next_cursor: paging.next(page),
    });
  },
} satisfies Partial<ApiHandlers>;
