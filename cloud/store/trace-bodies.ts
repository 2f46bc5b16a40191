import { type Selectable, sql, type Transaction } from "kysely";
import type { Sha256 } from "../../core/values/hash.ts";
import type { Millis } from "../../core/values/time.ts";
import { updateOne } from "./affected-rows.ts";
import { contentSize } from "./bodies.ts";
import type { BodyPlace } from "./body-cipher.ts";
import { BodyKeyMissing, type BodySealing, openSealed } from "./body-keys.ts";
import type { CloudDatabase } from "./open-database.ts";
import { findDeletedAccounts } from "./people.ts";
import { appendView, type BodyHashes, type NewPromptView } from "./prompt-view-ledger.ts";
import type { CloudSchema } from "./schema.ts";
import { enterWorkspace, inScope } from "./transaction.ts";

/** How long a view's ticket is valid, milliseconds. Source: docs/specification.md#bodies: five minutes, once. */
export const VIEW_TICKET_TTL_MS = 5 * 60_000;

/** The author of a request, in one workspace. */
export interface RequestOwner {
  readonly workspaceId: string;
  readonly userId: string;
  readonly requestedAt: Millis;
  /** Whether the account was deleted. Its prompts can no longer be read. */
  readonly isDeleted: boolean;
}

/**
 * Finds a request in the given workspaces. Neither the result nor the time it takes depends on other workspaces, so a caller
 * cannot learn whether they have the id.
 */
export async function findOwners(
  db: CloudDatabase,
  workspaceIds: readonly string[],
  requestId: string,
): Promise<readonly RequestOwner[]> {
  return await inScope(db, {}, async (trx) => {
    const owners: Omit<RequestOwner, "isDeleted">[] = [];
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
    const deleted = await findDeletedAccounts(
      trx,
      owners.map(({ userId }) => userId),
    );
    return owners.map((owner) => ({ ...owner, isDeleted: deleted.has(owner.userId) }));
  });
}

/** Why a caller may read a body. */
export type BodyAccess =
  | { readonly kind: "author" }
  /** A teammate's body; the view is recorded in the transaction that reads it. */
  | { readonly kind: "view"; readonly view: NewPromptView }
  /** A teammate's body, whose view was recorded beforehand. */
  | { readonly kind: "ticket"; readonly viewId: string; readonly viewerUserId: string; readonly now: Millis }
  /** A teammate's body, without a reason. */
  | { readonly kind: "unexplained" };

/** Which version of each side; null for the latest. */
export type BodyVersions = Readonly<Record<Direction, number | null>>;

type Direction = "request" | "response";

/** A stored side of a body. */
export interface StoredSide {
  readonly version: number;
  readonly body: Uint8Array;
  readonly sha256: string;
  readonly contentType: string | null;
  readonly originalSizeBytes: number;
  readonly truncated: boolean | null;
  readonly redactionApplied: boolean;
  readonly redactionSummary: readonly string[];
  readonly storedAt: Millis | null;
}

/** A version that another one replaced. */
export interface EarlierVersion {
  readonly direction: Direction;
  readonly version: number;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly storedAt: Millis | null;
}

/** A stored body. */
export interface StoredBody {
  readonly request: StoredSide | null;
  readonly response: StoredSide | null;
  readonly earlier: readonly EarlierVersion[];
}

/** A stored body, or why it cannot be read. */
export type BodyResult =
  | { readonly ok: true; readonly body: StoredBody }
  | {
      readonly ok: false;
      readonly reason: "body_unknown" | "reason_missing" | "view_unknown" | "view_outdated";
    };

/**
 * Reads a body, and records the view in the same transaction: no body without its row in the ledger, and no row without a
 * body. The row contains the hashes of what was read.
 */
export async function readBody(
  db: CloudDatabase,
  workspaceId: string,
  requestId: string,
  versions: BodyVersions,
  access: BodyAccess,
  sha256: Sha256,
  sealing: BodySealing | null,
): Promise<BodyResult> {
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx): Promise<BodyResult> => {
    const body = await findBody(trx, workspaceId, requestId, versions, sealing);
    if (body === null) return { ok: false, reason: "body_unknown" };
    if (access.kind === "unexplained") return { ok: false, reason: "reason_missing" };
    const seen = hashesOf(body);
    if (access.kind === "ticket") {
      const refusal = await redeemTicket(trx, workspaceId, requestId, seen, access);
      if (refusal !== null) return { ok: false, reason: refusal };
    }
    if (access.kind === "view") await appendView(trx, access.view, seen, sha256);
    return { ok: true, body };
  });
}

function hashesOf({ request, response }: StoredBody): BodyHashes {
  return { request_sha256: request?.sha256 ?? null, response_sha256: response?.sha256 ?? null };
}

/** Finds the body with the requested versions; null if there is none, or no such version. */
async function findBody(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  requestId: string,
  versions: BodyVersions,
  sealing: BodySealing | null,
): Promise<StoredBody | null> {
  const row = await trx
    .selectFrom("request_bodies")
    .selectAll()
    .where("workspace_id", "=", workspaceId)
    .where("request_id", "=", requestId)
    // Waits for a version that is being stored, so that the row and its earlier versions match.
    .forShare()
    .executeTakeFirst();
  if (row === undefined) return null;
  const earlier = await trx
    .selectFrom("request_body_versions")
    .select(["direction", "version", "stored_at"])
    .select(sql<string>`coalesce(content_sha256, body_sha256)`.as("sha256"))
    .select(sql<number>`${sql.raw(contentSize("body", "key_id"))}`.as("size"))
    .where("workspace_id", "=", workspaceId)
    .where("request_id", "=", requestId)
    .orderBy("direction")
    .orderBy("version")
    .execute();
  const sides = { request: null as StoredSide | null, response: null as StoredSide | null };
  for (const direction of ["request", "response"] as const) {
    const latest = earlier.filter((each) => each.direction === direction).length + 1;
    const asked = versions[direction] ?? latest;
    const side =
      asked === latest
        ? latestSide(row, direction, latest)
        : await earlierSide(trx, workspaceId, requestId, direction, asked);
    sides[direction] = side && (await openSide(trx, side, { workspaceId, requestId, direction }, sealing));
    if (versions[direction] !== null && sides[direction] === null) return null;
  }
  return {
    ...sides,
    earlier: earlier.map((each) => ({
      direction: each.direction,
      version: each.version,
      sha256: each.sha256,
      sizeBytes: each.size,
      storedAt: each.stored_at,
    })),
  };
}

/** A stored side: encrypted, unless `keyId` is null. */
type DatabaseSide = StoredSide & { readonly keyId: string | null };

/** Opens a side; null if its key was destroyed. */
async function openSide(
  trx: Transaction<CloudSchema>,
  { keyId, ...side }: DatabaseSide,
  place: BodyPlace,
  sealing: BodySealing | null,
): Promise<StoredSide | null> {
  if (keyId === null) return side;
  if (sealing === null) throw new BodyKeyMissing(keyId);
  const body = await openSealed(trx, sealing, { bytes: side.body, keyId }, place);
  return body && { ...side, body };
}

function latestSide(
  row: Selectable<CloudSchema["request_bodies"]>,
  direction: Direction,
  version: number,
): DatabaseSide | null {
  const body = row[`${direction}_body`];
  const sha256 = row[`${direction}_content_sha256`] ?? row[`${direction}_sha256`];
  if (body === null || sha256 === null) return null;
  return {
    keyId: row[`${direction}_key_id`],
    version,
    body,
    sha256,
    contentType: row[`${direction}_content_type`],
    originalSizeBytes: Number(row[`${direction}_original_size_bytes`]),
    truncated: row[`${direction}_truncated`],
    redactionApplied: row[`${direction}_redaction_applied`] ?? false,
    redactionSummary: row[`${direction}_redaction_summary`] ?? [],
    storedAt: row[`${direction}_stored_at`],
  };
}

async function earlierSide(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  requestId: string,
  direction: Direction,
  version: number,
): Promise<DatabaseSide | null> {
  const row = await trx
    .selectFrom("request_body_versions")
    .selectAll()
    .where("workspace_id", "=", workspaceId)
    .where("request_id", "=", requestId)
    .where("direction", "=", direction)
    .where("version", "=", version)
    .executeTakeFirst();
  if (row === undefined) return null;
  return {
    keyId: row.key_id,
    version,
    body: row.body,
    sha256: row.content_sha256 ?? row.body_sha256,
    contentType: row.content_type,
    originalSizeBytes: Number(row.original_size_bytes),
    truncated: row.truncated,
    redactionApplied: row.redaction_applied ?? false,
    redactionSummary: row.redaction_summary ?? [],
    storedAt: row.stored_at,
  };
}

/**
 * Redeems a ticket. Returns `view_unknown` if it is another viewer's or request's, used or expired, and `view_outdated` if the
 * ledger's row has other hashes than the body; the ticket then stays valid.
 */
async function redeemTicket(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  requestId: string,
  seen: BodyHashes,
  { viewId, viewerUserId, now }: Extract<BodyAccess, { kind: "ticket" }>,
): Promise<"view_unknown" | "view_outdated" | null> {
  const ticket = await trx
    .selectFrom("prompt_view_tickets as t")
    .innerJoin("prompt_views as v", (join) =>
      join.onRef("v.workspace_id", "=", "t.workspace_id").onRef("v.view_id", "=", "t.view_id"),
    )
    .select(["v.request_sha256", "v.response_sha256"])
    .where("t.workspace_id", "=", workspaceId)
    .where("t.view_id", "=", viewId)
    .where("t.request_id", "=", requestId)
    .where("t.viewer_user_id", "=", viewerUserId)
    .where("t.used_at", "is", null)
    .where("t.expires_at", ">", now)
    .forUpdate("t")
    .executeTakeFirst();
  if (ticket === undefined) return "view_unknown";
  if (ticket.request_sha256 !== seen.request_sha256 || ticket.response_sha256 !== seen.response_sha256) {
    return "view_outdated";
  }
  await updateOne(
    trx
      .updateTable("prompt_view_tickets")
      .set({ used_at: now })
      .where("workspace_id", "=", workspaceId)
      .where("view_id", "=", viewId),
  );
  return null;
}

/** Records a view before it happens, and issues a ticket for it. Deletes expired tickets; their views stay. */
export async function recordViewWithTicket(
  db: CloudDatabase,
  view: NewPromptView,
  sha256: Sha256,
): Promise<void> {
  const { workspaceId, viewId, requestId, viewerUserId, viewedAt } = view;
  await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    const stored = await trx
      .selectFrom("request_bodies")
      .select(sql<string | null>`coalesce(request_content_sha256, request_sha256)`.as("request_sha256"))
      .select(sql<string | null>`coalesce(response_content_sha256, response_sha256)`.as("response_sha256"))
      .where("workspace_id", "=", workspaceId)
      .where("request_id", "=", requestId)
      .executeTakeFirst();
    await appendView(trx, view, stored ?? { request_sha256: null, response_sha256: null }, sha256);
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
