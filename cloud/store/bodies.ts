import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import { expectRows } from "./affected-rows.ts";
import { addAuditEvent } from "./audit-events.ts";
import { SEAL_BYTES } from "./body-cipher.ts";
import { type BodyKeyFault, BodyKeyUnavailable, type BodySealing, sealForOwner } from "./body-keys.ts";
import { isErased } from "./erasures.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { inScope } from "./transaction.ts";

/** One body, opened and checked. */
export interface ReceivedBody {
  readonly requestId: string;
  readonly direction: "request" | "response";
  readonly contentType: string;
  readonly utf8: Uint8Array;
  /** SHA-256 of `utf8`, lower-case hex. */
  readonly sha256: string;
  readonly originalSizeBytes: number;
  readonly truncated: boolean | null;
  readonly redactionApplied: boolean;
  readonly redactionSummary: readonly string[];
}

/** The outcome of a body. */
export type BodyOutcome<Refusal> =
  | { readonly kind: "stored" }
  | { readonly kind: "gate_off" }
  | { readonly kind: "workspace_deleted" }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** Another machine or person sent the request. */
  | { readonly kind: "not_the_sender" }
  /** The side has the maximum number of versions. */
  | { readonly kind: "too_many_versions" }
  /** Another workspace has the request, its metadata did not arrive within a day, or its prompts were erased. Terminal. */
  | { readonly kind: "request_unknown" }
  /** The request's metadata has not arrived yet. */
  | { readonly kind: "request_not_synced" }
  /** The key of the owner's bodies can't be read or created. Nothing is stored until it can. */
  | { readonly kind: "body_key_unavailable"; readonly keyId: string; readonly fault: BodyKeyFault };

/** How long a body waits for its request's metadata before it is an orphan, milliseconds. Source: docs/specification.md#bodies: 24 hours. */
export const ORPHAN_AFTER_MS = 24 * 3_600_000;

/** How long a first sighting is stored, milliseconds. Source: docs/specification.md#bodies: 48 hours. */
export const SIGHTING_TTL_MS = 48 * 3_600_000;

/** Most first sightings per workspace. Decision: a day's backlog of a busy team; beyond it, the answer stays "not yet". */
export const MAX_SIGHTINGS = 10_000;

/** Most versions of one side, the latest included. Decision: a daemon sends a side once, and again after a changed rule. */
export const MAX_BODY_VERSIONS = 8;

/** Most bytes of a side's replaced versions together. Decision: twice the largest body that a request can carry. */
export const MAX_EARLIER_BYTES = 4_194_304;

/** Who sends a body: the key's machine and person. An admin key has no machine. */
export interface BodySender {
  readonly machineId: string | null;
  readonly userId: string;
}

/** Thrown to roll back the transaction of a body that may no longer be stored at its end. */
class GateClosed extends Error {
  override readonly name = "GateClosed";
  readonly gate: Exclude<Gate, "open"> | "request_unknown";

  constructor(gate: GateClosed["gate"]) {
    super(`the gate is closed: ${gate}`);
    this.gate = gate;
  }
}

/**
 * Stores a body while the workspace's gate is open, if the sender is the machine and person that sent the request. Reads the
 * gate twice: first without a lock, so that nothing is decoded while it is closed, and at the end with a lock on its row until
 * the commit, so that no body is stored after the gate closes. A lock from the start would let a steady stream of uploads
 * delay closing the gate forever.
 */
export async function storeBody<Refusal>(
  db: CloudDatabase,
  workspaceId: string,
  sender: BodySender,
  sealing: BodySealing | null,
  open: () =>
    | { readonly ok: true; readonly value: ReceivedBody }
    | { readonly ok: false; readonly refusal: Refusal },
  now: Millis,
): Promise<BodyOutcome<Refusal>> {
  try {
    let requestId = "";
    const outcome = await inScope(
      db,
      { workspaceId, readsThenWrites: true },
      async (trx): Promise<BodyOutcome<Refusal>> => {
        const { gate } = await readGate(trx, workspaceId);
        if (gate !== "open") return { kind: gate };
        const opened = open();
        if (!opened.ok) return { kind: "refused", refusal: opened.refusal };
        requestId = opened.value.requestId;
        return { kind: await storeForSender(trx, workspaceId, sender, sealing, opened.value, now) };
      },
    );
    if (outcome.kind !== "request_not_synced") return outcome;
    // In a transaction of its own: a cluster refuses a look-up under another role after a write.
    if (!(await inScope(db, {}, (trx) => requestExists(trx, requestId)))) return outcome;
    // It may have arrived in this workspace meanwhile.
    const isHere = await inScope(db, { workspaceId }, (trx) => hasRequest(trx, workspaceId, requestId));
    return isHere ? outcome : { kind: "request_unknown" };
  } catch (error) {
    if (error instanceof GateClosed) return { kind: error.gate };
    if (error instanceof BodyKeyUnavailable) {
      return { kind: "body_key_unavailable", keyId: error.keyId, fault: error.fault };
    }
    throw error;
  }
}

type Gate = "open" | "gate_off" | "workspace_deleted";

async function readGate(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  lock?: "held",
): Promise<{ readonly gate: Gate; readonly erasedAt: Millis | null }> {
  const row = await trx
    .selectFrom("workspaces")
    .select(["store_prompt_content", "deleted_at", "prompts_erased_at"])
    .where("workspace_id", "=", workspaceId)
    .$if(lock === "held", (query) => query.forShare())
    .executeTakeFirst();
  if (row === undefined || row.deleted_at !== null) return { gate: "workspace_deleted", erasedAt: null };
  return {
    gate: row.store_prompt_content ? "open" : "gate_off",
    erasedAt: row.prompts_erased_at,
  };
}

/** Locks the gate's row to the end of the transaction, or throws `GateClosed`. Returns when prompts were last erased. */
async function lockGate(trx: Transaction<CloudSchema>, workspaceId: string): Promise<Millis | null> {
  const { gate, erasedAt } = await readGate(trx, workspaceId, "held");
  if (gate !== "open") throw new GateClosed(gate);
  return erasedAt;
}

async function storeForSender(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  sender: BodySender,
  sealing: BodySealing | null,
  body: ReceivedBody,
  now: Millis,
): Promise<"stored" | "not_the_sender" | "too_many_versions" | "request_unknown" | "request_not_synced"> {
  const request = await trx
    .selectFrom("requests")
    .select(["machine_id", "user_id", "project", "requested_at", "received_at"])
    .where("workspace_id", "=", workspaceId)
    .where("request_id", "=", body.requestId)
    .executeTakeFirst();
  if (request === undefined) return await explainMissing(trx, workspaceId, body.requestId, now);
  if (request.machine_id !== sender.machineId || request.user_id !== sender.userId) return "not_the_sender";
  const owner = { workspaceId, userId: request.user_id, project: request.project ?? "" };
  const place = { workspaceId, requestId: body.requestId, direction: body.direction };
  const stored: StorableBody = { ...body, bytes: body.utf8, keyId: null };
  const sealed =
    sealing === null
      ? stored
      : { ...stored, ...(await sealForOwner(trx, sealing, owner, body.utf8, place, now)) };
  const kind = await storeSide(trx, workspaceId, sealed, sender, now);
  if (kind !== "stored") return kind;
  // The start of an erasure waits for this lock. Nothing else may follow it, or steady uploads would keep the gate from closing.
  const erasedAt = await lockGate(trx, workspaceId);
  const at = Math.min(request.requested_at, request.received_at);
  if (erasedAt !== null && erasedAt > at && (await isErased(trx, owner, at))) {
    throw new GateClosed("request_unknown");
  }
  return kind;
}

/** A body with the bytes to store, and the key that they are sealed with; null if they are the content. */
interface StorableBody extends ReceivedBody {
  readonly bytes: Uint8Array;
  readonly keyId: string | null;
}

/** The columns of a side, by their names in `request_body_versions`. */
const SIDE_COLUMNS = [
  "body",
  "content_type",
  "original_size_bytes",
  "truncated",
  "redaction_applied",
  "redaction_summary",
  "stored_at",
  "key_id",
  "content_sha256",
] as const;

/** The columns of a side, besides its content, in which an identical one has the same values. */
const COMPARED_COLUMNS = SIDE_COLUMNS.slice(1, 6);

/** SQL for the size of a side's content, bytes. A sealed one is longer. */
export function contentSize(body: string, keyId: string): string {
  return `(octet_length(${body}) - case when ${keyId} is null then 0 else ${SEAL_BYTES} end)`;
}

/**
 * Stores a side in the body's row. A different side replaces the stored one, which becomes an earlier version; an identical
 * one changes nothing. Locks the body's row to the end of the transaction, so that versions are stored one after another.
 */
async function storeSide(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  body: StorableBody,
  sender: BodySender,
  now: Millis,
): Promise<"stored" | "too_many_versions"> {
  const { requestId, direction } = body;
  const columns = SIDE_COLUMNS.map((column) => `${direction}_${column}`);
  const values = sql`${body.bytes}::bytea, ${body.contentType}::text, ${body.originalSizeBytes}::bigint,
    ${body.truncated}::boolean, ${body.redactionApplied}::boolean,
    ${JSON.stringify(body.redactionSummary)}::text::jsonb, ${now}::timestamptz, ${body.keyId}::uuid,
    ${body.keyId === null ? null : body.sha256}::text`;
  const { rows: inserted } = await sql`
    insert into request_bodies (workspace_id, request_id, ${sql.raw(columns.join(", "))})
    values (${workspaceId}::uuid, ${requestId}::uuid, ${values})
    on conflict (workspace_id, request_id) do nothing
    returning request_id`.execute(trx);
  if (inserted.length > 0) return "stored";
  const stored = await lockSide(trx, workspaceId, body);
  if (stored !== null && isSameSide(stored, body)) return "stored";
  if (stored !== null) {
    const version = await saveEarlierVersion(trx, workspaceId, body, stored.size, now);
    if (version === null) return "too_many_versions";
    // The same lock order as a change of the setting: first the workspace's row, then the head of the audit events.
    await lockGate(trx, workspaceId);
    await addAuditEvent(
      trx,
      workspaceId,
      "body_replaced",
      { userId: sender.userId, now },
      {
        request_id: requestId.toLowerCase(),
        direction,
        version,
        old_sha256: stored.sha256,
        new_sha256: body.sha256,
        machine_id: sender.machineId,
      },
    );
  }
  const { numAffectedRows } = await sql`
    update request_bodies set (${sql.raw(columns.join(", "))}) = row(${values})
    where workspace_id = ${workspaceId}::uuid and request_id = ${requestId}::uuid`.execute(trx);
  expectRows(numAffectedRows, 1);
  return "stored";
}

interface StoredSide {
  readonly sha256: string;
  readonly size: number;
  readonly content_type: string | null;
  readonly original_size_bytes: string | null;
  readonly truncated: boolean | null;
  readonly redaction_applied: boolean | null;
  readonly redaction_summary: readonly string[] | null;
}

/** Locks and reads the stored side; null if there is none. */
async function lockSide(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { requestId, direction }: ReceivedBody,
): Promise<StoredSide | null> {
  const facts = COMPARED_COLUMNS.map((column) => `${direction}_${column} as ${column}`);
  const hash = `coalesce(${direction}_content_sha256, ${direction}_sha256) as sha256`;
  const size = `${contentSize(`${direction}_body`, `${direction}_key_id`)} as size`;
  const { rows } = await sql<StoredSide & { sha256: string | null }>`
    select ${sql.raw(`${hash}, ${size}, ${facts.join(", ")}`)}
    from request_bodies
    where workspace_id = ${workspaceId}::uuid and request_id = ${requestId}::uuid
    for update`.execute(trx);
  const [row] = rows;
  return row === undefined || row.sha256 === null ? null : row;
}

function isSameSide(stored: StoredSide, body: ReceivedBody): boolean {
  return (
    stored.sha256 === body.sha256 &&
    stored.content_type === body.contentType &&
    Number(stored.original_size_bytes) === body.originalSizeBytes &&
    stored.truncated === body.truncated &&
    stored.redaction_applied === body.redactionApplied &&
    JSON.stringify(stored.redaction_summary) === JSON.stringify(body.redactionSummary)
  );
}

/** Copies the stored side to its earlier versions. Returns the next version's number, or null if there are too many versions. */
async function saveEarlierVersion(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  { requestId, direction }: ReceivedBody,
  size: number,
  now: Millis,
): Promise<number | null> {
  const { rows } = await sql<{ versions: number; bytes: number }>`
    select count(*)::integer as versions, coalesce(sum(${sql.raw(contentSize("body", "key_id"))}), 0)::integer as bytes
    from request_body_versions
    where workspace_id = ${workspaceId}::uuid and request_id = ${requestId}::uuid and direction = ${direction}`.execute(
    trx,
  );
  const earlier = rows[0] ?? { versions: 0, bytes: 0 };
  const version = earlier.versions + 1;
  if (version >= MAX_BODY_VERSIONS || earlier.bytes + size > MAX_EARLIER_BYTES) return null;
  const columns = SIDE_COLUMNS.map((column) => `${direction}_${column}`);
  const { numAffectedRows } = await sql`
    insert into request_body_versions
      (workspace_id, request_id, direction, version, ${sql.raw(SIDE_COLUMNS.join(", "))}, replaced_at)
    select workspace_id, request_id, ${direction}::text, ${version}::integer, ${sql.raw(columns.join(", "))},
      ${now}::timestamptz
    from request_bodies
    where workspace_id = ${workspaceId}::uuid and request_id = ${requestId}::uuid`.execute(trx);
  expectRows(numAffectedRows, 1);
  return version + 1;
}

async function explainMissing(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  requestId: string,
  now: Millis,
): Promise<"request_unknown" | "request_not_synced"> {
  await sql`delete from body_first_sightings
    where workspace_id = ${workspaceId}::uuid and first_seen_at < ${now - SIGHTING_TTL_MS}::timestamptz`.execute(
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
  const isOrphan = sighting !== undefined && now - sighting.first_seen_at >= ORPHAN_AFTER_MS;
  return isOrphan ? "request_unknown" : "request_not_synced";
}

async function hasRequest(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  requestId: string,
): Promise<boolean> {
  const row = await trx
    .selectFrom("requests")
    .select("request_id")
    .where("workspace_id", "=", workspaceId)
    .where("request_id", "=", requestId)
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether any workspace has a request with this id. */
export async function requestExists(trx: Transaction<CloudSchema>, requestId: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select lookup.request_exists(${requestId}::uuid) as found`.execute(trx);
  return rows[0]?.found === true;
}
