import { sql, type Transaction } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import type { Millis } from "../../core/time.ts";
import type { PairingStart } from "../../core/wire/mod.ts";
import { addAuditEvent } from "./audit-events.ts";
import { insertKey } from "./keys.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { enterWorkspace, inScope } from "./transaction.ts";

/** How long a code can be approved, milliseconds. Source: decisions, "Pairing": `expires_in: 600`. */
export const PAIRING_TTL_MS = 600_000;

/** An approval in the last second must still reach a daemon that polls: it stays good for at least so long. */
const APPROVAL_KEPT_MS = 120_000;

/** An ended handshake is kept for so long, so that a late poll learns how it ended; then it is deleted. */
const ENDED_KEPT_MS = 24 * 3_600_000;

/** A handshake to be begun. */
export interface NewPairing {
  readonly pairingId: string;
  /** 8 characters, without the hyphen. */
  readonly code: string;
  readonly pollHash: Uint8Array;
  readonly machine: PairingStart;
  readonly address: string | null;
  readonly now: Millis;
}

/** Stores a handshake; false where the code is taken, and another one must be made. */
export async function startPairing(db: CloudDatabase, pairing: NewPairing): Promise<boolean> {
  const { machine, now } = pairing;
  try {
    await inScope(db, {}, async (trx) => {
      await trx
        .deleteFrom("pairing_sessions")
        .where("expires_at", "<", now - ENDED_KEPT_MS)
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

/** What a person sees before they decide; null where the code is unknown, decided or expired. */
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
 * Approves or denies a handshake for a workspace, once. The caller has found the person to be a member of it. False where
 * the code is unknown, decided or expired: nobody learns which.
 */
export async function decidePairing(
  db: CloudDatabase,
  decision: {
    readonly code: string;
    readonly approved: boolean;
    readonly workspaceId: string;
    readonly userId: string;
    readonly now: Millis;
  },
): Promise<boolean> {
  const { code, approved, workspaceId, userId, now } = decision;
  const { rows } = await inScope(db, {}, (trx) =>
    sql`update pairing_sessions set
      status = ${approved ? "approved" : "denied"}::text,
      workspace_id = ${workspaceId}::uuid,
      user_id = ${userId}::text,
      decided_at = ${now}::timestamptz,
      expires_at = greatest(expires_at, ${now + APPROVAL_KEPT_MS}::timestamptz)
    where code = ${code} and status = 'pending' and expires_at > ${now}::timestamptz
    returning pairing_id`.execute(trx),
  );
  return rows.length > 0;
}

/** What a poll finds. */
export type PairingPoll =
  | { readonly status: "pending" | "denied" | "expired" | "failed" }
  | { readonly status: "approved"; readonly token: string; readonly workspace: { id: string; name: string } };

/** A key made for a workspace that is known only once the handshake is consumed. */
export interface FreshKey {
  readonly keyId: string;
  readonly machineId: string;
  readonly token: string;
  readonly tokenHash: Uint8Array;
  readonly prefix: string;
}

/**
 * Answers a poll. An approved handshake is consumed by a single statement, so that of many polls at once exactly one gets
 * the key; the key, the machine and the end of the machine's earlier key are of the same transaction. If its answer is
 * lost, the next poll says `failed`, and the person pairs again.
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
    const machineId = await upsertMachine(trx, workspaceId, key.machineId, consumed, now);
    await insertKey(trx, { ...key, workspaceId, machineId, userId, scope: "sync", now });
    const details = { machine_id: machineId, hostname: consumed.hostname, key: key.prefix };
    await addAuditEvent(trx, workspaceId, "machine_paired", { userId, now }, details);
    return { status: "approved", token: key.token, workspace: { id: workspaceId, name: workspace.name } };
  });
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
 * The machine of that fingerprint in the workspace, or a new one; without a fingerprint always a new one. A machine that
 * was blocked stays blocked: pairing again is not the owner's pardon. Holds the machine's row until the key is in.
 */
async function upsertMachine(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  newMachineId: string,
  facts: Pick<PairingStart, "fingerprint" | "hostname" | "platform" | "daemon_version">,
  now: Millis,
): Promise<string> {
  const { fingerprint, hostname, platform, daemon_version } = facts;
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
    })
    .onConflict((conflict) =>
      conflict.columns(["workspace_id", "fingerprint"]).doUpdateSet({ hostname, platform, daemon_version }),
    )
    .returning("machine_id")
    .executeTakeFirstOrThrow();
  return row.machine_id;
}
