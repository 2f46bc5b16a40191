import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { keysSchema, machinesSchema, parseWire } from "../../../../core/wire/mod.ts";
import { auditOf } from "../../kit/audit.ts";
import { batch, type CloudRig, createRig, json, record } from "../../kit/cloud-rig.ts";
import { describeOnEngines } from "../../kit/engines.ts";

const config = { rateLimits: { perUser: 1e6, perKey: 1e6 } };

describeOnEngines("machines and keys", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  it("a blocked machine's batches get 403 until it is invited again, by an admin alone", async () => {
    const workspace = await rig.addWorkspace();
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const member = await rig.personIn(workspace, "member");
    const path = `/v1/workspaces/${workspace.id}/machines`;
    const machine = `${path}/${workspace.machineId}`;
    const send = async () => {
      const answer = await rig.call("POST", "/v1/requests/batch", workspace.token, batch(record(rig.uuid())));
      return answer.status === 200 ? 200 : (await json(answer)).code;
    };
    assert.equal(await send(), 200);
    assert.equal((await rig.call("POST", `${machine}/block`, member.token)).status, 403);
    for (let turn = 0; turn < 2; turn += 1)
      assert.equal((await rig.call("POST", `${machine}/block`, admin.token)).status, 204);
    assert.equal(await send(), "machine_blocked");
    assert.equal((await rig.call("POST", `${machine}/invite`, member.token)).status, 403);
    const list = await json(rig.call("GET", path, member.token));
    assert.ok(parseWire(machinesSchema, list).ok);
    assert.deepEqual([list.items.length, list.items[0].blocked_at !== null], [1, true]);
    assert.equal((await rig.call("POST", `${machine}/invite`, admin.token)).status, 204);
    assert.equal(await send(), 200);
    assert.deepEqual(
      (await auditOf(rig, workspace.id)).map(([kind]) => kind),
      ["machine_blocked", "machine_invited"],
    );
    const other = await rig.addWorkspace();
    for (const id of [other.machineId, rig.uuid(), "x"])
      assert.equal((await rig.call("POST", `${path}/${id}/block`, admin.token)).status, 404);
  });

  it("an admin key is made in person, shown once, stored as a hash, and may do what its owner may", async () => {
    const workspace = await rig.addWorkspace();
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const path = `/v1/workspaces/${workspace.id}/keys`;
    const made = await rig.call("POST", path, admin.token);
    assert.equal(made.status, 201);
    const { token, prefix, id } = await json(made);
    assert.match(token, /^mtr_admin_[\w-]{64}$/);
    assert.equal((await json(rig.call("GET", "/v1/me", token))).user.id, admin.userId);
    const sent = rig.call("POST", "/v1/requests/batch", token, batch(record(rig.uuid())));
    assert.equal((await sent).status, 200);
    assert.equal((await rig.call("POST", path, token)).status, 403);
    const { rows } = await sql<{ t: string }>`
      select (select json_agg(k) from sync_keys k)::text || (select json_agg(e) from audit_events e)::text as t`.execute(
      rig.db,
    );
    assert.ok(!rows[0]?.t.includes(token.slice(-40)) && rows[0]?.t.includes(prefix));
    assert.equal((await rig.call("DELETE", `${path}/${id}`, admin.token)).status, 204);
    assert.equal((await rig.call("GET", "/v1/me", token)).status, 401);
    assert.equal((await rig.call("DELETE", `${path}/${id}`, admin.token)).status, 404);
    assert.deepEqual(
      (await auditOf(rig, workspace.id)).map(([kind]) => kind),
      ["key_created", "key_revoked"],
    );
  });

  it("a member sees and revokes their own keys, an admin everybody's; no secret is in a list", async () => {
    const workspace = await rig.addWorkspace();
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const member = await rig.personIn(workspace, "member");
    const path = `/v1/workspaces/${workspace.id}/keys`;
    const machineId = await rig.addMachine(workspace);
    const own = await rig.addKey(workspace, { userId: member.userId, machineId });
    const all = await json(rig.call("GET", path, admin.token));
    assert.ok(parseWire(keysSchema, all).ok);
    assert.equal(all.items.length, 2);
    const mine = await json(rig.call("GET", path, member.token));
    assert.deepEqual(
      mine.items.map((key: { user_id: string }) => key.user_id),
      [member.userId],
    );
    assert.ok(!JSON.stringify(all).includes(own.slice(-20)));
    const others = all.items.find((key: { user_id: string }) => key.user_id !== member.userId);
    assert.equal((await rig.call("DELETE", `${path}/${others.id}`, member.token)).status, 404);
    assert.equal((await rig.call("GET", "/v1/daemon/whoami", workspace.token)).status, 200);
    assert.equal((await rig.call("DELETE", `${path}/${mine.items[0].id}`, member.token)).status, 204);
    assert.equal((await rig.call("GET", "/v1/daemon/whoami", own)).status, 401);
    const elsewhere = await rig.addWorkspace();
    const theirs = await rig.db
      .selectFrom("sync_keys")
      .select("key_id")
      .where("workspace_id", "=", elsewhere.id)
      .executeTakeFirstOrThrow();
    assert.equal((await rig.call("DELETE", `${path}/${theirs.key_id}`, admin.token)).status, 404);
  });
});
