import { DatabaseError } from "../../core/ports/postgres.ts";
import type { Millis } from "../../core/values/time.ts";
import { expectNoneLeft, updateOne } from "./affected-rows.ts";
import { addAuditEvent, type Change } from "./audit-events.ts";
import type { AuthenticatedKey } from "./keys.ts";
import { reachesWorkspace } from "./members.ts";
import type { CloudDatabase } from "./open-database.ts";
import { inScope } from "./transaction.ts";

/** A machine with its active key. */
export interface Machine {
  readonly machineId: string;
  readonly hostname: string;
  /** The name that people gave it; null if they gave it none. */
  readonly label: string | null;
  readonly platform: string;
  readonly daemonVersion: string;
  readonly createdAt: Millis;
  readonly blockedAt: Millis | null;
  /** When one of its keys was last used, up to `KEY_USE_STEP_MS` earlier. */
  readonly lastSeenAt: Millis | null;
  /** The person that its requests and prompts belong to; null for a machine that never had a key. */
  readonly userId: string | null;
  readonly approvedBy: string | null;
  readonly key: {
    readonly keyId: string;
    readonly prefix: string;
    readonly userId: string;
    readonly createdAt: Millis;
  } | null;
}

/** Lists a workspace's machines, newest first. */
export async function listMachines(db: CloudDatabase, workspaceId: string): Promise<readonly Machine[]> {
  const rows = await inScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("machines as m")
      .leftJoin("sync_keys as k", (join) =>
        join
          .on("k.workspace_id", "=", workspaceId)
          .onRef("k.machine_id", "=", "m.machine_id")
          .on("k.revoked_at", "is", null),
      )
      .leftJoin(
        (eb) =>
          eb
            .selectFrom("sync_keys")
            .select(({ fn }) => ["machine_id", fn.max("last_used_at").as("last_seen_at")])
            .where("workspace_id", "=", workspaceId)
            .groupBy("machine_id")
            .as("u"),
        (join) => join.onRef("u.machine_id", "=", "m.machine_id"),
      )
      .select([
        "m.machine_id",
        "m.hostname",
        "m.label",
        "u.last_seen_at",
        "m.platform",
        "m.daemon_version",
        "m.created_at",
        "m.blocked_at",
        "m.user_id as machine_user_id",
        "m.approved_by",
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
    label: row.label,
    lastSeenAt: row.last_seen_at,
    platform: row.platform,
    daemonVersion: row.daemon_version,
    createdAt: row.created_at,
    blockedAt: row.blocked_at,
    userId: row.machine_user_id,
    approvedBy: row.approved_by,
    key:
      row.key_id === null || row.prefix === null || row.user_id === null || row.key_created_at === null
        ? null
        : { keyId: row.key_id, prefix: row.prefix, userId: row.user_id, createdAt: row.key_created_at },
  }));
}

/**
 * Blocks a machine, whose key then gets 403, or unblocks it, after which the same key works again. Idempotent. False if the
 * workspace has no such machine. Source: docs/specification.md#metadata-sync.
 */
export async function setMachineBlocked(
  db: CloudDatabase,
  workspaceId: string,
  machineId: string,
  blocked: boolean,
  change: Change,
): Promise<boolean> {
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    const machine = await trx
      .selectFrom("machines")
      .select(["hostname", "blocked_at"])
      .where("workspace_id", "=", workspaceId)
      .where("machine_id", "=", machineId)
      .forUpdate()
      .executeTakeFirst();
    if (machine === undefined) return false;
    if ((machine.blocked_at !== null) === blocked) return true;
    await updateOne(
      trx
        .updateTable("machines")
        .set({ blocked_at: blocked ? change.now : null })
        .where("workspace_id", "=", workspaceId)
        .where("machine_id", "=", machineId),
    );
    const details = { machine_id: machineId, hostname: machine.hostname };
    await addAuditEvent(trx, workspaceId, blocked ? "machine_blocked" : "machine_invited", change, details);
    return true;
  });
}

/** Returns the person who uses a machine; null if it is unknown or has none. */
export async function findMachineUser(
  db: CloudDatabase,
  workspaceId: string,
  machineId: string,
): Promise<string | null> {
  const row = await inScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("machines")
      .select("user_id")
      .where("workspace_id", "=", workspaceId)
      .where("machine_id", "=", machineId)
      .executeTakeFirst(),
  );
  return row?.user_id ?? null;
}

/** Stores the version that a machine runs, if it changed. The next pairing states it too, but may never come. */
export async function saveDaemonVersion(
  db: CloudDatabase,
  { workspaceId, machine }: AuthenticatedKey,
  daemonVersion: string,
): Promise<void> {
  if (machine === null || machine.daemonVersion === daemonVersion) return;
  await inScope(db, { workspaceId }, (trx) =>
    trx
      .updateTable("machines")
      .set({ daemon_version: daemonVersion })
      .where("workspace_id", "=", workspaceId)
      .where("machine_id", "=", machine.id)
      .execute(),
  );
}

/** Names a machine; null shows its host name again. False if the workspace has no such machine. */
export async function renameMachine(
  db: CloudDatabase,
  workspaceId: string,
  machineId: string,
  label: string | null,
  change: Change,
): Promise<boolean> {
  return await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    const machine = await trx
      .selectFrom("machines")
      .select(["hostname", "label"])
      .where("workspace_id", "=", workspaceId)
      .where("machine_id", "=", machineId)
      .forUpdate()
      .executeTakeFirst();
    if (machine === undefined) return false;
    const { hostname, label: before } = machine;
    if (before === label) return true;
    await updateOne(
      trx
        .updateTable("machines")
        .set({ label })
        .where("workspace_id", "=", workspaceId)
        .where("machine_id", "=", machineId),
    );
    const details = { machine_id: machineId, hostname, name: label, name_before: before };
    await addAuditEvent(trx, workspaceId, "machine_renamed", change, details);
    return true;
  });
}

/** The result of changing a machine's person. */
export type MachineUserChange = "changed" | "not_found" | "machine_in_use" | "machine_exists";

/**
 * Moves a machine to another member: its future requests belong to them, its earlier ones stay as they are. The caller must
 * have checked that the member can access the workspace. Only the caller's own machines, and those of people who left, can be
 * moved: a current member's prompts must not become another person's.
 */
export async function changeMachineUser(
  db: CloudDatabase,
  workspaceId: string,
  machineId: string,
  userId: string,
  change: Change,
): Promise<MachineUserChange> {
  try {
    return await inScope(
      db,
      { workspaceId, readsThenWrites: true },
      async (trx): Promise<MachineUserChange> => {
        const machine = await trx
          .selectFrom("machines")
          .select(["hostname", "user_id"])
          .where("workspace_id", "=", workspaceId)
          .where("machine_id", "=", machineId)
          .forUpdate()
          .executeTakeFirst();
        if (machine === undefined) return "not_found";
        const { hostname, user_id: before } = machine;
        if (before === userId) return "changed";
        if (
          before !== null &&
          before !== change.userId &&
          (await reachesWorkspace(trx, workspaceId, before))
        ) {
          return "machine_in_use";
        }
        const ofMachine = { workspace_id: workspaceId, machine_id: machineId };
        await updateOne(
          trx
            .updateTable("machines")
            .set({ user_id: userId })
            .where((where) => where.and(ofMachine)),
        );
        await trx
          .updateTable("sync_keys")
          .set({ user_id: userId })
          .where((where) => where.and(ofMachine))
          .where("revoked_at", "is", null)
          .execute();
        await expectNoneLeft(
          trx
            .selectFrom("sync_keys")
            .select("key_id")
            .where((where) => where.and(ofMachine))
            .where("revoked_at", "is", null)
            .where("user_id", "!=", userId),
        );
        const details = { machine_id: machineId, hostname, from_user_id: before, to_user_id: userId };
        await addAuditEvent(trx, workspaceId, "machine_user_changed", change, details);
        return "changed";
      },
    );
  } catch (error) {
    const exists = error instanceof DatabaseError && error.constraint === "machines_by_fingerprint";
    if (exists) return "machine_exists";
    throw error;
  }
}
