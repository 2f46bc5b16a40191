import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { KEY_USE_STEP_MS } from "../../../../cloud/store/keys.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import { keysSchema, machinesSchema } from "../../../../core/wire/people.ts";
import { auditOf } from "../../kit/audit.ts";
import { batch, type CloudRig, createRig, json, record } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";
import { bodyPayload, sendRequest } from "../../kit/stored-body.ts";

const config = { rateLimits: { perUser: 1e6, perKey: 1e6 } };

describeOnOneEngine("machines and keys", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  it("a blocked machine's batches get 403 until an admin invites it again", async () => {
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

  it("an admin gives a machine of their own to another member: what it sent before stays theirs", async () => {
    const workspace = await rig.addWorkspace({ storePromptContent: true });
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const ben = await rig.personIn(workspace, "member");
    const machineId = await rig.addMachine(workspace);
    await rig.db
      .updateTable("machines")
      .set({ user_id: admin.userId })
      .where("machine_id", "=", machineId)
      .execute();
    const key = await rig.addKey(workspace, { userId: admin.userId, machineId });
    const before = await sendRequest(rig, workspace, {}, key);
    const path = `/v1/workspaces/${workspace.id}/machines/${machineId}`;
    assert.equal((await rig.call("PATCH", path, ben.token, { user_id: ben.userId })).status, 403);
    assert.equal((await rig.call("PATCH", path, admin.token, { user_id: ben.userId })).status, 204);
    const after = await sendRequest(rig, workspace, {}, key);
    const author = async (requestId: string) =>
      (await json(rig.call("GET", `/v1/workspaces/${workspace.id}/traces/${requestId}`, ben.token))).user.id;
    assert.deepEqual([await author(before), await author(after)], [admin.userId, ben.userId]);
    // This sender can no longer write the body of the earlier request.
    const body = await rig.call("POST", `/v1/requests/${before}/body`, key, bodyPayload(before, "x"));
    assert.equal((await json(body)).code, "not_the_sender");
    const own = await json(rig.call("GET", `/v1/workspaces/${workspace.id}/keys`, ben.token));
    assert.deepEqual(
      own.items.map((each: { machine_id: string }) => each.machine_id),
      [machineId],
    );
    assert.deepEqual(await auditOf(rig, workspace.id), [
      [
        "machine_user_changed",
        admin.userId,
        { machine_id: machineId, hostname: "desktop", from_user_id: admin.userId, to_user_id: ben.userId },
      ],
    ]);
  });

  it("a current member's machine cannot be given to another person; that of a member who left can", async () => {
    const workspace = await rig.addWorkspace();
    const [admin, ben, carl] = [
      await rig.personIn(workspace, "workspaceAdmin"),
      await rig.personIn(workspace, "member"),
      await rig.personIn(workspace, "member"),
    ];
    const [machineId, twin] = [await rig.addMachine(workspace), await rig.addMachine(workspace)];
    const change = async (id: string, userId: string) => {
      const path = `/v1/workspaces/${workspace.id}/machines/${id}`;
      const answer = await rig.call("PATCH", path, admin.token, { user_id: userId });
      return answer.status === 204 ? 204 : (await json(answer)).code;
    };
    const set = async (id: string, user_id: string, fingerprint: string) =>
      await rig.db
        .updateTable("machines")
        .set({ user_id, fingerprint })
        .where("machine_id", "=", id)
        .execute();
    await set(machineId, ben.userId, "f");
    await set(twin, carl.userId, "f");
    assert.equal(await change(machineId, admin.userId), "machine_in_use");
    assert.equal(await change(machineId, carl.userId), "machine_in_use");
    assert.equal(await change(machineId, ben.userId), 204);
    assert.equal(await change(rig.uuid(), carl.userId), "not_found");
    assert.equal(
      await change(machineId, (await rig.personIn(workspace, "stranger")).userId),
      "member_unknown",
    );
    await rig.call("DELETE", `/v1/workspaces/${workspace.id}/members/${ben.userId}`, ben.token);
    assert.equal(await change(machineId, carl.userId), "machine_exists");
    assert.equal(await change(machineId, admin.userId), 204);
    assert.deepEqual(
      (await auditOf(rig, workspace.id)).map(([kind]) => kind),
      ["member_removed", "machine_user_changed"],
    );
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

  it("a machine shows when its key was last used, to five minutes, and the version that it runs now", async () => {
    const workspace = await rig.addWorkspace();
    const { token } = await rig.personIn(workspace, "member");
    const path = `/v1/workspaces/${workspace.id}`;
    const read = async () => {
      const [machine] = (await json(rig.call("GET", `${path}/machines`, token))).items;
      return [machine.last_seen_at, machine.daemon_version];
    };
    assert.deepEqual(await read(), [null, "0.4.0"]);
    const first = rig.clock.now();
    const send = async (version: string) =>
      await rig.call("POST", "/v1/requests/batch", workspace.token, {
        ...batch(record(rig.uuid())),
        daemon_version: version,
      });
    assert.equal((await send("0.5.0")).status, 200);
    assert.deepEqual(await read(), [new Date(first).toISOString(), "0.5.0"]);
    rig.clock.advance(KEY_USE_STEP_MS - 1);
    assert.equal((await send("0.5.0")).status, 200);
    assert.deepEqual(await read(), [new Date(first).toISOString(), "0.5.0"]);
    rig.clock.advance(1);
    assert.equal((await rig.call("GET", "/v1/daemon/whoami", workspace.token)).status, 200);
    const second = new Date(first + KEY_USE_STEP_MS).toISOString();
    assert.deepEqual(await read(), [second, "0.5.0"]);
    // A machine without an active key keeps its last-seen time.
    await rig.call("DELETE", "/v1/daemon/key", workspace.token);
    assert.deepEqual(await read(), [second, "0.5.0"]);
  });

  it("an admin key shows when it was last used; a refused one does not count", async () => {
    const workspace = await rig.addWorkspace();
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const key = await rig.addKey(workspace, { scope: "admin", userId: admin.userId });
    const path = `/v1/workspaces/${workspace.id}/keys`;
    const lastUse = async () =>
      (await json(rig.call("GET", path, admin.token))).items.find(
        ({ scope }: { scope: string }) => scope === "admin",
      ).last_used_at;
    assert.equal(await lastUse(), null);
    assert.equal((await rig.call("POST", path, key)).status, 403);
    assert.equal(await lastUse(), null);
    assert.equal((await rig.call("GET", "/v1/me", key)).status, 200);
    assert.equal(await lastUse(), new Date(rig.clock.now()).toISOString());
  });

  it("an admin names a machine, and the name replaces the host name in reports", async () => {
    const workspace = await rig.addWorkspace();
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const member = await rig.personIn(workspace, "member");
    await rig.call("POST", "/v1/requests/batch", workspace.token, batch(record(rig.uuid())));
    const path = `/v1/workspaces/${workspace.id}/machines/${workspace.machineId}`;
    const label = async () =>
      (await json(rig.call("GET", `/v1/workspaces/${workspace.id}/analytics?by=machine`, member.token)))
        .groups[0].label;
    assert.equal(await label(), "laptop");
    const name = "<b>Ann's\u202e laptop";
    assert.equal((await rig.call("PATCH", path, member.token, { name })).status, 403);
    for (const body of [{ name: "" }, { name: "  " }, { name: "x".repeat(101) }, {}])
      assert.equal((await rig.call("PATCH", path, admin.token, body)).status, 422);
    for (let turn = 0; turn < 2; turn += 1)
      assert.equal((await rig.call("PATCH", path, admin.token, { name })).status, 204);
    const [machine] = (await json(rig.call("GET", `/v1/workspaces/${workspace.id}/machines`, member.token)))
      .items;
    assert.deepEqual([machine.name, machine.hostname, await label()], [name, "laptop", name]);
    assert.equal((await rig.call("PATCH", path, admin.token, { name: null })).status, 204);
    assert.equal(await label(), "laptop");
    const other = await rig.addWorkspace();
    for (const id of [other.machineId, rig.uuid(), "x"]) {
      const foreign = `/v1/workspaces/${workspace.id}/machines/${id}`;
      assert.equal((await rig.call("PATCH", foreign, admin.token, { name })).status, 404);
    }
    const ofMachine = { machine_id: workspace.machineId, hostname: "laptop" };
    assert.deepEqual(await auditOf(rig, workspace.id), [
      ["machine_renamed", admin.userId, { ...ofMachine, name, name_before: null }],
      ["machine_renamed", admin.userId, { ...ofMachine, name: null, name_before: name }],
    ]);
  });

  it("a member lists and revokes their own keys, an admin everyone's; lists contain no secrets", async () => {
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
