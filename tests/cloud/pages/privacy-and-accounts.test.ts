import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, it } from "node:test";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { hashText } from "../../../core/values/hash-text.ts";
import { auditOf } from "../kit/audit.ts";
import { type CloudRig, createRig, json, type TestPerson, type TestWorkspace } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { sendBody, sendRequest } from "../kit/stored-body.ts";
import { visitPages } from "./pages.rig.ts";

const BASE = "http://127.0.0.1:8787";
const config = { baseUrl: BASE, rateLimits: { perKey: 1e6, perUser: 1e6 } };
const HOSTILE = `<script>alert(1)</script>"'&`;
const ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;";

describeOnOneEngine("the pages of privacy, accounts and organisations", (engine) => {
  let rig: CloudRig;
  let app: ReturnType<CloudRig["app"]>;
  before(async () => {
    rig = await createRig(engine, { config });
    app = rig.app(config);
  });
  after(() => rig.close());

  const visit = (of: TestWorkspace, by: TestPerson) => visitPages(app, of, by, BASE);
  const open = async (path: string, { token }: TestPerson) =>
    await app.request(path, { headers: { cookie: `session=${token}` } });
  const send = async (path: string, fields: Record<string, string>, { token }: TestPerson, origin = BASE) =>
    await app.request(path, {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: { cookie: `session=${token}`, origin },
    });

  /** A workspace whose author sent a prompt in each of two projects. */
  async function withPrompts() {
    const workspace = await rig.addWorkspace({ plan: "business", storePromptContent: true });
    const ids: string[] = [];
    for (const project of ["apollo", HOSTILE.slice(0, 60)]) {
      const id = await sendRequest(rig, workspace, { project });
      await sendBody(rig, workspace, id, `a prompt of ${project}`);
      ids.push(id);
    }
    const author = { userId: workspace.userId, token: await rig.sessionFor(workspace.userId) };
    const [apollo = "", other = ""] = ids;
    const statusOf = async (id: string) =>
      (await rig.call("GET", `/v1/traces/${id}/body?workspace_id=${workspace.id}`, author.token)).status;
    return { workspace, author, apollo, other, statusOf };
  }

  it("an administrator erases a project, whose certificate is shown and downloaded", async () => {
    const { workspace, apollo, other, statusOf } = await withPrompts();
    const person = await rig.personIn(workspace, "workspaceAdmin");
    const admin = visit(workspace, person);
    assert.match(await admin.read("/privacy"), /<td class="num">2<\/td><td class="num">2<\/td>/);
    const erased = await admin.post("/privacy", { action: "erase", project: "apollo", confirmed: "yes" });
    assert.deepEqual(
      [erased.status, erased.headers.get("location")],
      [303, `/w/${workspace.id}/privacy?done=erase`],
    );
    assert.deepEqual([await statusOf(apollo), await statusOf(other)], [404, 200]);
    const page = await admin.read("/privacy");
    assert.match(page, /<td class="num">2<\/td><td class="num">1<\/td>/);
    const [, path = ""] = new RegExp(`/w/${workspace.id}(/privacy/erasures/[0-9a-f-]+)`).exec(page) ?? [];
    // The certificate has the whole width of the table.
    assert.match(
      page,
      /<tr class="more"><td colspan="4"><details>.*?<pre[^>]*>\{\s+&quot;certificate&quot;/s,
    );
    const file = await admin.get(path);
    assert.match(file.headers.get("content-disposition") ?? "", /^attachment; filename="erasure-/);
    const certificate = await file.text();
    assert.deepEqual([JSON.parse(certificate).project, JSON.parse(certificate).user_id], ["apollo", null]);
    const [, actor, details] = (await auditOf(rig, workspace.id)).at(-1) ?? [];
    assert.deepEqual([actor, details?.certificate_sha256], [person.userId, hashText(certificate, sha256)]);
    assert.equal((await admin.get("/privacy/erasures/x")).status, 404);
    const foreign = visit(await rig.addWorkspace(), person);
    assert.equal((await foreign.get(path)).status, 404);
    for (const fields of [{ project: "apollo\0" }, { person: "ann\0" }]) {
      const forged = await admin.post("/privacy", { action: "erase", ...fields, confirmed: "yes" });
      assert.equal(forged.status, 422);
      assert.match(await forged.text(), /a character that can(?:'|&#39;)t be stored\. Nothing was erased\./);
    }
    const misspelt = await admin.post("/privacy", { action: "erase", project: "Hermes", confirmed: "yes" });
    assert.equal(misspelt.headers.get("location"), `/w/${workspace.id}/privacy?done=erase-none`);
    assert.match(await admin.read("/privacy?done=erase-none"), /so nothing was erased/);
  });

  it("lists the newest 200 erasures, says so, and has the certificate of each older one", async () => {
    const { workspace } = await withPrompts();
    const admin = visit(workspace, await rig.personIn(workspace, "workspaceAdmin"));
    const add = (count: number) =>
      rig.db
        .insertInto("erasures")
        .values(
          Array.from({ length: count }, (_, n) => ({
            workspace_id: workspace.id,
            erasure_id: randomUUID(),
            project: `p${count}`,
            before: 1_000 * count + n,
            finished_at: 1_000 * count + n,
            certificate: `{"n":${n}}`,
          })),
        )
        .returning("erasure_id")
        .execute();
    const [oldest] = await add(1);
    const listed = async () =>
      (await admin.read("/privacy")).match(
        /<code>[^<]*\/privacy\/erasures\/<\/code>|<th scope="row" class="when">/g,
      ) ?? [];
    assert.equal((await listed()).length, 1);
    await add(200);
    assert.equal((await listed()).length, 201, "200 erasures and the note");
    const file = await admin.get(`/privacy/erasures/${oldest?.erasure_id.toUpperCase()}`);
    assert.deepEqual(await file.json(), { n: 0 });
  });

  it("a member erases only their own prompts, and sees only their own erasures", async () => {
    const { workspace, author, apollo, other, statusOf } = await withPrompts();
    const member = visit(workspace, await rig.personIn(workspace, "member"));
    assert.ok(!(await member.read("/privacy")).includes('name="person"'));
    const theirs = { action: "erase", person: author.userId, confirmed: "yes" };
    assert.equal((await member.post("/privacy", theirs)).status, 403);
    assert.equal((await member.post("/privacy", { action: "erase", confirmed: "yes" })).status, 303);
    assert.deepEqual([await statusOf(apollo), await statusOf(other)], [200, 200]);
    const own = visit(workspace, author);
    assert.match(await own.read("/privacy"), /Nothing was erased yet/);
    assert.equal((await own.post("/privacy", { action: "erase", confirmed: "yes" })).status, 303);
    assert.deepEqual([await statusOf(apollo), await statusOf(other)], [404, 404]);
    const admin = visit(workspace, await rig.personIn(workspace, "workspaceAdmin"));
    const count = (page: string) => page.split("/privacy/erasures/").length - 1;
    assert.deepEqual([count(await admin.read("/privacy")), count(await own.read("/privacy"))], [2, 1]);
    const held = async (token: string) =>
      await json(rig.call("GET", `/v1/workspaces/${workspace.id}/privacy`, token));
    const { holdings, erasures, ...settings } = await held(author.token);
    assert.deepEqual(holdings, [{ user_id: author.userId, name: "Ann", requests: 2, stored_prompts: 0 }]);
    assert.deepEqual(
      (erasures as readonly { user_id: string; finished_at: string | null; certificate: string }[]).map(
        ({ user_id, finished_at, certificate }) => [
          user_id,
          finished_at !== null,
          JSON.parse(certificate).user_id,
        ],
      ),
      [[author.userId, true, author.userId]],
    );
    assert.deepEqual(settings, { store_prompt_content: true, data_retention_days: 365 });
    assert.deepEqual(await json(own.get("/privacy?format=json")), await held(author.token));
    assert.equal((await own.read("/privacy?format=csv")).trimEnd().split("\r\n").length, 3);
    assert.equal((await admin.read("/privacy?format=csv")).trimEnd().split("\r\n").length, 4);
  });

  it("nothing is erased without a confirmation, a scope or from another site; hostile names are text", async () => {
    const { workspace, apollo, statusOf } = await withPrompts();
    const userId = await rig.addPerson(HOSTILE);
    await rig.addMember(workspace, userId);
    const admin = visit(workspace, await rig.personIn(workspace, "workspaceAdmin"));
    for (const fields of [
      { action: "erase", project: "apollo" },
      { action: "erase", confirmed: "yes" },
      { action: "erase", confirmed: "yes", project: "x".repeat(65) },
      { action: "nothing", project: "apollo", confirmed: "yes" },
    ]) {
      const answer = await admin.post("/privacy", fields);
      assert.equal(answer.status, 422, JSON.stringify(fields));
      assert.match(await answer.text(), /role="alert"/);
    }
    const fields = { action: "erase", project: "apollo", confirmed: "yes" };
    assert.equal((await admin.post("/privacy", fields, "https://evil.example")).status, 403);
    assert.equal(await statusOf(apollo), 200);
    const page = await admin.read("/privacy");
    assert.ok(page.includes(ESCAPED) && !page.includes(HOSTILE));
  });

  it("a person creates an organisation and deletes their account, after typing a word", async () => {
    const userId = await rig.addPerson(HOSTILE);
    const person = { userId, token: await rig.sessionFor(userId) };
    const created = await send("/account", { action: "organisation", name: HOSTILE }, person);
    assert.equal(created.status, 303);
    assert.match(created.headers.get("location") ?? "", /^\/w\/[0-9a-f-]{36}\?done=organisation-created$/);
    const page = await (await open("/account", person)).text();
    assert.ok(page.includes(ESCAPED) && !page.includes(HOSTILE));
    assert.match(page, /href="\/organisations\/[0-9a-f-]{36}"/);
    for (const fields of [
      { action: "organisation", name: " " },
      { action: "delete", confirmation: "no" },
      { action: "nothing" },
    ])
      assert.equal((await send("/account", fields, person)).status, 422, JSON.stringify(fields));
    const deletion = { action: "delete", confirmation: "Delete" };
    assert.equal((await send("/account", deletion, person, "https://evil.example")).status, 403);
    const deleted = await send("/account", deletion, person);
    assert.deepEqual(
      [deleted.status, deleted.headers.get("location")],
      [303, "/sign-in?done=account-deleted"],
    );
    assert.equal((await rig.call("GET", "/v1/me", person.token)).status, 401);
    const signedOut = await app.request("/account");
    assert.equal(signedOut.headers.get("location"), "/sign-in?next=%2Faccount");
  });

  it("the only owner of an organisation with members can't delete the account", async () => {
    const workspace = await rig.addWorkspace();
    const owner = await rig.personIn(workspace, "organisationOwner");
    await rig.personIn(workspace, "organisationMember");
    const refused = await send("/account", { action: "delete", confirmation: "delete" }, owner);
    assert.equal(refused.status, 409);
    assert.match(await refused.text(), /only owner of an organisation/);
    assert.equal((await rig.call("GET", "/v1/me", owner.token)).status, 200);
  });

  it("an owner creates a workspace, changes roles and removes members; an administrator only creates", async () => {
    const workspace = await rig.addWorkspace();
    const [owner, admin, ben, stranger] = [
      await rig.personIn(workspace, "organisationOwner"),
      await rig.personIn(workspace, "organisationAdmin"),
      await rig.personIn(workspace, "organisationMember"),
      await rig.personIn(workspace, "stranger"),
    ];
    const path = `/organisations/${workspace.organisationId}`;
    const rolesOf = async () => {
      const url = `/v1/organisations/${workspace.organisationId}/members`;
      const { items } = await json(rig.call("GET", url, owner.token));
      return new Map(items.map((item: { user_id: string; role: string }) => [item.user_id, item.role]));
    };
    assert.match(await (await open(path, owner)).text(), /value="role"/);
    assert.ok(!(await (await open(path, admin)).text()).includes('value="role"'));
    assert.equal((await open(path, ben)).status, 403);
    assert.equal((await open(path, stranger)).status, 404);
    const role = { action: "role", user: ben.userId, role: "admin" };
    assert.equal((await send(path, role, admin)).status, 403);
    assert.equal((await send(path, role, owner, "https://evil.example")).status, 403);
    assert.equal((await send(path, role, owner)).status, 303);
    assert.equal((await rolesOf()).get(ben.userId), "admin");
    assert.equal((await send(path, { action: "remove", user: ben.userId }, owner)).status, 303);
    assert.ok(!(await rolesOf()).has(ben.userId));
    const last = await send(path, { action: "remove", user: owner.userId }, owner);
    assert.equal(last.status, 409);
    assert.match(await last.text(), /at least one owner/);
    const made = await send(path, { action: "workspace", name: HOSTILE }, admin);
    assert.match(made.headers.get("location") ?? "", /^\/w\/[0-9a-f-]{36}\?done=workspace-created$/);
    const page = await (await open(path, admin)).text();
    assert.ok(page.includes(ESCAPED) && !page.includes(HOSTILE));
    const unnamed = await send(path, { action: "workspace", name: "" }, admin);
    assert.equal(unnamed.status, 422);
    assert.match(await unnamed.text(), /Enter a name of 1 to 100 characters/);
    const unknown = await send(path, { action: "role", user: admin.userId, role: "king" }, owner);
    assert.equal(unknown.status, 422);
    assert.match(await unknown.text(), /The role must be owner, admin or member\./);
    assert.equal((await send(path, { action: "nothing" }, owner)).status, 422);
  });
});
