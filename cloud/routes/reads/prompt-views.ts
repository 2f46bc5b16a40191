import { truncateUserAgent } from "../../../core/privacy/consent/checkout-consent.ts";
import { checkPlan } from "../../../core/privacy/plans/plan-table.ts";
import { isWithinReach } from "../../../core/privacy/retention/windows.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import { findReachableWorkspace } from "../../access/reachable-workspaces.ts";
import { problem } from "../../http/problem.ts";
import { newId } from "../../new-id.ts";
import { recordViewWithTicket } from "../../store/trace-bodies.ts";
import type { ApiHandlers } from "../api-call.ts";
import { reachOf } from "./read-period.ts";
import { findReadableRequests } from "./trace-body.ts";

/** The route that records a view of a prompt in the ledger. */
export const promptViewHandlers = {
  /**
   * Records a view before it happens, for a caller who may read the body. The viewer, time, address and user agent come from
   * the session and the server, never from the payload; the subject must be the request's author. Answers 201 with a `view_id`
   * that allows one read of the body within five minutes.
   */
  "POST /v1/audit/prompt-views": async ({ parts, actor, body, context, answer }) => {
    const requestId = body.request_id.toLowerCase();
    const workspace = await findReachableWorkspace(parts.db, actor, body.workspace_id);
    if (workspace === null) return problem("forbidden");
    const { workspaceId } = workspace;
    const verdict = checkPlan(workspace.plan, "writePromptViews");
    if (!verdict.ok) return problem("plan_required", { requiredPlan: verdict.requiredPlan });
    const [request] = await findReadableRequests(parts, actor, requestId, workspaceId);
    if (request === undefined) return problem("forbidden");
    const now = parts.clock.now();
    const { owner } = request;
    const isReadable =
      !owner.isDeleted && isWithinReach(owner.requestedAt, "traces", reachOf(workspace, now));
    if (!isReadable) return problem("request_unknown");
    if (owner.userId !== body.subject_user_id) return problem("subject_mismatch");

    const viewId = newId(parts);
    const view = {
      workspaceId,
      viewId,
      requestId,
      viewerUserId: actor.userId,
      subjectUserId: owner.userId,
      consentGrantId: body.consent_grant_id,
      reason: body.reason,
      viewedAt: now,
      clientIp: parts.addressOf(context),
      userAgent: truncateUserAgent(context.req.header("user-agent") ?? null),
    };
    await recordViewWithTicket(parts.db, view, parts.sha256);
    return answer(201, { view_id: viewId, viewed_at: formatInstant(now) });
  },
} satisfies Partial<ApiHandlers>;
