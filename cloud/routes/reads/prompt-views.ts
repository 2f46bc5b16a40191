import type { Context } from "hono";
import { cutUserAgent } from "../../../core/consent/mod.ts";
import { checkPlan } from "../../../core/plans/mod.ts";
import { isWithinReach } from "../../../core/retention/mod.ts";
import { formatInstant, type PromptViewAnswer, promptViewRequestSchema } from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import { newId } from "../../new-id.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { findReachableWorkspace } from "../../reachable-workspaces.ts";
import { readBytes, readPayload } from "../../read-payload.ts";
import { announceView } from "../../store/trace-bodies.ts";
import { reachOf } from "./read-period.ts";
import { findReadable } from "./trace-body.ts";

/** A reason of 2000 characters, each spelt as two escapes of six, and room for the rest. */
const MAX_BYTES = 65_536;

/**
 * `POST /v1/audit/prompt-views`: writes a view down before it happens, for those who may see the body. Viewer, time,
 * address and user agent are what session and server say, whatever the payload does; the subject must be whose request
 * it is. 201 with a `view_id` that lets the body be read once within five minutes.
 */
export async function postPromptView(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const bytes = await readBytes(context.req.raw, MAX_BYTES);
  if (!bytes.ok) return bytes.refusal;
  const claimed = readPayload(bytes.value, promptViewRequestSchema);
  if (!claimed.ok) return claimed.refusal;
  const { consent_grant_id: consentGrantId, reason, subject_user_id: subject } = claimed.value;
  const requestId = claimed.value.request_id.toLowerCase();

  const actor = context.get("actor");
  const workspace = await findReachableWorkspace(parts.db, actor, claimed.value.workspace_id);
  if (workspace === null) return problem("forbidden");
  const { workspaceId } = workspace;
  const verdict = checkPlan(workspace.plan, "writePromptViews");
  if (!verdict.ok) return problem("plan_required", { requiredPlan: verdict.requiredPlan });
  const [request] = await findReadable(parts, actor, requestId, workspaceId);
  if (request === undefined) return problem("forbidden");
  const now = parts.clock.now();
  const { owner } = request;
  if (!isWithinReach(owner.requestedAt, "traces", reachOf(workspace, now))) return problem("request_unknown");
  if (owner.userId !== subject) return problem("subject_mismatch");

  const viewId = newId(parts);
  await announceView(
    parts.db,
    {
      workspaceId,
      viewId,
      requestId,
      viewerUserId: actor.userId,
      subjectUserId: owner.userId,
      consentGrantId,
      reason,
      viewedAt: now,
      clientIp: parts.addressOf(context),
      userAgent: cutUserAgent(context.req.header("user-agent") ?? null),
    },
    parts.sha256,
  );
  const answer: PromptViewAnswer = { view_id: viewId, viewed_at: formatInstant(now) };
  return context.json(answer, 201);
}
