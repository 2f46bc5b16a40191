import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, it } from "node:test";
import { INVITATION_TTL_MS } from "../../../cloud/store/invitations.ts";
import { json } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { createPeopleRig, PASSWORD, type PeopleRig, type Visitor } from "./people.rig.ts";

const COOKIE = "meter.invitation";

describeOnOneEngine("the page of an invitation", (engine) => {
  let people: PeopleRig;
  let owner: { userId: string; workspaceId: string };
  let ownerToken: string;
  before(async () => {
    people = await createPeopleRig(engine);
    owner = await people.addOwner("owner@example.com", "Olga");
    ownerToken = await people.rig.sessionFor(owner.userId);
  });
  after(() => people.rig.close());

  const invite = async (email: string, role = "member"): Promise<{ id: string; token: string }> => {
    const path = `/v1/workspaces/${owner.workspaceId}/invitations`;
    const { id, link } = await json(people.rig.call("POST", path, ownerToken, { email, role }));
    assert.ok(link.startsWith(`${people.baseUrl}/invitation#mtr_invite_`));
    return { id, token: link.split("#")[1] };
  };
  const signIn = (visitor: Visitor, email: string, next = "/invitation") =>
    visitor.post("/sign-in", { email, password: PASSWORD, next });
  const membersOf = async (): Promise<string[]> => {
    const path = `/v1/workspaces/${owner.workspaceId}/members`;
    const { items } = await json(people.rig.call("GET", path, ownerToken));
    return items.map((item: { email: string; role: string }) => `${item.email} ${item.role}`);
  };

  it("asks for the link if there is none, and rejects a link that is not an invitation's", async () => {
    const visitor = people.visitor();
    assert.match(await (await visitor.get("/invitation")).text(), /<h1>Open an invitation<\/h1>/);
    for (const link of [
      "",
      "https://elsewhere.example/",
      "mtr_sync_x",
      `${people.baseUrl}/invitation#mtr_invite_x`,
    ]) {
      const answer = await visitor.post("/invitation", { link });
      assert.equal(answer.status, 422, link);
      assert.match(await answer.text(), /not a complete invitation link/);
      assert.equal(visitor.cookies.size, 0);
    }
  });

  it("shows a visitor who is not signed in what they are invited to, with the token in no page and no address", async () => {
    const { token } = await invite("new@example.com", "admin");
    const visitor = people.visitor();
    const taken = await visitor.post("/invitation", { link: `${people.baseUrl}/invitation#${token}` });
    assert.equal(taken.status, 303);
    assert.equal(taken.headers.get("location"), "/invitation");
    const [set = ""] = taken.headers.getSetCookie();
    for (const attribute of ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=3600"])
      assert.ok(set.includes(attribute), attribute);
    const shown = await (await visitor.get("/invitation")).text();
    for (const [name, value] of [
      ["Workspace", "Main"],
      ["Organisation", "Olga&#39;s organisation"],
      ["Role", "Admin"],
      ["Email", "new@example.com"],
      ["Expires", "2026-11-28"],
    ])
      assert.ok(shown.includes(`<dt>${name}</dt><dd>${value}</dd>`), name);

    // On to sign-up, and then to the workspace.
    const form = await (await visitor.get("/sign-up?next=%2Finvitation")).text();
    assert.match(form, /You are invited to <strong>Main<\/strong>/);
    assert.match(form, /name="email" type="email" autocomplete="username" value="new@example.com"/);
    for (const text of [shown, form]) assert.ok(!text.includes(token));
    const made = await visitor.post("/sign-up", {
      name: "New",
      email: "new@example.com",
      password: PASSWORD,
      next: "/invitation",
    });
    assert.equal(made.headers.get("location"), "/invitation");
    const { path, text } = await visitor.follow("/invitation");
    assert.equal(path, `/w/${owner.workspaceId}`);
    assert.match(text, /Connect a machine/);
    assert.equal(visitor.cookies.has(COOKIE), false);
    assert.ok((await membersOf()).includes("new@example.com admin"));
    assert.ok(!JSON.stringify(people.rig.log).includes(token));
  });

  it("can be accepted by a person with an account after signing in", async () => {
    await people.addOwner("has@example.com");
    const { token } = await invite("Has@example.com");
    const visitor = people.visitor();
    await visitor.post("/invitation", { link: token });
    assert.equal(
      (await visitor.post("/invitation/accept", {})).headers.get("location"),
      "/sign-in?next=%2Finvitation",
    );
    await signIn(visitor, "has@example.com");
    assert.match(await (await visitor.get("/invitation")).text(), /<button>Accept<\/button>/);
    // Opening it accepts nothing.
    assert.ok(!(await membersOf()).includes("has@example.com member"));
    const accepted = await visitor.post("/invitation/accept", {});
    assert.equal(accepted.headers.get("location"), `/w/${owner.workspaceId}?done=workspace-joined`);
    assert.ok((await membersOf()).includes("has@example.com member"));
    assert.equal(visitor.cookies.has(COOKIE), false);
  });

  it("tells another person that it is not for them, changes nothing, and offers to sign in with another account", async () => {
    await people.addOwner("other@example.com");
    await people.addOwner("right@example.com");
    const { token } = await invite("right@example.com");
    const visitor = people.visitor();
    await visitor.post("/invitation", { link: token });
    await signIn(visitor, "other@example.com");
    const shown = await (await visitor.get("/invitation")).text();
    assert.match(shown, /You are signed in as other@example.com/);
    assert.doesNotMatch(shown, /invitation\/accept/);
    const forced = await visitor.post("/invitation/accept", {});
    assert.equal(forced.status, 404);
    assert.ok(!(await membersOf()).some((member) => member.startsWith("other@")));
    const out = await visitor.post("/sign-out", { next: "/invitation" });
    assert.equal(out.headers.get("location"), "/invitation");
    await signIn(visitor, "right@example.com");
    assert.equal((await visitor.post("/invitation/accept", {})).status, 303);
  });

  it("is refused, with the reason, once it was used, revoked or is a week old", async () => {
    const { rig } = people;
    const used = await invite("used@example.com");
    const first = people.visitor();
    await first.post("/invitation", { link: used.token });
    await first.post("/sign-up", { name: "U", email: "used@example.com", password: PASSWORD, next: "/" });
    const back = await invite("back@example.com");
    const path = `/v1/workspaces/${owner.workspaceId}/invitations/${back.id}`;
    assert.equal((await rig.call("DELETE", path, ownerToken)).status, 204);
    const twice = await invite("twice@example.com");
    const newer = await invite("twice@example.com");
    const changed = `${newer.token.slice(0, -2)}${newer.token.endsWith("AA") ? "BB" : "AA"}`;
    for (const token of [used.token, back.token, twice.token, changed]) {
      const visitor = people.visitor();
      await visitor.post("/invitation", { link: token });
      const { text } = await visitor.follow("/invitation");
      assert.doesNotMatch(text, /You are invited/);
      assert.equal(visitor.cookies.has(COOKIE), false, "kept");
      const form = await (await visitor.get("/sign-up")).text();
      assert.doesNotMatch(form, /@example\.com|You are invited/);
    }
    const visitor = people.visitor();
    await visitor.post("/invitation", { link: newer.token });
    rig.clock.advance(INVITATION_TTL_MS - 1);
    assert.match((await visitor.follow("/invitation")).text, /You are invited/);
    rig.clock.advance(1);
    assert.doesNotMatch((await visitor.follow("/invitation")).text, /You are invited/);
  });

  it("names the invited address at the sign-up if another one is typed", async () => {
    const { token } = await invite("meant@example.com");
    const visitor = people.visitor();
    await visitor.post("/invitation", { link: token });
    const typed = { name: "Eve", email: "eve@example.com", password: PASSWORD, next: "/" };
    const refused = await visitor.post("/sign-up", typed);
    assert.equal(refused.status, 403);
    const text = await refused.text();
    assert.match(text, /your invitation is for meant@example\.com/);
    assert.match(text, /value="Eve"/);
    assert.match(text, /value="eve@example.com"/);
    assert.ok(!text.includes(PASSWORD));
  });

  it("reads no token from a URL, neither the sign-up page's nor its own", async () => {
    const { token } = await invite("query@example.com");
    for (const path of ["/sign-up", "/invitation"]) {
      const visitor = people.visitor();
      const text = await (await visitor.get(`${path}?invitation=${token}&link=${token}`)).text();
      assert.ok(!text.includes(token), path);
      assert.doesNotMatch(text, /query@example\.com/);
    }
  });

  it("runs one script, by its hash, which the policy of no other page allows", async () => {
    const visitor = people.visitor();
    for (const path of ["/invitation", "/reset-password"]) {
      const answer = await visitor.get(path);
      const policy = answer.headers.get("content-security-policy") ?? "";
      const scripts = [...(await answer.text()).matchAll(/<script>([\s\S]*?)<\/script>/g)];
      assert.equal(scripts.length, 1);
      const hash = createHash("sha256")
        .update(scripts[0]?.[1] ?? "")
        .digest("base64");
      assert.equal(
        policy,
        `default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; script-src 'sha256-${hash}'`,
      );
    }
    for (const path of ["/sign-in", "/sign-up", "/forgot-password"]) {
      const answer = await visitor.get(path);
      assert.doesNotMatch(answer.headers.get("content-security-policy") ?? "", /script-src/);
      assert.doesNotMatch(await answer.text(), /<script/);
    }
  });
});

describeOnOneEngine("the invitation's cookie over https", (engine) => {
  it("is bound to this host, and can be read back", async () => {
    const people = await createPeopleRig(engine, { baseUrl: "https://cloud.meter.example" });
    try {
      const owner = await people.addOwner("owner@example.com");
      const token = await people.rig.sessionFor(owner.userId);
      const path = `/v1/workspaces/${owner.workspaceId}/invitations`;
      const { link } = await json(people.rig.call("POST", path, token, { email: "a@example.com" }));
      const visitor = people.visitor();
      const taken = await visitor.post("/invitation", { link });
      const [set = ""] = taken.headers.getSetCookie();
      assert.match(set, /^__Host-meter\.invitation=[^;]+;.*Secure/);
      assert.match(await (await visitor.get("/invitation")).text(), /You are invited/);
      // A cookie that a plain HTTP page of the same host could have set is ignored.
      const other = people.visitor();
      other.cookies.set("meter.invitation", link.split("#")[1]);
      assert.doesNotMatch(await (await other.get("/invitation")).text(), /You are invited/);
    } finally {
      await people.rig.close();
    }
  });
});
