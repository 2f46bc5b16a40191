import type { Context } from "hono";
import { truncateUserAgent } from "../../../core/privacy/consent/checkout-consent.ts";
import { PLAN_TABLE } from "../../../core/privacy/plans/plan-table.ts";
import { isWithinReach } from "../../../core/privacy/retention/windows.ts";
import { isUuid } from "../../../core/values/uuid.ts";
import { promptViewReasonSchema } from "../../../core/wire/audit.ts";
import { mergeRedaction } from "../../../core/wire/body-envelope.ts";
import { formatInstant, formatInstantOrNull } from "../../../core/wire/instant.ts";
import { parseWire } from "../../../core/wire/parse.ts";
import { traceBodyQuerySchema } from "../../../core/wire/queries.ts";
import type { TraceBody } from "../../../core/wire/traces.ts";
import { decodeStrictUtf8 } from "../../../core/wire/utf8.ts";
import type { Actor } from "../../access/actor.ts";
import { findReachableWorkspace, listReachableWorkspaces } from "../../access/reachable-workspaces.ts";
import { problem } from "../../http/problem.ts";
import { type OrRefusal, refuseInvalid } from "../../http/read-payload.ts";
import { newId } from "../../new-id.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { sealingOf } from "../../store/body-keys.ts";
import {
  type BodyAccess,
  findOwners,
  type RequestOwner,
  readBody,
  type StoredBody,
  type StoredSide,
} from "../../store/trace-bodies.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";
import type { ApiHandlers } from "../api-call.ts";
import { reachOf } from "./read-period.ts";

/** A request whose body the caller may read. */
export interface ReadableRequest {
  readonly workspace: WorkspaceAccess;
  readonly owner: RequestOwner;
  readonly isAuthor: boolean;
}

/** The route that reads a stored body. */
export const traceBodyHandlers = {
  /**
   * For the author and for admins. Everyone else gets the same 403, whether or not the request exists, in their workspace or
   * in another. For the author and admins: 404 below the retention floor or without a body, 422 if a reader who is not the
   * author gives no reason. Source: docs/specification.md#bodies.
   */
  "GET /v1/traces/:request_id/body": async ({ parts, actor, params, context, answer }) => {
    const requestId = params.request_id.toLowerCase();
    const workspaceId = context.req.query("workspace_id") ?? null;
    const [request, another] = await findReadableRequests(parts, actor, requestId, workspaceId);
    if (request === undefined) return problem("forbidden");
    if (another !== undefined) return problem("workspace_ambiguous");
    const { workspace, owner } = request;
    const reach = reachOf(workspace, parts.clock.now());
    const isReadable = !owner.isDeleted && isWithinReach(owner.requestedAt, "traces", reach);
    if (!isReadable) return problem("body_unknown");
    const query = refuseInvalid(parseWire(traceBodyQuerySchema, context.req.query()));
    if (!query.ok) return query.refusal;
    const access = readAccess(parts, context, actor, requestId, request);
    if (!access.ok) return access.refusal;
    const versions = { request: query.value.request_version, response: query.value.response_version };
    const read = await readBody(
      parts.db,
      workspace.workspaceId,
      requestId,
      versions,
      access.value,
      parts.sha256,
      sealingOf(parts),
    );
    return read.ok ? answer(200, toTraceBody(requestId, read.body)) : problem(read.reason);
  },
} satisfies Partial<ApiHandlers>;

/** Finds the request in each workspace where the caller may read its body. On Solo, only the author may. */
export async function findReadableRequests(
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

/** Returns why the caller may read the body. A `view_id` takes precedence over a reason: its view is already recorded. */
function readAccess(
  parts: CloudParts,
  context: Context<CloudEnv>,
  { userId: viewerUserId }: Actor,
  requestId: string,
  { workspace, owner, isAuthor }: ReadableRequest,
): OrRefusal<BodyAccess> {
  if (isAuthor) return { ok: true, value: { kind: "author" } };
  const now = parts.clock.now();
  const viewId = context.req.query("view_id");
  if (viewId !== undefined) {
    if (!isUuid(viewId)) return { ok: false, refusal: problem("view_unknown") };
    return { ok: true, value: { kind: "ticket", viewId, viewerUserId, now } };
  }
  const text = context.req.query("reason") ?? headerText(context.req.header("x-prompt-view-reason"));
  if (text === undefined || text.trim() === "") return { ok: true, value: { kind: "unexplained" } };
  const reason = refuseInvalid(parseWire(promptViewReasonSchema, text));
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
    userAgent: truncateUserAgent(context.req.header("user-agent") ?? null),
  };
  return { ok: true, value: { kind: "view", view } };
}

/** Decodes a header's text, which arrives as one character per byte (RFC 9110, section 5.5), as UTF-8 if it is valid. */
function headerText(value: string | undefined): string | undefined {
  if (value === undefined || /[^\0-\xff]/.test(value)) return value;
  return decodeStrictUtf8(Uint8Array.from(value, (character) => character.charCodeAt(0))) ?? value;
}

function toTraceBody(requestId: string, { request, response, earlier }: StoredBody): TraceBody {
  const sides = [request, response].filter((side) => side !== null);
  const storedAt = [...sides, ...earlier].flatMap((each) => each.storedAt ?? []);
  return {
    request_id: requestId,
    request: toTraceSide(request),
    response: toTraceSide(response),
    ...mergeRedaction(
      sides.map(({ redactionApplied, redactionSummary }) => ({
        applied: redactionApplied,
        summary: redactionSummary,
      })),
    ),
    // Decision: when the first of the stored bodies arrived; when a daemon captured it, no envelope says.
    captured_at: formatInstant(Math.min(...storedAt)),
    earlier_versions: earlier.map((each) => ({
      direction: each.direction,
      version: each.version,
      sha256: each.sha256,
      size_bytes: each.sizeBytes,
      stored_at: formatInstantOrNull(each.storedAt),
    })),
  };
}

function toTraceSide(side: StoredSide | null): TraceBody["request"] {
  if (side === null) return null;
  return {
    content_type: side.contentType ?? "",
    // Only UTF-8 was stored.
    text: decodeStrictUtf8(side.body) ?? "",
    original_size_bytes: side.originalSizeBytes,
    truncated: side.truncated,
    version: side.version,
    sha256: side.sha256,
    stored_at: formatInstantOrNull(side.storedAt),
  };
}
