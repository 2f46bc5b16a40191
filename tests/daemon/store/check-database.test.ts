import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { checkDatabase } from "../../../daemon/store/check-database.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import { ROLLUP_TAIL } from "../../../daemon/store/rollups.ts";
import { inNewFolder, opener } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

describe("checkDatabase()", () => {
  it("counts the requests that are not in the rollups", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const store = await openStore(opener, path);
      const unsummed = async () => (await checkDatabase(opener, path)).unsummed;
      assert.equal(await unsummed(), 0);
      store.records.insert(Array.from({ length: 300 }, () => sampleRecord({ requestedAt: noon })));
      assert.equal(await unsummed(), 300);
      while (store.rollups.buildSome(noon));
      assert.equal(await unsummed(), ROLLUP_TAIL.keep);
      store.close();
    }));

  it("returns no number for a database that it can't read", () =>
    inNewFolder(async (folder) => {
      const { state, unsummed } = await checkDatabase(opener, join(folder, "meter.db"));
      assert.deepEqual([state, unsummed], ["absent", null]);
    }));
});
