import assert from "node:assert/strict";
import { it } from "node:test";
import { sql } from "kysely";
import { TABLE_PLACES } from "../../../cloud/store/table-places.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import { describeOnOneEngine, type TestDatabase } from "../kit/engines.ts";
import { OTHER, TENANT_ROWS, WORKSPACE } from "../kit/tenant-rows.ts";

/** Written once, as evidence. */
const APPEND_ONLY = ["prompt_views", "audit_events", "checkout_consent_records"];

async function fill({ db }: TestDatabase): Promise<void> {
  for (const workspace of [WORKSPACE, OTHER]) {
    for (const [, insert] of TENANT_ROWS) await sql.raw(insert(workspace)).execute(db);
  }
}

describeOnOneEngine("row-level security", (engine) => {
  it("covers every table of a workspace", async () => {
    const { db, close } = await engine.open();
    const { rows } = await sql<{ relname: string; forced: boolean }>`
      select relname, relrowsecurity and relforcerowsecurity as forced from pg_class
      where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
        and exists (select from pg_attribute where attrelid = pg_class.oid and attname = 'workspace_id')
      order by relname`.execute(db);
    const places: Readonly<Record<string, string>> = TABLE_PLACES;
    const covered = rows.filter(({ relname }) => places[relname] === "distributed");
    assert.deepEqual(
      covered.map(({ relname }) => relname),
      TENANT_ROWS.map(([table]) => table).sort(),
    );
    // Its owner is not subject to the policies on a cluster, where shards must be able to move.
    const isForced = engine.name !== "citus";
    assert.deepEqual(
      covered.filter(({ forced }) => forced !== isForced),
      [],
    );
    await close();
  });

  it("shows a query without conditions only the rows of the scope's workspace", async () => {
    const test = await engine.open();
    await fill(test);
    for (const [table] of TENANT_ROWS) {
      const seen = await inScope(test.db, { workspaceId: WORKSPACE }, async (trx) => {
        return (
          await sql<{ workspace_id: string }>`select workspace_id from ${sql.table(table)}`.execute(trx)
        ).rows;
      });
      assert.deepEqual(seen, [{ workspace_id: WORKSPACE }], table);
      const nobody = await inScope(test.db, {}, async (trx) => {
        return (await sql`select workspace_id from ${sql.table(table)}`.execute(trx)).rows;
      });
      assert.deepEqual(nobody, [], table);
    }
    await test.close();
  });

  it("refuses a row for another workspace, and changes none", async () => {
    const test = await engine.open();
    for (const [table, insert] of TENANT_ROWS) {
      // One insert per transaction, because a refusal ends it.
      await assert.rejects(
        inScope(test.db, { workspaceId: WORKSPACE }, (trx) => sql.raw(insert(OTHER)).execute(trx)),
        { name: "DatabaseError", reason: "forbidden" },
        table,
      );
    }
    await fill(test);
    const changed = await inScope(test.db, { workspaceId: WORKSPACE }, async (trx) => {
      return await sql`update workspaces set name = 'mine'`.execute(trx);
    });
    assert.equal(changed.numAffectedRows, 1n);
    await test.close();
  });

  it("does not let the application change or delete a row of the ledger, the events or the consents", async () => {
    const test = await engine.open();
    await fill(test);
    for (const table of APPEND_ONLY) {
      const columns = table === "checkout_consent_records" ? "period = 'x'" : "workspace_id = workspace_id";
      for (const statement of [
        `update ${table} set ${columns}`,
        `delete from ${table}`,
        `truncate ${table}`,
      ]) {
        await assert.rejects(
          inScope(test.db, { workspaceId: WORKSPACE }, (trx) => sql.raw(statement).execute(trx)),
          { name: "DatabaseError", reason: "forbidden" },
          statement,
        );
      }
    }
    await test.close();
  });

  it("resets the scope after the transaction, even if the work fails", async () => {
    const test = await engine.open();
    await fill(test);
    const before = await sql`select current_user as role`.execute(test.db);
    await assert.rejects(
      inScope(test.db, { workspaceId: WORKSPACE }, async () => {
        throw new Error("planned");
      }),
      /planned/,
    );
    const after = await sql<Record<string, unknown>>`
      select current_user as role, coalesce(current_setting('meter.workspace_id', true), '') as workspace`.execute(
      test.db,
    );
    assert.deepEqual(after.rows, [{ role: (before.rows[0] as { role: string }).role, workspace: "" }]);
    await test.close();
  });

  it("lets the lookup role read ids and nothing else", async () => {
    const test = await engine.open();
    await fill(test);
    const asLookup = (statement: string) =>
      inScope(test.db, { workspaceId: OTHER }, async (trx) => {
        await sql`select set_config('role', 'meter_lookup', true)`.execute(trx);
        return (await sql.raw(statement).execute(trx)).rows;
      });
    assert.equal((await asLookup("select request_id from requests")).length, 2);
    for (const statement of [
      "select workspace_id from requests",
      "select * from workspaces",
      "delete from requests",
    ]) {
      await assert.rejects(asLookup(statement), { reason: "forbidden" }, statement);
    }
    await test.close();
  });
});
