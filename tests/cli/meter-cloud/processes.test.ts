import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { Agent, request } from "undici";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { openPgliteFolder } from "../../../adapters/postgres/pglite.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import { makeBatches } from "../../../bench/ingest/records.ts";
import { CLOUD_MIGRATIONS, migrateCloud } from "../../../cloud/store/migrate.ts";
import { type CloudDatabase, openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { findProgram } from "../../../tools/packages.ts";
import { type CloudProcess, killCloudProcesses, startCloudProcess } from "../../cloud/kit/cloud-process.ts";
import { writeMigratedFolder } from "../../cloud/kit/engines.ts";
import { missingPostgres, type PostgresServer, startPostgres } from "../../cloud/kit/postgres-server.ts";
import { addSender, addSenders, type Sender } from "../../cloud/kit/senders.ts";
import { createCertificateAuthority } from "../../simulation/certificate-authority.ts";
import { runCloudWords } from "./run-cloud-command.rig.ts";

/** The processes run on Node; the other runtimes have their own test. */
const skip =
  "Deno" in globalThis || "Bun" in globalThis
    ? "starts processes of Node's"
    : missingPostgres() === null
      ? false
      : `NOT TESTED: ${missingPostgres()}`;

/** The time limit of the suite, in milliseconds. */
const timeout = 300_000;

const BATCH_SIZE = 20;

interface Answer {
  readonly status: number;
  readonly connection: string | undefined;
  readonly body: { readonly accepted?: number; readonly duplicates?: number; readonly status?: string };
}

/** Sends one batch; rejects if there is no response. */
async function post(url: string, token: string, records: readonly object[], agent?: Agent): Promise<Answer> {
  return await ask(`${url}/v1/requests/batch`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ daemon_version: "0.4.0", records }),
    ...(agent === undefined ? {} : { dispatcher: agent }),
  });
}

async function ask(url: string, options: Parameters<typeof request>[1] = {}): Promise<Answer> {
  const { statusCode, headers, body } = await request(url, { ...options, headersTimeout: 120_000 });
  const text = await body.text();
  return {
    status: statusCode,
    connection: headers.connection as string | undefined,
    body: text.startsWith("{") ? JSON.parse(text) : {},
  };
}

/** Polls until the condition holds. */
async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await delay(20);
  }
}

afterEach(killCloudProcesses);

const NO_LIMIT = { METER_CLOUD_LIMITS_KEY_PER_MINUTE: "10000000" };

/** Sums that cannot match by chance: rows, both rollups, tokens and money. */
async function totals(db: CloudDatabase): Promise<unknown> {
  const { rows } = await sql`select
    (select count(*) from requests)::text as requests,
    (select sum(requests) from usage_hourly)::text as hourly,
    (select sum(requests) from usage_daily)::text as daily,
    (select sum(prompt_tokens) from usage_hourly)::text as prompts,
    (select sum(reported_cost_pico_usd) from usage_daily)::text as reported`.execute(db);
  return rows[0];
}

function expectedTotals(batches: readonly (readonly Readonly<Record<string, unknown>>[])[]): unknown {
  const records = batches.flat();
  const sum = (field: string) =>
    records
      .reduce((total, record) => total + BigInt((record[field] as string | number | null) ?? 0), 0n)
      .toString();
  const requests = String(records.length);
  return {
    ...{ requests, hourly: requests, daily: requests },
    ...{ prompts: sum("prompt_tokens"), reported: sum("cost_pico_usd") },
  };
}

/**
 * The senders share the batches. A batch that is not answered with 200 is sent again by the same sender, which owns its
 * records, once `onFailure` has resolved. If one sender fails the test, the others stop.
 */
async function sendAll(
  batches: readonly (readonly object[])[],
  senders: readonly Sender[],
  url: () => string,
  watch: { onAcknowledged(count: number): void; onFailure(): Promise<void> },
): Promise<number> {
  const pending = [...batches];
  let acknowledged = 0;
  let failures = 0;
  let stopped = false;
  async function sendShare({ token }: Sender): Promise<void> {
    for (let next = pending.shift(); next !== undefined && !stopped; ) {
      const answer = await post(url(), token, next).catch(() => null);
      if (answer?.status === 200) {
        assert.equal((answer.body.accepted ?? 0) + (answer.body.duplicates ?? 0), BATCH_SIZE);
        acknowledged += 1;
        watch.onAcknowledged(acknowledged);
        next = pending.shift();
      } else {
        assert.ok(answer === null || answer.status === 503, `status ${answer?.status}`);
        failures += 1;
        await watch.onFailure();
      }
    }
  }
  const shares = senders.map((sender) =>
    sendShare(sender).catch((cause: unknown) => {
      stopped = true;
      throw cause;
    }),
  );
  await Promise.all(shares);
  return failures;
}

describe("meter-cloud serve, on PostgreSQL 15", { skip, timeout, concurrency: false }, () => {
  let server: PostgresServer;
  let folder: string;
  let db: CloudDatabase;
  let senders: readonly Sender[];
  const connect = (database: string) =>
    openCloudDatabase(openPostgres(server.url(database), systemClock, { acquireTimeoutMs: 2_000 }));

  async function freshDatabase(name: string): Promise<Readonly<Record<string, string>>> {
    const admin = connect("postgres");
    await sql.raw(`create database ${name}`).execute(admin);
    await admin.destroy();
    return { DATABASE_URL: server.url(name), ...NO_LIMIT };
  }

  before(async () => {
    server = await startPostgres(true);
    folder = mkdtempSync(join(tmpdir(), "meter-cloud-test-"));
  });
  after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("migrates once if two instances start at the same time", async () => {
    const env = await freshDatabase("twins");
    const twins = await Promise.all([startCloudProcess({ env }), startCloudProcess({ env })]);
    for (const { url } of twins) assert.equal((await ask(`${url}/readyz`)).status, 200);
    const applied = twins.flatMap((twin) =>
      twin.log().flatMap(({ event, migration }) => (event === "cloud.migrated" ? [migration] : [])),
    );
    assert.deepEqual(
      applied.sort(),
      CLOUD_MIGRATIONS.map(({ name }) => name),
    );
    assert.deepEqual(await Promise.all(twins.map((twin) => twin.end("SIGTERM"))), [0, 0]);
  });

  it("serves with a database role that owns nothing, as docs/hosting.md describes", async () => {
    // Its own server: roles belong to the whole server and must not exist yet.
    const server = await startPostgres(true);
    const connect = (name: string) => openCloudDatabase(openPostgres(server.url(name), systemClock));
    const guide = readFileSync(new URL("../../../docs/hosting.md", import.meta.url), "utf8");
    const blocks = [...guide.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
    const roles = blocks.find((text) => text.includes("meter_server")) ?? "";
    const admin = connect("postgres");
    for (const statement of roles.split(";").filter((text) => text.trim() !== "")) {
      await sql.raw(statement).execute(admin);
    }
    await admin.destroy();
    const as = (login: string) => server.url("meter").replace("postgres@", `${login}@`);
    const env = { METER_CLOUD_HOME: folder, DATABASE_URL: as("meter_owner") };
    assert.deepEqual((await runCloudWords(["migrate"], env)).code, 0);
    const cloud = await startCloudProcess({
      env: { ...NO_LIMIT, DATABASE_URL: as("meter_server"), METER_CLOUD_DATABASE_MIGRATE: "false" },
    });
    const account = { email: "ann@example.com", name: "Ann", password: "correct horse battery" };
    const headers = { "content-type": "application/json", origin: cloud.url };
    const sign = (to: "up" | "in") =>
      ask(`${cloud.url}/api/auth/sign-${to}/email`, {
        method: "POST",
        headers,
        body: JSON.stringify(account),
      });
    assert.equal((await sign("up")).status, 200);
    assert.equal((await sign("in")).status, 200);
    assert.equal((await ask(`${cloud.url}/readyz`)).status, 200);
    const listed = await runCloudWords(["admin", "list", account.email, "--json"], env);
    const [{ workspace_id }] = JSON.parse(listed.stdout);
    const db = connect("meter");
    const { token } = await addSender(db, workspace_id, Date.now());
    const [batch = []] = makeBatches(1, BATCH_SIZE, Date.now(), 6);
    assert.equal((await post(cloud.url, token, batch)).body.accepted, BATCH_SIZE);
    await db.destroy();
    const mine = openCloudDatabase(openPostgres(as("meter_server"), systemClock));
    await assert.rejects(sql`select * from requests`.execute(mine), { reason: "forbidden" });
    await mine.destroy();
    assert.equal(await cloud.end("SIGTERM"), 0);
    await server.stop();
  });

  it("accepts batches over TLS, and on SIGTERM answers the requests in flight before it exits", async () => {
    const env = await freshDatabase("drained");
    const authority = await createCertificateAuthority();
    const leaf = await authority.mintLeaf("127.0.0.1");
    const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    writeFileSync(cert, leaf.cert);
    writeFileSync(key, leaf.key, { mode: 0o600 });
    db = connect("drained");
    await migrateCloud(db, 0);
    ({ senders } = await addSenders(db, 1, Date.now()));
    const cloud = await startCloudProcess({
      env: { ...env, METER_CLOUD_SERVER_DRAIN_DELAY_SECONDS: "1" },
      words: ["--tls-cert", cert, "--tls-key", key],
    });
    assert.match(cloud.url, /^https:/);
    const agent = new Agent({ connect: { ca: authority.certificatePem } });
    const [first = [], second = []] = makeBatches(2, BATCH_SIZE, Date.now(), 1);
    const { token = "" } = senders[0] ?? {};
    assert.equal((await post(cloud.url, token, first, agent)).body.accepted, BATCH_SIZE);

    // The table is locked, so the batch stays in progress as long as the test needs.
    const held = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const locked = db.transaction().execute(async (trx) => {
      await sql`lock table requests in access exclusive mode`.execute(trx);
      held.resolve();
      await end.promise;
    });
    await held.promise;
    const underWay = post(cloud.url, token, second, agent);
    await until("the batch to wait for the lock", async () => {
      const { rows } = await sql`select 1 from pg_locks where not granted`.execute(db);
      return rows.length > 0;
    });
    cloud.signal("SIGTERM");
    await until("/readyz to say that no more should come", async () => {
      const answer = await ask(`${cloud.url}/readyz`, { dispatcher: agent });
      return answer.status === 503 && answer.body.status === "draining";
    });
    await until("the port to be closed", async () => {
      const fresh = new Agent({ connect: { ca: authority.certificatePem } });
      const refused = await ask(`${cloud.url}/healthz`, { dispatcher: fresh }).then(
        () => false,
        // Only this error: on a busy machine, a connection can fail in other ways.
        (cause: NodeJS.ErrnoException) => cause.code === "ECONNREFUSED",
      );
      await fresh.close();
      return refused;
    });
    end.resolve();
    await locked;
    const answer = await underWay;
    assert.deepEqual([answer.status, answer.body.accepted, answer.connection], [200, BATCH_SIZE, "close"]);
    assert.equal(await cloud.exited, 0);
    assert.deepEqual(await totals(db), expectedTotals([first, second]));
    await agent.close();
    await db.destroy();
  });

  it("loses no acknowledged record when it is killed during ingest, and accepts the others again", async () => {
    const env = await freshDatabase("killed");
    db = connect("killed");
    await migrateCloud(db, 0);
    ({ senders } = await addSenders(db, 4, Date.now()));
    const batches = makeBatches(80, BATCH_SIZE, Date.now(), 2);
    let cloud = await startCloudProcess({ env });
    let restart: Promise<void> | null = null;
    const kills = new Set([15, 45]);
    const failures = await sendAll(batches, senders, () => cloud.url, {
      onAcknowledged(count) {
        if (!kills.delete(count)) return;
        restart = cloud.end("SIGKILL").then(async () => {
          cloud = await startCloudProcess({ env });
        });
      },
      onFailure: async () => {
        await restart;
      },
    });
    assert.ok(failures > 0, "no batch met a kill");
    assert.deepEqual(await totals(db), expectedTotals(batches));
    assert.equal(await cloud.end("SIGTERM"), 0);
    await db.destroy();
  });

  it("survives kill -9 of PostgreSQL: no acknowledged record is lost, and totals are exact", async () => {
    const env = await freshDatabase("outlived");
    db = connect("outlived");
    await migrateCloud(db, 0);
    ({ senders } = await addSenders(db, 4, Date.now()));
    await db.destroy();
    const batches = makeBatches(80, BATCH_SIZE, Date.now(), 3);
    const cloud = await startCloudProcess({
      env: { ...env, METER_CLOUD_DATABASE_ACQUIRE_TIMEOUT_SECONDS: "1" },
    });
    let restart: Promise<void> | null = null;
    let unready: Answer | null = null;
    const kills = new Set([15, 45]);
    const failures = await sendAll(batches, senders, () => cloud.url, {
      onAcknowledged(count) {
        if (!kills.delete(count)) return;
        restart = server.kill().then(async () => {
          unready = await ask(`${cloud.url}/readyz`);
          await server.restart();
        });
      },
      onFailure: async () => {
        await restart;
      },
    });
    assert.ok(failures > 0, "no batch met a kill");
    assert.deepEqual((unready as Answer | null)?.body, { status: "database_unreachable" });
    db = connect("outlived");
    assert.deepEqual(await totals(db), expectedTotals(batches));
    await until("/readyz to be well again", async () => (await ask(`${cloud.url}/readyz`)).status === 200);
    assert.equal(await cloud.end("SIGTERM"), 0);
    await db.destroy();
  });
});

/** The runtime of the checkout. */
const deno = findProgram("deno");
const onDeno = [deno ?? "", "run", "-A", "--no-check"];

describe("meter-cloud serve, on Deno", {
  skip: skip || (deno === null && "NOT TESTED: Deno is not installed (npm run setup)"),
  timeout,
}, () => {
  it("stores batches in the embedded database, and drains on SIGTERM", async () => {
    const home = mkdtempSync(join(tmpdir(), "meter-cloud-deno-"));
    await writeMigratedFolder(join(home, "database"));
    const db = openCloudDatabase(await openPgliteFolder(join(home, "database")));
    const { senders } = await addSenders(db, 1, Date.now());
    await db.destroy();
    await sendOne(await startCloudProcess({ runtime: onDeno, home }), senders);
    rmSync(home, { recursive: true, force: true });
  });

  it("stores batches in PostgreSQL, and drains on SIGTERM", async () => {
    const server = await startPostgres();
    const db = openCloudDatabase(openPostgres(server.url("postgres"), systemClock));
    await migrateCloud(db, 0);
    const { senders } = await addSenders(db, 1, Date.now());
    await db.destroy();
    const env = { DATABASE_URL: server.url("postgres") };
    await sendOne(await startCloudProcess({ runtime: onDeno, env }), senders);
    await server.stop();
  });

  async function sendOne(cloud: CloudProcess, senders: readonly Sender[]): Promise<void> {
    const [batch = []] = makeBatches(1, BATCH_SIZE, Date.now(), 5);
    const { token = "" } = senders[0] ?? {};
    assert.equal((await post(cloud.url, token, batch)).body.accepted, BATCH_SIZE);
    assert.equal((await post(cloud.url, token, batch)).body.duplicates, BATCH_SIZE);
    assert.equal((await ask(`${cloud.url}/readyz`)).body.status, "ready");
    assert.equal(await cloud.end("SIGTERM"), 0);
    assert.equal(cloud.log().at(-1)?.event, "cloud.stopped");
  }
});

describe("meter-cloud serve, with nothing configured", { skip: "Bun" in globalThis, timeout }, () => {
  it("keeps acknowledged records in a folder when it is killed, and allows no second process", async () => {
    const home = mkdtempSync(join(tmpdir(), "meter-cloud-home-"));
    const folder = join(home, "database");
    const open = async () => openCloudDatabase(await openPgliteFolder(folder));
    await writeMigratedFolder(folder);
    let db = await open();
    const { senders } = await addSenders(db, 4, Date.now());
    await db.destroy();
    const batches = makeBatches(30, BATCH_SIZE, Date.now(), 4);
    let cloud: CloudProcess = await startCloudProcess({ env: NO_LIMIT, home });
    await assert.rejects(open(), { reason: "unavailable" });
    let restart: Promise<void> | null = null;
    const kills = new Set([10]);
    const failures = await sendAll(batches, senders, () => cloud.url, {
      onAcknowledged(count) {
        if (!kills.delete(count)) return;
        restart = cloud.end("SIGKILL").then(async () => {
          cloud = await startCloudProcess({ env: NO_LIMIT, home });
        });
      },
      onFailure: async () => {
        await restart;
      },
    });
    assert.ok(failures > 0, "no batch met a kill");
    const metrics = await request(`${cloud.url}/metrics`);
    assert.match(await metrics.body.text(), /meter_cloud_ingested_batches_total [1-9]/);
    assert.equal(await cloud.end("SIGTERM"), 0);
    db = await open();
    assert.deepEqual(await totals(db), expectedTotals(batches));
    await db.destroy();
    rmSync(home, { recursive: true, force: true });
  });
});
