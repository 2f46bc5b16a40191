import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { leaveAllOrganisations } from "../../../../cloud/store/deletions.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import { deletionResponseSchema } from "../../../../core/wire/settings.ts";
import { batch, type CloudRig, createRig, json, record, type TestWorkspace } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";

const config = { rateLimits: { perUser: 1e6, perKey: 1e6 } };
const PURGE_MS = 30 * 86_400_000;

describeOnOneEngine("deleting", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  /** `deleted_at` of a workspace and of its organisation. */
  async function stamps({ id, organisationId }: TestWorkspace): Promise<unknown[]> {
    const { rows } = await sql<Record<"workspace" | "organisation", unknown>>`select
      (select deleted_at from workspaces where workspace_id = ${id}::uuid) as workspace,
      (select deleted_at from organisations where organisation_id = ${organisationId}::uuid) as organisation`.execute(
      rig.db,
    );
    return [rows[0]?.workspace, rows[0]?.organisation];
  }

  it("an organisation's owner deletes a workspace: it stops serving at once, and is stored until the purge", async () => {
    const workspace = await rig.addWorkspace();
    const owner = await rig.personIn(workspace, "organisationOwner");
    const path = `/v1/workspaces/${workspace.id}`;
    await rig.call("POST", "/v1/requests/batch", workspace.token, batch(record(rig.uuid())));
    for (const standing of ["member", "workspaceAdmin", "organisationAdmin"] as const) {
      const person = await rig.personIn(workspace, standing);
      assert.equal((await rig.call("DELETE", path, person.token)).status, 403, standing);
    }
    assert.equal((await rig.call("DELETE", path, workspace.token)).status, 403);
    assert.deepEqual(await stamps(workspace), [null, null]);
    const answer = await json(rig.call("DELETE", path, owner.token));
    assert.ok(parseWire(deletionResponseSchema, answer).ok);
    assert.equal(answer.deleted_at, new Date(rig.clock.now()).toISOString());
    assert.deepEqual(await stamps(workspace), [rig.clock.now(), null]);
    assert.equal(Date.parse(answer.purge_due_at) - Date.parse(answer.deleted_at), PURGE_MS);
    assert.equal(
      (await json(rig.call("GET", "/v1/daemon/whoami", workspace.token))).code,
      "workspace_deleted",
    );
    assert.equal((await rig.call("GET", `${path}/settings`, owner.token)).status, 404);
    assert.equal((await rig.call("DELETE", path, owner.token)).status, 404);
    assert.deepEqual((await json(rig.call("GET", "/v1/me", owner.token))).workspaces, []);
    const kept = await rig.db
      .selectFrom("requests")
      .select("request_id")
      .where("workspace_id", "=", workspace.id)
      .execute();
    assert.equal(kept.length, 1);
  });

  it("deleting an account deletes the organisations without other members, and ends sessions and keys", async () => {
    const workspace = await rig.addWorkspace();
    const owner = await rig.personIn(workspace, "organisationOwner");
    const elsewhere = await rig.addWorkspace();
    await rig.addMember(elsewhere, owner.userId);
    const machineId = await rig.addMachine(elsewhere);
    const key = await rig.addKey(elsewhere, { userId: owner.userId, machineId });
    const answer = await rig.call("DELETE", "/v1/account", owner.token);
    assert.equal(answer.status, 200);
    assert.ok(parseWire(deletionResponseSchema, await answer.json()).ok);
    assert.deepEqual(await stamps(workspace), [rig.clock.now(), rig.clock.now()]);
    assert.deepEqual(await stamps(elsewhere), [null, null]);
    assert.equal((await rig.call("GET", "/v1/me", owner.token)).status, 401);
    assert.equal((await json(rig.call("GET", "/v1/daemon/whoami", key))).code, "unauthorised");
    assert.equal(
      (await json(rig.call("GET", "/v1/daemon/whoami", workspace.token))).code,
      "workspace_deleted",
    );
    assert.equal((await rig.call("GET", "/v1/daemon/whoami", elsewhere.token)).status, 200);
  });

  it("an account whose deletion has begun creates no organisation, which nobody would delete", async () => {
    const { userId, token } = await rig.personIn(await rig.addWorkspace(), "member");
    // The deletion before its last step, which ends the sessions.
    assert.ok((await leaveAllOrganisations(rig.db, userId, rig.clock.now())).ok);
    const answer = await rig.call("POST", "/v1/organisations", token, { name: "Late" });
    assert.equal((await json(answer)).code, "unauthorised");
    const rows = await rig.db
      .selectFrom("organisations")
      .select("organisation_id")
      .where("name", "=", "Late")
      .execute();
    assert.deepEqual(rows, []);
  });

  it("deleting the only owner of an organisation with other members is refused and changes nothing", async () => {
    const workspace = await rig.addWorkspace();
    const owner = await rig.personIn(workspace, "organisationOwner");
    const other = await rig.personIn(workspace, "organisationMember");
    const refused = await rig.call("DELETE", "/v1/account", owner.token);
    assert.equal(refused.status, 409);
    assert.equal((await json(refused)).code, "sole_owner");
    assert.equal((await rig.call("GET", `/v1/workspaces/${workspace.id}/settings`, owner.token)).status, 200);
    const members = `/v1/organisations/${workspace.organisationId}/members/${other.userId}`;
    await rig.call("PATCH", members, owner.token, { role: "owner" });
    assert.equal((await rig.call("DELETE", "/v1/account", owner.token)).status, 200);
    assert.equal((await rig.call("GET", `/v1/workspaces/${workspace.id}/settings`, other.token)).status, 200);
  });
});
