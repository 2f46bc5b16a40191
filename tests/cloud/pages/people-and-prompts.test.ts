import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  type TestPerson,
  type TestWorkspace,
} from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { sendBody, sendRequest } from "../kit/stored-body.ts";
import { type PageVisitor, visitPages } from "./pages.rig.ts";

const BASE = "http://127.0.0.1:8787";
const config = { baseUrl: BASE, rateLimits: { perKey: 1e6, perUser: 1e6 } };
const HOSTILE = `</pre><script>alert(1)</script>"'&`;

describeOnOneEngine("the pages of people and of stored prompts", (engine) => {
  let rig: CloudRig;
  let workspace: TestWorkspace;
  let adminPerson: TestPerson;
  let admin: PageVisitor;
  let author: PageVisitor;
  let member: PageVisitor;
  let requestId: string;
  before(async () => {
    rig = await createRig(engine, { config });
    workspace = await rig.addWorkspace({ plan: "team", storePromptContent: true });
    adminPerson = await rig.personIn(workspace, "workspaceAdmin");
    admin = visit(workspace, adminPerson);
    author = visit(workspace, await asPerson(workspace.userId));
    member = visit(workspace, await rig.personIn(workspace, "member"));
    requestId = await sendRequest(rig, workspace);
    const sent = await sendBody(rig, workspace, requestId, HOSTILE, {
      redaction_applied: true,
      redaction_summary: ["aws_key"],
    });
    assert.equal(sent.status, 204);
  });
  after(() => rig.close());

  const visit = (of: TestWorkspace, by: TestPerson) => visitPages(rig.app(config), of, by, BASE);
  const asPerson = async (userId: string) => ({ userId, token: await rig.sessionFor(userId) });
  const ledger = () =>
    rig.db
      .selectFrom("prompt_views")
      .selectAll()
      .where("workspace_id", "=", workspace.id)
      .orderBy("seq")
      .execute();
  const shown = "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;";

  it("the author reads a prompt without a reason, and no view is recorded", async () => {
    const path = `/requests/${requestId}`;
    const before = await author.read(path);
    assert.match(before, /You sent this request/);
    assert.ok(!before.includes(shown));
    const answer = await author.post(path, { action: "read" });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-encoding"), null);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    const page = await answer.text();
    assert.ok(page.includes(shown) && !page.includes(HOSTILE));
    assert.match(page, /Removed: <bdi>aws_key<\/bdi>/);
    assert.deepEqual(await ledger(), []);
  });

  it("an administrator gives a reason, which is in the ledger before the prompt is shown", async () => {
    const path = `/requests/${requestId}`;
    assert.match(await admin.read(path), /recorded in the ledger of prompt views/);
    for (const reason of ["", "  ", "x".repeat(2001)]) {
      const refused = await admin.post(path, { action: "read", reason });
      assert.equal(refused.status, 422);
      const page = await refused.text();
      assert.match(page, /Give a reason of 1 to 2,000 characters/);
      assert.ok(!page.includes(shown));
    }
    const crossSite = await admin.post(path, { action: "read", reason: "x" }, "https://evil.example");
    assert.equal(crossSite.status, 403);
    assert.deepEqual(await ledger(), []);
    const page = await (await admin.post(path, { action: "read", reason: "incident <7>" })).text();
    assert.ok(page.includes(shown));
    assert.match(page, /incident &lt;7&gt;/);
    const [view, ...others] = await ledger();
    assert.deepEqual(others, []);
    assert.deepEqual(
      [view?.viewer_user_id, view?.subject_user_id, view?.reason, view?.request_id],
      [adminPerson.userId, workspace.userId, "incident <7>", requestId],
    );
  });

  it("an earlier version is shown with its text", async () => {
    await sendBody(rig, workspace, requestId, "the second version");
    const path = `/requests/${requestId}`;
    const page = await (await author.post(path, { action: "read" })).text();
    assert.ok(page.includes("the second version") && !page.includes(shown));
    assert.match(page, /name="version" value="1"/);
    const earlier = await author.post(path, { action: "read", direction: "request", version: "1" });
    assert.ok((await earlier.text()).includes(shown));
    for (const version of ["9", "0", "x"]) {
      const answer = await author.post(path, { action: "read", direction: "request", version });
      assert.ok(!(await answer.text()).includes(shown), version);
    }
  });

  it("a member sees nothing of another person's prompt, and neither does an administrator on Solo", async () => {
    const path = `/requests/${requestId}`;
    assert.ok(!(await member.read(path)).includes("Prompt and answer"));
    assert.ok(!(await (await member.post(path, { action: "read", reason: "x" })).text()).includes("second"));
    const solo = await rig.addWorkspace({ plan: "solo", storePromptContent: true });
    const id = await sendRequest(rig, solo);
    await sendBody(rig, solo, id, "a private prompt");
    const soloAdmin = visit(solo, await rig.personIn(solo, "workspaceAdmin"));
    assert.ok(!(await soloAdmin.read(`/requests/${id}`)).includes("Prompt and answer"));
    const answer = await soloAdmin.post(`/requests/${id}`, { action: "read", reason: "x" });
    assert.ok(!(await answer.text()).includes("a private prompt"));
    const bare = await sendRequest(rig, workspace);
    assert.match(await author.read(`/requests/${bare}`), /None is stored/);
  });

  it("people are listed with their usage, machines and last report; former members too", async () => {
    const own = await rig.addWorkspace({ plan: "team" });
    const viewer = visit(own, await rig.personIn(own, "member"));
    const leaver = await rig.addPerson("<b>Leaver</b>");
    await rig.addMember(own, leaver);
    const machineId = await rig.addMachine(own, "<i>host</i>");
    const key = await rig.addKey(own, { userId: leaver, machineId });
    const tokens = { prompt_tokens: 1_000_000, completion_tokens: 0, cache_read_tokens: 0 };
    const metered = { ...tokens, cache_write_tokens: 0, thinking_tokens: 0, billing_mode: "metered" };
    await rig.call("POST", "/v1/requests/batch", key, batch(record(rig.uuid(), metered)));
    await rig.call(
      "POST",
      "/v1/requests/batch",
      own.token,
      batch(record(rig.uuid(), metered), record(rig.uuid(), { ...metered, billing_mode: "plan" })),
    );
    const owner = await rig.personIn(own, "workspaceAdmin");
    const left = await rig.call("DELETE", `/v1/workspaces/${own.id}/members/${leaver}`, owner.token);
    assert.equal(left.status, 204);
    const page = await viewer.read("/people");
    assert.match(page, /&lt;b&gt;Leaver&lt;\/b&gt;.*?no longer a member/s);
    assert.match(page, /<bdi>member<\/bdi>/);
    assert.match(page, /<bdi>laptop<\/bdi>/);
    const [, totalRequests, spent, plan] =
      /Total<\/th>.*?>([\d,]+)<\/td>.*?value="([\d.]+)".*?value="([\d.]+)"/s.exec(page) ?? [];
    const usage = await json(rig.call("GET", `/v1/workspaces/${own.id}/usage`, owner.token));
    assert.equal(totalRequests, "3");
    assert.equal(Number(spent) * 1e12, Number(usage.totals.spent_pico_usd));
    assert.equal(Number(plan) * 1e12, Number(usage.totals.plan_usage_pico_usd));
    assert.ok(Number(spent) > 0 && Number(plan) > 0);
    assert.equal((await viewer.get("/people?from=x&to=y")).status, 400);
    assert.match(await viewer.read("/people?colour=red"), /is left out/);
  });

  it("an administrator gives their own machine to another member, and no other member's", async () => {
    const own = await rig.addWorkspace({ plan: "team" });
    const person = await rig.personIn(own, "workspaceAdmin");
    const by = visit(own, person);
    const ben = await rig.personIn(own, "member");
    const machines = async () =>
      (await json(rig.call("GET", `/v1/workspaces/${own.id}/machines`, person.token))).items;
    assert.ok(!(await by.read("/machines")).includes('value="give"'));
    const refused = await by.post("/machines", { action: "give", id: own.machineId, user: ben.userId });
    assert.equal(refused.status, 409);
    await rig.call("DELETE", `/v1/workspaces/${own.id}/members/${own.userId}`, person.token);
    assert.match(await by.read("/machines"), /value="give"/);
    const given = await by.post("/machines", { action: "give", id: own.machineId, user: ben.userId });
    assert.equal(given.status, 303);
    assert.equal((await machines())[0].user.id, ben.userId);
    const unknown = await by.post("/machines", { action: "give", id: own.machineId, user: "nobody" });
    assert.equal(unknown.status, 422);
  });
});
