import { type Selectable, sql, type Transaction } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import type { Millis } from "../../core/values/time.ts";
import type { PairingStartRequest } from "../../core/wire/pairing.ts";
import { addAuditEvent } from "./audit-events.ts";
import { insertKey } from "./keys.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { inScope } from "./transaction.ts";

/** How long a code can be approved, milliseconds. Source: docs/specification.md#pairing: `expires_in: 600`. */
export const PAIRING_TTL_MS = 600_000;

/** How long an approval stays valid at least, milliseconds, so that a daemon still receives one made in the last second. */
const APPROVAL_TTL_MS = 120_000;

/** How long a poll may take to store the machine and its key, milliseconds. After that, another poll takes over. */
const CLAIM_TTL_MS = 60_000;

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

/** The result of a poll. `claimed`: another poll is storing the machine's key. */
export type PairingPoll =
  | { readonly status: "pending" | "claimed" | "denied" | "expired" | "failed" }
  | {
      readonly status: "approved";
      readonly token: string;
      readonly workspace: { id: string; name: string };
      readonly userId: string;
      readonly promptHashKey: Uint8Array;
    };

/** A key for a workspace that is only known once the pairing is consumed. */
export interface MintedKey {
  readonly keyId: string;
  readonly token: string;
  readonly tokenHash: Uint8Array;
  readonly prefix: string;
  /** Stored if the workspace has none yet. */
  readonly promptHashKey: Uint8Array;
}

/** An approved pairing that one poll has claimed. */
type ClaimedPairing = Selectable<CloudSchema["pairing_sessions"]> & { readonly claimed_at: Millis };

/** What a poll needs. */
interface PollParts {
  readonly now: Millis;
  /** A new id of this poll. */
  readonly claim: string;
  readonly mint: (workspaceId: string) => MintedKey;
}

/**
 * Answers a poll, in three steps: claims an approved pairing, stores the machine and its key in the workspace, and marks the pairing
 * as consumed. Of several simultaneous polls, one has the claim and gets the key. If the process ends in between, a poll after
 * `CLAIM_TTL_MS` claims the pairing again and stores another key. If the answer is lost, the next poll gets `failed`, and the
 * person pairs again.
 */
export async function pollPairing(
  db: CloudDatabase,
  pollHash: Uint8Array,
  { now, claim, mint }: PollParts,
): Promise<PairingPoll> {
  const claimed = await claimPairing(db, pollHash, claim, now);
  if ("poll" in claimed) return claimed.poll;
  const poll = await pairMachine(db, claimed, mint);
  const isFirst = await inScope(db, {}, (trx) => consumePairing(trx, claimed, now));
  return isFirst ? poll : { status: "failed" };
}

async function claimPairing(
  db: CloudDatabase,
  pollHash: Uint8Array,
  claim: string,
  now: Millis,
): Promise<ClaimedPairing | { readonly poll: PairingPoll }> {
  return await inScope(db, {}, async (trx) => {
    const claimed = await trx
      .updateTable("pairing_sessions")
      .set({ claim, claimed_at: now })
      .where("poll_hash", "=", pollHash)
      .where("status", "=", "approved")
      .where("expires_at", ">", now)
      .where(({ eb, or }) => or([eb("claimed_at", "is", null), eb("claimed_at", "<=", now - CLAIM_TTL_MS)]))
      .returningAll()
      .executeTakeFirst();
    return claimed === undefined
      ? { poll: { status: await statusOf(trx, pollHash, now) } }
      : { ...claimed, claimed_at: now };
  });
}

/** Marks a pairing as consumed. False if another poll claimed it in the meantime. */
async function consumePairing(
  trx: Transaction<CloudSchema>,
  { pairing_id: pairingId, claim }: ClaimedPairing,
  now: Millis,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("pairing_sessions")
    .set({ status: "consumed", consumed_at: now })
    .where("pairing_id", "=", pairingId)
    .where("claim", "=", claim)
    .where("status", "=", "approved")
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Stores the machine of a pairing and its key, and revokes the machine's earlier key. */
async function pairMachine(
  db: CloudDatabase,
  claimed: ClaimedPairing,
  mint: (workspaceId: string) => MintedKey,
): Promise<PairingPoll> {
  const { workspace_id: workspaceId, user_id: userId, claimed_at: now } = claimed;
  if (workspaceId === null || userId === null) return { status: "failed" };
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx): Promise<PairingPoll> => {
    const workspace = await trx
      .selectFrom("workspaces")
      .select(["name", "deleted_at"])
      .where("workspace_id", "=", workspaceId)
      .executeTakeFirst();
    // Deleted between the approval and the poll.
    if (workspace === undefined || workspace.deleted_at !== null) return { status: "failed" };
    const key = mint(workspaceId);
    const decidedBy = claimed.decided_by ?? userId;
    const people = { userId, approvedBy: decidedBy };
    const machineId = await upsertMachine(trx, workspaceId, claimed, people, now);
    if (await hasLaterKey(trx, workspaceId, machineId, now)) return { status: "failed" };
    await insertKey(trx, { ...key, workspaceId, machineId, userId, scope: "sync", now });
    const { hostname } = claimed;
    const details = { machine_id: machineId, hostname, key: key.prefix, user_id: userId };
    await addAuditEvent(trx, workspaceId, "machine_paired", { userId: decidedBy, now }, details);
    const answered = { id: workspaceId, name: workspace.name };
    const promptHashKey = await promptHashKeyOf(trx, workspaceId, key.promptHashKey);
    return { status: "approved", token: key.token, workspace: answered, userId, promptHashKey };
  });
}

/** Whether a poll that claimed the pairing later has stored a key. */
async function hasLaterKey(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  machineId: string,
  now: Millis,
): Promise<boolean> {
  const row = await trx
    .selectFrom("sync_keys")
    .select("key_id")
    .where("workspace_id", "=", workspaceId)
    .where("machine_id", "=", machineId)
    .where("revoked_at", "is", null)
    .where("created_at", ">", now)
    .executeTakeFirst();
  return row !== undefined;
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
): Promise<"pending" | "claimed" | "denied" | "expired" | "failed"> {
  const row = await trx
    .selectFrom("pairing_sessions")
    .select(["status", "expires_at", "claim"])
    .where("poll_hash", "=", pollHash)
    .executeTakeFirst();
  if (row === undefined || row.status === "consumed") return "failed";
  if (row.status === "denied") return "denied";
  if (row.expires_at <= now) return "expired";
  return row.claim === null ? "pending" : "claimed";
}

/**
 * Finds the person's machine with this fingerprint in the workspace, or creates one; without a fingerprint, creates
 * one for each pairing, whose id it has. A blocked machine stays blocked when it is paired again. Locks the machine's row until
 * the key is stored.
 */
async function upsertMachine(
  trx: Transaction<CloudSchema>,
  workspaceId: string,
  facts: Pick<ClaimedPairing, "pairing_id" | "fingerprint" | "hostname" | "platform" | "daemon_version">,
  people: { readonly userId: string; readonly approvedBy: string },
  now: Millis,
): Promise<string> {
  const { pairing_id: machine_id, fingerprint, hostname, platform, daemon_version } = facts;
  const { userId: user_id, approvedBy: approved_by } = people;
  const earlier = await trx
    .selectFrom("machines")
    .select("machine_id")
    .where("workspace_id", "=", workspaceId)
    .where("machine_id", "=", machine_id)
    .forUpdate()
    .executeTakeFirst();
  if (earlier !== undefined) return machine_id;
  const row = await trx
    .insertInto("machines")
    .values({
      workspace_id: workspaceId,
      machine_id,
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
