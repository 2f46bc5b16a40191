import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { CompiledQuery, sql } from "kysely";
import {
  enterOrganisation,
  executeTogether,
  inScope,
  showWorkspaces,
} from "../../../cloud/store/transaction.ts";
import { describeOnOneEngine, type TestDatabase } from "../kit/engines.ts";
import { OTHER, WORKSPACE } from "../kit/tenant-rows.ts";

describeOnOneEngine("inScope()", (engine) => {
  let test: TestDatabase;
  before(async () => {
    test = await engine.open({ maxConnections: 1 });
  });
  after(() => test.close());

  const settings = sql<Record<string, string>>`select current_user as role,
    current_setting('meter.workspace_id', true) as workspace, current_setting('meter.organisation_id', true) as organisation,
    current_setting('meter.user_id', true) as person`;

  it("sets the role and the whole scope, and nothing of an earlier one", async () => {
    const scope = { workspaceId: WORKSPACE, organisationId: OTHER, userId: "o'neill" };
    const seen = async (given: Parameters<typeof inScope>[1]) =>
      await inScope(test.db, given, async (trx) => (await settings.execute(trx)).rows[0]);
    assert.deepEqual(await seen(scope), {
      role: "meter_app",
      workspace: WORKSPACE,
      organisation: OTHER,
      person: "o'neill",
    });
    assert.deepEqual(await seen({}), { role: "meter_app", workspace: "", organisation: "", person: "" });
  });

  it("refuses an id that is not a UUID, since `set local` takes no parameter", async () => {
    for (const workspaceId of ["", "x", `${WORKSPACE}'; select '`]) {
      await assert.rejects(
        inScope(test.db, { workspaceId }, async () => {}),
        RangeError,
      );
    }
    await assert.rejects(
      inScope(test.db, {}, (trx) => enterOrganisation(trx, "}")),
      RangeError,
    );
    await assert.rejects(
      inScope(test.db, {}, (trx) => showWorkspaces(trx, [WORKSPACE, "}"])),
      RangeError,
    );
  });

  it("refuses a person's id that would end the statement", async () => {
    await assert.rejects(
      inScope(test.db, { userId: "a\0" }, async () => {}),
      RangeError,
    );
  });

  it("prepares no statement for each workspace", async () => {
    const prepared = async () => {
      const { rows } = await sql<{ n: string }>`select count(*) as n from pg_prepared_statements
        where statement ilike 'set local%'`.execute(test.db);
      return rows[0]?.n;
    };
    for (const workspaceId of [WORKSPACE, OTHER]) await inScope(test.db, { workspaceId }, async () => {});
    assert.equal(await prepared(), "0");
  });

  it("keeps a workspace in its place before work that reads and then writes, where tables have placements", async () => {
    const isHeld = async (scope: Parameters<typeof inScope>[1]) =>
      await inScope(test.db, scope, async (trx) => {
        const { rows } = await sql<{ mode: string }>`select mode from pg_locks
          where relation = 'saved_views'::regclass and pid = pg_backend_pid()`.execute(trx);
        return rows.some(({ mode }) => mode === "RowExclusiveLock");
      });
    const changed = { workspaceId: WORKSPACE, readsThenWrites: true };
    if (engine.name !== "citus") {
      assert.equal(await isHeld(changed), false);
      await sql`create table pg_dist_placement ()`.execute(test.owner);
    }
    assert.equal(await isHeld(changed), true);
    assert.equal(await isHeld({ workspaceId: WORKSPACE }), false);
  });
});

describeOnOneEngine("executeTogether()", (engine) => {
  let test: TestDatabase;
  before(async () => {
    test = await engine.open({ maxConnections: 1 });
    // Of the session, since a cluster would create another one on the coordinator.
    await sql`create temporary table steps (step integer)`.execute(test.db);
    await sql`grant all on steps to meter_app`.execute(test.db);
  });
  after(() => test.close());

  const add = (step: number) => CompiledQuery.raw("insert into steps values ($1)", [step]);
  const count = CompiledQuery.raw("select count(*)::integer as n from steps");
  const run = (...[queries, check]: [readonly CompiledQuery[], ((_: unknown, at: number) => void)?]) =>
    inScope(test.db, {}, (trx) => executeTogether(trx, queries, check));
  const stored = async () => (await run([count]))[0]?.rows;

  it("runs statements in their order, and each sees the changes of those before it", async () => {
    const results = await run([count, add(1), count, add(2), count]);
    assert.deepEqual(
      results.map(({ rows }) => rows),
      [[{ n: 0 }], [], [{ n: 1 }], [], [{ n: 2 }]],
    );
    assert.deepEqual(
      [results[1], results[3]].map((result) => result?.numAffectedRows),
      [1n, 1n],
    );
    assert.deepEqual(await stored(), [{ n: 2 }]);
  });

  it("throws the first error once all have ended, and nothing is stored", async () => {
    const divide = CompiledQuery.raw("select 1 / $1::integer", [0]);
    const before = await stored();
    await assert.rejects(run([add(3), divide, add(4), add(5)]), { reason: "invalid_value" });
    await assert.rejects(
      run([add(3), add(4), divide], (_, at) => {
        if (at === 1) throw new RangeError("checked");
      }),
      { message: "checked" },
    );
    assert.deepEqual(await stored(), before);
  });
});
