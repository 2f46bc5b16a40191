import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sql } from "kysely";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import { openCloudDatabase } from "../../cloud/store/open-database.ts";
import { batch, createRig, json, record } from "./kit/cloud-rig.ts";
import { describeOnPostgres, type Engine, startMigrated } from "./kit/engines.ts";
import { missingPostgres, type PostgresServer } from "./kit/postgres-server.ts";

const PATH = "/v1/requests/batch";
const config = { rateLimits: { perKey: 1e6 } };

describeOnPostgres("the cloud, when the database fails", (engine) => {
  it("answers 503 with Retry-After while no connection is free, and logs nothing that the client sent", async () => {
    const rig = await createRig(engine, { config, database: { maxConnections: 1, acquireTimeoutMs: 500 } });
    const { token } = await rig.addWorkspace();
    let release = () => {};
    const held = rig.db.connection().execute(() => new Promise<void>((resolve) => (release = resolve)));
    const answer = await rig.call("POST", PATH, token, batch(record(rig.uuid(), { project: "canary" })));
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get("retry-after"), "5");
    assert.equal((await json(answer)).code, "unavailable");
    release();
    await held;
    assert.deepEqual(
      rig.log
        .filter(({ event }) => event !== "cloud.request_answered")
        .map((entry) => ({ ...entry, request_id: null })),
      [
        {
          event: "cloud.request_failed",
          request_id: null,
          method: "POST",
          route: PATH,
          reason: "unavailable",
          code: null,
        },
      ],
    );
    assert.equal((await rig.call("POST", PATH, token, batch(record(rig.uuid())))).status, 200);
    await rig.close();
  });

  it("stores nothing of a batch while its rollup cannot be written, and all of it once it can", async () => {
    const rig = await createRig(engine, { config });
    const workspace = await rig.addWorkspace();
    const sent = batch(record(rig.uuid(), { prompt_tokens: 1 }), record(rig.uuid()));
    await sql`revoke insert on usage_daily from meter_app`.execute(rig.owner);
    assert.equal((await rig.call("POST", PATH, workspace.token, sent)).status, 500);
    assert.deepEqual(await rig.db.selectFrom("requests").select("request_id").execute(), []);
    assert.deepEqual(await rig.db.selectFrom("usage_hourly").select("requests").execute(), []);
    await sql`grant insert on usage_daily to meter_app`.execute(rig.owner);
    assert.equal((await json(rig.call("POST", PATH, workspace.token, sent))).accepted, 2);
    await rig.close();
  });

  it("runs a batch again after a deadlock", async () => {
    const rig = await createRig(engine, { config });
    const workspace = await rig.addWorkspace();
    const id = rig.uuid();
    const hour = "2026-11-21T11:00:00Z";
    const first = record(id, { prompt_tokens: 1 });
    await rig.call("POST", PATH, workspace.token, batch(first));
    // Another transaction takes the two locks in the other order: the rollup's row first, then the request's.
    // On a cluster, transactions wait on the workers.
    const activity = engine.name === "citus" ? "citus_stat_activity" : "pg_stat_activity";
    let filling: ReturnType<typeof rig.call> | undefined;
    const other = rig.db.transaction().execute(async (trx) => {
      await sql`update usage_hourly set requests = requests where hour = ${hour}::timestamptz`.execute(trx);
      filling = rig.call("POST", PATH, workspace.token, batch({ ...first, completion_tokens: 2 }));
      for (let waiting = false; !waiting; ) {
        const { rows } = await sql<{
          n: string;
        }>`select count(*) as n from ${sql.raw(activity)}
          where datname = current_database() and wait_event_type = 'Lock'`.execute(rig.db);
        waiting = rows[0]?.n !== "0";
      }
      await sql`update requests set model = model where request_id = ${id}::uuid`.execute(trx);
    });
    // PostgreSQL ends either transaction; the batch is stored in both cases.
    await other.catch(() => {});
    const answer = await filling;
    const rows = await rig.db.selectFrom("requests").select("completion_tokens").execute();
    assert.equal(answer?.status, 200);
    assert.deepEqual(rows, [{ completion_tokens: "2" }]);
    await rig.close();
  });
});

const missing = missingPostgres();

describe(`a crash of PostgreSQL in the middle of ingest${missing === null ? "" : `: NOT TESTED: ${missing}`}`, {
  skip: missing !== null,
}, () => {
  it("loses nothing that was acknowledged; other batches can be sent again, and totals are exact", async () => {
    const server = await startMigrated(true);
    const rig = await createRig(durable(server), { config, database: { acquireTimeoutMs: 1_000 } });
    const workspace = await rig.addWorkspace();
    const batches = Array.from({ length: 120 }, () =>
      batch(
        ...Array.from({ length: 20 }, () => record(rig.uuid(), { prompt_tokens: 3, completion_tokens: 1 })),
      ),
    );
    let acknowledged = 0;
    let failed = 0;
    const pending = [...batches];
    const crashes = new Set([20, 60]);
    let underWay: Promise<void> | null = null;
    async function send(): Promise<void> {
      for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
        const answer = await rig.call("POST", PATH, workspace.token, next);
        if (answer.status === 200) {
          const { accepted, duplicates } = await json(answer);
          assert.equal(accepted + duplicates, 20);
          acknowledged += 1;
          if (crashes.delete(acknowledged)) {
            underWay = server.crash().then(() => server.restart());
          }
        } else {
          failed += 1;
          assert.ok(answer.status >= 500, String(answer.status));
          pending.push(next);
          await underWay;
        }
      }
    }
    await Promise.all(Array.from({ length: 4 }, send));
    assert.ok(failed > 0, "no batch met a crash");
    const { rows } = await sql<Record<string, string>>`select
      (select count(*) from requests) as requests,
      (select sum(requests) from usage_daily) as counted,
      (select sum(prompt_tokens) from usage_hourly) as prompts,
      (select sum(cost_pico_usd) from usage_daily) as cost`.execute(rig.db);
    const total = 120 * 20;
    const cost = BigInt(total) * (3n * 2_500_000n + 10_000_000n);
    assert.deepEqual(rows, [
      { requests: `${total}`, counted: `${total}`, prompts: `${3 * total}`, cost: `${cost}` },
    ]);
    await rig.close();
    await server.stop();
  });
});

/** One database on a server of its own, which the test may crash. */
function durable(server: PostgresServer): Pick<Engine, "open"> {
  return {
    open: async (options) => {
      const url = server.url("template1");
      const database = openPostgres(url, systemClock, options);
      const db = openCloudDatabase(database);
      return { db, owner: db, database, url, close: () => db.destroy() };
    },
  };
}
