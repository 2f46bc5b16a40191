import { sql, type Transaction } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import type { CloudDatabase } from "./open-database.ts";
import { readOrganisationRole } from "./organisations.ts";
import type { CloudSchema, KeyScope } from "./schema.ts";
import { inScope } from "./transaction.ts";

/** A valid key, with the facts that authorise its requests. */
export interface AuthenticatedKey {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly userId: string;
  readonly scope: KeyScope;
  readonly prefix: string;
  readonly createdAt: Millis;
  readonly lastUsedAt: Millis | null;
  /** Null for an admin key. */
  readonly machine: {
    readonly id: string;
    readonly hostname: string;
    readonly daemonVersion: string;
    readonly isBlocked: boolean;
  } | null;
  readonly workspace: {
    readonly name: string;
    readonly plan: string;
    readonly storePromptContent: boolean;
    /** When prompts were last erased; null if none were. */
    readonly promptsErasedAt: Millis | null;
    readonly deletedAt: Millis | null;
  };
  /** Whether the key's owner still belongs to the workspace, or administers its organisation. */
  readonly isMember: boolean;
}

/** Selects the key of a token, unless it is revoked, with its machine and workspace. */
async function selectKey(trx: Transaction<CloudSchema>, workspaceId: string, tokenHash: Uint8Array) {
  return await trx
    .selectFrom("sync_keys as k")
    .innerJoin("workspaces as w", "w.workspace_id", "k.workspace_id")
    .leftJoin("machines as m", (join) =>
      join.onRef("m.workspace_id", "=", "k.workspace_id").onRef("m.machine_id", "=", "k.machine_id"),
    )
    .select([
      "k.key_id",
      "k.user_id",
      "k.scope",
      "k.prefix",
      "k.created_at",
      "k.last_used_at",
      "k.machine_id",
      "m.hostname",
      "m.daemon_version",
      "m.blocked_at",
      "w.name",
      "w.plan",
      "w.store_prompt_content",
      "w.prompts_erased_at",
      "w.deleted_at",
      "w.organisation_id",
      sql<boolean>`exists (select from memberships s
        where s.workspace_id = ${workspaceId}::uuid and s.user_id = k.user_id and s.removed_at is null)`.as(
        "is_member",
      ),
    ])
    .where("k.workspace_id", "=", workspaceId)
    .where("k.token_hash", "=", tokenHash)
    .where("k.revoked_at", "is", null)
    .executeTakeFirst();
}

type KeyRow = NonNullable<Awaited<ReturnType<typeof selectKey>>>;

/** Whether the key's owner administers the workspace's organisation. */
async function administers(trx: Transaction<CloudSchema>, row: KeyRow): Promise<boolean> {
  const role = await readOrganisationRole(trx, row.organisation_id, row.user_id);
  return role === "owner" || role === "admin";
}

function toAuthenticatedKey(workspaceId: string, row: KeyRow, isMember: boolean): AuthenticatedKey {
  return {
    keyId: row.key_id,
    workspaceId,
    userId: row.user_id,
    scope: row.scope,
    prefix: row.prefix,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    machine:
      row.machine_id === null
        ? null
        : {
            id: row.machine_id,
            hostname: row.hostname ?? "",
            daemonVersion: row.daemon_version ?? "",
            isBlocked: row.blocked_at !== null,
          },
    workspace: {
      name: row.name,
      plan: row.plan,
      storePromptContent: row.store_prompt_content,
      promptsErasedAt: row.prompts_erased_at,
      deletedAt: row.deleted_at,
    },
    isMember,
  };
}

/** Finds the key of a token; null if it is unknown or revoked. Never cached, so that a revoked key stops working at once. */
export async function findKey(
  db: CloudDatabase,
  workspaceId: string,
  tokenHash: Uint8Array,
): Promise<AuthenticatedKey | null> {
  return await inScope(db, { workspaceId }, async (trx) => {
    const row = await selectKey(trx, workspaceId, tokenHash);
    if (row === undefined) return null;
    return toAuthenticatedKey(workspaceId, row, row.is_member || (await administers(trx, row)));
  });
}

/** How exact the last use of a key is, milliseconds. Decision: most requests then write nothing for it. */
export const KEY_USE_STEP_MS = 300_000;

/** Stores that a key is in use, unless its last use was stored less than a step ago. A clock that was set back changes nothing. */
export async function saveKeyUse(
  db: CloudDatabase,
  { workspaceId, keyId, lastUsedAt }: AuthenticatedKey,
  now: Millis,
): Promise<void> {
  if (lastUsedAt !== null && now - lastUsedAt < KEY_USE_STEP_MS) return;
  await inScope(db, { workspaceId }, (trx) =>
    trx
      .updateTable("sync_keys")
      .set({ last_used_at: now })
      .where("workspace_id", "=", workspaceId)
      .where("key_id", "=", keyId)
      // Of simultaneous requests, one writes.
      .where((where) =>
        where.or([where("last_used_at", "is", null), where("last_used_at", "<=", now - KEY_USE_STEP_MS)]),
      )
      .execute(),
  );
}

/** A new key. */
export interface NewKey {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly userId: string;
  readonly scope: KeyScope;
  readonly machineId: string | null;
  readonly tokenHash: Uint8Array;
  readonly prefix: string;
  readonly now: Millis;
}

/** Stores a key and revokes the machine's earlier one, in the caller's transaction. Source: docs/specification.md#pairing. */
export async function insertKey(trx: Transaction<CloudSchema>, key: NewKey): Promise<void> {
  if (key.machineId !== null) {
    await trx
      .updateTable("sync_keys")
      .set({ revoked_at: key.now })
      .where("workspace_id", "=", key.workspaceId)
      .where("machine_id", "=", key.machineId)
      .where("revoked_at", "is", null)
      .execute();
    // If the statement was lost, the unique index of active keys refuses the new one.
  }
  await trx
    .insertInto("sync_keys")
    .values({
      workspace_id: key.workspaceId,
      key_id: key.keyId,
      token_hash: key.tokenHash,
      prefix: key.prefix,
      scope: key.scope,
      machine_id: key.machineId,
      user_id: key.userId,
      created_at: key.now,
    })
    .execute();
}
