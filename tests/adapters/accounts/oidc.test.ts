import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { PASSWORD_MAX, PASSWORD_MIN } from "../../../adapters/accounts/auth-options.ts";
import { createBetterAuthAccounts } from "../../../adapters/accounts/create-accounts.ts";
import { createRandomBytes } from "../../../adapters/crypto/node-crypto.ts";
import type { Accounts } from "../../../core/ports/accounts.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";
import { describeOnOneEngine, type TestDatabase } from "../../cloud/kit/engines.ts";
import { lowerPasswordCost } from "./low-cost-passwords.rig.ts";
import { type Claims, startOidcProvider } from "./oidc-provider.rig.ts";

before(lowerPasswordCost);

const baseUrl = "https://cloud.meter.example";
const password = "correct horse battery";
const randomBytes = createRandomBytes();

async function countCredentials({ db }: TestDatabase): Promise<number> {
  return (await sql`select 1 from accounts.credentials`.execute(db)).rows.length;
}

describeOnOneEngine("signing in by OpenID Connect", (engine) => {
  let test: TestDatabase;
  let provider: Awaited<ReturnType<typeof startOidcProvider>>;
  let accounts: Accounts<Request, Response>;
  /** The code of the sign-in that was begun last. */
  let code = "";
  const opened: (string | null)[] = [];
  const emails: string[] = [];
  before(async () => {
    test = await engine.open();
    provider = await startOidcProvider();
    accounts = createBetterAuthAccounts(test.db, {
      baseUrl,
      secret: "a secret of the tests that is long enough 0123456789",
      newId: () => uuidV7(0, randomBytes(10)),
      mail: async ({ text }) => {
        emails.push(text);
      },
      policy: {
        allows: async ({ invitation }) => invitation === "please",
        accountCreated: async (_, invitation) => {
          opened.push(invitation);
        },
      },
      oidc: [
        {
          id: "corp",
          name: "Example Corp",
          discoveryUrl: `${provider.origin}/.well-known/openid-configuration`,
          clientId: provider.client.id,
          clientSecret: provider.client.secret,
        },
      ],
    });
    // Creates the first account, so that sign-up is no longer open.
    await accounts.createUser({ name: "Op", email: "op@example.com", password });
  });
  after(async () => {
    provider.close();
    await test.close();
  });

  async function begin(
    fields: Record<string, unknown> = {},
  ): Promise<{ state: string; cookie: string; url: URL }> {
    const answer = await accounts.handle(
      new Request(`${baseUrl}/api/auth/sign-in/oauth2`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: baseUrl },
        body: JSON.stringify({ providerId: "corp", callbackURL: "/", ...fields }),
      }),
    );
    assert.equal(answer.status, 200);
    const url = new URL(((await answer.json()) as { url: string }).url);
    const back = await fetch(url, { redirect: "manual" });
    code = new URL(back.headers.get("location") ?? "").searchParams.get("code") ?? "";
    const cookie = answer.headers
      .getSetCookie()
      .map((text) => text.split(";")[0])
      .join("; ");
    return { state: url.searchParams.get("state") ?? "", cookie, url };
  }

  async function finish(
    state: string,
    cookie: string,
  ): Promise<{ location: string; session: string | null }> {
    const answer = await accounts.handle(
      new Request(`${baseUrl}/api/auth/oauth2/callback/corp?code=${code}&state=${state}`, {
        headers: { cookie },
      }),
    );
    assert.equal(answer.status, 302);
    const session = answer.headers
      .getSetCookie()
      .find((text) => text.includes("session_token=") && !/Max-Age=0/i.test(text));
    return { location: answer.headers.get("location") ?? "", session: session?.split(";")[0] ?? null };
  }

  it("uses PKCE and state, and accepts the callback only in the same browser", async () => {
    provider.claims = { sub: "1", email: "new@example.com", email_verified: true, name: "New" };
    const { state, cookie, url } = await begin({ additionalData: { invitation: "please" } });
    assert.equal(url.origin, provider.origin);
    assert.equal(url.searchParams.get("code_challenge_method"), "S256");
    assert.equal(url.searchParams.get("redirect_uri"), `${baseUrl}/api/auth/oauth2/callback/corp`);
    // A victim's browser that was sent to the address with the state (login CSRF).
    assert.equal((await finish(state, "")).session, null);
    assert.equal((await finish("made-up", cookie)).session, null);
  });

  it("creates an account if the policy allows it, with the invitation from the start of the sign-in", async () => {
    provider.claims = { sub: "2", email: "Invited@example.com", email_verified: true, name: "Invited" };
    const closed = await begin();
    const refused = await finish(closed.state, closed.cookie);
    assert.equal(refused.session, null);
    assert.equal(refused.location, "https://cloud.meter.example/sign-in?error=sign_up_closed");
    assert.equal(await accounts.findByEmail("invited@example.com"), null);

    const invited = await begin({ additionalData: { invitation: "please" } });
    // Until the person returns, the database stores it encrypted.
    const { rows: away } = await sql<{
      t: string;
    }>`select json_agg(v)::text as t from accounts.verifications v`.execute(test.db);
    assert.match(away[0]?.t ?? "", /invitation/);
    assert.doesNotMatch(away[0]?.t ?? "", /please/);
    const { session } = await finish(invited.state, invited.cookie);
    assert.ok(session !== null);
    assert.equal(
      (await accounts.authenticate({ kind: "cookie", cookie: session }))?.email,
      "invited@example.com",
    );
    assert.deepEqual(opened, ["please"]);

    // The account no longer needs the invitation, and the provider's tokens are not stored.
    const again = await begin();
    assert.ok((await finish(again.state, again.cookie)).session !== null);
    const { rows } = await sql<{
      t: string;
    }>`select json_agg(c)::text as t from accounts.credentials c`.execute(test.db);
    assert.ok(!rows[0]?.t.includes("canary"));
  });

  it("rejects an address that the provider has not verified", async () => {
    provider.claims = { sub: "3", email: "op@example.com", email_verified: false, name: "Eve" };
    const { state, cookie } = await begin();
    assert.equal((await finish(state, cookie)).session, null);
  });

  it("signs in to the account that the host created for the address, but not to one from a sign-up", async () => {
    provider.claims = { sub: "4", email: "op@example.com", email_verified: true, name: "Op" };
    const { state, cookie } = await begin();
    const { session } = await finish(state, cookie);
    assert.equal(
      (await accounts.authenticate({ kind: "cookie", cookie: session ?? "" }))?.email,
      "op@example.com",
    );

    await accounts.handle(
      new Request(`${baseUrl}/api/auth/sign-up/email`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ name: "S", email: "squat@example.com", password, invitation: "please" }),
      }),
    );
    provider.claims = { sub: "5", email: "squat@example.com", email_verified: true, name: "Owner" };
    const squatted = await begin();
    assert.equal((await finish(squatted.state, squatted.cookie)).session, null);
  });

  it("offers the provider by name, next to the password", () => {
    assert.deepEqual(accounts.signInOptions, {
      password: { minLength: PASSWORD_MIN, maxLength: PASSWORD_MAX },
      providers: [{ id: "corp", name: "Example Corp" }],
    });
  });

  // Values other than true. Planted: without personOfClaims(), the string "false" was accepted.
  const unverified: readonly Claims[] = [
    { email_verified: false },
    { email_verified: "false" },
    { email_verified: false, emailVerified: true },
    { email_verified: null },
    { email_verified: 1 },
    {},
  ];
  for (const says of unverified) {
    it(`neither links nor creates an account for the claims ${JSON.stringify(says)}`, async () => {
      const before = await countCredentials(test);
      for (const email of ["op@example.com", "unverified@example.com"]) {
        provider.claims = { sub: "eve", name: "Eve", email, ...says };
        const { state, cookie } = await begin({ additionalData: { invitation: "please" } });
        const { session, location } = await finish(state, cookie);
        assert.equal(session, null);
        const error = email.startsWith("op@") ? "account_not_linked" : "email_not_verified";
        assert.equal(location, `https://cloud.meter.example/sign-in?error=${error}`);
      }
      assert.equal(await accounts.findByEmail("unverified@example.com"), null);
      assert.equal(await countCredentials(test), before);
    });
  }

  it("identifies a person by the subject, not by other claims", async () => {
    const enter = async (said: Claims) => {
      provider.claims = said;
      const { state, cookie } = await begin({ additionalData: { invitation: "please" } });
      const { session } = await finish(state, cookie);
      return session === null ? null : await accounts.authenticate({ kind: "cookie", cookie: session });
    };
    const cat = { sub: "cat", email: "cat@example.com", email_verified: true, preferred_username: "Cat" };
    const hers = await enter(cat);
    assert.equal(hers?.name, "Cat");
    const eve = { ...cat, sub: "eve-2", id: "cat", email: "eve@example.com", isFirst: true };
    assert.equal((await enter(eve))?.email, "eve@example.com");
    // If her address at the provider changes, her account stays the same, and she gets no one else's.
    assert.equal((await enter({ ...cat, email: "op@example.com" }))?.userId, hers?.userId);
    await accounts.deleteUser(hers?.userId ?? "");
    // A person who returns after deleting their account gets a new one.
    assert.notEqual((await enter(cat))?.userId, hers?.userId);
  });

  it("does not link to an account that the browser names", async () => {
    const victim = await accounts.findByEmail("op@example.com");
    provider.claims = { sub: "mallory", name: "M", email: "op@example.com", email_verified: false };
    const link = { userId: victim?.userId, email: "op@example.com" };
    const { state, cookie } = await begin({ additionalData: { link, errorURL: "https://evil.example/" } });
    const { session, location } = await finish(state, cookie);
    assert.equal(session, null);
    assert.equal(new URL(location).origin, baseUrl);
    const { rows } = await sql`select 1 from accounts.credentials where account_id = 'mallory'`.execute(
      test.db,
    );
    assert.equal(rows.length, 0);
  });

  it("signs in to an account from a sign-up once its address is verified by email", async () => {
    const email = "proved@example.com";
    const sent = async (path: string, body: Record<string, string>) => {
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      return await accounts.handle(new Request(`${baseUrl}/api/auth${path}`, init));
    };
    await sent("/sign-up/email", { name: "P", email, password, invitation: "please" });
    provider.claims = { sub: "p", email, email_verified: true, name: "P" };
    const before = await begin();
    assert.equal((await finish(before.state, before.cookie)).session, null);
    await sent("/request-password-reset", { email });
    const [, token = ""] = /#([\w-]+)/.exec(emails.at(-1) ?? "") ?? [];
    assert.equal((await sent("/reset-password", { token, newPassword: `${password} again` })).status, 200);
    const after = await begin();
    assert.notEqual((await finish(after.state, after.cookie)).session, null);
  });

  it("rejects a redirect to another site", async () => {
    for (const field of ["callbackURL", "errorCallbackURL", "newUserCallbackURL"]) {
      const answer = await accounts.handle(
        new Request(`${baseUrl}/api/auth/sign-in/oauth2`, {
          method: "POST",
          headers: { "content-type": "application/json", origin: baseUrl, cookie: "a=b" },
          body: JSON.stringify({ providerId: "corp", callbackURL: "/", [field]: "https://evil.example/" }),
        }),
      );
      assert.equal(answer.status, 403, field);
    }
  });
});
