import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { verifyWorkspaceLedgers } from "../../../cloud/ledger/verify-ledgers.ts";
import { batch, type CloudRig, createRig, record } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { fillAuditEvents, onResults } from "../kit/long-ledger.ts";

const config = { rateLimits: { perKey: 1e6 } };

describeOnOneEngine("verifyWorkspaceLedgers()", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  /** The sizes of all results of a verification, in rows, the largest first. */
  const verify = async (workspaceId: string) => {
    const sizes: number[] = [];
    const db = onResults(rig.db, (rows) => sizes.push(rows));
    assert.ok((await verifyWorkspaceLedgers(db, workspaceId, null, sha256)).ok);
    return sizes.sort((one, other) => other - one);
  };

  it("reads a long chain in pages, each row once, and never more than one page", async () => {
    const { id } = await rig.addWorkspace();
    await fillAuditEvents(rig.db, id, 1_700, rig.clock.now());
    const sizes = await verify(id);
    assert.deepEqual(sizes.slice(0, 4), [500, 500, 500, 200]);
    assert.ok(sizes.slice(4).every((rows) => rows <= 1));
  });

  it("reads the requests of eight batches at once, however many there are", async () => {
    const workspace = await rig.addWorkspace();
    for (let n = 0; n < 20; n += 1) {
      const records = Array.from({ length: 5 }, () => record(rig.uuid(), { prompt_tokens: 1 }));
      const sent = await rig.call("POST", "/v1/requests/batch", workspace.token, batch(...records));
      assert.equal(sent.status, 200);
    }
    const sizes = await verify(workspace.id);
    assert.deepEqual(sizes.slice(0, 6), [40, 40, 20, 8, 8, 4]);
  });
});
