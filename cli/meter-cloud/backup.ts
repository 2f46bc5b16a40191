import { createHash } from "node:crypto";
import { chmodSync, createReadStream, existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import * as v from "valibot";
import { makeFolder } from "../../adapters/files/make-folder.ts";
import { readSmallFile } from "../../adapters/files/read-small-file.ts";
import { writeFileAtomic } from "../../adapters/files/write-file-atomic.ts";
import { runPgDump } from "../../adapters/postgres/dump-programs.ts";
import { openPgliteInMemory } from "../../adapters/postgres/pglite.ts";
import { type BackupFacts, readBackupFacts } from "../../cloud/store/backup-facts.ts";
import { holdingWrites } from "../../cloud/store/hold-writes.ts";
import { type CloudDatabase, openCloudDatabase } from "../../cloud/store/open-database.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { version } from "../program/version.ts";
import { describeUnreadable } from "../render/unreadable.ts";
import type { OpenedDatabase } from "./open-cloud-database.ts";

/** The files of a backup. */
const FILES = { postgres: "database.dump", pglite: "database.tar" } as const;
const MANIFEST = "manifest.json";

/** The manifest names every key of a body: 40 bytes for each person and project. */
const MAX_MANIFEST_BYTES = 1024 * 1024 * 1024;

const head = v.object({ seq: v.number(), hash: v.string() });

const manifestSchema = v.object({
  format: v.literal(1),
  version: v.string(),
  engine: v.picklist(["postgres", "pglite"]),
  /** When the backup was begun. What was committed before is in it. */
  backup_at: v.pipe(v.string(), v.isoTimestamp()),
  sha256: v.string(),
  bytes: v.number(),
  totals: v.record(v.string(), v.record(v.string(), v.string())),
  heads: v.record(v.string(), v.object({ prompt_views: head, audit_events: head, costs: head })),
  owners: v.array(v.string()),
  /** Kept outside the backup: without them, stored bodies can't be read. */
  body_keys: v.array(v.string()),
});

/** The description of a backup. */
export type Manifest = v.InferOutput<typeof manifestSchema>;

/** Returns the path of a backup's database. */
export const dumpOf = (folder: string, { engine }: Pick<Manifest, "engine">) => join(folder, FILES[engine]);

/**
 * Writes a backup into a new or empty folder: the database as of one moment, and last the manifest, so that a folder without one is not
 * a backup. Servers may run meanwhile.
 */
export async function writeBackup(
  opened: OpenedDatabase,
  databaseUrl: string | null,
  folder: string,
): Promise<Manifest> {
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new CommandFailure(`The folder ${folder} is not empty. Name a new one.`);
  }
  makeFolder(folder);
  const { engine } = opened;
  const path = dumpOf(folder, { engine });
  const startedAt = new Date().toISOString();
  const facts =
    engine === "postgres" && databaseUrl !== null
      ? await dumpServer(opened, databaseUrl, path)
      : await dumpEmbedded(opened, path);
  const manifest: Manifest = {
    ...{ format: 1, version, engine, backup_at: startedAt },
    ...{ sha256: await hashFile(path), bytes: statSync(path).size },
    totals: facts.totals,
    heads: facts.heads,
    owners: [...facts.owners],
    body_keys: [...facts.bodyKeys],
  };
  writeFileAtomic(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 1)}\n`, { mode: 0o600 });
  return manifest;
}

/** Dumps a server's database. The facts are read in the same snapshot. On a cluster, writes wait until the dump is made. */
async function dumpServer({ db }: OpenedDatabase, url: string, path: string): Promise<BackupFacts> {
  // Each shard has snapshots of its own.
  return await holdingWrites(db, () => dumpSnapshot(db, url, path));
}

async function dumpSnapshot(db: CloudDatabase, url: string, path: string): Promise<BackupFacts> {
  return await db.transaction().execute(async (trx) => {
    await sql`set transaction isolation level repeatable read, read only`.execute(trx);
    // The transaction must outlive the dump, during which it is idle.
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx);
    const { rows } = await sql<{ id: string }>`select pg_export_snapshot() as id`.execute(trx);
    // Created first, so that no other user can read it.
    writeFileSync(path, "", { mode: 0o600 });
    const facts = await readBackupFacts(trx);
    await runPgDump(url, rows[0]?.id ?? "", path);
    chmodSync(path, 0o600);
    return facts;
  });
}

/** Copies the embedded database, and reads the facts in the copy: there they are of the same moment. */
async function dumpEmbedded({ dump }: OpenedDatabase, path: string): Promise<BackupFacts> {
  if (dump === null) throw new Error("the embedded database is not open");
  const blob = await dump();
  writeFileAtomic(path, new Uint8Array(await blob.arrayBuffer()), { mode: 0o600 });
  const copy = openCloudDatabase(openPgliteInMemory(blob));
  try {
    return await copy.transaction().execute(readBackupFacts);
  } finally {
    await copy.destroy();
  }
}

/** Reads the manifest of a backup, and compares its database's SHA-256. */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, MANIFEST);
  const file = await readSmallFile(path, { maxBytes: MAX_MANIFEST_BYTES });
  if (!file.ok) throw new CommandFailure(describeUnreadable(path, file.reason));
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), manifestSchema), file.text);
  if (!parsed.success) throw new CommandFailure(`${path} is not the manifest of a backup of this version.`);
  const manifest = parsed.output;
  const dump = dumpOf(folder, manifest);
  if (!existsSync(dump)) throw new CommandFailure(`The backup is incomplete: ${dump} is missing.`);
  if ((await hashFile(dump)) !== manifest.sha256) {
    throw new CommandFailure(
      `${dump} was changed after the backup: its SHA-256 is not that of the manifest.`,
    );
  }
  return manifest;
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const part of createReadStream(path)) hash.update(part as Uint8Array);
  return hash.digest("hex");
}
