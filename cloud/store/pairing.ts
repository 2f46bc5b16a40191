import { sql, type Transaction } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import type { Millis } from "../../core/values/time.ts";
import type { PairingStartRequest } from "../../core/wire/pairing.ts";
import { addAuditEvent } from "./audit-events.ts";
import { insertKey } from "./keys.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { enterWorkspace, inScope } from "./transaction.ts";

/** How long a code can be approved, milliseconds. Source: docs/specification.md#pairing: `expires_in: 600`. */
export const PAIRING_TTL_MS = 600_000;

/** How long an approval stays valid at least, milliseconds, so that a daemon still receives one made in the last second. */
const APPROVAL_TTL_MS = 120_000;

/** How long an ended pairing is stored, milliseconds, so that a late poll gets its result. */
const ENDED_TTL_MS = 24 * 3_600_000;

/** A new pairing. */
export interface NewPairing {
  readonly pairingId: string;
  /** 8 characters, without the hyphen. */
  readonly code: string;
  readonly pollHash: Uint8Array;
  readonly machine: PairingStartRequest;
  readonly address: string | null;
  readonly now: Millis;
}

/** Stores a pairing; false if the code is taken and the caller must create another one. */
export async function startPairing(db: CloudDatabase, pairing: NewPairing): Promise<boolean> {
  const { machine, now } = pairing;
  try {
    await inScope(db, {}, async (trx) => {
      await trx
        .deleteFrom("pairing_sessions")
        .where("expires_at", "<", now - ENDED_TTL_MS)
        .execute();
      await trx
        .insertInto("pairing_sessions")
        .values({
          pairing_id: pairing.pairingId,
          code: pairing.code,
          poll_hash: pairing.pollHash,
          fingerprint: machine.fingerprint,
          hostname: machine.hostname,
          platform: machine.platform,
          daemon_version: machine.daemon_version,
          address: pairing.address,
          created_at: now,
          expires_at: now + PAIRING_TTL_MS,
        })
        .execute();
    });
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && error.constraint === "pairing_sessions_by_code") return false;
    throw error;
  }
}

/** Reads what a person sees before they decide; null if the code is unknown, decided or expired. */
export async function readPairing(
  db: CloudDatabase,
  code: string,
  now: Millis,
): Promise<{ hostname: string; platform: string; address: string | null } | null> {
  const row = await inScope(db, {}, (trx) =>
    trx
      .selectFrom("pairing_sessions")
      .select(["hostname", "platform", "address"])
      .where("code", "=", code)
      .where("status", "=", "pending")
      .where("expires_at", ">", now)
      .executeTakeFirst(),
  );
  return row ?? null;
}

/**
 * Approves or denies a pairing for a workspace, once. The caller must have checked that both people are members: the one who
 * decides, and the one who uses the machine and will own its requests and prompts. False if the code is unknown, decided or
 * expired; the result does not tell which.
 */
export async function decidePairing(
  db: CloudDatabase,
  decision: {
    readonly code: string;
    readonly approved: boolean;
    readonly workspaceId: string;
    readonly userId: string;
    readonly decidedBy: string;
    readonly now: Millis;
  },
): Promise<boolean> {
  const { code, approved, workspaceId, userId, decidedBy, now } = decision;
  const { rows } = await inScope(db, {}, (trx) =>
    sql`update pairing_sessions set
      status = ${approved ? "approved" : "denied"}::text,
      workspace_id = ${workspaceId}::uuid,
      user_id = ${userId}::text,
      decided_by = ${decidedBy}::text,
      decided_at = ${now}::timestamptz,
      expires_at = greatest(expires_at, ${now + APPROVAL_TTL_MS}::timestamptz)
    where code = ${code} and status = 'pending' and expires_at > ${now}::timestamptz
    returning pairing_id`.execute(trx),
  );
  return rows.length > 0;
}

/** The result of a poll. */
export type PairingPoll =
  | { readonly status: "pending" | "denied" | "expired" | "failed" }
  | {
      readonly status: "approved";
      readonly token: string;
      readonly workspace: { id: string; name: string };
      readonly userId: string;
      readonly promptHashKey: Uint8Array;
    };

/** A key for a workspace that is only known once the pairing is consumed. */
export interface FreshKey {
  readonly keyId: string;
  readonly machineId: string;
  readonly token: string;
  readonly tokenHash: Uint8Array;
  readonly prefix: string;
  /** Stored if the workspace has none yet. */
  readonly promptHashKey: Uint8Array;
}

/**
 * Answers a poll. A single statement consumes an approved pairing, so that exactly one of several simultaneous polls gets the
 * key. The same transaction stores the machine and the key, and revokes the machine's earlier key. If the answer is lost, the
 * next poll gets `failed`, and the person pairs again.
 */
export async function pollPairing(
  db: CloudDatabase,
  pollHash: Uint8Array,
  now: Millis,
  mint: (workspaceId: string) => FreshKey,
): Promise<PairingPoll> {
  return await inScope(db, {}, async (trx): Promise<PairingPoll> => {
    const consumed = await trx
      .updateTable("pairing_sessions")
      .set({ status: "consumed", consumed_at: now })
      .where("poll_hash", "=", pollHash)
      .where("status", "=", "approved")
      .where("expires_at", ">", now)
      .returningAll()
      .executeTakeFirst();
    if (consumed === undefined) return { status: await statusOf(trx, pollHash, now) };
    const { workspace_id: workspaceId, user_id: userId } = consumed;
    if (workspaceId === null || userId === null) return { status: "failed" };
    await enterWorkspace(trx, workspaceId);
    const workspace = await trx
      .selectFrom("workspaces")
      .select(["name", "deleted_at"])
      .where("workspace_id", "=", workspaceId)
      .executeTakeFirst();
    // Deleted between the approval and the poll.
    if (workspace === undefined || workspace.deleted_at !== null) return { status: "failed" };
    const key = mint(workspaceId);
    const decidedBy = consumed.decided_by ?? userId;
    const people = { userId, approvedBy: decidedBy };
    const machineId = await upsertMachine(trx, workspaceId, key.machineId, consumed, people, now);
    await insertKey(trx, { ...key, workspaceId, machineId, userId, scope: "sync", now });
    const { hostname } = consumed;
    const details = { machine_id: machineId, hostname, key: key.prefix, user_id: userId };
    await addAuditEvent(trx, workspaceId, "machine_paired", { userId: decidedBy, now }, details);
    const answered = { id: workspaceId, name: workspace.name };
    const promptHashKey = await promptHashKeyOf(trx, workspaceId, key.promptHashKey);
    return { status: "approved", token: key.token, workspace: answered, userId, promptHashKey };
  });
}

/** Returns the workspace's prompt hash key, and stores the fresh one if there is none. Simultaneous pairings get the same key. */
async function promptHashKeyOf(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  fresh: Uint8Array,
): Promise<Uint8Array> {
  const { rows } = await sql<{ prompt_hash_key: Uint8Array }>`
    update workspaces set prompt_hash_key = coalesce(prompt_hash_key, ${fresh}::bytea)
    where workspace_id = ${workspaceId}::uuid
    returning prompt_hash_key`.execute(trx);
  const [row] = rows;
  if (row === undefined) throw new DatabaseError("conflict");
  return row.prompt_hash_key;
}

async function statusOf(
  trx: Transaction<CloudSchema>,
  pollHash: Uint8Array,
  now: Millis,
): Promise<"pending" | "denied" | "expired" | "failed"> {
  const row = await trx
    .selectFrom("pairing_sessions")
    .select(["status", "expires_at"])
    .where("poll_hash", "=", pollHash)
    .executeTakeFirst();
  if (row === undefined || row.status === "consumed") return "failed";
  if (row.status === "denied") return "denied";
  return row.expires_at > now ? "pending" : "expired";
}

/**
 * Finds the person's machine with this fingerprint in the workspace, or creates one; without a fingerprint, always creates
 * one. A blocked machine stays blocked when it is paired again. Locks the machine's row until the key is stored.
 */
async function upsertMachine(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  newMachineId: string,
  facts: Pick<PairingStartRequest, "fingerprint" | "hostname" | "platform" | "daemon_version">,
  people: { readonly userId: string; readonly approvedBy: string },
  now: Millis,
): Promise<string> {
  const { fingerprint, hostname, platform, daemon_version } = facts;
  const { userId: user_id, approvedBy: approved_by } = people;
  const row = await trx
    .insertInto("machines")
    .values({
      workspace_id: workspaceId,
      machine_id: newMachineId,
      fingerprint,
      hostname,
      platform,
      daemon_version,
      created_at: now,
      user_id,
      approved_by,
    })
    .onConflict((conflict) =>
      conflict
        .columns(["workspace_id", "fingerprint", "user_id"])
        .doUpdateSet({ hostname, platform, daemon_version, approved_by }),
    )
    .returning("machine_id")
    .executeTakeFirstOrThrow();
  return row.machine_id;
}
