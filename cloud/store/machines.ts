import type { Millis } from "../../core/time.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { CloudDatabase } from "./open-database.ts";
import { inScope } from "./transaction.ts";

/** A machine with its active key. */
export interface Machine {
  readonly machineId: string;
  readonly hostname: string;
  readonly platform: string;
  readonly daemonVersion: string;
  readonly createdAt: Millis;
  readonly blockedAt: Millis | null;
  readonly key: {
    readonly keyId: string;
    readonly prefix: string;
    readonly userId: string;
    readonly createdAt: Millis;
  } | null;
}

/** A workspace's machines, the newest first. */
export async function listMachines(db: CloudDatabase, workspaceId: string): Promise<readonly Machine[]> {
  const rows = await inScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("machines as m")
      .leftJoin("sync_keys as k", (join) =>
        join
          .onRef("k.workspace_id", "=", "m.workspace_id")
          .onRef("k.machine_id", "=", "m.machine_id")
          .on("k.revoked_at", "is", null),
      )
      .select([
        "m.machine_id",
        "m.hostname",
        "m.platform",
        "m.daemon_version",
        "m.created_at",
        "m.blocked_at",
        "k.key_id",
        "k.prefix",
        "k.user_id",
        "k.created_at as key_created_at",
      ])
      .where("m.workspace_id", "=", workspaceId)
      .orderBy("m.created_at", "desc")
      .orderBy("m.machine_id", "desc")
      .execute(),
  );
  return rows.map((row) => ({
    machineId: row.machine_id,
    hostname: row.hostname,
    platform: row.platform,
    daemonVersion: row.daemon_version,
    createdAt: row.created_at,
    blockedAt: row.blocked_at,
    key:
      row.key_id === null || row.prefix === null || row.user_id === null || row.key_created_at === null
        ? null
        : { keyId: row.key_id, prefix: row.prefix, userId: row.user_id, createdAt: row.key_created_at },
  }));
}

/**
 * Blocks a machine, whose key answers 403 from then on, or invites it again, after which the same key goes on. Twice
 * changes nothing. False where the workspace has no such machine. Source: contract, "Daemon metadata sync".
 */
export async function setMachineBlocked(
  db: CloudDatabase,
  workspaceId: string,
  machineId: string,
  blocked: boolean,
  change: Change,
): Promise<boolean> {
  return await inScope(db, { workspaceId }, async (trx) => {
    const machine = await trx
      .selectFrom("machines")
      .select(["hostname", "blocked_at"])
      .where("workspace_id", "=", workspaceId)
      .where("machine_id", "=", machineId)
      .forUpdate()
      .executeTakeFirst();
    if (machine === undefined) return false;
    if ((machine.blocked_at !== null) === blocked) return true;
    await trx
      .updateTable("machines")
      .set({ blocked_at: blocked ? change.now : null })
      .where("workspace_id", "=", workspaceId)
      .where("machine_id", "=", machineId)
      .execute();
    const details = { machine_id: machineId, hostname: machine.hostname };
    await addAuditEvent(trx, workspaceId, blocked ? "machine_blocked" : "machine_invited", change, details);
    return true;
  });
}
