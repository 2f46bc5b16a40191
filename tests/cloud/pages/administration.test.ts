import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { type CloudRig, createRig, json, type TestPerson, type TestWorkspace } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

const BASE = "http://127.0.0.1:8787";
const config = { baseUrl: BASE, rateLimits: { perKey: 1e6, perUser: 1e6 } };
const HOSTILE = `<script>alert(1)</script>"'&`;

describeOnOneEngine("the pages of machines and members", (engine) => {
  let rig: CloudRig;
  let app: ReturnType<CloudRig["app"]>;
  let workspace: TestWorkspace;
  let admin: TestPerson;
  let member: TestPerson;
  before(async () => {
    rig = await createRig(engine, { config });
    app = rig.app(config);
    workspace = await rig.addWorkspace({ plan: "team" });
    admin = await rig.personIn(workspace, "workspaceAdmin");
    member = await rig.personIn(workspace, "member");
  });
  after(() => rig.close());

  const get = async (path: string, { token }: TestPerson = admin) =>
    await app.request(`/w/${workspace.id}${path}`, { headers: { cookie: `session=${token}` } });
  const post = async (path: string, fields: Record<string, string>, by = admin, origin = BASE) =>
    await app.request(`/w/${workspace.id}${path}`, {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: { cookie: `session=${by.token}`, origin },
    });

  it("an admin names and blocks a machine; hostile names are text", async () => {
    const id = workspace.machineId;
    const renamed = await post("/machines", { action: "rename", id, name: HOSTILE });
    assert.deepEqual(
      [renamed.status, renamed.headers.get("location")],
      [303, `/w/${workspace.id}/machines?done=rename`],
    );
    const page = await (await get("/machines")).text();
    assert.ok(page.includes("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.includes(HOSTILE));
    assert.equal((await post("/machines", { action: "block", id })).status, 303);
    assert.match(await (await get("/machines")).text(), />blocked</);
    assert.equal((await post("/machines", { action: "unblock", id })).status, 303);
    assert.equal((await post("/machines", { action: "rename", id, name: " " })).status, 303);
    assert.match(await (await get("/machines")).text(), />connected</);
  });

  it("lists machines by their state, coverage, person and version, a hundred on a page", async () => {
    const fleet = await rig.addWorkspace({ plan: "business" });
    const person = await rig.personIn(fleet, "member");
    const read = async (query: string) => {
      const answer = await app.request(`/w/${fleet.id}/machines${query}`, {
        headers: { cookie: `session=${person.token}` },
      });
      assert.equal(answer.status, 200, query);
      return await answer.text();
    };
    const count = async (query: string) => [...(await read(query)).matchAll(/<th scope="row"/g)].length;
    await rig.db
      .insertInto("machines")
      .values(
        Array.from({ length: 120 }, (_, at) => ({
          workspace_id: fleet.id,
          machine_id: rig.uuid(),
          hostname: `machine-${at}`,
          platform: "linux",
          daemon_version: at < 3 ? "0.3.9" : "0.4.0",
          created_at: rig.clock.now(),
        })),
      )
      .execute();
    assert.equal(await count(""), 100);
    assert.match(await read(""), /<h2>121 machines<\/h2>.*1 to 100.*cursor=2">Next</s);
    assert.equal(await count("?cursor=2"), 21);
    assert.equal(await count("?cursor=99"), 21);
    assert.equal(await count("?cursor=-1"), 100);
    assert.equal(await count("?version=0.3.9"), 3);
    assert.match(await read("?version=0.3.9"), /<h2>3 machines of 121<\/h2>/);
    assert.equal(await count("?state=no-key&cursor=2"), 20);
    assert.equal(await count("?coverage=unknown"), 100);
    assert.match(await read("?coverage=whole"), /No machine matches.*Show all 121 machines/s);
    assert.equal(await count(`?person=${fleet.userId}`), 1);
    const file = await read("?version=0.3.9&format=csv");
    assert.match(file, /^machine_id,hostname,name,platform,daemon_version,/);
    assert.equal(file.trim().split("\r\n").length, 4);
    assert.equal(JSON.parse(await read("?format=json")).items.length, 121);
    assert.equal((await count(`?state=offline`)) + (await count("?state=online")), 1);
  });

  it("a member sees machines and members without forms, and their forms are refused", async () => {
    for (const path of ["/machines", "/members"]) {
      const page = await (await get(path, member)).text();
      assert.match(page, /An administrator of the workspace/);
      assert.ok(!page.includes('name="action"'), path);
    }
    const { machineId: id } = workspace;
    for (const [path, fields] of [
      ["/machines", { action: "block", id }],
      ["/machines", { action: "rename", id, name: "x" }],
      ["/members", { action: "invite", email: "a@example.com", role: "admin" }],
      ["/members", { action: "role", id: member.userId, role: "admin" }],
      ["/members", { action: "remove", id: admin.userId }],
    ] as const)
      assert.equal((await post(path, fields, member)).status, 403, fields.action);
  });

  it("forms of other sites, unknown actions and ids of other workspaces change nothing", async () => {
    const other = await rig.addWorkspace();
    const block = { action: "block", id: workspace.machineId };
    assert.equal((await post("/machines", block, admin, "https://evil.example")).status, 403);
    assert.equal((await post("/machines", { ...block, id: other.machineId })).status, 404);
    assert.equal((await post("/machines", { ...block, id: "../keys" })).status, 404);
    for (const path of ["/machines", "/members"])
      assert.equal((await post(path, { action: "nothing" })).status, 422);
    assert.equal((await post("/members", { action: "remove", id: other.userId })).status, 404);
    const stranger = await rig.personIn(workspace, "stranger");
    for (const path of ["/machines", "/members"]) assert.equal((await get(path, stranger)).status, 404);
    assert.match(await (await get("/machines")).text(), />connected</);
  });

  it("an admin invites, sends again and revokes; each link is shown once", async () => {
    const link = (page: string) => /\/invitation#[\w-]+/.exec(page)?.[0];
    const sent = await post("/members", { action: "invite", email: "ben@example.com", role: "member" });
    assert.equal(sent.status, 200);
    assert.equal(sent.headers.get("content-encoding"), null);
    assert.equal(sent.headers.get("cache-control"), "no-store");
    const answer = await sent.text();
    const first = link(answer);
    assert.match(answer, new RegExp(`data-copy="[^"]*${first}"`));
    assert.ok(first !== undefined && rig.mails.at(-1)?.text.includes(first));
    const page = await (await get("/members")).text();
    assert.ok(page.includes("ben@example.com") && link(page) === undefined);
    const path = `/v1/workspaces/${workspace.id}/invitations`;
    const [{ id }] = (await json(rig.call("GET", path, admin.token))).items;
    const again = link(await (await post("/members", { action: "resend", id })).text());
    assert.ok(again !== undefined && again !== first);
    assert.equal((await post("/members", { action: "revoke", id })).status, 303);
    assert.match(await (await get("/members")).text(), /No invitation is pending/);
    assert.equal((await post("/members", { action: "resend", id })).status, 404);
    const wrong = await post("/members", { action: "invite", email: HOSTILE, role: "member" });
    assert.equal(wrong.status, 422);
    assert.match(await wrong.text(), /Enter an email address/);
  });

  it("an admin changes a role and removes a member", async () => {
    const ben = await rig.personIn(workspace, "member");
    assert.equal((await post("/members", { action: "role", id: ben.userId, role: "admin" })).status, 303);
    assert.match(await (await get("/members", ben)).text(), /name="action"/);
    assert.equal((await post("/members", { action: "remove", id: ben.userId })).status, 303);
    assert.equal((await get("/members", ben)).status, 404);
  });
});
