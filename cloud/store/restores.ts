import type { StatedRestore } from "../../core/delivery/restore/restored-cloud.ts";
import type { CloudDatabase } from "./open-database.ts";
import { inScope } from "./transaction.ts";

/** A restore of the database. */
export type Restore = Omit<StatedRestore, "serverTime">;

/**
 * Returns the restores after the one that a machine knows, as one: the id and time of the latest, and the earliest of their backups.
 * Null if there is none. An unknown id counts as none: the database was restored from a backup that is older than it.
 */
export async function readRestoresSince(
  db: CloudDatabase,
  generation: string | null,
): Promise<Restore | null> {
  const rows = await inScope(db, {}, (trx) =>
    trx
      .selectFrom("restores")
      .select(["generation", "backup_at", "restored_at"])
      .orderBy("restored_at")
      .orderBy("generation")
      .execute(),
  );
  const known = rows.findIndex((row) => row.generation === generation?.toLowerCase());
  const later = rows.slice(known + 1);
  const last = later.at(-1);
  if (last === undefined) return null;
  return {
    generation: last.generation,
    backupAt: Math.min(...later.map((row) => row.backup_at)),
    restoredAt: last.restored_at,
  };
}
