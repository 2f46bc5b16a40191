import type { Context } from "hono";
import { cutUserAgent } from "../../../core/consent/mod.ts";
import { PLAN_TABLE } from "../../../core/plans/mod.ts";
import { isWithinReach } from "../../../core/retention/mod.ts";
import {
  decodeStrictUtf8,
  formatInstant,
  mergeRedaction,
  parseWire,
  promptViewReasonSchema,
  type TraceBody,
} from "../../../core/wire/mod.ts";
import type { Actor } from "../../actor.ts";
import { problem } from "../../errors.ts";
import { newId } from "../../new-id.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { findReachableWorkspace, listReachableWorkspaces } from "../../reachable-workspaces.ts";
import { orRefusal, type Reading } from "../../read-payload.ts";
import {
  type BodyAccess,
  type BodyReading,
  findOwners,
  type RequestOwner,
  readBody,
} from "../../store/trace-bodies.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";
import { isUuid } from "../../uuid.ts";
import { reachOf } from "./read-period.ts";

/** A request that the caller may see the body of, and how they stand to it. */
export interface ReadableRequest {
  readonly workspace: WorkspaceAccess;
  readonly owner: RequestOwner;
  readonly isAuthor: boolean;
}

/**
 * `GET /v1/traces/{request_id}/body`, for the author and for admins. Everybody else gets one and the same 403, whether or
 * not there is such a request, in their workspace or in another. Then, for those who may: 404 below the floor or without
 * a body, 422 where somebody who is not the author does not say why. Source: decisions, "Bodies".
 */
export async function getTraceBody(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const actor = context.get("actor");
  const requestId = (context.req.param("request_id") ?? "").toLowerCase();
  const found = await findReadable(parts, actor, requestId, context.req.query("workspace_id") ?? null);
  const [request, another] = found;
  if (request === undefined) return problem("forbidden");
  if (another !== undefined) return problem("workspace_ambiguous");
  const now = parts.clock.now();
  const { workspace, owner } = request;
  if (!isWithinReach(owner.requestedAt, "traces", reachOf(workspace, now))) return problem("body_unknown");
  const access = readAccess(parts, context, requestId, request);
  if (!access.ok) return access.refusal;
  const read = await readBody(parts.db, workspace.workspaceId, requestId, access.value, parts.sha256);
  return read.ok ? context.json(toTraceBody(requestId, read.row)) : problem(read.reason);
}

/** The caller's workspaces that have the request, of those in which they may see its body. On Solo that is the author alone. */
export async function findReadable(
  parts: CloudParts,
  actor: Actor,
  requestId: string,
  workspaceId: string | null,
): Promise<readonly ReadableRequest[]> {
  const workspaces =
    workspaceId === null
      ? await listReachableWorkspaces(parts.db, actor)
      : [await findReachableWorkspace(parts.db, actor, workspaceId)].filter((found) => found !== null);
  if (!isUuid(requestId)) return [];
  const byId = new Map(workspaces.map((workspace) => [workspace.workspaceId, workspace]));
  const owners = await findOwners(parts.db, [...byId.keys()], requestId);
  return owners.flatMap((owner) => {
    const workspace = byId.get(owner.workspaceId) as WorkspaceAccess;
    const isAuthor = owner.userId === actor.userId;
    const mayRead = workspace.role === "admin" && PLAN_TABLE[workspace.plan].readTeammatesBodies;
    return isAuthor || mayRead ? [{ workspace, owner, isAuthor }] : [];
  });
}

/** By what right the caller reads. A `view_id` is looked at before a reason: the view that it stands for is written down. */
function readAccess(
  parts: CloudParts,
  context: Context<CloudEnv>,
  requestId: string,
  { workspace, owner, isAuthor }: ReadableRequest,
): Reading<BodyAccess> {
  if (isAuthor) return { ok: true, value: { kind: "author" } };
  const now = parts.clock.now();
  const viewerUserId = context.get("actor").userId;
  const viewId = context.req.query("view_id");
  if (viewId !== undefined) {
    if (!isUuid(viewId)) return { ok: false, refusal: problem("view_unknown") };
    return { ok: true, value: { kind: "ticket", viewId, viewerUserId, now } };
  }
  const text = context.req.query("reason") ?? headerText(context.req.header("x-prompt-view-reason"));
  if (text === undefined || text.trim() === "") return { ok: true, value: { kind: "unexplained" } };
  const reason = orRefusal(parseWire(promptViewReasonSchema, text));
  if (!reason.ok) return { ok: false, refusal: problem("reason_missing") };
  const view = {
    workspaceId: workspace.workspaceId,
    viewId: newId(parts),
    requestId,
    viewerUserId,
    subjectUserId: owner.userId,
    consentGrantId: null,
    reason: reason.value,
    viewedAt: now,
    clientIp: parts.addressOf(context),
    userAgent: cutUserAgent(context.req.header("user-agent") ?? null),
  };
  return { ok: true, value: { kind: "view", view } };
}

/** A header's text. It comes as one character for each byte (RFC 9110, section 5.5); where those are UTF-8, that is meant. */
function headerText(value: string | undefined): string | undefined {
  if (value === undefined || /[^\0-\xff]/.test(value)) return value;
  return decodeStrictUtf8(Uint8Array.from(value, (character) => character.charCodeAt(0))) ?? value;
}

type StoredBody = Extract<BodyReading, { ok: true }>["row"];

function toTraceBody(requestId: string, row: StoredBody): TraceBody {
  const storedAt = [row.request_stored_at, row.response_stored_at].filter((at) => at !== null);
  return {
    request_id: requestId,
    request: toLeg(row, "request"),
    response: toLeg(row, "response"),
    ...mergeRedaction(
      (["request", "response"] as const).map((direction) => ({
        applied: row[`${direction}_redaction_applied`] ?? false,
        summary: row[`${direction}_redaction_summary`] ?? [],
      })),
    ),
    // Decision: when the first of the stored legs arrived; when a daemon captured it, no envelope says.
    captured_at: formatInstant(Math.min(...storedAt)),
  };
}

function toLeg(row: StoredBody, direction: "request" | "response"): TraceBody["request"] {
  const bytes = row[`${direction}_body`];
  if (bytes === null) return null;
  return {
    content_type: row[`${direction}_content_type`] ?? "",
    // Only UTF-8 was stored.
    text: decodeStrictUtf8(bytes) ?? "",
    original_size_bytes: Number(row[`${direction}_original_size_bytes`]),
    truncated: row[`${direction}_truncated`],
  };
}
