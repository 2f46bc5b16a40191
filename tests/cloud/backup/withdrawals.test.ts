import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { applyWithdrawals } from "../../../cloud/backup/apply-withdrawals.ts";
import { verifyWorkspaceLedgers } from "../../../cloud/ledger/verify-ledgers.ts";
import { addRestore } from "../../../cloud/store/backup-facts.ts";
import { readRestoresSince } from "../../../cloud/store/restores.ts";
import { listWithdrawals, type Withdrawal } from "../../../cloud/store/withdrawals.ts";
import { type CloudRig, createRig, json } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { sendBody, sendRequest } from "../kit/stored-body.ts";

describeOnOneEngine("the withdrawals after a backup", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine);
  });
  after(() => rig.close());

  const parts = () => ({ ...rig.parts, sha256, bodyKeys: rig.bodyKeys });

  it("are listed, and applied to a database without them", async () => {
    const workspace = await rig.addWorkspace({ plan: "team", storePromptContent: true });
    const deleted = await rig.addWorkspace({ plan: "team", storePromptContent: true });
    const leaver = await rig.personIn(workspace, "member");
    const gone = await rig.personIn(workspace, "organisationAdmin");
    const closed = await rig.personIn(workspace, "member");
    const requestId = await sendRequest(rig, workspace, { project: "apollo" });
    assert.equal((await sendBody(rig, workspace, requestId, "a prompt")).status, 204);
    const [key] = await rig.db
      .selectFrom("sync_keys")
      .select("key_id")
      .where("workspace_id", "=", workspace.id)
      .where("machine_id", "is not", null)
      .execute();
    rig.clock.advance(5_000);
    const at = rig.clock.now();
    const own = { workspaceId: workspace.id } as const;
    const taken: readonly Withdrawal[] = [
      { kind: "key_revoked", ...own, keyId: key?.key_id ?? "", at },
      { kind: "machine_blocked", ...own, machineId: workspace.machineId, at },
      { kind: "member_removed", ...own, userId: leaver.userId, at },
      { kind: "organisation_left", organisationId: workspace.organisationId, userId: gone.userId, at },
      {
        ...{ kind: "prompts_erased", ...own, erasureId: rig.uuid(), userId: workspace.userId },
        ...{ project: null, actorUserId: null, at },
      },
      { kind: "workspace_deleted", workspaceId: deleted.id, at },
      { kind: "account_deleted", userId: closed.userId, at },
      { kind: "prompts_not_stored", ...own },
    ];
    // The same as people do it. A list without what the database does not have: unknown ids are skipped.
    const unknown = rig.uuid();
    const strange: readonly Withdrawal[] = [
      { kind: "workspace_deleted", workspaceId: unknown, at },
      { kind: "key_revoked", workspaceId: unknown, keyId: unknown, at },
      {
        ...{ kind: "prompts_erased", workspaceId: unknown, erasureId: unknown, userId: "u", project: null },
        ...{ actorUserId: null, at },
      },
    ];
    rig.clock.advance(60_000);
    assert.deepEqual(await applyWithdrawals(parts(), [...taken, ...strange]), []);
    assert.deepEqual(await applyWithdrawals(parts(), taken), []);

    const listed = await listWithdrawals(rig.db, at);
    for (const each of taken) {
      assert.ok(
        listed.some((one) => JSON.stringify(sorted(one)) === JSON.stringify(sorted(each))),
        `${JSON.stringify(each)} in ${JSON.stringify(listed)}`,
      );
    }
    const later = await listWithdrawals(rig.db, at + 1);
    assert.deepEqual(new Set(later.map(({ kind }) => kind)), new Set(["prompts_not_stored"]));
    assert.equal(rig.bodyKeys.stored.size, 0);
    const bodies = await rig.db
      .selectFrom("request_bodies")
      .select("request_id")
      .where("workspace_id", "=", workspace.id)
      .execute();
    assert.deepEqual(bodies, []);
    const token = (await rig.call("GET", "/v1/daemon/whoami", workspace.token)).status;
    assert.equal(token, 401);
    assert.ok((await verifyWorkspaceLedgers(rig.db, workspace.id, null, sha256)).ok);
  });

  it("is reported if it would leave an organisation without an owner", async () => {
    const workspace = await rig.addWorkspace({ plan: "team" });
    const { userId } = await rig.personIn(workspace, "organisationOwner");
    const leaving: Withdrawal = {
      ...{ kind: "organisation_left", organisationId: workspace.organisationId, userId },
      at: rig.clock.now(),
    };
    assert.deepEqual(await applyWithdrawals(parts(), [leaving]), [leaving]);
  });

  it("reports all restores after a given one as one, with the oldest of their backups", async () => {
    const ids = [rig.uuid(), rig.uuid(), rig.uuid()];
    assert.equal(await readRestoresSince(rig.db, null), null);
    const at = rig.clock.now();
    for (const [index, backupAt] of [at + 10, at + 5, at + 7].entries()) {
      await addRestore(rig.db, {
        ...{ generation: ids[index] ?? "", backupAt, restoredAt: at + 100 + index },
      });
    }
    const [first, second, third] = ids;
    const last = { generation: third, restoredAt: at + 102 };
    assert.deepEqual(await readRestoresSince(rig.db, null), { ...last, backupAt: at + 5 });
    assert.deepEqual(await readRestoresSince(rig.db, first ?? ""), { ...last, backupAt: at + 5 });
    assert.deepEqual(await readRestoresSince(rig.db, second ?? ""), { ...last, backupAt: at + 7 });
    assert.equal(await readRestoresSince(rig.db, (third ?? "").toUpperCase()), null);
    const workspace = await rig.addWorkspace();
    const path = `/v1/daemon/ledger-heads?generation=${rig.uuid()}`;
    const { restored } = await json(rig.call("GET", path, workspace.token));
    assert.deepEqual(restored, {
      generation: third,
      backup_at: new Date(at + 5).toISOString(),
      restored_at: new Date(at + 102).toISOString(),
      server_time: new Date(rig.clock.now()).toISOString(),
    });
  });
});

const sorted = (each: object) =>
  Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
