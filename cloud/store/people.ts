import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import type { CloudSchema } from "./schema.ts";

/**
 * Locks a person until the end of the transaction, so that what they create and the deletion of their account run one after another. An
 * account's own row is the accounts adapter's, and an advisory lock of a cluster excludes only processes on the same node, so the lock is a row
 * of `limit_states`, which may be deleted afterwards.
 */
export async function lockPerson(trx: Transaction<CloudSchema>, userId: string, now: Millis): Promise<void> {
  const key = new TextEncoder().encode(`person ${userId}`);
  await sql`insert into limit_states as s (client_hash, state, expires_at)
    values (sha256(${key}::bytea), 'null'::jsonb, ${now}::timestamptz)
    on conflict (client_hash) do update set expires_at = excluded.expires_at`.execute(trx);
}

/** Returns which of these people deleted their accounts. Their prompts can no longer be read. */
export async function findDeletedAccounts(
  trx: Transaction<CloudSchema>,
  userIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (userIds.length === 0) return new Set();
  const rows = await trx
    .selectFrom("account_deletions")
    .select("user_id")
    .where("user_id", "in", [...new Set(userIds)])
    .execute();
  return new Set(rows.map(({ user_id }) => user_id));
}
