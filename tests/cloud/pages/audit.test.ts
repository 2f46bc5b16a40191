import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { verifyLedger } from "../../../core/privacy/ledger/verify-ledger.ts";
import { DAY_MS } from "../../../core/values/time.ts";
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
import { sendBody, sendRequest } from "../kit/stored-body.ts";
import { type PageVisitor, visitPages } from "./pages.rig.ts";

const BASE = "http://127.0.0.1:8787";
const config = { baseUrl: BASE, rateLimits: { perKey: 1e6, perUser: 1e6 } };
const HOSTILE = `<script>alert(1)</script>"'&`;

describeOnOneEngine("the pages of the audit log", (engine) => {
  let rig: CloudRig;
  let workspace: TestWorkspace;
  let person: TestPerson;
  let admin: PageVisitor;
  let member: PageVisitor;
  let requestId: string;
  before(async () => {
    rig = await createRig(engine, { config });
    workspace = await rig.addWorkspace({ plan: "business", storePromptContent: true });
    person = await rig.personIn(workspace, "workspaceAdmin");
    admin = visit(workspace, person);
    member = visit(workspace, await rig.personIn(workspace, "member"));
    requestId = await sendRequest(rig, workspace, { project: "shop" });
    await sendBody(rig, workspace, requestId, "{}");
    for (const reason of ["incident 12", HOSTILE])
      assert.equal((await readBody(requestId, reason)).status, 200);
    await rig.call("PATCH", `/v1/workspaces/${workspace.id}/settings`, person.token, {
      reporting_zone: "Europe/Berlin",
    });
    const machine = `/v1/workspaces/${workspace.id}/machines/${workspace.machineId}`;
    await rig.call("PATCH", machine, person.token, { name: HOSTILE });
  });
  after(() => rig.close());

  const visit = (of: TestWorkspace, by: TestPerson) => visitPages(rig.app(config), of, by, BASE);
  const readBody = (id: string, reason: string) =>
    rig.call("GET", `/v1/traces/${id}/body?reason=${encodeURIComponent(reason)}`, person.token);
  it("list changes with their old and new values; hostile texts are text", async () => {
    const page = await admin.read("/audit/events");
    assert.match(page, /reporting zone: UTC → Europe\/Berlin/);
    assert.match(page, /<bdi>workspaceAdmin<\/bdi>/);
    assert.ok(page.includes("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.includes(HOSTILE));
  });

  it("list prompt views by viewer and author", async () => {
    const page = await admin.read("/audit/prompt-views");
    assert.match(page, /incident 12/);
    assert.ok(page.includes("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.includes(HOSTILE));
    assert.ok(page.includes(`/w/${workspace.id}/requests/${requestId}`));
    for (const [query, isListed] of [
      [`viewer=${person.userId}`, true],
      [`subject=${workspace.userId}`, true],
      [`viewer=${workspace.userId}`, false],
      [`subject=${person.userId}`, false],
      ["viewer=unknown", false],
      ["from=2026-11-21&to=2026-11-21", true],
      ["from=2026-11-20&to=2026-11-20", false],
      ["from=2026-11-22", false],
      ["from=not-a-date&to=9999-99-99", true],
      ["from=2026-11-22&to=2026-11-01", false],
    ] as const)
      assert.equal(
        (await admin.read(`/audit/prompt-views?${query}`)).includes("incident 12"),
        isListed,
        query,
      );
    assert.match(await admin.read("/audit/prompt-views?color=red"), /This page has no “color”/);
  });

  it("begin and end days in the zone of the workspace", async () => {
    const own = await rig.addWorkspace({ plan: "business" });
    const by = await rig.personIn(own, "workspaceAdmin");
    const settings = `/v1/workspaces/${own.id}/settings`;
    // 12:00 UTC is the first hour of 22 November in Auckland.
    await rig.call("PATCH", settings, by.token, { reporting_zone: "Pacific/Auckland" });
    const pages = visit(own, by);
    assert.match(await pages.read("/audit/events?from=2026-11-22&to=2026-11-22"), /reporting zone/);
    assert.match(
      await pages.read("/audit/events?from=2026-11-21&to=2026-11-21"),
      /No changes in this period/,
    );
  });

  it("page through all rows once, and refuse the cursor of another list", async () => {
    const own = await rig.addWorkspace({ plan: "business" });
    const by = await rig.personIn(own, "workspaceAdmin");
    const pages = visit(own, by);
    for (let n = 0; n < 60; n += 1) {
      const zone = n % 2 === 0 ? "Europe/Berlin" : "UTC";
      await rig.call("PATCH", `/v1/workspaces/${own.id}/settings`, by.token, { reporting_zone: zone });
    }
    const rows = (page: string) => page.split("settings changed").length - 1;
    const first = await pages.read("/audit/events");
    const [, href = ""] = /href="([^"]+)" rel="next"/.exec(first) ?? [];
    const path = href.replace(`/w/${own.id}`, "");
    const second = await pages.read(path);
    assert.deepEqual([rows(first), rows(second)], [50, 10]);
    assert.match(second, /No more changes\./);
    assert.equal((await pages.get(path.replace("?", "?from=2026-11-01&"))).status, 400);
    assert.equal((await admin.get(path)).status, 400);
    const csv = await pages.read("/audit/events?format=csv");
    assert.equal(csv.trim().split("\r\n").length, 61);
    const { items } = JSON.parse(await pages.read("/audit/events?format=json"));
    const api = await json(
      rig.call("GET", `/v1/workspaces/${own.id}/audit/events?limit=200&to=2026-11-22`, by.token),
    );
    assert.deepEqual(items, api.items);
  });

  it("download prompt views from which the chain can be verified", async () => {
    const answer = await admin.get("/audit/prompt-views?format=json");
    assert.equal(answer.headers.get("content-disposition"), 'attachment; filename="prompt-views.json"');
    const { items } = JSON.parse(await answer.text());
    assert.equal(verifyLedger(workspace.id, items.toReversed(), null, sha256).ok, true);
    const csv = await admin.read("/audit/prompt-views?format=csv");
    assert.equal(csv.trim().split("\r\n").length, 1 + items.length);
    const none = await admin.read(`/audit/prompt-views?format=json&viewer=${workspace.userId}`);
    assert.deepEqual(JSON.parse(none), { items: [] });
  });

  it("verify the chains, show their heads, and find a changed row", async () => {
    assert.match(await admin.read("/audit/verification"), /Verify now/);
    const page = await admin.read("/audit/verification?run=now");
    assert.match(page, /All chains are ok/);
    assert.match(page, /chain ok, 2 rows<span class="sub">head <code>[0-9a-f]{64}</);
    const path = `/v1/workspaces/${workspace.id}/audit/verification`;
    const [one, other] = await Promise.all([
      json(rig.call("GET", path, person.token)),
      json(rig.call("GET", path, person.token)),
    ]);
    assert.deepEqual([one.ok, one.prompt_views.rows, other], [true, 2, one]);
    assert.ok(page.includes(one.audit_events.head));
    await rig.db
      .updateTable("prompt_views")
      .set({ reason: "harmless" })
      .where("workspace_id", "=", workspace.id)
      .where("seq", "=", "2" as never)
      .execute();
    const changed = await admin.read("/audit/verification?run=now");
    assert.match(changed, /A chain was changed/);
    assert.match(changed, /a row was changed, row 2/);
    const verdict = await json(rig.call("GET", path, person.token));
    assert.deepEqual(verdict.prompt_views, { ok: false, fault: "row_changed", seq: 2, detail: null });
  });

  it("list requests as far back as the audit log, beyond what the page of a request shows", async () => {
    const old = rig.uuid();
    const at = new Date(START - 100 * DAY_MS).toISOString();
    await rig.call("POST", "/v1/requests/batch", workspace.token, batch(record(old, { requested_at: at })));
    assert.ok((await member.read("/audit/requests?period=12m")).includes(`id="r-${old}"`));
    assert.ok(!(await member.read("/requests?period=12m")).includes(`id="r-${old}"`));
    assert.ok((await member.read("/audit/requests?project=shop")).includes(`id="r-${requestId}"`));
    const single = await member.get(`/requests/${old}`);
    assert.equal(single.status, 404);
    assert.match(await single.text(), /older than single requests are shown/);
  });

  it("need the role and the plan that the API requires, and are otherwise not in the navigation", async () => {
    const team = await rig.addWorkspace({ plan: "team" });
    const [teamAdmin, stranger] = [
      visit(team, await rig.personIn(team, "workspaceAdmin")),
      visit(workspace, await rig.personIn(workspace, "stranger")),
    ];
    assert.ok(!(await teamAdmin.read("/settings")).includes("/audit"));
    assert.match(await member.read("/settings"), /\/audit">Audit</);
    for (const [path, forMember] of [
      ["/audit", 303],
      ["/audit/events", 403],
      ["/audit/prompt-views", 403],
      ["/audit/verification", 403],
      ["/audit/verification?run=now", 403],
      ["/audit/requests", 200],
    ] as const) {
      assert.equal((await member.get(path)).status, forMember, path);
      assert.equal((await teamAdmin.get(path)).status, 403, path);
      assert.equal((await stranger.get(path)).status, 404, path);
    }
    const home = await member.get("/audit");
    assert.equal(home.headers.get("location"), `/w/${workspace.id}/audit/requests`);
    const requests = await member.read("/audit/requests");
    assert.ok(!requests.includes("/audit/events"));
  });
});
