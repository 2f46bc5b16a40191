import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import { readManifest, writeBackup } from "../../../cli/meter-cloud/backup.ts";
import { openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { newDatabaseName, startMigrated } from "../../cloud/kit/engines.ts";
import { missingPostgres, type PostgresServer, PROGRAMS } from "../../cloud/kit/postgres-server.ts";

const missing = missingPostgres();

describe(`a backup that takes longer than a statement may${missing === null ? "" : `: NOT TESTED: ${missing}`}`, {
  skip: missing !== null,
}, () => {
  const folder = mkdtempSync(join(tmpdir(), "meter-long-backup-"));
  const path = process.env.PATH ?? "";
  let server: PostgresServer;

  before(async () => {
    server = await startMigrated();
    const programs = join(folder, "programs");
    mkdirSync(programs);
    writeFileSync(join(programs, "pg_dump"), `#!/bin/sh\n${PROGRAMS}/pg_dump "$@" && sleep 2\n`);
    chmodSync(join(programs, "pg_dump"), 0o755);
    process.env.PATH = [programs, path].join(delimiter);
  });
  after(async () => {
    process.env.PATH = path;
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("is complete", async () => {
    const admin = openCloudDatabase(openPostgres(server.url("postgres"), systemClock));
    const name = newDatabaseName();
    await sql.raw(`create database ${name}`).execute(admin);
    await admin.destroy();
    const url = server.url(name);
    const database = openPostgres(url, systemClock, { statementTimeoutMs: 1_000 });
    const db = openCloudDatabase(database);
    try {
      const target = join(folder, "backup");
      const written = await writeBackup({ db, database, engine: "postgres", dump: null }, url, target);
      assert.deepEqual(await readManifest(target), written);
    } finally {
      await db.destroy();
    }
  });
});
