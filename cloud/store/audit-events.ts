import { type RawBuilder, sql, type Transaction } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import { type AuditEventRow, canonicalDetails } from "../../core/privacy/ledger/audit-event-chain.ts";
import { GENESIS_HASH } from "../../core/privacy/ledger/chain.ts";
import type { Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import { expectRows } from "./affected-rows.ts";
import type { CloudSchema } from "./schema.ts";

/** The kinds of audit events. */
export type AuditEventKind =
  | "workspace_created"
  | "workspace_deleted"
  | "settings_changed"
  | "advanced_settings_changed"
  | "plan_changed"
  | "member_invited"
  | "invitation_revoked"
  | "invitation_resent"
  | "member_joined"
  | "member_role_changed"
  | "member_removed"
  | "organisation_role_changed"
  | "body_replaced"
  | "prompts_erased"
  | "machine_paired"
  | "machine_user_changed"
  | "machine_renamed"
  | "machine_blocked"
  | "machine_invited"
  | "budget_created"
  | "budget_changed"
  | "budget_paused"
  | "budget_resumed"
  | "budget_lifted"
  | "budget_removed"
  | "view_shared"
  | "view_unshared"
  | "view_renamed"
  | "view_deleted"
  | "key_created"
  | "key_revoked";

/** Who makes a change, and when. `userId` is null for the host's own administration. */
export interface Change {
  readonly userId: string | null;
  readonly now: Millis;
}

/** Converts a chained event to the form in which it was hashed. */
function toAuditEventRow(row: ChainedEvent): AuditEventRow {
  const { erased_at: erasedAt, ...fields } = row;
  return {
    ...fields,
    seq: Number(row.seq),
    at: formatInstant(row.at),
    retain_until: formatInstant(row.retain_until),
    is_erased: erasedAt !== null,
  };
}

/** A row of `audit_events` that belongs to the chain, as the adapters read it. */
type ChainedEvent = Omit<AuditEventRow, "seq" | "at" | "retain_until" | "is_erased"> & {
  readonly seq: string;
  readonly at: Millis;
  readonly retain_until: Millis;
  readonly erased_at: Millis | null;
};

/** Reads the events after `afterSeq` in the chain, in order; from the first one for null. */
export async function readChainedEvents(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  afterSeq: number | null,
  limit: number,
): Promise<readonly AuditEventRow[]> {
  const rows = await trx
    .selectFrom("audit_events")
    .selectAll()
    .where("workspace_id", "=", workspaceId)
    .where("seq", "is not", null)
    .$if(afterSeq !== null, (query) => query.where("seq", ">", String(afterSeq)))
    .orderBy("seq")
    .limit(limit)
    .execute();
  return rows.map((row) => toAuditEventRow(row as ChainedEvent));
}

/** Whether the workspace has the event with that id. */
export async function hasAuditEvent(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  eventId: string,
): Promise<boolean> {
  const row = await trx
    .selectFrom("audit_events")
    .select("event_id")
    .where("workspace_id", "=", workspaceId)
    .where("event_id", "=", eventId)
    .executeTakeFirst();
  return row !== undefined;
}

/** SQL for the SHA-256 of a text, in lower-case hex. */
const hex = (text: RawBuilder<unknown>) => sql`encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`;

/**
 * Records a change, in the transaction that makes it, so that both are stored or neither. The transaction's scope must be
 * the workspace. `retain_until` follows from the workspace's current setting; nothing acts on it.
 *
 * The event is appended to the workspace's chain (`core/privacy/ledger`). One statement moves the head and computes the
 * hash, and the next one stores the event. The head's row stays locked until the transaction ends, so call this after everything else that the transaction
 * locks. Its id is random unless it is given.
 */
export async function addAuditEvent(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  kind: AuditEventKind,
  { userId, now }: Change,
  details: Readonly<Record<string, string | number | boolean | null>>,
  eventId: string | null = null,
): Promise<void> {
  const event = await readNewEvent(trx, workspaceId, now, details, eventId);
  // The JSON array that core/privacy/ledger hashes. The values joined here (ids, hashes, times, a number) need no escaping.
  const beforeSeq = `["meter-audit-event-1",${JSON.stringify(workspaceId.toLowerCase())},`;
  const fields = [event.event_id, formatInstant(now), kind, userId, event.retain_until, event.content_hash];
  const tail = `","${JSON.stringify(fields).slice(2)}`;
  // A cluster runs only immutable functions in `do update`; `convert_to()` and `||` with a number are not.
  const row = (seq: RawBuilder<unknown>, previous: RawBuilder<unknown>) =>
    sql`encode(sha256(replace(${beforeSeq}::text || ${seq}::text || ',"' || ${previous} || ${tail}::text, '\\', '\\\\')::bytea), 'hex')`;
  const { rows: heads } = await sql<{ seq: string; prev_hash: string; hash: string }>`
    insert into audit_event_heads as h (workspace_id, seq, prev_hash, hash)
    values (${workspaceId}::uuid, 1, ${GENESIS_HASH}::text, ${row(sql`1`, sql`${GENESIS_HASH}::text`)})
    on conflict (workspace_id) do update set
      seq = h.seq + 1, prev_hash = h.hash, hash = ${row(sql`(h.seq + 1)`, sql`h.hash`)}
    returning seq, prev_hash, hash`.execute(trx);
  const [head] = heads;
  if (head === undefined) throw new DatabaseError("conflict");
  const { numAffectedRows } = await sql`
    insert into audit_events (workspace_id, event_id, at, kind, actor_user_id, details, retain_until,
      seq, prev_hash, hash, content_salt, content_hash)
    values (${workspaceId}::uuid, ${event.event_id}::uuid, ${now}::timestamptz, ${kind}, ${userId}::text,
      ${JSON.stringify(details)}::text::jsonb, ${event.retain_until}::text::timestamptz, ${head.seq}::bigint, ${head.prev_hash},
      ${head.hash}, ${event.salt}, ${event.content_hash})`.execute(trx);
  expectRows(numAffectedRows, 1);
}

/** The parts of a new event that the database determines. The random ids are parameters of the insert, as a cluster requires. */
interface NewEvent {
  readonly event_id: string;
  readonly salt: string;
  /** ISO 8601, UTC, milliseconds. */
  readonly retain_until: string;
  readonly content_hash: string;
}

async function readNewEvent(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  now: Millis,
  details: Readonly<Record<string, string | number | boolean | null>>,
  eventId: string | null,
): Promise<NewEvent> {
  const content = sql`'["meter-audit-event-content-1","' || salt || '",' || ${canonicalDetails(details)}::text || ']'`;
  const { rows } = await sql<NewEvent>`
    select event_id, salt, ${hex(content)} as content_hash,
      to_char(retain_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as retain_until
    from (
      select coalesce(${eventId}::text, gen_random_uuid()::text) as event_id, gen_random_uuid()::text as salt,
        (${now}::timestamptz + audit_log_retention_days * interval '1 day')::timestamptz(3) as retain_until
      from workspaces where workspace_id = ${workspaceId}::uuid
    ) as event`.execute(trx);
  const [event] = rows;
  if (event === undefined) throw new DatabaseError("conflict");
  return event;
}
