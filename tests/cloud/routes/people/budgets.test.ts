import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "node:test";
import { auditOf } from "../../kit/audit.ts";
import {
  type CloudRig,
  createRig,
  json,
  START,
  type TestPerson,
  type TestWorkspace,
} from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";

describeOnOneEngine("the budgets of a workspace", (engine) => {
  let rig: CloudRig;
  let workspace: TestWorkspace;
  let admin: TestPerson;
  let member: TestPerson;
  let base: string;
  before(async () => {
    rig = await createRig(engine, { config: { rateLimits: { perKey: 1e6, perUser: 1e6 } } });
  });
  after(() => rig.close());
  beforeEach(async () => {
    workspace = await rig.addWorkspace({ plan: "team" });
    admin = await rig.personIn(workspace, "workspaceAdmin");
    member = await rig.personIn(workspace, "member");
    base = `/v1/workspaces/${workspace.id}/budgets`;
  });

  const set = (body: Record<string, unknown>, by = admin) =>
    rig.call("POST", base, by.token, { subject: "workspace", amount: "100 USD", ...body });
  const created = async (body: Record<string, unknown>): Promise<string> => {
    const answer = await set(body);
    assert.equal(answer.status, 201);
    return (await json(answer)).id;
  };
  const list = async (by = admin) => (await json(rig.call("GET", base, by.token))).items;
  const names = async (by: TestPerson) => (await list(by)).map(({ name }: { name: string }) => name);

  it("a new budget has the defaults of a budget and the workspace's zone", async () => {
    await rig.call("PATCH", `/v1/workspaces/${workspace.id}/settings`, admin.token, {
      reporting_zone: "Asia/Kolkata",
    });
    const id = await created({ name: "all" });
    assert.deepEqual(await list(), [
      {
        ...{ id, name: "all", subject: "workspace", target: null, target_name: null },
        ...{ amount: "100 USD", period: "month", zone: "Asia/Kolkata", thresholds: [50, 80, 100] },
        ...{ at_limit: "warn", reserve: false, fail: "open", paused: false, lifted_until: null },
        ...{
          unit: "usd",
          limit: "100000000000000",
          spent: "0",
          used_percent: 0,
          calls: 0,
          unpriced_calls: 0,
        },
        ...{ period_from: "2026-10-31T18:30:00.000Z", period_to: "2026-11-30T18:30:00.000Z" },
      },
    ]);
  });

  it("terms are refused with the field that is wrong", async () => {
    for (const [field, body] of [
      ["amount", { amount: "many" }],
      ["period", { period: "24h" }],
      ["period", { period: "session" }],
      ["zone", { zone: "Mars/Olympus" }],
      ["thresholds", { thresholds: [0] }],
      ["at_limit", { at_limit: "explode" }],
      ["name", { name: "x".repeat(55) }],
      ["name", { name: "<script>" }],
      ["subject", { subject: "planet" }],
      ["target", { subject: "project" }],
      ["target", { subject: "project", target: "!!!" }],
      ["target", { subject: "machine", target: rig.uuid() }],
      ["target", { subject: "machine", target: "x" }],
      ["target", { target: "x" }],
    ] as const) {
      const answer = await set({ name: "b", ...body });
      assert.equal(answer.status, 422, JSON.stringify(body));
      assert.equal((await json(answer)).errors[0].field, field, JSON.stringify(body));
    }
    const stranger = await rig.personIn(workspace, "stranger");
    const answer = await set({ name: "b", subject: "person", target: stranger.userId });
    assert.deepEqual([answer.status, (await json(answer)).code], [422, "member_unknown"]);
    assert.deepEqual(await list(), []);
  });

  it("names are unique in a workspace, and a workspace has at most 50 budgets, even when created at once", async () => {
    await created({ name: "n0" });
    assert.equal((await json(set({ name: "n0" }))).code, "budget_exists");
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => set({ name: `n${(index % 55) + 1}` })),
    );
    const codes = await Promise.all(
      answers.map(async (answer) => (answer.status === 201 ? "created" : (await json(answer)).code)),
    );
    assert.equal(codes.filter((code) => code === "created").length, 49);
    assert.equal((await list()).length, 50);
  });

  it("people see the budgets that bind them, and administrators all", async () => {
    const other = await rig.personIn(workspace, "member");
    const ownMachine = await rig.addMachine({ ...workspace, userId: member.userId });
    await created({ name: "all" });
    await created({ name: "shop", subject: "project", target: "Shop" });
    await created({ name: "of-member", subject: "person", target: member.userId });
    await created({ name: "of-other", subject: "person", target: other.userId });
    await created({ name: "own-machine", subject: "machine", target: ownMachine });
    await created({ name: "a-machine", subject: "machine", target: workspace.machineId });
    assert.deepEqual(await names(member), ["all", "of-member", "own-machine", "shop"]);
    assert.deepEqual(await names(other), ["all", "of-other", "shop"]);
    assert.equal((await names(admin)).length, 6);
    const targets = (await list()).map((each: { target: string; target_name: string }) => [
      each.target,
      each.target_name,
    ]);
    assert.deepEqual(targets, [
      [workspace.machineId, "laptop"],
      [null, null],
      [member.userId, "member"],
      [other.userId, "member"],
      [ownMachine, "desktop"],
      ["shop", null],
    ]);
  });

  it("only administrators set budgets, and only on Team and above; on every plan they can end them", async () => {
    assert.equal((await set({ name: "b" }, member)).status, 403);
    const id = await created({ name: "b" });
    for (const path of [`${id}/pause`, `${id}/resume`])
      assert.equal((await rig.call("POST", `${base}/${path}`, member.token)).status, 403);
    await rig.db
      .updateTable("workspaces")
      .set({ plan: "solo" })
      .where("workspace_id", "=", workspace.id)
      .execute();
    const refused = await json(set({ name: "c" }));
    assert.deepEqual([refused.code, refused.required_plan], ["plan_required", "team"]);
    const patched = await rig.call("PATCH", `${base}/${id}`, admin.token, { amount: "1 USD" });
    assert.equal(patched.status, 403);
    assert.equal((await rig.call("POST", `${base}/${id}/pause`, admin.token)).status, 204);
    assert.equal((await rig.call("DELETE", `${base}/${id}`, admin.token)).status, 204);
    assert.deepEqual(await list(), []);
  });

  it("each change is an audit event with who, what and why", async () => {
    const id = await created({ name: "b", subject: "project", target: "shop", at_limit: "block" });
    const send = async (method: string, path: string, body?: unknown) =>
      assert.equal((await rig.call(method, `${base}/${id}${path}`, admin.token, body)).status, 204);
    const terms = { amount: "5 USD", period: "day", thresholds: [90] };
    await send("PATCH", "", terms);
    await send("PATCH", "", terms);
    await send("POST", "/lift", { minutes: 60, reason: "release" });
    assert.equal((await list())[0].lifted_until, new Date(START + 3_600_000).toISOString());
    await send("POST", "/pause");
    await send("POST", "/resume");
    const [item] = await list();
    assert.deepEqual(
      [item.paused, item.lifted_until, item.amount, item.period, item.at_limit],
      [false, null, "5 USD", "day", "warn"],
    );
    await send("DELETE", "");
    const events = await auditOf(rig, workspace.id);
    assert.ok(events.every(([, by, details]) => by === admin.userId && details.budget_id === id));
    assert.deepEqual(
      events.map(([kind]) => kind),
      [
        "budget_created",
        "budget_changed",
        "budget_lifted",
        "budget_paused",
        "budget_resumed",
        "budget_removed",
      ],
    );
    const [, changed, lifted] = events.map(([, , details]) => details);
    assert.deepEqual(
      [changed?.amount, changed?.amount_before, changed?.thresholds, changed?.at_limit_before],
      ["5 USD", "100 USD", "90", "block"],
    );
    assert.deepEqual(
      [lifted?.name, lifted?.reason, lifted?.until],
      ["b", "release", new Date(START + 3_600_000).toISOString()],
    );
  });

  it("a lift leaves a budget paused that was paused", async () => {
    const id = await created({ name: "b" });
    const send = async (path: string, body?: unknown) =>
      assert.equal((await rig.call("POST", `${base}/${id}${path}`, admin.token, body)).status, 204);
    const marks = async () => {
      const [{ paused, lifted_until }] = await list();
      return [paused, lifted_until !== null];
    };
    await send("/pause");
    await send("/lift", { minutes: 60, reason: null });
    assert.deepEqual(await marks(), [true, true]);
    await send("/resume");
    assert.deepEqual(await marks(), [false, false]);
    const kinds = (await auditOf(rig, workspace.id)).map(([kind]) => kind);
    assert.deepEqual(kinds, ["budget_created", "budget_paused", "budget_lifted", "budget_resumed"]);
  });

  it("budgets of another workspace are not found", async () => {
    const id = await created({ name: "b" });
    const other = await rig.addWorkspace({ plan: "team" });
    const stranger = await rig.personIn(other, "workspaceAdmin");
    const path = `/v1/workspaces/${other.id}/budgets`;
    for (const [method, suffix, body] of [
      ["PATCH", "", { amount: "1 USD" }],
      ["POST", "/pause", undefined],
      ["POST", "/lift", { minutes: 1 }],
      ["DELETE", "", undefined],
    ] as const) {
      for (const each of [id, rig.uuid(), "x"])
        assert.equal((await rig.call(method, `${path}/${each}${suffix}`, stranger.token, body)).status, 404);
    }
    assert.equal((await list()).length, 1);
  });
});
