import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { PASSWORD_MIN } from "../../../adapters/accounts/auth-options.ts";
import { type OidcRig, startOidcProvider } from "../../adapters/accounts/oidc-provider.rig.ts";
import { json } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { createPeopleRig, PASSWORD, type PeopleRig, type Visitor } from "./people.rig.ts";

describeOnOneEngine("the pages of signing in", (engine) => {
  let provider: OidcRig;
  let people: PeopleRig;
  before(async () => {
    provider = await startOidcProvider();
    people = await createPeopleRig(engine, { provider });
    await people.addOwner("owner@example.com", "Olga");
  });
  after(async () => {
    provider.close();
    await people.rig.close();
  });

  /** Clicks the provider's button and returns with the provider's answer. */
  const byProvider = async (visitor: Visitor, next: string): Promise<string> => {
    const onward = await visitor.post("/sign-in/provider", { provider: "corp", next });
    assert.equal(onward.status, 200);
    const [, address = ""] = /^0; url=(.+)$/.exec(onward.headers.get("refresh") ?? "") ?? [];
    assert.equal(new URL(address).origin, provider.origin);
    const back = await fetch(address, { redirect: "manual" });
    const { pathname, search } = new URL(back.headers.get("location") ?? "");
    const answer = await visitor.get(pathname + search);
    assert.equal(answer.status, 302);
    return answer.headers.get("location") ?? "";
  };

  it("state the minimum length of a new password, which the browser enforces", async () => {
    const visitor = people.visitor();
    const text = await (await visitor.get("/sign-up")).text();
    assert.match(text, new RegExp(`minlength="${PASSWORD_MIN}"`));
    assert.match(text, new RegExp(`At least ${PASSWORD_MIN} characters`));
    assert.doesNotMatch(await (await visitor.get("/sign-in")).text(), /minlength/);
  });

  it("offer the host's providers by name beside the password, on sign-in and sign-up", async () => {
    for (const path of ["/sign-in?next=%2Fconnect", "/sign-up?next=%2Fconnect"]) {
      const text = await (await people.visitor().get(path)).text();
      assert.match(
        text,
        /<button class="second" name="provider" value="corp">Continue with Example Corp<\/button>/,
      );
      assert.equal(text.match(/name="next" value="\/connect"/g)?.length, 2);
    }
  });

  it("lead through a provider to the account, and on to the page that was requested", async () => {
    provider.claims = { sub: "o", email: "owner@example.com", email_verified: true, name: "Olga" };
    const visitor = people.visitor();
    const location = await byProvider(visitor, "/connect?code=ABCD-EFGH");
    assert.equal(location, `${people.baseUrl}/connect?code=ABCD-EFGH`);
    assert.match((await visitor.follow("/")).path, /^\/w\//);
  });

  it("lead through a provider to the invitation's workspace, and refuse sign-up without an invitation", async () => {
    const { rig } = people;
    const owner = await rig.accounts.findByEmail("owner@example.com");
    const token = await rig.sessionFor(owner?.userId ?? "");
    const { items } = await json(rig.call("GET", "/v1/workspaces", token));
    const path = `/v1/workspaces/${items[0].id}/invitations`;
    const { link } = await json(rig.call("POST", path, token, { email: "guest@example.com" }));

    provider.claims = { sub: "g", email: "guest@example.com", email_verified: true, name: "Guest" };
    const uninvited = people.visitor();
    const refused = await byProvider(uninvited, "/invitation");
    assert.equal(refused, `${people.baseUrl}/sign-in?next=%2Finvitation&error=sign_up_closed`);
    const { text } = await uninvited.follow(refused.slice(people.baseUrl.length));
    assert.match(text, /role="alert">Sign-up is by invitation only/);

    const visitor = people.visitor();
    await visitor.post("/invitation", { link });
    assert.equal(await byProvider(visitor, "/invitation"), `${people.baseUrl}/invitation`);
    assert.equal((await visitor.follow("/invitation")).path, `/w/${items[0].id}`);
  });

  it("describe a provider's error in their own words, never with text from the URL", async () => {
    for (const error of ["account_not_linked", "<b>x", "constructor", "__proto__", "toString", ""]) {
      const query = new URLSearchParams({
        error,
        error_description: "Call 555-0100 <i>now</i>",
        done: "constructor",
      });
      const text = await (await people.visitor().get(`/sign-in?${query}`)).text();
      assert.equal(text.match(/role="alert"/g)?.length, 1, error);
      assert.doesNotMatch(text, /555-0100|<b>|<i>|native code|role="status"/);
    }
  });

  it("report an unreachable provider, and reject an unknown one", async () => {
    const visitor = people.visitor();
    const unknown = await visitor.post("/sign-in/provider", { provider: "<b>other", next: "//evil.example" });
    assert.equal(unknown.status, 502);
    const text = await unknown.text();
    assert.match(text, /&lt;b&gt;other cannot be reached/);
    assert.match(text, /href="\/sign-in\?next=%2F"/);
  });

  for (const next of [
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "/\t/evil.example",
    "javascript:alert(1)",
  ]) {
    it(`redirect to no other site for next = ${JSON.stringify(next)}`, async () => {
      const visitor = people.visitor();
      const signIn = { email: "owner@example.com", password: PASSWORD, next };
      assert.equal((await visitor.post("/sign-in", signIn)).headers.get("location"), "/");
      const again = await visitor.get(`/sign-up?${new URLSearchParams({ next })}`);
      assert.equal(again.headers.get("location"), "/");
      assert.equal((await visitor.post("/sign-out", { next })).headers.get("location"), "/");
      provider.claims = { sub: "o", email: "owner@example.com", email_verified: true, name: "Olga" };
      assert.equal(await byProvider(visitor, next), `${people.baseUrl}/`);
    });
  }

  it("start a new session whatever cookie the browser sent, and end it on the server", async () => {
    const [mine, planted] = [people.visitor(), people.visitor()];
    const signIn = { email: "owner@example.com", password: PASSWORD, next: "/" };
    await mine.post("/sign-in", signIn);
    const [[name, first] = ["", ""]] = [...mine.cookies];
    // A cookie of the attacker's own session, and one without a session.
    for (const value of [first, "made-up-by-somebody.c2lnbmVk"]) {
      planted.cookies.set(name, value);
      await planted.post("/sign-out", {});
      planted.cookies.set(name, value);
      const answer = await planted.post("/sign-in", signIn);
      assert.equal(answer.status, 303);
      assert.notEqual(planted.cookies.get(name), value);
      const fixed = people.visitor();
      fixed.cookies.set(name, value);
      assert.match((await fixed.get("/")).headers.get("location") ?? "", /^\/sign-in/);
    }
    const kept = planted.cookies.get(name) ?? "";
    await planted.post("/sign-out", {});
    assert.equal(planted.cookies.has(name), false);
    planted.cookies.set(name, kept);
    assert.match((await planted.get("/")).headers.get("location") ?? "", /^\/sign-in/);
  });

  it("refuse with a message, and repeat what was typed except the password", async () => {
    const visitor = people.visitor();
    const cases: readonly (readonly [
      path: string,
      fields: Record<string, string>,
      status: number,
      said: RegExp,
    ])[] = [
      [
        "/sign-in",
        { email: "owner@example.com", password: "wrong wrong wrong" },
        401,
        /The email address or the password is wrong/,
      ],
      [
        "/sign-in",
        { email: "nobody@example.com", password: PASSWORD },
        401,
        /The email address or the password is wrong/,
      ],
      ["/sign-in", { email: "nowhere", password: PASSWORD }, 400, /Enter a valid email address/],
      ["/sign-in", { email: "", password: "" }, 400, /Enter a valid email address/],
      [
        "/sign-up",
        { name: "N", email: "n@example.com", password: PASSWORD },
        403,
        /Sign-up is by invitation only/,
      ],
      ["/sign-up", { name: "", email: "n@example.com", password: PASSWORD }, 400, /name has 1 to 100/],
    ];
    for (const [path, fields, status, said] of cases) {
      const answer = await visitor.post(path, { ...fields, next: "/connect" });
      const text = await answer.text();
      assert.equal(answer.status, status, `${path} ${JSON.stringify(fields)}`);
      assert.match(text, said);
      assert.match(
        text,
        new RegExp(`name="email" type="email" autocomplete="username" value="${fields.email}"`),
      );
      assert.match(text, /name="next" value="\/connect"/);
      assert.ok(fields.password === "" || !text.includes(fields.password ?? ""));
    }
  });
});

describeOnOneEngine("open sign-up", (engine) => {
  it("reports missing fields, and that an address is taken", async () => {
    const people = await createPeopleRig(engine, { openSignUp: true });
    try {
      await people.addOwner("taken@example.com");
      const visitor = people.visitor();
      const post = (fields: Record<string, string>) =>
        visitor.post("/sign-up", {
          name: "N",
          email: "new@example.com",
          password: PASSWORD,
          next: "/",
          ...fields,
        });
      const table: readonly (readonly [Record<string, string>, number, RegExp])[] = [
        [{ password: "short" }, 400, /at least 12 characters\.</],
        [{ password: "x".repeat(129) }, 400, /at most 128 characters/],
        [{ email: "nowhere" }, 400, /Enter a valid email address/],
        [{ email: "Taken@example.com" }, 422, /already exists\. Sign in instead/],
      ];
      for (const [fields, status, said] of table) {
        const answer = await post(fields);
        assert.equal(answer.status, status, JSON.stringify(fields));
        assert.match(await answer.text(), said);
      }
      assert.equal((await post({})).status, 303);
      assert.match((await visitor.follow("/")).path, /^\/w\//);
    } finally {
      await people.rig.close();
    }
  });
});
