import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { createRandomBytes, sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import { writeBackup } from "../../../cli/meter-cloud/backup.ts";
import { createCloud } from "../../../cloud/create-cloud.ts";
import { erasePrompts } from "../../../cloud/erasure/run-erasure.ts";
import { runPurge } from "../../../cloud/purge/run-purge.ts";
import { compactDatabase } from "../../../cloud/store/compact.ts";
import { type CloudDatabase, openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { sealOldBodies } from "../../../cloud/store/seal-old-bodies.ts";
import { PURGE_DELAY_MS } from "../../../core/privacy/deletion/soft-deletion.ts";
import { canary, type Find, findCanaries, findInFolder } from "../../end-to-end/canary-search.rig.ts";
import { type CloudRig, createRig } from "../kit/cloud-rig.ts";
import { type Engine, startMigrated } from "../kit/engines.ts";
import { missingPostgres, type PostgresServer, PROGRAMS } from "../kit/postgres-server.ts";
import { bodyPayload, sendRequest } from "../kit/stored-body.ts";

const config = { rateLimits: { perUser: 1e6, perKey: 1e6 } };

/** The canaries of kind "secret" are in bodies, those of kind "text" in what describes a prompt or a person. */
const [IN_BODIES, IN_DESCRIPTIONS] = [canary("secret", 0), canary("text", 0)];

const randomBytes = createRandomBytes();

/** A text that PostgreSQL compresses, and one that it does not; both are too long for a row. */
const bodies = () => [
  `${IN_BODIES} `.repeat(4_000),
  `${IN_BODIES} ${Buffer.from(randomBytes(20_000)).toString("base64")}`,
];

const missing = missingPostgres();

describe("copies of a PostgreSQL database from which prompts were erased", {
  skip: missing === null ? false : `NOT TESTED: ${missing}`,
}, () => {
  let server: PostgresServer;
  let database: ReturnType<typeof openPostgres>;
  let db: CloudDatabase;
  let rig: CloudRig;
  const folder = mkdtempSync(join(tmpdir(), "meter-erased-"));

  before(async () => {
    server = await startMigrated(true);
    database = openPostgres(server.url("template1"), systemClock);
    db = openCloudDatabase(database);
    // docs/hosting.md: otherwise a reused segment of the log keeps its old bytes until they are overwritten.
    await sql.raw("alter system set wal_recycle = off").execute(db);
    await sql.raw("select pg_reload_conf()").execute(db);
    rig = await createRig(engineOf(db), { config });
  });
  after(async () => {
    await db?.destroy();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** As a backup has it: values are not compressed, and bytes are in hexadecimal. */
  const dump = (): Buffer => {
    const made = spawnSync(`${PROGRAMS}/pg_dump`, [server.url("template1")], { maxBuffer: 2 ** 30 });
    assert.equal(made.status, 0, String(made.stderr));
    return made.stdout;
  };

  /** The files of the cluster with its write-ahead log, as pg_basebackup copies them. */
  const copyFiles = (name: string): string => {
    const target = join(folder, name);
    const words = ["-h", "127.0.0.1", "-p", `${server.port}`, "-U", "postgres", "-D", target, "-X", "stream"];
    const made = spawnSync(`${PROGRAMS}/pg_basebackup`, [...words, "-c", "fast"], { encoding: "utf8" });
    assert.equal(made.status, 0, made.stderr);
    return target;
  };

  /** The files of `meter-cloud backup`, and the text of its dump, which is compressed. */
  const findInBackup = async (name: string): Promise<Find[]> => {
    const target = join(folder, name);
    await writeBackup({ db, database, engine: "postgres", dump: null }, server.url("template1"), target);
    const words = ["--file=-", join(target, "database.dump")];
    const read = spawnSync(`${PROGRAMS}/pg_restore`, words, { maxBuffer: 2 ** 30 });
    assert.equal(read.status, 0, String(read.stderr));
    return [...findInFolder(target), ...findCanaries("meter-cloud backup", read.stdout)];
  };

  const kinds = (finds: readonly Find[]) => [...new Set(finds.map(({ kind }) => kind))].sort();

  /** A workspace with a person whose requests have bodies and descriptions, some sent by a server that does not encrypt. */
  async function fill() {
    const workspace = await rig.addWorkspace({ plan: "business", storePromptContent: true });
    const old = createCloud(
      {
        ...{ db, clock: rig.clock, accounts: rig.accounts, sha256, randomBytes },
        ...{ log: () => {}, mail: async () => {}, peerAddress: () => null },
      },
      config,
    );
    for (const app of [old, rig.app(config)]) {
      const requestId = await sendRequest(rig, workspace, {
        project: "apollo",
        path: `/v1/${IN_DESCRIPTIONS}`,
        source_workdir: `/home/${IN_DESCRIPTIONS}`,
        git_branch: IN_DESCRIPTIONS,
      });
      for (const text of bodies()) {
        const answer = await app.request(`/v1/requests/${requestId}/body`, {
          method: "POST",
          headers: { authorization: `Bearer ${workspace.token}` },
          body: JSON.stringify(bodyPayload(requestId, text)),
        });
        assert.equal(answer.status, 204);
      }
      const owner = await rig.personIn(workspace, "organisationOwner");
      const query = new URLSearchParams({
        workspace_id: workspace.id,
        reason: `because of ${IN_DESCRIPTIONS}`,
      });
      const viewed = await rig.call("GET", `/v1/traces/${requestId}/body?${query}`, owner.token);
      assert.equal(viewed.status, 200);
    }
    return workspace;
  }

  it("have bodies only encrypted, also in backups and logs, and nothing that describes what was erased", async () => {
    const [person, project, account, workspace] = [await fill(), await fill(), await fill(), await fill()];
    // The search itself: bodies in clear are found in the log, in a dump and in the files.
    const all = ["secret", "text"];
    assert.deepEqual(kinds(findInFolder(join(server.folder, "pg_wal"))), all);
    assert.deepEqual(kinds(findCanaries("dump", dump())), all);
    assert.deepEqual(kinds(findInFolder(copyFiles("clear"))), all);
    assert.deepEqual(kinds(await findInBackup("backup-clear")), all);

    const sealing = { keys: rig.bodyKeys, randomBytes };
    const run = await sealOldBodies(db, sealing, rig.clock.now(), {
      maxRequests: 1e6,
      isStopped: () => false,
      attempt: async (work) => {
        await work();
        return true;
      },
    });
    assert.deepEqual(run, { sealed: 8, isUnfinished: false });
    assert.ok((await compactDatabase(db)).logEnded);
    assert.deepEqual(kinds(findCanaries("dump", dump())), ["text"]);
    assert.deepEqual(kinds(findInFolder(copyFiles("backup"))), ["text"]);
    const keyIds = [...rig.bodyKeys.stored.keys()];
    assert.equal(keyIds.length, 4);

    rig.clock.advance(1_000);
    const parts = { ...rig.parts, sha256, bodyKeys: rig.bodyKeys };
    await erasePrompts(parts, { workspaceId: person.id, userId: person.userId, project: null }, null);
    await erasePrompts(parts, { workspaceId: project.id, userId: null, project: "apollo" }, null);
    const leave = await rig.call("DELETE", "/v1/account", await rig.sessionFor(account.userId));
    assert.ok(leave.ok, await leave.text());
    const owner = await rig.personIn(workspace, "organisationOwner");
    assert.ok((await rig.call("DELETE", `/v1/workspaces/${workspace.id}`, owner.token)).ok);
    rig.clock.advance(PURGE_DELAY_MS);
    await runPurge({ ...rig.parts, bodyKeys: rig.bodyKeys });
    // What opens the bodies of the backup is gone.
    assert.deepEqual([...rig.bodyKeys.stored.keys()], []);
    assert.deepEqual(findCanaries("dump", dump()), []);
    assert.deepEqual(await findInBackup("backup-erased"), []);
    assert.ok((await compactDatabase(db)).logEnded);
    assert.deepEqual([...findInFolder(copyFiles("erased")), ...findInFolder(server.folder)], []);
    // Tokens and costs stay.
    const kept = await sql<{ n: number }>`select count(*)::integer as n from requests`.execute(db);
    assert.deepEqual(kept.rows, [{ n: 6 }]);
  });
});

/** An engine with one database, in files that a test can read. */
function engineOf(db: CloudDatabase): Pick<Engine, "open"> {
  return {
    open: async () => ({
      db,
      owner: db,
      // biome-ignore lint/suspicious/noExplicitAny: the rig does not read more of it.
      database: { dialect: null as any },
      url: null,
      close: async () => {},
    }),
  };
}
