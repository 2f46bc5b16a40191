import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { type CloudRig, createRig, json, type TestWorkspace } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { type PageVisitor, visitPages } from "./pages.rig.ts";

const BASE = "http://127.0.0.1:8787";
const config = { baseUrl: BASE, rateLimits: { perKey: 1e6, perUser: 1e6 } };
const HOSTILE = `<script>alert(1)</script>"'&`;

describeOnOneEngine("the pages of settings and keys", (engine) => {
  let rig: CloudRig;
  let workspace: TestWorkspace;
  let adminToken: string;
  let admin: PageVisitor;
  let member: PageVisitor;
  before(async () => {
    rig = await createRig(engine, { config });
    workspace = await rig.addWorkspace({ plan: "business" });
    const person = await rig.personIn(workspace, "workspaceAdmin");
    adminToken = person.token;
    admin = visitPages(rig.app(config), workspace, person, BASE);
    member = visitPages(rig.app(config), workspace, await rig.personIn(workspace, "member"), BASE);
  });
  after(() => rig.close());

  const settings = async (path = "/settings") =>
    await json(rig.call("GET", `/v1/workspaces/${workspace.id}${path}`, adminToken));

  it("an admin changes the zone, stored prompts and the retention", async () => {
    const to = `/w/${workspace.id}/settings`;
    for (const [done, fields] of [
      ["zone", { action: "zone", zone: "Europe/Berlin" }],
      ["bodies-on", { action: "bodies", store: "yes" }],
      ["retention", { action: "retention", data: "90", audit: "800" }],
    ] as const) {
      const answer = await admin.post("/settings", fields);
      assert.deepEqual([answer.status, answer.headers.get("location")], [303, `${to}?done=${done}`]);
    }
    const { reporting_zone, store_prompt_content } = await settings();
    assert.deepEqual([reporting_zone, store_prompt_content], ["Europe/Berlin", true]);
    assert.deepEqual(await settings("/settings/advanced"), {
      data_retention_days: 90,
      audit_log_retention_days: 800,
    });
    const page = await admin.read("/settings");
    assert.match(page, /<option value="Europe\/Berlin" selected>/);
    assert.match(page, /<strong>On\.<\/strong>/);
    assert.match(page, /Stop storing prompts and answers/);
    assert.equal((await admin.post("/settings", { action: "bodies", store: "no" })).status, 303);
    assert.match(await admin.read("/settings"), /<strong>Off\.<\/strong>/);
  });

  it("invalid values are refused with the page, and change nothing", async () => {
    const before = [await settings(), await settings("/settings/advanced")];
    for (const fields of [
      { action: "zone", zone: HOSTILE },
      { action: "retention", data: "0", audit: "1" },
      { action: "retention", data: "1e9", audit: "1" },
      { action: "retention", data: HOSTILE, audit: "" },
      { action: "delete", name: "Work" },
      { action: "nothing" },
    ]) {
      const answer = await admin.post("/settings", fields);
      const isDeletion = fields.action === "delete";
      assert.equal(answer.status, isDeletion ? 403 : 422, JSON.stringify(fields));
      const text = await answer.text();
      assert.ok(!text.includes(HOSTILE) && (isDeletion || text.includes('role="alert"')));
    }
    assert.deepEqual([await settings(), await settings("/settings/advanced")], before);
  });

  it("a member sees the settings without forms, and their forms and those of other sites are refused", async () => {
    const page = await member.read("/settings");
    for (const action of ["zone", "bodies", "retention", "delete"])
      assert.ok(!page.includes(`value="${action}"`), action);
    for (const fields of [
      { action: "zone", zone: "UTC" },
      { action: "bodies", store: "yes" },
      { action: "retention", data: "1", audit: "1" },
      { action: "delete", name: "Work" },
    ]) {
      assert.equal((await member.post("/settings", fields)).status, 403, fields.action);
      assert.equal(
        (await admin.post("/settings", fields, "https://evil.example")).status,
        403,
        fields.action,
      );
    }
    assert.equal((await member.post("/keys", { action: "create" })).status, 403);
    assert.equal((await admin.post("/keys", { action: "create" }, "https://evil.example")).status, 403);
    const stranger = visitPages(rig.app(config), workspace, await rig.personIn(workspace, "stranger"), BASE);
    for (const path of ["/settings", "/keys"]) assert.equal((await stranger.get(path)).status, 404, path);
  });

  it("a plan without retention settings shows which plan has them", async () => {
    const solo = await rig.addWorkspace({ plan: "solo" });
    const owner = visitPages(rig.app(config), solo, await rig.personIn(solo, "workspaceAdmin"), BASE);
    assert.match(await owner.read("/settings"), /Business\+ and higher plans can change the retention/);
    assert.equal((await owner.post("/settings", { action: "retention", data: "9", audit: "9" })).status, 403);
  });

  it("the plan can be changed only on a server that sells plans", async () => {
    assert.match(await admin.read("/settings"), /The operator of this server changes plans/);
    const selling = rig.app({
      ...config,
      checkoutWording: { strings: ["I agree.", "Start now."], earlierHashes: [] },
    });
    const person = await rig.personIn(workspace, "workspaceAdmin");
    const page = await visitPages(selling, workspace, person, BASE).read("/settings");
    assert.match(page, new RegExp(`href="/w/${workspace.id}/subscribe"`));
  });

  it("an owner deletes the workspace by its name, and a member leaves it", async () => {
    const own = await rig.addWorkspace();
    const [owner, ben] = await Promise.all([
      rig.personIn(own, "organisationOwner"),
      rig.personIn(own, "member"),
    ]);
    const [byOwner, byBen] = [owner, ben].map((one) => visitPages(rig.app(config), own, one, BASE));
    assert.match(await (byOwner as PageVisitor).read("/settings"), /Your role in the organisation/);
    const left = await byBen?.post("/settings", { action: "leave" });
    assert.deepEqual([left?.status, left?.headers.get("location")], [303, "/?done=workspace-left"]);
    assert.equal((await byBen?.get("/settings"))?.status, 404);
    const wrong = await byOwner?.post("/settings", { action: "delete", name: "Wor" });
    assert.equal(wrong?.status, 422);
    assert.match((await wrong?.text()) ?? "", /Nothing was deleted/);
    const gone = await byOwner?.post("/settings", { action: "delete", name: "Work" });
    assert.deepEqual([gone?.status, gone?.headers.get("location")], [303, "/?done=workspace-deleted"]);
    assert.equal((await byOwner?.get("/settings"))?.status, 404);
  });

  it("an admin creates a key, whose token is shown once and not compressed, uses it and revokes it", async () => {
    const created = await admin.post("/keys", { action: "create" });
    assert.equal(created.status, 200);
    assert.equal(created.headers.get("content-encoding"), null);
    assert.equal(created.headers.get("cache-control"), "no-store");
    const shown = await created.text();
    const [token = ""] = /mtr_admin_[\w-]+/.exec(shown) ?? [];
    assert.ok(shown.includes(`data-copy="${token}"`), "it can be copied");
    assert.equal((await rig.call("GET", `/v1/workspaces/${workspace.id}/settings`, token)).status, 200);
    const page = await admin.read("/keys");
    assert.ok(!page.includes(token) && page.includes("<bdi>workspaceAdmin</bdi>"));
    const { items } = await settings("/keys");
    for (const { prefix } of items) assert.ok(page.includes(`<code>${prefix}</code>`), prefix);
    const [{ id, last_used_at: usedAt }] = items.filter(({ scope }: { scope: string }) => scope === "admin");
    assert.notEqual(usedAt, null);
    assert.ok(page.includes(`datetime="${usedAt}"`));
    const revocation = page.slice(page.indexOf(`<details id="revoke-${id}">`)).split("</details>")[0] ?? "";
    assert.match(revocation, /Programs that use this key are refused at once\. This can't be undone\./);
    assert.match(revocation, /<button class="danger">Revoke the key/);
    assert.match(page, /The machine stops sending until it is connected again\./);
    const revoked = await admin.post("/keys", { action: "revoke", id });
    assert.deepEqual(
      [revoked.status, revoked.headers.get("location")],
      [303, `/w/${workspace.id}/keys?done=revoke`],
    );
    assert.equal((await rig.call("GET", `/v1/workspaces/${workspace.id}/settings`, token)).status, 401);
    assert.equal((await admin.post("/keys", { action: "revoke", id })).status, 404);
    assert.equal((await admin.post("/keys", { action: "revoke", id: "../machines" })).status, 404);
    assert.equal((await admin.post("/keys", { action: "nothing" })).status, 422);
  });

  it("a member sees and revokes only their own keys; hostile names are text", async () => {
    const userId = await rig.addPerson(HOSTILE);
    await rig.addMember(workspace, userId);
    const machineId = await rig.addMachine(workspace, HOSTILE);
    await rig.addKey(workspace, { userId, machineId });
    const own = visitPages(rig.app(config), workspace, { userId, token: await rig.sessionFor(userId) }, BASE);
    const page = await own.read("/keys");
    assert.equal([...page.matchAll(/value="revoke"/g)].length, 1);
    assert.ok(page.includes("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.includes(HOSTILE));
    assert.match(await member.read("/keys"), /There are no keys/);
    const [{ id }] = (await settings("/keys")).items;
    assert.equal((await member.post("/keys", { action: "revoke", id })).status, 404);
  });
});
