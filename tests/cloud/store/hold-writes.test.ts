import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { holdingWrites } from "../../../cloud/store/hold-writes.ts";
import { describeOnPostgres, type TestDatabase } from "../kit/engines.ts";
import { addSenders } from "../kit/senders.ts";

describeOnPostgres("holdingWrites()", (engine) => {
  let test: TestDatabase;
  before(async () => {
    test = await engine.open();
  });
  after(() => test.close());

  it("blocks writes to a cluster through any node while reads continue; elsewhere, writes continue too", async () => {
    const { workspaceId } = await addSenders(test.db, 1, 0);
    const rename = (name: string) =>
      test.db.transaction().execute(async (trx) => {
        await sql`set local lock_timeout = 500`.execute(trx);
        await trx.updateTable("workspaces").set({ name }).where("workspace_id", "=", workspaceId).execute();
      });
    const written = await holdingWrites(test.owner, async () => {
      const one = test.db.selectFrom("workspaces").select("name").where("workspace_id", "=", workspaceId);
      assert.deepEqual(await one.execute(), [{ name: "Bench" }]);
      return await rename("meanwhile").then(
        () => true,
        () => false,
      );
    });
    assert.equal(written, engine.name !== "citus");
    await rename("afterwards");
  });

  it("throws what the work throws, and runs it once", async () => {
    let runs = 0;
    const failing = holdingWrites(test.owner, async () => {
      runs += 1;
      throw new RangeError("no room");
    });
    await assert.rejects(failing, RangeError);
    assert.equal(runs, 1);
  });
});
