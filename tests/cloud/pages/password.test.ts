import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { PASSWORD_MAX, PASSWORD_MIN } from "../../../adapters/accounts/auth-options.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { createPeopleRig, PASSWORD, type PeopleRig } from "./people.rig.ts";

const NEW_PASSWORD = "a staple of correct batteries";

describeOnOneEngine("the pages of passwords", (engine) => {
  let people: PeopleRig;
  before(async () => {
    people = await createPeopleRig(engine);
    await people.addOwner("first@example.com");
  });
  after(() => people.rig.close());

  const signIn = async (email: string, password: string) => {
    const visitor = people.visitor();
    return { visitor, answer: await visitor.post("/sign-in", { email, password, next: "/" }) };
  };
  /** Returns the secret of the last email. */
  const lastSecret = () => {
    const email = people.emails.at(-1)?.text ?? "";
    const [, secret = ""] = /\/reset-password#([\w-]+)\n/.exec(email) ?? [];
    return { secret, link: `${people.baseUrl}/reset-password#${secret}` };
  };

  it("set a new password through an emailed link, and end all earlier sessions", async () => {
    await people.addOwner("forgot@example.com");
    const { visitor: before } = await signIn("forgot@example.com", PASSWORD);
    assert.equal((await before.get("/")).status, 303);
    const visitor = people.visitor();
    assert.match(await (await visitor.get("/sign-in")).text(), /href="\/forgot-password"/);
    assert.equal((await visitor.get("/forgot-password")).status, 200);
    await visitor.post("/forgot-password", { email: "forgot@example.com" });
    const { link, secret } = lastSecret();
    const form = await (await visitor.get("/reset-password")).text();
    assert.match(form, new RegExp(`autocomplete="new-password" [^>]*minlength="${PASSWORD_MIN}"`));
    assert.match(form, new RegExp(`At least ${PASSWORD_MIN} characters`));

    const set = await visitor.post("/reset-password", { link, password: NEW_PASSWORD });
    assert.equal(set.headers.get("location"), "/sign-in?done=password-set");
    assert.match((await visitor.follow("/sign-in?done=password-set")).text, /Your new password is set/);
    assert.equal((await before.get("/")).headers.get("location"), "/sign-in?next=%2F");
    assert.equal((await signIn("forgot@example.com", PASSWORD)).answer.status, 401);
    assert.equal((await signIn("forgot@example.com", NEW_PASSWORD)).answer.status, 303);
    // Once.
    const again = await visitor.post("/reset-password", { link, password: PASSWORD });
    assert.equal(again.status, 400);
    assert.match(await again.text(), /already used, expired or incomplete/);
    assert.ok(!JSON.stringify(people.rig.log).includes(secret));
  });

  it("answer a forgotten password in the same way whether or not an account exists", async () => {
    await people.addOwner("known@example.com");
    const gone = await people.addOwner("closed@example.com");
    await people.rig.accounts.deleteUser(gone.userId);
    const emails = people.emails.length;
    const said = await Promise.all(
      ["known@example.com", "nobody@example.com", "closed@example.com"].map(async (email) => {
        const answer = await people.visitor().post("/forgot-password", { email });
        const headers = [...answer.headers].filter(([name]) => name !== "x-request-id");
        return JSON.stringify([answer.status, headers, (await answer.text()).replaceAll(email, "…")]);
      }),
    );
    assert.equal(new Set(said).size, 1);
    assert.deepEqual(
      people.emails.slice(emails).map(({ to }) => to),
      ["known@example.com"],
    );
  });

  it("keep the link, but never the password, of a form that is refused", async () => {
    await people.addOwner("again@example.com");
    const visitor = people.visitor();
    await visitor.post("/forgot-password", { email: "again@example.com" });
    const { secret } = lastSecret();
    for (const [password, message] of [
      ["short pass", `A password must have at least ${PASSWORD_MIN} characters.`],
      ["long pass ".repeat(13), `A password can have at most ${PASSWORD_MAX} characters.`],
    ] as const) {
      const answer = await visitor.post("/reset-password", { link: secret, password });
      assert.equal(answer.status, 400);
      const text = await answer.text();
      assert.ok(text.includes(message));
      assert.ok(text.includes(`value="${secret}"`));
      assert.ok(!text.includes(password));
    }
    // The two refusals did not use up the link.
    assert.equal(
      (await visitor.post("/reset-password", { link: secret, password: NEW_PASSWORD })).status,
      303,
    );
  });

  it("reject an unknown link, an invalid address and too many attempts, with a message", async () => {
    const visitor = people.visitor();
    for (const link of ["", "x", "A".repeat(24), "https://evil.example/#AAAAAAAAAAAAAAAAAAAAAAAA"]) {
      const answer = await visitor.post("/reset-password", { link, password: NEW_PASSWORD });
      assert.equal(answer.status, 400, link);
      assert.match(await answer.text(), /already used, expired or incomplete/);
    }
    const wrong = await visitor.post("/forgot-password", { email: "<b>nowhere" });
    assert.equal(wrong.status, 400);
    const text = await wrong.text();
    assert.match(text, /value="&lt;b&gt;nowhere"/);
    assert.match(text, /Enter a valid email address/);

    const slow = people.rig.app({ baseUrl: people.baseUrl, rateLimits: { signInPerAddress: 1 } });
    const ask = async (path: string) =>
      await slow.request(path, {
        method: "POST",
        body: new URLSearchParams({ email: "a@example.com" }),
        headers: { origin: people.baseUrl },
      });
    assert.equal((await ask("/forgot-password")).status, 200);
    for (const path of ["/forgot-password", "/reset-password", "/sign-in"]) {
      const refused = await ask(path);
      assert.equal(refused.status, 429, path);
      assert.equal(refused.headers.get("retry-after"), "60");
      assert.match(await refused.text(), /Too many attempts\. Try again in 60 seconds\./);
    }
  });

  it("keep all sessions if an emailed link is not used", async () => {
    await people.addOwner("calm@example.com");
    const { visitor } = await signIn("calm@example.com", PASSWORD);
    await people.visitor().post("/forgot-password", { email: "calm@example.com" });
    assert.match((await visitor.get("/")).headers.get("location") ?? "", /^\/w\//);
    assert.equal((await signIn("calm@example.com", PASSWORD)).answer.status, 303);
  });
});
