import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { parseWire } from "../../../../core/wire/parse.ts";
import { meSchema } from "../../../../core/wire/people.ts";
import { type CloudRig, createRig, json } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";

const BASE = "https://cloud.meter.example";
const config = { baseUrl: BASE, rateLimits: { perUser: 1e6, perKey: 1e6 } };

describeOnOneEngine("who calls", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  it("gets their identity and workspaces", async () => {
    const workspace = await rig.addWorkspace({ plan: "team" });
    await rig.addWorkspace();
    const owner = await rig.personIn(workspace, "organisationOwner");
    const answer = await json(rig.call("GET", "/v1/me", owner.token));
    assert.ok(parseWire(meSchema, answer).ok);
    assert.equal(answer.user.id, owner.userId);
    const summary = {
      id: workspace.id,
      organisation_id: workspace.organisationId,
      name: "Work",
      plan: "team",
      role: "admin",
      store_prompt_content: false,
    };
    assert.deepEqual(answer.workspaces, [summary]);
    assert.deepEqual(answer.organisations, [{ id: workspace.organisationId, name: "Org", role: "owner" }]);
    const member = await rig.personIn(workspace, "member");
    const listed = await json(rig.call("GET", "/v1/workspaces", member.token));
    assert.deepEqual(listed, { items: [{ ...summary, role: "member" }] });
    const outside = await rig.personIn(workspace, "organisationMember");
    assert.deepEqual(await json(rig.call("GET", "/v1/workspaces", outside.token)), { items: [] });
  });

  it("gets 401 with WWW-Authenticate without a valid token, whatever else is sent", async () => {
    const workspace = await rig.addWorkspace();
    const session = await rig.sessionFor(workspace.userId);
    const app = rig.app(config);
    for (const headers of [
      {},
      { authorization: "Bearer" },
      { authorization: `Basic ${btoa("a:b")}` },
      { authorization: `Digest ${session}` },
      { authorization: `Bearer ${session}, Bearer ${session}` },
      { authorization: `Bearer ${"a".repeat(8_000)}` },
      { authorization: "Bearer mtr_sync_x" },
      { authorization: `Bearer mtr_admin_${"A".repeat(64)}` },
      { authorization: `Bearer mtr_invite_${"A".repeat(64)}` },
      // If there is a header, the valid cookie beside it is ignored.
      { authorization: "Bearer nobody", cookie: `session=${session}`, origin: BASE },
      { cookie: "session=nobody", origin: BASE },
    ] as Record<string, string>[]) {
      const answer = await app.request("/v1/me", { headers });
      assert.equal(answer.status, 401, JSON.stringify(headers).slice(0, 80));
      assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer/);
    }
  });

  it("can change something with a cookie only from our own page", async () => {
    const workspace = await rig.addWorkspace();
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const app = rig.app(config);
    const path = `/v1/workspaces/${workspace.id}/settings`;
    const send = async (method: string, origin: string | null) =>
      await app.request(path, {
        method,
        ...(method === "GET" ? {} : { body: '{"store_prompt_content":true}' }),
        headers: { cookie: `a=b; session=${admin.token}`, ...(origin === null ? {} : { origin }) },
      });
    for (const origin of [
      null,
      "null",
      "https://evil.example",
      `${BASE}.evil.example`,
      "http://cloud.meter.example",
      `${BASE}:8443`,
    ]) {
      const answer = await send("PATCH", origin);
      assert.equal(answer.status, 403, String(origin));
      assert.equal((await json(answer)).code, "origin_refused");
      assert.equal((await send("GET", origin)).status, 200);
    }
    assert.equal((await send("PATCH", BASE)).status, 200);
  });

  it("is refused with a sync key, and with an admin key where the person is needed or beyond its workspace", async () => {
    const workspace = await rig.addWorkspace();
    const elsewhere = await rig.addWorkspace();
    await rig.addMember(elsewhere, workspace.userId, "admin");
    assert.equal((await json(rig.call("GET", "/v1/me", workspace.token))).code, "scope_insufficient");
    const key = await rig.addKey(workspace, { scope: "admin" });
    const me = await json(rig.call("GET", "/v1/me", key));
    assert.equal(me.user.id, workspace.userId);
    assert.deepEqual(
      me.workspaces.map(({ id }: { id: string }) => id),
      [workspace.id],
    );
    assert.equal((await rig.call("GET", `/v1/workspaces/${workspace.id}/members`, key)).status, 200);
    assert.equal((await rig.call("GET", `/v1/workspaces/${elsewhere.id}/members`, key)).status, 404);
    for (const [method, path] of [
      ["DELETE", "/v1/account"],
      ["POST", "/v1/organisations"],
      ["POST", "/v1/pairing/approve"],
      ["POST", `/v1/workspaces/${workspace.id}/keys`],
    ] as const) {
      assert.equal((await json(rig.call(method, path, key, {}))).code, "scope_insufficient", path);
    }
  });

  it("can do no more with an admin key than its owner may do now", async () => {
    const workspace = await rig.addWorkspace();
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const key = await rig.addKey(workspace, { scope: "admin", userId: admin.userId });
    const invitations = `/v1/workspaces/${workspace.id}/invitations`;
    assert.equal((await rig.call("GET", invitations, key)).status, 200);
    const owner = await rig.personIn(workspace, "organisationOwner");
    const self = `/v1/workspaces/${workspace.id}/members/${admin.userId}`;
    assert.equal((await rig.call("PATCH", self, owner.token, { role: "member" })).status, 204);
    assert.equal((await rig.call("GET", invitations, key)).status, 403);
    assert.equal((await rig.call("DELETE", self, owner.token)).status, 204);
    assert.equal((await rig.call("GET", invitations, key)).status, 401);
  });

  it("gets the same answer for another's, a deleted, an unknown and a malformed workspace", async () => {
    const workspace = await rig.addWorkspace();
    const gone = await rig.addWorkspace();
    await rig.db
      .updateTable("workspaces")
      .set({ deleted_at: rig.clock.now() })
      .where("workspace_id", "=", gone.id)
      .execute();
    const stranger = await rig.sessionFor((await rig.addWorkspace()).userId);
    const own = await rig.sessionFor(gone.userId);
    const answers = await Promise.all(
      [
        [workspace.id, stranger],
        [workspace.id.toUpperCase(), stranger],
        [gone.id, own],
        [rig.uuid(), stranger],
        ["not-a-uuid", stranger],
        ["%00", stranger],
        [`${workspace.id}'--`, stranger],
      ].map(async ([id, token]) => {
        const answer = await rig.call("GET", `/v1/workspaces/${id}/settings`, token ?? null);
        return [answer.status, await answer.text()];
      }),
    );
    assert.equal(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1);
    assert.equal(answers[0]?.[0], 404);
  });

  it("is rate-limited by person: 429 with Retry-After, without affecting others", async () => {
    const workspace = await rig.addWorkspace();
    const [token, other] = [await rig.sessionFor(workspace.userId), await rig.sessionFor(workspace.userId)];
    const colleague = await rig.personIn(workspace, "member");
    const app = rig.app({ rateLimits: { perUser: 3 } });
    const me = async (bearer: string) =>
      await app.request("/v1/me", { headers: { authorization: `Bearer ${bearer}` } });
    // Two sessions of one person.
    for (const bearer of [token, other, token]) assert.equal((await me(bearer)).status, 200);
    const refused = await me(other);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get("retry-after"), "20");
    assert.equal((await me(colleague.token)).status, 200);
  });
});
