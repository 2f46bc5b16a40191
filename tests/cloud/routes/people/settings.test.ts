import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { setPlan } from "../../../../cloud/accounts/admin.ts";
import { auditOf } from "../../kit/audit.ts";
import { type CloudRig, createRig, json } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";

const config = { rateLimits: { perUser: 1e6, perKey: 1e6 } };

describeOnOneEngine("a workspace's settings", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  it("are read by members and changed by admins, each change with an event", async () => {
    const workspace = await rig.addWorkspace();
    const path = `/v1/workspaces/${workspace.id}/settings`;
    const member = await rig.personIn(workspace, "member");
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const settings = {
      id: workspace.id,
      name: "Work",
      plan: "solo",
      store_prompt_content: false,
      reporting_zone: "UTC",
    };
    assert.deepEqual(await json(rig.call("GET", path, member.token)), settings);
    const on = { store_prompt_content: true };
    assert.equal((await json(rig.call("PATCH", path, member.token, on))).code, "forbidden");
    assert.deepEqual(await json(rig.call("PATCH", path, admin.token, on)), { ...settings, ...on });
    // Setting the current value is not a change.
    assert.deepEqual(await json(rig.call("PATCH", path, admin.token, on)), { ...settings, ...on });
    assert.deepEqual(await auditOf(rig, workspace.id), [
      ["settings_changed", admin.userId, { store_prompt_content: true, store_prompt_content_before: false }],
    ]);
    const whoami = await json(rig.call("GET", "/v1/daemon/whoami", workspace.token));
    assert.equal(whoami.workspace.store_prompt_content, true);
  });

  it("accept only settings: no plan, no name, no id of another workspace", async () => {
    const workspace = await rig.addWorkspace();
    const other = await rig.addWorkspace();
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const path = `/v1/workspaces/${workspace.id}/settings`;
    const before = await rig.db.selectFrom("workspaces").selectAll().orderBy("workspace_id").execute();
    const extra = {
      store_prompt_content: false,
      plan: "enterprise",
      name: "x",
      id: other.id,
      workspace_id: other.id,
      organisation_id: other.organisationId,
      data_retention_days: 3650,
      deleted_at: null,
      created_at: 0,
    };
    assert.equal((await rig.call("PATCH", path, admin.token, extra)).status, 200);
    assert.deepEqual(
      await rig.db.selectFrom("workspaces").selectAll().orderBy("workspace_id").execute(),
      before,
    );
    for (const [body, status] of [
      [{}, 422],
      [{ store_prompt_content: "true" }, 422],
      [{ store_prompt_content: null }, 422],
      ["[]", 400],
      ["{", 400],
      ["x".repeat(20_000), 413],
    ] as const) {
      assert.equal((await rig.call("PATCH", path, admin.token, body)).status, status);
    }
  });

  it("include the zone of its days, which must be one that the runtime knows", async () => {
    const workspace = await rig.addWorkspace();
    const path = `/v1/workspaces/${workspace.id}/settings`;
    const member = await rig.personIn(workspace, "member");
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const zone = { reporting_zone: "Europe/Berlin" };
    assert.equal((await rig.call("PATCH", path, member.token, zone)).status, 403);
    const changed = await json(rig.call("PATCH", path, admin.token, zone));
    assert.deepEqual([changed.reporting_zone, changed.store_prompt_content], ["Europe/Berlin", false]);
    assert.equal((await json(rig.call("GET", path, member.token))).reporting_zone, "Europe/Berlin");
    for (const wrong of ["", "Mars/Olympus", null, 1, "x".repeat(65)])
      assert.equal((await rig.call("PATCH", path, admin.token, { reporting_zone: wrong })).status, 422);
    assert.deepEqual(await auditOf(rig, workspace.id), [
      ["settings_changed", admin.userId, { reporting_zone: "Europe/Berlin", reporting_zone_before: "UTC" }],
    ]);
  });

  it("include two advanced integers from 1 to 3650, with Business and Enterprise", async () => {
    const workspace = await rig.addWorkspace({ plan: "team" });
    const path = `/v1/workspaces/${workspace.id}/settings/advanced`;
    const member = await rig.personIn(workspace, "member");
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const refused = await json(rig.call("GET", path, admin.token));
    assert.deepEqual(
      [refused.status, refused.code, refused.required_plan],
      [403, "plan_required", "business"],
    );
    assert.ok(await setPlan({ db: rig.db, clock: rig.clock }, workspace.id, "business"));
    const defaults = { data_retention_days: 365, audit_log_retention_days: 365 };
    assert.deepEqual(await json(rig.call("GET", path, member.token)), defaults);
    assert.equal((await rig.call("PATCH", path, member.token, { data_retention_days: 1 })).status, 403);
    for (const days of [0, 3651, 1.5, -1, "30", null, 1e300]) {
      const answer = await rig.call("PATCH", path, admin.token, { data_retention_days: days });
      assert.equal(answer.status, 422, String(days));
    }
    assert.equal((await rig.call("PATCH", path, admin.token, {})).status, 422);
    assert.deepEqual(await json(rig.call("PATCH", path, admin.token, { data_retention_days: 1 })), {
      ...defaults,
      data_retention_days: 1,
    });
    const both = { data_retention_days: 3650, audit_log_retention_days: 10 };
    assert.deepEqual(await json(rig.call("PATCH", path, admin.token, both)), both);
    assert.deepEqual(await json(rig.call("GET", path, admin.token)), both);
  });

  it("keep an event for as long as the workspace keeps its audit log", async () => {
    const workspace = await rig.addWorkspace({ plan: "business" });
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const path = `/v1/workspaces/${workspace.id}/settings`;
    await rig.call("PATCH", path, admin.token, { store_prompt_content: true });
    await rig.call("PATCH", `${path}/advanced`, admin.token, { audit_log_retention_days: 30 });
    const rows = await rig.db
      .selectFrom("audit_events")
      .select(["kind", "at", "retain_until"])
      .where("workspace_id", "=", workspace.id)
      .orderBy("retain_until")
      .execute();
    assert.deepEqual(
      rows.map(({ kind, at, retain_until }) => [kind, (retain_until - at) / 86_400_000]),
      [
        ["advanced_settings_changed", 30],
        ["settings_changed", 365],
      ],
    );
  });

  it("record every change with its event, and no event without its change", async () => {
    const workspace = await rig.addWorkspace();
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const path = `/v1/workspaces/${workspace.id}/settings`;
    const { sql } = await import("kysely");
    await sql`revoke insert on audit_events from meter_app`.execute(rig.owner);
    try {
      assert.equal((await rig.call("PATCH", path, admin.token, { store_prompt_content: true })).status, 500);
    } finally {
      await sql`grant insert on audit_events to meter_app`.execute(rig.owner);
    }
    assert.equal((await json(rig.call("GET", path, admin.token))).store_prompt_content, false);
    assert.deepEqual(await auditOf(rig, workspace.id), []);
  });

  it("have a plan that only the host sets, at once, with an event, without deleting anything", async () => {
    const workspace = await rig.addWorkspace({ plan: "business" });
    const parts = { db: rig.db, clock: rig.clock };
    assert.deepEqual(await setPlan(parts, workspace.id, "solo"), { plan: "solo" });
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const advanced = `/v1/workspaces/${workspace.id}/settings/advanced`;
    assert.equal((await rig.call("GET", advanced, admin.token)).status, 403);
    assert.deepEqual(await auditOf(rig, workspace.id), [
      ["plan_changed", null, { plan: "solo", plan_before: "business" }],
    ]);
    assert.equal(await setPlan(parts, rig.uuid(), "team"), null);
  });
});
