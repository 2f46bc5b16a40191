import assert from "node:assert/strict";
import { it } from "node:test";
import { sql } from "kysely";
import { problemOf } from "../../../../cloud/http/problem.ts";
import { inReadScope, READ_TIMEOUT_MS } from "../../../../cloud/store/reads/read-scope.ts";
import { inScope } from "../../../../cloud/store/transaction.ts";
import { describeOnOneEngine, describeOnPostgres } from "../../kit/engines.ts";

const WORKSPACE = "01994b8e-7c00-7000-8000-00000000000a";

describeOnOneEngine("inReadScope()", (engine) => {
  it("limits each statement, allows no writes, and resets both settings", async () => {
    const { db, close } = await engine.open();
    const settings = sql<Record<string, string>>`select
      current_setting('statement_timeout') as timeout, current_setting('transaction_read_only') as read_only`;
    const scope = { workspaceId: WORKSPACE };
    const inside = await inReadScope(db, scope, (trx) => settings.execute(trx));
    assert.deepEqual(inside.rows, [{ timeout: `${READ_TIMEOUT_MS / 1_000}s`, read_only: "on" }]);
    await assert.rejects(
      inReadScope(db, scope, (trx) =>
        trx.insertInto("prompt_view_heads").values({ workspace_id: WORKSPACE, seq: 0, hash: "" }).execute(),
      ),
      { name: "DatabaseError", code: "25006" },
    );
    const after = await inScope(db, scope, (trx) => settings.execute(trx));
    assert.equal(after.rows[0]?.read_only, "off");
    assert.notEqual(after.rows[0]?.timeout, `${READ_TIMEOUT_MS / 1_000}s`);
    await close();
  });
});

describeOnPostgres("a read that takes too long", (engine) => {
  it("is cancelled by the server: 503 with Retry-After", async () => {
    const { db, close } = await engine.open();
    const read = inReadScope(db, {}, async (trx) => {
      await sql`set local statement_timeout = 20`.execute(trx);
      await sql`select pg_sleep(60)`.execute(trx);
    });
    const { answer, reason } = problemOf(await read.catch((error: unknown) => error));
    assert.deepEqual([reason, answer.status, answer.headers.get("retry-after")], ["timeout", 503, "5"]);
    await close();
  });
});
