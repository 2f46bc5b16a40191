import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/time.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { becomeLookup, inScope } from "./transaction.ts";

/** One leg, opened and checked. */
export interface BodyLeg {
  readonly requestId: string;
  readonly direction: "request" | "response";
  readonly contentType: string;
  readonly utf8: Uint8Array;
  readonly originalSizeBytes: number;
  readonly truncated: boolean | null;
  readonly redactionApplied: boolean;
  readonly redactionSummary: readonly string[];
}

/** What became of a leg. */
export type BodyOutcome<Refusal> =
  | { readonly kind: "stored" }
  | { readonly kind: "gate_off" }
  | { readonly kind: "workspace_deleted" }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** Another workspace has the request, or nobody has had it for a day: terminal. */
  | { readonly kind: "request_unknown" }
  /** Nobody has it yet. */
  | { readonly kind: "request_not_synced" };

/** After so long a request that nobody has is an orphan, milliseconds. Source: decisions, "Bodies": 24 hours. */
export const ORPHAN_AFTER_MS = 24 * 3_600_000;

/** A first sighting is forgotten after so long, milliseconds. Source: decisions, "Bodies": 48 hours. */
export const SIGHTING_KEPT_MS = 48 * 3_600_000;

/** Most first sightings of a workspace. Decision: a day's backlog of a busy team; beyond it the answer stays "not yet". */
export const MAX_SIGHTINGS = 10_000;

/**
 * Stores a leg while the workspace's gate is open. The gate's row is held from reading it to the commit, so that switching
 * it off waits for us, and no body is stored after it went off. `open` reads the envelope and is not called before the
 * gate was seen open.
 */
export async function storeBody<Refusal>(
  db: CloudDatabase,
  workspaceId: string,
  open: () =>
    | { readonly ok: true; readonly value: BodyLeg }
    | { readonly ok: false; readonly refusal: Refusal },
  now: Millis,
): Promise<BodyOutcome<Refusal>> {
  return await inScope(db, { workspaceId }, async (trx): Promise<BodyOutcome<Refusal>> => {
    const gate = await trx
      .selectFrom("workspaces")
      .select(["store_prompt_content", "deleted_at"])
      .where("workspace_id", "=", workspaceId)
      .forShare()
      .executeTakeFirst();
    if (gate === undefined || gate.deleted_at !== null) return { kind: "workspace_deleted" };
    if (!gate.store_prompt_content) return { kind: "gate_off" };
    const opened = open();
    if (!opened.ok) return { kind: "refused", refusal: opened.refusal };
    if (await upsertLeg(trx, workspaceId, opened.value, now)) return { kind: "stored" };
    return await explainMissing(trx, workspaceId, opened.value.requestId, now);
  });
}

/** Last write wins for each direction. False where the workspace has no such request. */
async function upsertLeg(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  leg: BodyLeg,
  now: Millis,
): Promise<boolean> {
  const columns = [
    "body",
    "content_type",
    "original_size_bytes",
    "truncated",
    "redaction_applied",
    "redaction_summary",
    "stored_at",
  ].map((column) => `${leg.direction}_${column}`);
  const { rows } = await sql`
    insert into request_bodies (workspace_id, request_id, ${sql.raw(columns.join(", "))})
    select workspace_id, request_id, ${leg.utf8}::bytea, ${leg.contentType}::text, ${leg.originalSizeBytes}::bigint,
      ${leg.truncated}::boolean, ${leg.redactionApplied}::boolean,
      ${JSON.stringify(leg.redactionSummary)}::text::jsonb, ${now}::timestamptz
    from requests where workspace_id = ${workspaceId}::uuid and request_id = ${leg.requestId}::uuid
    on conflict (workspace_id, request_id) do update set
      ${sql.raw(columns.map((column) => `${column} = excluded.${column}`).join(", "))}
    returning request_id`.execute(trx);
  return rows.length > 0;
}

async function explainMissing<Refusal>(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  requestId: string,
  now: Millis,
): Promise<BodyOutcome<Refusal>> {
  await sql`delete from body_first_sightings
    where workspace_id = ${workspaceId}::uuid and first_seen_at < ${now - SIGHTING_KEPT_MS}::timestamptz`.execute(
    trx,
  );
  await sql`insert into body_first_sightings (workspace_id, request_id, first_seen_at)
    select ${workspaceId}::uuid, ${requestId}::uuid, ${now}::timestamptz
    where (select count(*) from body_first_sightings where workspace_id = ${workspaceId}::uuid) < ${MAX_SIGHTINGS}::bigint
    on conflict do nothing`.execute(trx);
  const sighting = await trx
    .selectFrom("body_first_sightings")
    .select("first_seen_at")
    .where("workspace_id", "=", workspaceId)
    .where("request_id", "=", requestId)
    .executeTakeFirst();
  if (sighting !== undefined && now - sighting.first_seen_at >= ORPHAN_AFTER_MS)
    return { kind: "request_unknown" };
  await becomeLookup(trx);
  const { rows } = await sql<{ found: boolean }>`
    select exists (select request_id from requests where request_id = ${requestId}::uuid) as found`.execute(
    trx,
  );
  return { kind: rows[0]?.found === true ? "request_unknown" : "request_not_synced" };
}
