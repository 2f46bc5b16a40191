import type { Selectable, Transaction } from "kysely";
import type { Sha256 } from "../../core/hash.ts";
import type { Millis } from "../../core/time.ts";
import type { CloudDatabase } from "./open-database.ts";
import { appendView, type NewPromptView } from "./prompt-view-ledger.ts";
import type { CloudSchema } from "./schema.ts";
import { enterWorkspace, inScope } from "./transaction.ts";

/** How long an announced view is good for, milliseconds. Source: decisions, "Bodies": five minutes, once. */
export const VIEW_TICKET_TTL_MS = 5 * 60_000;

/** Whose a request is, in one workspace. */
export interface RequestOwner {
  readonly workspaceId: string;
  readonly userId: string;
  readonly requestedAt: Millis;
}

/**
 * Finds a request in some workspaces. Nothing but those decides what is done and how long it takes: whether others have
 * the id can't be told from outside.
 */
export async function findOwners(
  db: CloudDatabase,
  workspaceIds: readonly string[],
  requestId: string,
): Promise<readonly RequestOwner[]> {
  return await inScope(db, {}, async (trx) => {
    const owners: RequestOwner[] = [];
    for (const workspaceId of workspaceIds) {
      await enterWorkspace(trx, workspaceId);
      const row = await trx
        .selectFrom("requests")
        .select(["user_id", "requested_at"])
        .where("workspace_id", "=", workspaceId)
        .where("request_id", "=", requestId)
        .executeTakeFirst();
      if (row !== undefined) owners.push({ workspaceId, userId: row.user_id, requestedAt: row.requested_at });
    }
    return owners;
  });
}

/** By what right a body is read. */
export type BodyAccess =
  | { readonly kind: "author" }
  /** A teammate's: the view is written down in the transaction that reads. */
  | { readonly kind: "view"; readonly view: NewPromptView }
  /** A teammate's, whose view was written down beforehand. */
  | { readonly kind: "ticket"; readonly viewId: string; readonly viewerUserId: string; readonly now: Millis }
  /** A teammate's, and nothing was said of why. */
  | { readonly kind: "unexplained" };

/** A stored body, or why there is none to show. */
export type BodyReading =
  | { readonly ok: true; readonly row: Selectable<CloudSchema["request_bodies"]> }
  | { readonly ok: false; readonly reason: "body_unknown" | "reason_missing" | "view_unknown" };

/**
 * Reads a body. What goes with it is of the same transaction: no row in the ledger, no body; and no row where there is no
 * body to see.
 */
export async function readBody(
  db: CloudDatabase,
  workspaceId: string,
  requestId: string,
  access: BodyAccess,
  sha256: Sha256,
): Promise<BodyReading> {
  return await inScope(db, { workspaceId }, async (trx): Promise<BodyReading> => {
    const row = await trx
      .selectFrom("request_bodies")
      .selectAll()
      .where("workspace_id", "=", workspaceId)
      .where("request_id", "=", requestId)
      .executeTakeFirst();
    if (row === undefined) return { ok: false, reason: "body_unknown" };
    if (access.kind === "unexplained") return { ok: false, reason: "reason_missing" };
    if (access.kind === "ticket" && !(await useTicket(trx, workspaceId, requestId, access))) {
      return { ok: false, reason: "view_unknown" };
    }
    if (access.kind === "view") await appendView(trx, access.view, sha256);
    return { ok: true, row };
  });
}

/** Uses a ticket up; false where it is another viewer's or request's, was used, or has run out. */
async function useTicket(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  requestId: string,
  { viewId, viewerUserId, now }: Extract<BodyAccess, { kind: "ticket" }>,
): Promise<boolean> {
  const used = await trx
    .updateTable("prompt_view_tickets")
    .set({ used_at: now })
    .where("workspace_id", "=", workspaceId)
    .where("view_id", "=", viewId)
    .where("request_id", "=", requestId)
    .where("viewer_user_id", "=", viewerUserId)
    .where("used_at", "is", null)
    .where("expires_at", ">", now)
    .returning("view_id")
    .executeTakeFirst();
  return used !== undefined;
}

/** Writes a view down before it happens, with a ticket for it. Tickets that have run out are forgotten; the views stay. */
export async function announceView(db: CloudDatabase, view: NewPromptView, sha256: Sha256): Promise<void> {
  const { workspaceId, viewId, requestId, viewerUserId, viewedAt } = view;
  await inScope(db, { workspaceId }, async (trx) => {
    await appendView(trx, view, sha256);
    await trx
      .deleteFrom("prompt_view_tickets")
      .where("workspace_id", "=", workspaceId)
      .where("expires_at", "<=", viewedAt)
      .execute();
    await trx
      .insertInto("prompt_view_tickets")
      .values({
        workspace_id: workspaceId,
        view_id: viewId,
        request_id: requestId,
        viewer_user_id: viewerUserId,
        expires_at: viewedAt + VIEW_TICKET_TTL_MS,
      })
      .execute();
  });
}
