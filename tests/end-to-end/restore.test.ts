import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import { openCloudDatabase } from "../../cloud/store/open-database.ts";
import { runCloudWords } from "../cli/meter-cloud/run-cloud-command.rig.ts";
import { createClusterDatabase, dropClusterDatabase, readNodes, urlOf } from "../cloud/kit/citus-cluster.ts";
import { type CloudProcess, killCloudProcesses, startCloudProcess } from "../cloud/kit/cloud-process.ts";
import { CITUS_URL, newDatabaseName } from "../cloud/kit/engines.ts";
import { type Person, signUp } from "../cloud/kit/person.ts";
import { missingPostgres, type PostgresServer, startPostgres } from "../cloud/kit/postgres-server.ts";
import { connectMeter } from "./connect-meter.rig.ts";
import { onNodeOnly, removeHome } from "./meter-process.rig.ts";
import { type SyncMachine, startSyncMachine } from "./sync-machine.rig.ts";

/** The time limit of each suite, in milliseconds. */
const timeout = 600_000;

const today = () => new Date().toISOString().slice(0, 10);

/** A person and their machine. */
interface User {
  readonly person: Person;
  readonly machine: SyncMachine;
}

const missing = missingPostgres();

/** The database of a suite. */
interface SuiteDatabase {
  /** Creates an empty one, and returns its URL; null for the embedded database. */
  create(): Promise<string | null>;
  destroy(): Promise<void>;
  close(): Promise<void>;
}

/** A database on a PostgreSQL server of its own. */
async function onServer(): Promise<SuiteDatabase> {
  const server: PostgresServer = await startPostgres();
  const asAdmin = async (statement: string) => {
    const admin = openCloudDatabase(openPostgres(server.url("postgres"), systemClock));
    await sql.raw(statement).execute(admin);
    await admin.destroy();
  };
  return {
    create: async () => {
      await asAdmin("create database meter template template0");
      return server.url("meter");
    },
    destroy: () => asAdmin("drop database meter"),
    close: () => server.stop(),
  };
}

/** A database on all nodes of a cluster. */
function onCluster(cluster: string): SuiteDatabase {
  const name = newDatabaseName();
  const destroy = () => dropClusterDatabase(cluster, name);
  return {
    create: () => createClusterDatabase(cluster, name),
    destroy,
    close: () => destroy().catch(() => {}),
  };
}

/** The folder of the embedded database. */
function inFolder(home: string): SuiteDatabase {
  const destroy = async () => rmSync(join(home, "database"), { recursive: true });
  return { create: async () => null, destroy, close: async () => {} };
}

for (const engine of ["pglite", "postgres", ...(CITUS_URL === null ? [] : ["citus"])]) {
  const skip = onNodeOnly || (engine === "postgres" && (missing ?? false));
  describe(`a cloud that is destroyed and restored from a backup, on ${engine}${skip ? `: NOT TESTED: ${skip}` : ""}`, {
    skip,
    timeout,
  }, () => {
    const folder = mkdtempSync(join(tmpdir(), "meter-restore-"));
    const home = join(folder, "cloud");
    const backup = join(folder, "backup");
    const withdrawals = join(folder, "withdrawals");
    let database: SuiteDatabase;
    let url: string | null = null;
    let cloud: CloudProcess;
    let users: readonly [User, User];
    const secret = "a secret that outlives the database, 123";

    const env = () => ({
      METER_CLOUD_HOME: home,
      METER_CLOUD_AUTH_SECRET: secret,
      METER_CLOUD_PEOPLE_OPEN_SIGN_UP: "true",
      METER_CLOUD_LIMITS_USER_PER_MINUTE: "100000",
      ...(url === null ? {} : { DATABASE_URL: url }),
    });
    const command = async (...words: string[]) => {
      const said = await runCloudWords(words, env());
      assert.equal(said.code, 0, `meter-cloud ${words.join(" ")}: ${said.stdout}${said.stderr}`);
      return said.stdout;
    };
    /** On a cluster, the server is connected to a worker. */
    const start = async (words: readonly string[], withDatabase = false) => {
      if (engine !== "citus" || url === null)
        return await startCloudProcess({ home, env: env(), words, withDatabase });
      await command("migrate");
      await command("migrate", "--distribute");
      const worker = (await readNodes(url)).find(({ isCoordinator }) => !isCoordinator);
      assert.ok(worker, "a cluster has a worker");
      return await startCloudProcess({ home, words, env: { ...env(), DATABASE_URL: urlOf(url, worker) } });
    };
    const callAndSync = async (calls: number) => {
      for (const { machine } of users) {
        await machine.call(calls);
        assert.equal(await machine.sync(), true);
        await machine.run("cloud", "ledger");
      }
    };
    /** The requests that the cloud has of each machine. Both sides must agree exactly. */
    const reconcile = async () => {
      const counts = [];
      for (const { machine } of users) {
        const text = await machine.run("cloud", "reconcile", "--from", today(), "--to", today(), "--json");
        const said = JSON.parse(text);
        assert.deepEqual([said.is_delivery_exact, said.difference_pico_usd], [true, "0"], text);
        counts.push(said.cloud.requests);
      }
      return counts;
    };

    before(async () => {
      database =
        engine === "pglite"
          ? inFolder(home)
          : engine === "postgres"
            ? await onServer()
            : onCluster(CITUS_URL ?? "");
      url = await database.create();
      cloud = await start([], engine === "pglite");
      const user = async (name: string): Promise<User> => {
        const person = await signUp(cloud.url, { name, email: `${name}@example.com` });
        const machine = await startSyncMachine();
        await connectMeter(machine.home, cloud.url, person);
        // The first heads: the ledger of costs has no rows yet.
        await machine.run("cloud", "ledger");
        return { person, machine };
      };
      users = [await user("ann"), await user("ben")];
    });
    after(async () => {
      for (const { person, machine } of users ?? []) {
        await person.close();
        await machine.close();
      }
      killCloudProcesses();
      await cloud?.exited;
      await database?.close();
      removeHome(folder);
    });

    it("has every record of both machines once, after they sent again what the backup lacked", async () => {
      await callAndSync(3);
      assert.match(await command("backup", backup), /Wrote a backup of /);
      await callAndSync(2);
      assert.deepEqual(await reconcile(), [5, 5]);
      const [ann, ben] = users;
      const erased = await command(
        ...["erase", "--workspace", ben.person.workspaceId, "--person", ben.person.userId, "--now"],
      );
      assert.match(erased, /"erasure_id"/);
      writeFileSync(withdrawals, await command("withdrawals", "--since", today()));

      await cloud.end("SIGKILL");
      await database.destroy();
      // Meanwhile, calls are metered.
      for (const { machine } of users) await machine.call(1);

      url = await database.create();
      const said = await command("restore", backup, "--withdrawals", withdrawals);
      assert.match(said, /rows and sums are those of the backup/);
      assert.match(said, /Verified the ledgers of 2 workspaces/);
      assert.match(said, /Applied 3 withdrawals/);
      const again = await runCloudWords(["restore", backup, "--without-withdrawals"], env());
      assert.equal(again.code, 1);
      assert.match(again.stderr, /is not empty/);

      cloud = await start(["--port", new URL(cloud.url).port]);
      assert.equal((await ann.person.ask("GET", "/v1/me")).status, 401);
      for (const { machine } of users) {
        // All heads with costs are from less than an hour before the backup, or later.
        const { code, stdout } = await machine.attempt("cloud", "ledger");
        assert.equal(code, 1, stdout);
        assert.match(stdout, /^The cloud's ledger of costs lacks row \d+, .* no hashes that are old enough/);
        assert.match(
          await machine.run("cloud", "ledger", "--accept"),
          /^The cloud was restored from a backup of .* What this machine sent after that is sent again\.\n/,
        );
        assert.equal(await machine.sync(), true);
      }
      assert.deepEqual(await reconcile(), [6, 6]);
      for (const { machine } of users) await machine.sync();
      await callAndSync(1);
      assert.deepEqual(await reconcile(), [7, 7]);
    });

    it("applies what was withdrawn after the backup", async () => {
      await cloud.end("SIGTERM");
      const { workspaceId, userId } = users[1].person;
      const erasedAgain = JSON.parse(await command("migrate", "--totals"));
      assert.equal(erasedAgain.erasures.rows, "1");
      const listed = await command("withdrawals", "--since", today());
      const [erasure] = listed
        .split("\n")
        .filter((line) => line.includes("prompts_erased"))
        .map((line) => JSON.parse(line));
      assert.deepEqual([erasure.workspaceId, erasure.userId], [workspaceId, userId]);
      for (const { person } of users) await command("ledger", "verify", person.workspaceId);
    });

    it("refuses a backup that was changed, and one that the database does not equal", async () => {
      await database.destroy();
      url = await database.create();
      const { readFileSync } = await import("node:fs");
      const path = join(backup, "manifest.json");
      const manifest = JSON.parse(readFileSync(path, "utf8"));
      const restore = async (changed: object) => {
        writeFileSync(path, JSON.stringify({ ...manifest, ...changed }));
        return await runCloudWords(["restore", backup, "--without-withdrawals"], env());
      };
      const wrongSum = await restore({ sha256: "0".repeat(64) });
      assert.deepEqual([wrongSum.code, /was changed after the backup/.test(wrongSum.stderr)], [1, true]);
      const { workspaceId } = users[0].person;
      const heads = structuredClone(manifest.heads);
      heads[workspaceId].costs.hash = "f".repeat(64);
      const wrongHead = await restore({ heads });
      assert.equal(wrongHead.code, 5, wrongHead.stderr);
      assert.match(wrongHead.stderr, /differs from its backup: the ledger costs .* history rewritten/);
      await database.destroy();
      url = await database.create();
      const totals = structuredClone(manifest.totals);
      totals.requests.prompt_tokens = "1";
      const wrongTotal = await restore({ totals });
      assert.equal(wrongTotal.code, 5, wrongTotal.stderr);
      assert.match(wrongTotal.stderr, /the table requests has /);
    });
  });
}
