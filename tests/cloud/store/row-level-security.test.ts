import assert from "node:assert/strict";
import { it } from "node:test";
import { sql } from "kysely";
import { inScope } from "../../../cloud/store/transaction.ts";
import { describeOnEngines, type TestDatabase } from "../kit/engines.ts";

const WORKSPACE = "01994b8e-7c00-7000-8000-00000000000a";
const OTHER = "01994b8e-7c00-7000-8000-00000000000b";
const ID = "01994b8e-7c00-7000-8000-000000000001";

/** Every tenant table with an insert of one row; what a foreign key needs comes first. */
const ROWS: readonly (readonly [table: string, insert: (workspace: string) => string])[] = [
  [
    "workspaces",
    (w) =>
      `insert into workspaces (workspace_id, organisation_id, name, created_at) values ('${w}', '${w}', 'n', now())`,
  ],
  ["memberships", (w) => `insert into memberships values ('${w}', 'ann', 'member', now(), null)`],
  ["machines", (w) => `insert into machines values ('${w}', '${ID}', null, 'h', 'p', 'v', now(), null)`],
  [
    "sync_keys",
    (w) =>
      `insert into sync_keys values ('${w}', '${ID}', '\\x00', 'mtr_', 'sync', '${ID}', 'ann', now(), null)`,
  ],
  [
    "requests",
    (w) =>
      `insert into requests (workspace_id, request_id, requested_at, received_at, clock_skewed, user_id, provider, model, cost_source)
       values ('${w}', '${ID}', now(), now(), false, 'ann', 'openai', 'gpt-5', 'unpriced')`,
  ],
  ["request_bodies", (w) => `insert into request_bodies (workspace_id, request_id) values ('${w}', '${ID}')`],
  [
    "invitations",
    (w) =>
      `insert into invitations values ('${w}', '${ID}', '\\x00', 'a@example.com', 'member', 'ann', now(), now())`,
  ],
  ["body_first_sightings", (w) => `insert into body_first_sightings values ('${w}', '${ID}', now())`],
  ...["usage_hourly", "usage_daily"].map(
    (table) =>
      [
        table,
        (w: string) => `insert into ${table} values ('${w}', now(), '${ID}', 'ann', '', 'openai', 'gpt-5')`,
      ] as const,
  ),
  ["prompt_view_heads", (w) => `insert into prompt_view_heads values ('${w}', 0, '')`],
  [
    "prompt_views",
    (w) =>
      `insert into prompt_views values ('${w}', 1, '${ID}', '${ID}', 'ann', 'ben', null, 'why', now(), null, null, '', '')`,
  ],
  [
    "prompt_view_tickets",
    (w) => `insert into prompt_view_tickets values ('${w}', '${ID}', '${ID}', 'ann', now(), null)`,
  ],
  ["audit_events", (w) => `insert into audit_events values ('${w}', '${ID}', now(), 'k', null, '{}', now())`],
];

/** Written once, as evidence. */
const APPEND_ONLY = ["prompt_views", "audit_events", "checkout_consent_records"];

async function fill({ db }: TestDatabase): Promise<void> {
  for (const workspace of [WORKSPACE, OTHER]) {
    for (const [, insert] of ROWS) await sql.raw(insert(workspace)).execute(db);
  }
}

describeOnEngines("row-level security", (engine) => {
  it("covers every table with a workspace_id but the pairing sessions", async () => {
    const { db, close } = await engine.open();
    const { rows } = await sql<{ relname: string; forced: boolean }>`
      select relname, relrowsecurity and relforcerowsecurity as forced from pg_class
      where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
        and exists (select from pg_attribute where attrelid = pg_class.oid and attname = 'workspace_id')
      order by relname`.execute(db);
    const covered = rows.filter(({ relname }) => relname !== "pairing_sessions");
    assert.deepEqual(
      covered.map(({ relname }) => relname),
      ROWS.map(([table]) => table).sort(),
    );
    assert.deepEqual(
      covered.filter(({ forced }) => !forced),
      [],
    );
    await close();
  });

  it("shows a query without any condition the rows of the scope's workspace alone", async () => {
    const test = await engine.open();
    await fill(test);
    for (const [table] of ROWS) {
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
    for (const [table, insert] of ROWS) {
      // One insert a transaction: a refusal ends it.
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

  it("lets the application neither change nor delete a row of the ledger, the events or the consents", async () => {
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

  it("leaves nothing of a scope behind, also when the work fails", async () => {
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

  it("lets the lookup role ask for ids and for nothing else", async () => {
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
