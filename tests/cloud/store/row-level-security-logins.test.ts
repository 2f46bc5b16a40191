import assert from "node:assert/strict";
import { it } from "node:test";
import { sql, type Transaction } from "kysely";
import { requestExists } from "../../../cloud/store/bodies.ts";
import type { CloudDatabase } from "../../../cloud/store/open-database.ts";
import type { CloudSchema } from "../../../cloud/store/schema.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import { DatabaseError } from "../../../core/ports/postgres.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { type LoginSetup, openAsLogins } from "../kit/logins.ts";
import { ID, OTHER, TENANT_ROWS, WORKSPACE } from "../kit/tenant-rows.ts";

/** The identity of a session in the database, by its statements before the query. */
const SESSIONS: readonly { readonly who: string; readonly role: string | null }[] = [
  { who: "the login itself", role: null },
  { who: "the role that serves", role: "meter_app" },
  { who: "the role of accounts", role: "meter_accounts" },
  { who: "the role that purges", role: "meter_purge" },
  { who: "the lookup role", role: "meter_lookup" },
];

const SCOPES: readonly { readonly scope: string; readonly workspace: string; readonly sees: string[] }[] = [
  { scope: "no workspace", workspace: "", sees: [] },
  { scope: "one workspace", workspace: WORKSPACE, sees: [WORKSPACE] },
];

async function fill(db: CloudDatabase): Promise<void> {
  for (const workspaceId of [WORKSPACE, OTHER]) {
    await inScope(db, { workspaceId }, async (trx) => {
      for (const [, insert] of TENANT_ROWS) await sql.raw(insert(workspaceId)).execute(trx);
    });
  }
}

/** Runs the work as a role and rolls it back; null if the database forbids it. */
async function asRole<T>(
  db: CloudDatabase,
  role: string | null,
  workspace: string,
  work: (trx: Transaction<CloudSchema>) => Promise<T>,
): Promise<T | null> {
  const undo = new Error("planned");
  let result: T | null = null;
  try {
    await db.transaction().execute(async (trx) => {
      if (role !== null) await sql`select set_config('role', ${role}, true)`.execute(trx);
      await sql`select set_config('meter.workspace_id', ${workspace}, true)`.execute(trx);
      result = await work(trx);
      throw undo;
    });
  } catch (error) {
    if (error === undo) return result;
    if (error instanceof DatabaseError && error.reason === "forbidden") return null;
    throw error;
  }
  return result;
}

for (const setup of ["one", "two"] as const satisfies readonly LoginSetup[]) {
  describeOnOneEngine(
    `row-level security with ${setup} login${setup === "one" ? "" : "s"}`,
    (engine) => {
      it("shows a session no row of another workspace, and none without a workspace", async () => {
        const { owner, server, close } = await openAsLogins(engine, setup);
        await fill(server);
        for (const db of new Set([owner, server])) {
          for (const { who, role } of SESSIONS) {
            for (const { scope, workspace, sees } of SCOPES) {
              for (const [table] of TENANT_ROWS) {
                const seen = await asRole(db, role, workspace, async (trx) => {
                  const { rows } = await sql<{ workspace_id: string }>`
                  select workspace_id from ${sql.table(table)}`.execute(trx);
                  return rows.map((row) => row.workspace_id);
                });
                // Forbidden, no rows, or only those of the scope.
                const hidden = seen === null || seen.length === 0;
                assert.deepEqual(hidden ? sees : seen, sees, `${who}, ${scope}, ${table}`);
              }
            }
          }
        }
        await close();
      });

      it("lets no session change, delete or add a row of another workspace", async () => {
        const { owner, server, close } = await openAsLogins(engine, setup);
        await fill(server);
        for (const db of new Set([owner, server])) {
          for (const { who, role } of SESSIONS) {
            for (const [table, insert] of TENANT_ROWS) {
              for (const [what, statement] of [
                ["update", `update ${table} set workspace_id = workspace_id where workspace_id = '${OTHER}'`],
                ["delete", `delete from ${table} where workspace_id = '${OTHER}'`],
                ["insert", `${insert(OTHER)} on conflict do nothing`],
              ] as const) {
                const changed = await asRole(db, role, WORKSPACE, async (trx) => {
                  return (await sql.raw(statement).execute(trx)).numAffectedRows ?? 0n;
                });
                assert.ok((changed ?? 0n) === 0n, `${who}: ${what} of ${table}`);
              }
            }
          }
        }
        await close();
      });

      it("shows the purge the unfinished erasures of every workspace, which it can't change from another one", async () => {
        const { owner, server, close } = await openAsLogins(engine, setup);
        await fill(server);
        await inScope(server, { workspaceId: OTHER }, (trx) =>
          sql`insert into erasures (workspace_id, erasure_id, user_id, before)
            values (${OTHER}::uuid, ${WORKSPACE}::uuid, 'ann', now())`.execute(trx),
        );
        for (const db of new Set([owner, server])) {
          for (const { role } of SESSIONS) {
            const seen = await asRole(db, role, WORKSPACE, async (trx) => {
              const { rows } = await sql<{ workspace_id: string }>`
                select workspace_id from erasures where finished_at is null`.execute(trx);
              return rows.map((row) => row.workspace_id);
            });
            assert.deepEqual(seen ?? [], role === "meter_purge" ? [OTHER] : [], `${role}`);
            for (const statement of ["update erasures set project = 'x'", "delete from erasures"]) {
              const changed = await asRole(db, role, "", async (trx) => {
                return (await sql.raw(statement).execute(trx)).numAffectedRows ?? 0n;
              });
              assert.ok((changed ?? 0n) === 0n, `${role}: ${statement}`);
            }
          }
        }
        await close();
      });

      it("tells the serving role only whether a workspace has an id", async () => {
        const { server: db, close } = await openAsLogins(engine, setup);
        await fill(db);
        const exists = (id: string) =>
          inScope(db, { workspaceId: WORKSPACE }, (trx) => requestExists(trx, id));
        assert.equal(await exists(ID), true);
        assert.equal(await exists(OTHER), false);
        await close();
      });
    },
    { ownServer: true },
  );
}

describeOnOneEngine(
  "the look-up of a request's id",
  (engine) => {
    it("finds an id of any workspace without entering it, whatever the session's search_path hides", async () => {
      const { server: db, close } = await openAsLogins(engine, "one");
      await fill(db);
      const found = await inScope(db, { workspaceId: OTHER }, async (trx) => {
        // Planted: a table with the same name, earlier on the search path.
        await sql.raw("create temporary table requests (workspace_id uuid, request_id uuid)").execute(trx);
        return await requestExists(trx, ID);
      });
      assert.equal(found, true);
      await close();
    });

    it("can be called only by the serving role", async () => {
      const { owner, close } = await openAsLogins(engine, "one");
      for (const [role, expected] of [
        ["meter_app", false],
        ["meter_accounts", null],
      ] as const) {
        assert.equal(await asRole(owner, role, "", (trx) => requestExists(trx, ID)), expected, role);
      }
      await close();
    });

    it("runs with the rights of the lookup role and its own search_path", async () => {
      const { owner, close } = await openAsLogins(engine, "one");
      const { rows } = await sql<Record<string, unknown>>`
      select r.rolname as owner, p.prosecdef as definer,
        p.proconfig::text like '%search_path=%' as fixed
      from pg_proc p join pg_roles r on r.oid = p.proowner where p.proname = 'request_exists'`.execute(owner);
      assert.deepEqual(rows, [{ owner: "meter_lookup", definer: true, fixed: true }]);
      await close();
    });
  },
  { ownServer: true },
);
