import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type QueryExecutorProvider, sql } from "kysely";
import { request } from "undici";
import { openAccountsDatabase } from "../../../adapters/accounts/accounts-database.ts";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import { makeBatches } from "../../../bench/ingest/records.ts";
import { CLOUD_MIGRATIONS, migrateCloud } from "../../../cloud/store/migrate.ts";
import { type CloudDatabase, openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { type CloudProcess, killCloudProcesses, startCloudProcess } from "../../cloud/kit/cloud-process.ts";
import { type Person, signUp } from "../../cloud/kit/person.ts";
import { missingPgBouncer, type PgBouncer, startPgBouncer } from "../../cloud/kit/pgbouncer.ts";
import { missingPostgres, type PostgresServer, startPostgres } from "../../cloud/kit/postgres-server.ts";
import { type RoundRobinProxy, startProxy } from "../../cloud/kit/round-robin-proxy.ts";
import { addSenders, type Sender } from "../../cloud/kit/senders.ts";
import { runCloudWords } from "./run-cloud-command.rig.ts";

const missing = missingPostgres() ?? missingPgBouncer();
const skip =
  "Deno" in globalThis || "Bun" in globalThis
    ? "starts processes of Node's"
    : missing !== null && `NOT TESTED: ${missing}`;

const PROCESSES = 3;
/** Fewer connections to the server than the processes together use. */
const POOL_SIZE = 6;
const BATCH_SIZE = 20;

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects, field by field.
  readonly body: any;
}

async function ask(
  url: string,
  method: "GET" | "POST" = "GET",
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const answer = await request(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headersTimeout: 120_000,
  });
  const text = await answer.body.text();
  const retryAfter = answer.headers["retry-after"];
  return {
    status: answer.statusCode,
    retryAfter: typeof retryAfter === "string" ? retryAfter : null,
    body: text.startsWith("{") ? JSON.parse(text) : null,
  };
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await delay(50);
  }
}

/** Whole seconds, rounded up. */
const secondsSince = (startedAt: number) => Math.ceil((performance.now() - startedAt) / 1_000);

describe("three cloud processes behind a proxy, on PostgreSQL 15 through PgBouncer in transaction mode", {
  skip,
  timeout: 300_000,
  concurrency: false,
}, () => {
  let server: PostgresServer;
  let bouncer: PgBouncer;
  let proxy: RoundRobinProxy;
  let clouds: readonly CloudProcess[];
  let db: CloudDatabase;
  let owner: Person;
  const env: Record<string, string> = {};

  const post = (token: string, records: readonly object[]) =>
    ask(
      `${proxy.url}/v1/requests/batch`,
      "POST",
      { daemon_version: "0.4.0", records },
      { authorization: `Bearer ${token}` },
    );
  const stored = async () =>
    Number((await sql<{ n: string }>`select count(*)::text as n from requests`.execute(db)).rows[0]?.n);
  const newSenders = async (machines: number): Promise<readonly Sender[]> =>
    (await addSenders(db, machines, Date.now())).senders;

  before(async () => {
    server = await startPostgres();
    bouncer = await startPgBouncer(server.port, POOL_SIZE);
    proxy = await startProxy();
    Object.assign(env, {
      DATABASE_URL: bouncer.url("postgres"),
      METER_CLOUD_DATABASE_TRANSACTION_POOLER: "true",
      METER_CLOUD_AUTH_SECRET: "a secret that the processes of the test share",
      METER_CLOUD_SERVER_BASE_URL: proxy.url,
      METER_CLOUD_SERVER_TRUSTED_HOPS: "1",
      METER_CLOUD_LIMITS_KEY_PER_MINUTE: "60",
    });
    clouds = await Promise.all(Array.from({ length: PROCESSES }, () => startCloudProcess({ env })));
    proxy.targets = clouds.map(({ url }) => url);
    db = openCloudDatabase(openPostgres(server.url("postgres"), systemClock));
    owner = await signUp(proxy.url, {
      name: "Ann",
      email: "ann@example.com",
      password: "correct horse battery",
    });
  });
  after(async () => {
    await owner?.close();
    killCloudProcesses();
    await db?.destroy();
    await proxy?.close();
    await bouncer?.stop();
    await server?.stop();
  });

  it("start together, migrate once, and are all ready", async () => {
    const applied = clouds.flatMap((cloud) =>
      cloud.log().flatMap(({ event, migration }) => (event === "cloud.migrated" ? [migration] : [])),
    );
    assert.deepEqual(
      applied.sort(),
      CLOUD_MIGRATIONS.map(({ name }) => name),
    );
    for (const { url } of clouds) assert.equal((await ask(`${url}/readyz`)).status, 200);
  });

  it("name the setting that PgBouncer needs if it is missing", async () => {
    const { METER_CLOUD_DATABASE_TRANSACTION_POOLER: _, ...others } = env;
    const failed = await runCloudWords(["migrate"], others);
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /Set METER_CLOUD_DATABASE_TRANSACTION_POOLER=true/);
  });

  it("store each record once, whichever of them gets it and however often", async () => {
    const senders = await newSenders(4);
    const batches = makeBatches(24, BATCH_SIZE, Date.now(), 11);
    const before = await stored();
    const sums = { accepted: 0, duplicates: 0 };
    // Each batch three times at once: it meets itself in all three processes.
    await Promise.all(
      batches.flatMap((batch, at) =>
        [1, 2, 3].map(async () => {
          const { status, body } = await post(senders[at % 4]?.token ?? "", batch);
          assert.equal(status, 200);
          sums.accepted += body.accepted;
          sums.duplicates += body.duplicates;
        }),
      ),
    );
    const records = batches.flat().length;
    assert.deepEqual(sums, { accepted: records, duplicates: 2 * records });
    assert.equal((await stored()) - before, records);
    assert.deepEqual([...proxy.counts.keys()].sort(), clouds.map(({ url }) => url).sort());
  });

  it("share the rate of a key", async () => {
    const [sender] = await newSenders(1);
    const answers: Answer[] = [];
    const startedAt = performance.now();
    for (let at = 0; at < 120; at += 1) answers.push(await post(sender?.token ?? "", []));
    const allowed = answers.filter(({ status }) => status !== 429).length;
    // One a second more while the test runs, and once a tenth of the rate per process.
    const most = 60 + PROCESSES * 6 + secondsSince(startedAt);
    assert.ok(allowed >= 60 && allowed <= most, `${allowed} of 120, at most ${most}`);
    for (const { status, retryAfter } of answers) if (status === 429) assert.match(retryAfter ?? "", /^\d+$/);
  });

  it("end the wait of a poll in one process when another approves the machine", async () => {
    const machine = { hostname: "laptop", platform: "linux", daemon_version: "0.4.0" };
    const ticket = (await ask(`${clouds[0]?.url}/v1/pairing/start`, "POST", machine)).body;
    const polled = ask(`${clouds[1]?.url}/v1/pairing/poll`, "POST", { poll_token: ticket.poll_token });
    await owner.approve(ticket.code);
    const { status, body } = await polled;
    assert.deepEqual([status, body.status, body.workspace.id], [200, "approved", owner.workspaceId]);
    const again = await ask(`${clouds[2]?.url}/v1/pairing/poll`, "POST", { poll_token: ticket.poll_token });
    assert.notEqual(again.body.status, "approved");
  });

  it("lock a person after five wrong codes in all", async () => {
    const guess = () => owner.ask("GET", "/v1/pairing/codes/ZZZZ-ZZZZ");
    const statuses = [];
    for (let at = 0; at < 8; at += 1) statuses.push((await guess()).status);
    assert.deepEqual(statuses, [404, 404, 404, 404, 404, 429, 429, 429]);
  });

  it("slow down guesses of a password after ten in all, and sign-ins of an address after ten a minute in all", async () => {
    const signIn = (email: string, address: string) =>
      ask(
        `${proxy.url}/api/auth/sign-in/email`,
        "POST",
        { email, password: "wrong wrong wrong" },
        { "x-forwarded-for": address },
      );
    const byAccount = [];
    for (let at = 0; at < 12; at += 1)
      byAccount.push((await signIn("eve@example.com", `198.51.100.${at}`)).status);
    assert.deepEqual(byAccount, [...Array.from({ length: 10 }, () => 401), 429, 429]);
    const byAddress = [];
    const startedAt = performance.now();
    for (let at = 0; at < 12; at += 1)
      byAddress.push((await signIn(`p${at}@example.com`, "203.0.113.5")).status);
    // One is allowed again after six seconds.
    const allowed = byAddress.filter((status) => status === 401).length;
    const most = 10 + Math.floor(secondsSince(startedAt) / 6);
    assert.ok(allowed >= 10 && allowed <= most, `${byAddress.join(" ")}, at most ${most}`);
  });

  it("leave the role of the accounts on no connection to the server", async () => {
    const url = bouncer.url("postgres");
    const through = openCloudDatabase(openPostgres(url, systemClock, { transactionPooler: true }));
    const accounts = openAccountsDatabase(through);
    try {
      const roleIn = async (database: QueryExecutorProvider) =>
        (await sql<{ name: string }>`select current_user::text as name`.execute(database)).rows[0]?.name;
      const roles = await Promise.all(
        Array.from({ length: 120 }, (_, n) => roleIn(n % 2 === 0 ? accounts : through)),
      );
      assert.deepEqual(
        roles,
        roles.map((_, n) => (n % 2 === 0 ? "meter_accounts" : "postgres")),
      );
    } finally {
      await through.destroy();
    }
  });

  it("lose nothing while one is replaced and another killed", async () => {
    const senders = await newSenders(8);
    const batches = makeBatches(60, BATCH_SIZE, Date.now(), 12);
    const before = await stored();
    const pending = [...batches.entries()];
    let acknowledged = 0;
    const replace = async (at: number, signal: "SIGTERM" | "SIGKILL") => {
      const old = clouds[at];
      proxy.targets = proxy.targets.filter((url) => url !== old?.url || signal === "SIGKILL");
      await old?.end(signal);
      const fresh = await startCloudProcess({ env });
      clouds = clouds.with(at, fresh);
      proxy.targets = clouds.map(({ url }) => url);
    };
    const steps: Promise<void>[] = [];
    async function send({ token }: Sender): Promise<void> {
      for (let next = pending.shift(); next !== undefined; ) {
        const { status, body } = await post(token, next[1]);
        if (status !== 200) {
          assert.ok([502, 503].includes(status), `${status}`);
          await Promise.all(steps);
          continue;
        }
        assert.equal(body.accepted + body.duplicates, BATCH_SIZE);
        acknowledged += 1;
        if (acknowledged === 15) steps.push(replace(0, "SIGTERM"));
        if (acknowledged === 30) steps.push(replace(1, "SIGKILL"));
        next = pending.shift();
      }
    }
    await Promise.all(senders.map(send));
    await Promise.all(steps);
    assert.equal((await stored()) - before, batches.flat().length);
  });

  it("say that the database is unreachable while it is, and are ready again afterwards", async () => {
    const all = () => Promise.all(clouds.map(({ url }) => ask(`${url}/readyz`)));
    await server.kill();
    await until("all to be unready", async () => (await all()).every(({ status }) => status === 503));
    for (const { body } of await all()) assert.equal(body.status, "database_unreachable");
    const [sender] = await newSendersLater();
    await until("all to be ready", async () => (await all()).every(({ status }) => status === 200));
    const [batch = []] = makeBatches(1, BATCH_SIZE, Date.now(), 13);
    assert.equal((await post(sender?.token ?? "", batch)).body.accepted, BATCH_SIZE);
  });

  async function newSendersLater(): Promise<readonly Sender[]> {
    await server.restart();
    await db.destroy();
    db = openCloudDatabase(openPostgres(server.url("postgres"), systemClock));
    return await newSenders(1);
  }

  it("serve on the tables of a newer version, and refuse those of an older one", async () => {
    const newer = {
      name: "9999-newer",
      statements: [
        "alter table requests add column newer text",
        "alter table usage_hourly add column newer numeric not null default 0",
        "create table newer (id uuid primary key)",
      ],
    };
    await migrateCloud(db, Date.now(), [...CLOUD_MIGRATIONS, newer]);
    const [sender] = await newSenders(1);
    const [batch = []] = makeBatches(1, BATCH_SIZE, Date.now(), 14);
    assert.equal((await post(sender?.token ?? "", batch)).body.accepted, BATCH_SIZE);
    const fresh = await startCloudProcess({ env });
    assert.equal((await ask(`${fresh.url}/readyz`)).status, 200);
    assert.equal(await fresh.end("SIGTERM"), 0);

    const latest = CLOUD_MIGRATIONS.at(-1)?.name ?? "";
    await sql`delete from cloud_migrations where name = ${latest}`.execute(db);
    const [first] = clouds;
    await until("a process to see that the tables are older", async () => {
      const { status, body } = await ask(`${first?.url}/readyz`);
      return status === 503 && body.status === "not_migrated";
    });
    const refused = await runCloudWords(["serve", "--port", "0"], {
      ...env,
      METER_CLOUD_DATABASE_MIGRATE: "false",
    });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /no tables of this version[\s\S]*meter-cloud migrate/);
  });
});
