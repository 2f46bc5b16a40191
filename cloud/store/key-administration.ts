import type { Millis } from "../../core/values/time.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import { insertKey } from "./keys.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { KeyScope } from "./schema.ts";
import { inScope } from "./transaction.ts";

/** An active key, without its secret. */
export interface ListedKey {
  readonly keyId: string;
  readonly prefix: string;
  readonly scope: KeyScope;
  readonly userId: string;
  readonly machineId: string | null;
  readonly createdAt: Millis;
  /** Up to `KEY_USE_STEP_MS` before the last use; null if it was not used. */
  readonly lastUsedAt: Millis | null;
}

/** Lists a workspace's active keys, of one person or (for null) of everyone, newest first. */
export async function listKeys(
  db: CloudDatabase,
  workspaceId: string,
  userId: string | null,
): Promise<readonly ListedKey[]> {
  const rows = await inScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("sync_keys")
      .select(["key_id", "prefix", "scope", "user_id", "machine_id", "created_at", "last_used_at"])
      .where("workspace_id", "=", workspaceId)
      .where("revoked_at", "is", null)
      .$if(userId !== null, (query) => query.where("user_id", "=", userId as string))
      .orderBy("created_at", "desc")
      .orderBy("key_id", "desc")
      .execute(),
  );
  return rows.map((row) => ({
    keyId: row.key_id,
    prefix: row.prefix,
    scope: row.scope,
    userId: row.user_id,
    machineId: row.machine_id,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }));
}

/** Stores an admin key, bound to the person who creates it. */
export async function addAdminKey(
  db: CloudDatabase,
  workspaceId: string,
  fresh: { readonly keyId: string; readonly tokenHash: Uint8Array; readonly prefix: string },
  change: Change & { readonly userId: string },
): Promise<void> {
  const { userId, now } = change;
  await inScope(db, { workspaceId }, async (trx) => {
    await insertKey(trx, { ...fresh, workspaceId, userId, scope: "admin", machineId: null, now });
    const details = { key: fresh.prefix, scope: "admin" };
    await addAuditEvent(trx, workspaceId, "key_created", change, details);
  });
}

/** Revokes an active key, of one person or (for null) of anyone; false if there is no such key. */
export async function revokeKey(
  db: CloudDatabase,
  workspaceId: string,
  keyId: string,
  ofUserId: string | null,
  change: Change,
): Promise<boolean> {
  return await inScope(db, { workspaceId }, async (trx) => {
    const revoked = await trx
      .updateTable("sync_keys")
      .set({ revoked_at: change.now })
      .where("workspace_id", "=", workspaceId)
      .where("key_id", "=", keyId)
      .where("revoked_at", "is", null)
      .$if(ofUserId !== null, (query) => query.where("user_id", "=", ofUserId as string))
      .returning(["prefix", "scope"])
      .executeTakeFirst();
    if (revoked === undefined) return false;
    const details = { key: revoked.prefix, scope: revoked.scope };
    await addAuditEvent(trx, workspaceId, "key_revoked", change, details);
    return true;
  });
}
