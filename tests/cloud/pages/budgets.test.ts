import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "node:test";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  START,
  type TestPerson,
  type TestWorkspace,
} from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { type PageVisitor, visitPages } from "./pages.rig.ts";

const BASE = "http://127.0.0.1:8787";
const config = { baseUrl: BASE, rateLimits: { perKey: 1e6, perUser: 1e6 } };
const HOSTILE = `x"'&<script>alert(1)</script>`;

describeOnOneEngine("the page of budgets", (engine) => {
  let rig: CloudRig;
  let app: ReturnType<CloudRig["app"]>;
  let workspace: TestWorkspace;
  let admin: TestPerson;
  let asAdmin: PageVisitor;
  let asMember: PageVisitor;
  before(async () => {
    rig = await createRig(engine, { config });
    app = rig.app(config);
  });
  after(() => rig.close());
  beforeEach(async () => {
    workspace = await rig.addWorkspace({ plan: "team" });
    admin = await rig.personIn(workspace, "workspaceAdmin");
    asAdmin = visitPages(app, workspace, admin, BASE);
    asMember = visitPages(app, workspace, await rig.personIn(workspace, "member"), BASE);
  });

  const NEW = { action: "create", name: "all", for: "workspace", amount: "10 requests", period: "day" };
  const TERMS = { thresholds: "50, 80,100 %", at_limit: "block", reserve: "no", fail: "open", zone: "UTC" };
  const items = async () =>
    (await json(rig.call("GET", `/v1/workspaces/${workspace.id}/budgets`, admin.token))).items;
  const add = async (fields: Record<string, string>): Promise<string> => {
    const answer = await asAdmin.post("/budgets", { ...NEW, ...TERMS, ...fields });
    assert.equal(answer.status, 303, await answer.text());
    assert.equal(answer.headers.get("location"), `/w/${workspace.id}/budgets?done=create`);
    return (await items()).find(({ name }: { name: string }) => name === (fields.name ?? "all")).id;
  };

  it("sets a budget for the workspace, a project, a person or a machine, with the terms of the form", async () => {
    assert.match(await asAdmin.read("/budgets"), /The workspace has no budgets/);
    await add({});
    await add({ name: "p", for: "project", project: "My Shop", amount: "$25", zone: "Asia/Kolkata" });
    await add({ name: "q", for: `person:${admin.userId}`, period: "total", thresholds: "" });
    await add({ name: "r", for: `machine:${workspace.machineId}`, reserve: "yes", fail: "closed" });
    const all = await items();
    assert.deepEqual(
      all.map((each: Record<string, unknown>) => [each.name, each.subject, each.target, each.amount]),
      [
        ["all", "workspace", null, "10 requests"],
        ["p", "project", "my-shop", "25 USD"],
        ["q", "person", admin.userId, "10 requests"],
        ["r", "machine", workspace.machineId, "10 requests"],
      ],
    );
    assert.deepEqual(
      [all[0].thresholds, all[1].zone, all[2].zone, all[2].thresholds, all[3].reserve, all[3].fail],
      [[50, 80, 100], "Asia/Kolkata", null, [], true, "closed"],
    );
    const page = await asAdmin.read("/budgets");
    for (const text of [
      "project <bdi>my-shop</bdi>",
      "person <bdi>workspaceAdmin</bdi>",
      "machine <bdi>laptop</bdi>",
    ])
      assert.ok(page.includes(text), text);
  });

  it("shows what is used, and that a budget is used up, lifted or paused", async () => {
    const id = await add({});
    const at = new Date(START - 60_000).toISOString();
    const records = Array.from({ length: 10 }, () => record(rig.uuid(), { requested_at: at }));
    await rig.call("POST", "/v1/requests/batch", workspace.token, batch(...records));
    assert.match(await asAdmin.read("/budgets"), /10 requests of 10 requests, 100%.*used up, refuses calls/s);
    const send = async (action: string, fields: Record<string, string> = {}) =>
      assert.equal((await asAdmin.post("/budgets", { action, id, ...fields })).status, 303);
    await send("lift", { minutes: "60", reason: "release" });
    assert.match(await asAdmin.read("/budgets"), /lifted until/);
    await send("resume");
    await send("pause");
    assert.match(await asAdmin.read("/budgets"), /<td class="quiet">paused</);
    await send("resume");
    await send("change", { ...TERMS, amount: "20 requests", period: "day" });
    assert.match(await asAdmin.read("/budgets"), /10 requests of 20 requests, 50%/);
    await send("remove");
    assert.deepEqual(await items(), []);
  });

  it("says which field is wrong, and keeps what was entered", async () => {
    for (const [fields, message] of [
      [{ amount: "ten" }, /The amount must be written like/],
      [{ zone: "Mars/Olympus" }, /The time zone must be the name of a time zone/],
      [{ thresholds: "half" }, /“Warn at” must be a list of whole numbers in percent/],
      [{ for: "project" }, /The choice under “For” must name the project/],
      [{ name: HOSTILE }, /The name must be 1 to 64 letters/],
      [{ action: "nothing" }, /The form names no known action/],
    ] as const) {
      const answer = await asAdmin.post("/budgets", { ...NEW, ...TERMS, ...fields });
      const page = await answer.text();
      assert.equal(answer.status, 422, JSON.stringify(fields));
      assert.match(page, message);
      if ("amount" in fields) assert.match(page, /name="amount"[^>]* value="ten"/);
      assert.ok(!page.includes(HOSTILE));
    }
    await add({});
    const twice = await asAdmin.post("/budgets", { ...NEW, ...TERMS });
    assert.equal(twice.status, 409);
    assert.match(await twice.text(), /The workspace has a budget of that name/);
  });

  it("shows a member the budgets that bind them, without forms, and refuses their forms", async () => {
    const id = await add({});
    await add({ name: "not-theirs", for: `person:${admin.userId}` });
    const page = await asMember.read("/budgets");
    assert.ok(
      page.includes("<bdi>all</bdi>") && !page.includes("not-theirs") && !page.includes('name="action"'),
    );
    for (const fields of [
      { ...NEW, ...TERMS },
      { action: "pause", id },
      { action: "remove", id },
    ])
      assert.equal((await asMember.post("/budgets", fields)).status, 403);
    assert.equal(
      (await asAdmin.post("/budgets", { action: "remove", id }, "https://evil.example")).status,
      403,
    );
    const stranger = visitPages(app, workspace, await rig.personIn(workspace, "stranger"), BASE);
    assert.equal((await stranger.get("/budgets")).status, 404);
    assert.equal((await items()).length, 2);
  });

  it("offers no new budget on Solo, but allows ending existing ones", async () => {
    const id = await add({});
    await rig.db
      .updateTable("workspaces")
      .set({ plan: "solo" })
      .where("workspace_id", "=", workspace.id)
      .execute();
    const page = await asAdmin.read("/budgets");
    assert.match(page, /Team and higher plans can set budgets/);
    assert.ok(!page.includes('value="create"') && !page.includes('value="change"'));
    assert.equal((await asAdmin.post("/budgets", { action: "remove", id })).status, 303);
    assert.deepEqual(await items(), []);
  });
});
