import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import { showAllRows } from "./distribute.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";

/**
 * Something that was erased, deleted, revoked or blocked, and that an earlier backup must not bring back. `at` is when that happened;
 * `prompts_not_stored` has none, since only the present setting is known.
 */
export type Withdrawal =
  | { readonly kind: "prompts_not_stored"; readonly workspaceId: string }
  | {
      readonly kind: "key_revoked";
      readonly workspaceId: string;
      readonly keyId: string;
      readonly at: Millis;
    }
  | {
      readonly kind: "machine_blocked";
      readonly workspaceId: string;
      readonly machineId: string;
      readonly at: Millis;
    }
  | {
      readonly kind: "member_removed";
      readonly workspaceId: string;
      readonly userId: string;
      readonly at: Millis;
    }
  | {
      readonly kind: "organisation_left";
      readonly organisationId: string;
      readonly userId: string;
      readonly at: Millis;
    }
  | {
      readonly kind: "prompts_erased";
      readonly workspaceId: string;
      readonly erasureId: string;
      readonly userId: string | null;
      readonly project: string | null;
      readonly actorUserId: string | null;
      /** Prompts from before this instant were erased. */
      readonly at: Millis;
    }
  | { readonly kind: "workspace_deleted"; readonly workspaceId: string; readonly at: Millis }
  | { readonly kind: "account_deleted"; readonly userId: string; readonly at: Millis };

/** For each kind, in the order in which they are applied again: its fields, its table, and the column of its time. */
const SOURCES: readonly (readonly [kind: Withdrawal["kind"], fields: string, table: string, at: string])[] = [
  ["key_revoked", 'workspace_id as "workspaceId", key_id as "keyId"', "sync_keys", "revoked_at"],
  ["machine_blocked", 'workspace_id as "workspaceId", machine_id as "machineId"', "machines", "blocked_at"],
  ["member_removed", 'workspace_id as "workspaceId", user_id as "userId"', "memberships", "removed_at"],
  [
    "organisation_left",
    'organisation_id as "organisationId", user_id as "userId"',
    "organisation_members",
    "removed_at",
  ],
  [
    "prompts_erased",
    `workspace_id as "workspaceId", erasure_id as "erasureId", user_id as "userId", project,
      actor_user_id as "actorUserId"`,
    "erasures",
    "before",
  ],
  ["workspace_deleted", 'workspace_id as "workspaceId"', "workspace_directory", "deleted_at"],
  ["account_deleted", 'user_id as "userId"', "account_deletions", "deleted_at"],
];

/** Lists the withdrawals from an instant on. Run it as the owner of all rows. */
export async function listWithdrawals(db: CloudDatabase, since: Millis): Promise<readonly Withdrawal[]> {
  return await db.transaction().execute(async (trx: Transaction<CloudSchema>) => {
    await sql`set transaction isolation level repeatable read`.execute(trx);
    await showAllRows(trx);
    const { rows: unstored } = await sql<Withdrawal>`
      select 'prompts_not_stored' as kind, workspace_id as "workspaceId" from workspaces
      where not store_prompt_content order by workspace_id`.execute(trx);
    const found = [...unstored];
    for (const [kind, fields, table, column] of SOURCES) {
      const at = sql.ref(column);
      const { rows } = await sql<Withdrawal>`
        select ${sql.lit(kind)} as kind, ${sql.raw(fields)}, ${at} as at from ${sql.table(table)}
        where ${at} >= ${since}::timestamptz order by ${at}`.execute(trx);
      found.push(...rows);
    }
    return found;
  });
}
