import type { BodyKeyStore } from "../../core/ports/body-key-store.ts";
import type { BodyKeyFault, BodyOwner } from "./body-keys.ts";
import { showAllRows } from "./distribute.ts";
import type { CloudDatabase } from "./open-database.ts";

/** A key that was not destroyed and can't be read. */
export interface UnavailableKey extends BodyOwner {
  readonly keyId: string;
  readonly fault: Exclude<BodyKeyFault, "not_created">;
}

/** How many keys were not destroyed, and those of them that can't be read. */
export interface KeyCheck {
  readonly keys: number;
  readonly unavailable: readonly UnavailableKey[];
}

/** Reads every key that was not destroyed, as the owner of all rows. */
export async function checkBodyKeys(db: CloudDatabase, keys: BodyKeyStore): Promise<KeyCheck> {
  const kept = await db.transaction().execute(async (trx) => {
    await showAllRows(trx);
    return await trx
      .selectFrom("body_keys")
      .select(["workspace_id", "user_id", "project", "key_id"])
      .where("destroyed_at", "is", null)
      .orderBy("workspace_id")
      .orderBy("user_id")
      .orderBy("project")
      .execute();
  });
  const unavailable: UnavailableKey[] = [];
  for (const row of kept) {
    const fault = await findFault(keys, row.key_id);
    if (fault === null) continue;
    const owner = { workspaceId: row.workspace_id, userId: row.user_id, project: row.project };
    unavailable.push({ ...owner, keyId: row.key_id, fault });
  }
  return { keys: kept.length, unavailable };
}

async function findFault(keys: BodyKeyStore, keyId: string): Promise<UnavailableKey["fault"] | null> {
  try {
    return (await keys.read(keyId)) === null ? "missing" : null;
  } catch {
    return "unreadable";
  }
}
