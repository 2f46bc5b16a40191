import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import type { AccountsSettings } from "../../../adapters/accounts/auth-options.ts";
import { createBetterAuthAccounts } from "../../../adapters/accounts/create-accounts.ts";
import { createRandomBytes } from "../../../adapters/crypto/node-crypto.ts";
import type { PostgresServerOptions } from "../../../adapters/postgres/postgres-server.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import type { Accounts } from "../../../core/ports/accounts.ts";
import type { Mail } from "../../../core/ports/mail.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";
import { describeOnOneEngine, type Engine, type TestDatabase } from "../../cloud/kit/engines.ts";
import { accountsContract } from "./accounts-contract.rig.ts";
import { lowerPasswordCost } from "./low-cost-passwords.rig.ts";

before(lowerPasswordCost);

const baseUrl = "https://cloud.meter.example";
const secret = "a secret of the tests that is long enough 0123456789";
const password = "correct horse battery";
const randomBytes = createRandomBytes();

/** Accounts whose sign-up policy admits everyone with the invitation "please". Records each attempt. */
function openAccounts(test: TestDatabase, settings: Partial<AccountsSettings> = {}) {
  const mails: Mail[] = [];
  const opened: [email: string | null, invitation: string | null][] = [];
  const accounts = createBetterAuthAccounts(test.db, {
    baseUrl,
    secret,
    newId: () => uuidV7(0, randomBytes(10)),
    mail: async (mail) => {
      mails.push(mail);
    },
    policy: {
      allows: async ({ invitation }) => invitation === "please",
      accountCreated: async ({ email }, invitation) => {
        opened.push([email, invitation]);
      },
    },
    ...settings,
  });
  return { accounts, mails, opened };
}

async function post(
  accounts: Accounts<Request, Response>,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return await accounts.handle(
    new Request(`http://10.0.0.7:8787/api/auth${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    }),
  );
}

const cookieOf = (answer: Response) => answer.headers.getSetCookie()[0] ?? "";

/** Databases that are closed with their suite, even if one of its tests fails. */
function closing(engine: Engine) {
  const tests: TestDatabase[] = [];
  return {
    open: async (options?: PostgresServerOptions) => {
      const test = await engine.open(options);
      tests.push(test);
      return test;
    },
    closeAll: async () => {
      await Promise.all(tests.map((test) => test.close()));
    },
  };
}

describeOnOneEngine("createBetterAuthAccounts()", (engine) => {
  let test: TestDatabase;
  let rig: ReturnType<typeof openAccounts>;
  before(async () => {
    test = await engine.open();
    rig = openAccounts(test);
  });
  after(() => test.close());

  accountsContract(() => rig.accounts);

  it("signs in with a password: a cookie for browsers, a token for programs, both the same session", async () => {
    const { accounts } = rig;
    const email = "in@example.com";
    const made = await accounts.createUser({ name: "In", email, password });
    assert.ok(made.ok);
    const answer = await post(accounts, "/sign-in/email", { email: "IN@example.com", password });
    assert.equal(answer.status, 200);
    const cookie = cookieOf(answer);
    assert.match(cookie, /^__Secure-meter\.session_token=/);
    for (const attribute of ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"])
      assert.match(cookie, new RegExp(attribute, "i"));
    const token = answer.headers.get("set-auth-token") ?? "";
    const proofs = [
      { kind: "cookie", cookie: cookie.split(";")[0] ?? "" },
      { kind: "bearer", token },
    ] as const;
    for (const proof of proofs) assert.equal((await accounts.authenticate(proof))?.userId, made.userId);

    // A stored session can't be used without the server's secret.
    const { rows } = await sql<{ token: string }>`select token from accounts.sessions`.execute(test.db);
    for (const row of rows)
      assert.equal(await accounts.authenticate({ kind: "bearer", token: row.token }), null);

    const out = await accounts.handle(
      new Request(`${baseUrl}/api/auth/sign-out`, {
        method: "POST",
        headers: { cookie: cookie.split(";")[0] ?? "", origin: baseUrl },
      }),
    );
    assert.equal(out.status, 200);
    for (const proof of proofs) assert.equal(await accounts.authenticate(proof), null);
  });

  it("creates a new session for every sign-in, regardless of cookies", async () => {
    const { accounts } = rig;
    const email = "fixed@example.com";
    await accounts.createUser({ name: "Fixed", email, password });
    const first = cookieOf(await post(accounts, "/sign-in/email", { email, password }));
    const planted = first.split(";")[0] ?? "";
    const second = cookieOf(
      await post(accounts, "/sign-in/email", { email, password }, { cookie: planted, origin: baseUrl }),
    );
    assert.notEqual(second.split(";")[0], planted);
  });

  // Planted: calls not taken out of their context; Deno then answered one test's request from another test's closed database.
  it("ignores the async context of the caller", async () => {
    const foreign = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { accounts } = openAccounts(test, {
      policy: {
        allows: async () => seen.push(foreign.getStore()) > 0,
        accountCreated: async () => void seen.push(foreign.getStore()),
      },
    });
    await accounts.createUser({ name: "First", email: "first@example.com", password });
    const body = { name: "Next", email: "next@example.com", password };
    const answer = await foreign.run("somebody else's", () => post(accounts, "/sign-up/email", body));
    assert.equal(answer.status, 200);
    assert.deepEqual(new Set(seen), new Set([undefined]));
  });

  it("responds identically to a wrong password, an unknown address and a deleted account", async () => {
    const { accounts } = rig;
    const email = "known@example.com";
    const made = await accounts.createUser({ name: "Known", email, password });
    const said = async (fields: Record<string, string>) => {
      const answer = await post(accounts, "/sign-in/email", fields);
      assert.equal(answer.headers.get("www-authenticate"), 'Bearer realm="meter"');
      return [answer.status, await answer.json()];
    };
    const wrong = await said({ email, password: "wrong wrong wrong" });
    assert.equal(wrong[0], 401);
    assert.deepEqual(await said({ email: "unknown@example.com", password }), wrong);
    assert.ok(made.ok);
    await accounts.deleteUser(made.userId);
    assert.equal((await said({ email, password }))[0], 401);
    // The purge removes the name. The address and the password are removed at once.
    const { rows } = await sql`select name, email, deleted_at is not null as deleted from accounts.people
      where id = ${made.userId}`.execute(test.db);
    assert.deepEqual(rows, [{ name: "Known", email: `${made.userId}@deleted.invalid`, deleted: true }]);
  });

  it("rejects a sign-in from another site's page, with or without a cookie", async () => {
    const { accounts } = rig;
    const email = "csrf@example.com";
    await accounts.createUser({ name: "C", email, password });
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "https://evil.example", cookie: "a=b" },
      { cookie: "a=b" },
      { origin: "https://evil.example", "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" },
    ] as Record<string, string>[]) {
      const answer = await post(accounts, "/sign-in/email", { email, password }, headers);
      assert.equal(answer.status, 403, JSON.stringify(headers));
      assert.equal(answer.headers.getSetCookie().length, 0);
    }
  });

  it("accepts a sign-in by Node's fetch, which sends only Sec-Fetch-Mode", async () => {
    const { accounts } = rig;
    const email = "program@example.com";
    await accounts.createUser({ name: "P", email, password });
    const signIn = (headers: Record<string, string>) =>
      post(accounts, "/sign-in/email", { email, password }, { "sec-fetch-mode": "cors", ...headers });
    assert.equal((await signIn({})).status, 200);
    assert.equal((await signIn({ "sec-fetch-site": "cross-site" })).status, 403);
  });

  it("resets a password by email, ends all sessions, and does not reveal who has an account", async () => {
    const { accounts, mails } = rig;
    const email = "forgot@example.com";
    const made = await accounts.createUser({ name: "F", email, password: null });
    assert.ok(made.ok);
    const session = await accounts.createSession(made.userId);
    const asked = async (address: string) => {
      const answer = await post(accounts, "/request-password-reset", { email: address });
      return [answer.status, await answer.json()];
    };
    assert.deepEqual(await asked(email), await asked("stranger@example.com"));
    assert.equal(mails.length, 1);
    // After the `#`, which browsers do not send to servers.
    const [, token] = /\/reset-password#([\w-]+)\n/.exec(mails[0]?.text ?? "") ?? [];
    await asked(email);
    const [, other] = /#([\w-]+)\n/.exec(mails.at(-1)?.text ?? "") ?? [];
    assert.notEqual(other, token);
    const reset = (word = token) => post(accounts, "/reset-password", { newPassword: password, token: word });
    assert.equal((await reset()).status, 200);
    assert.equal((await reset()).status, 400);
    // Emails sent before and after it are no longer valid either.
    assert.equal((await reset(other)).status, 400);
    assert.equal(await accounts.authenticate({ kind: "bearer", token: session }), null);
    assert.equal((await post(accounts, "/sign-in/email", { email, password })).status, 200);
  });

  it("responds identically if an email is sent, slow or fails, or the address is unknown", async () => {
    const { accounts } = rig;
    const [sent, gone] = ["sent@example.com", "gone@example.com"];
    await accounts.createUser({ name: "S", email: sent, password });
    const closed = await accounts.createUser({ name: "G", email: gone, password });
    assert.ok(closed.ok);
    await accounts.deleteUser(closed.userId);
    const failures: unknown[] = [];
    const mailed: string[] = [];
    const asked = async (mail: AccountsSettings["mail"], email: string) => {
      const own = openAccounts(test, { mail, mailFailed: (cause) => failures.push(cause) });
      const answer = await post(own.accounts, "/request-password-reset", { email });
      return [answer.status, await answer.json()];
    };
    const noted: AccountsSettings["mail"] = async ({ to }) => {
      mailed.push(to);
    };
    const usual = await asked(noted, sent);
    assert.equal(usual[0], 200);
    assert.deepEqual(await asked(noted, gone), usual);
    assert.deepEqual(await asked(noted, "nobody@example.com"), usual);
    assert.deepEqual(mailed, [sent]);
    assert.deepEqual(await asked(() => new Promise(() => {}), sent), usual);
    assert.deepEqual(await asked(async () => Promise.reject(new Error("no server")), sent), usual);
    assert.deepEqual(
      failures.map((cause) => (cause as Error).message),
      ["no server"],
    );
  });

  it("ends every session and open reset when a password is changed, and starts a session for the person who changed it", async () => {
    const { accounts, mails } = rig;
    const email = "changed@example.com";
    const made = await accounts.createUser({ name: "C", email, password });
    assert.ok(made.ok);
    const [mine, other] = [
      await accounts.createSession(made.userId),
      await accounts.createSession(made.userId),
    ];
    await post(accounts, "/request-password-reset", { email });
    const [, linkSecret] = /#([\w-]+)\n/.exec(mails.at(-1)?.text ?? "") ?? [];
    assert.ok(linkSecret);
    const change = (fields: Record<string, unknown>) =>
      post(
        accounts,
        "/change-password",
        { newPassword: `${password} 2`, ...fields },
        { authorization: `Bearer ${mine}` },
      );
    assert.equal((await change({ currentPassword: "wrong wrong wrong" })).status, 400);
    assert.notEqual(await accounts.authenticate({ kind: "bearer", token: other }), null);
    const answer = await change({ currentPassword: password, revokeOtherSessions: false });
    assert.equal(answer.status, 200);
    for (const token of [mine, other])
      assert.equal(await accounts.authenticate({ kind: "bearer", token }), null);
    const token = answer.headers.get("set-auth-token") ?? "";
    assert.equal((await accounts.authenticate({ kind: "bearer", token }))?.userId, made.userId);
    const reset = await post(accounts, "/reset-password", { newPassword: password, token: linkSecret });
    assert.equal(reset.status, 400);
  });

  it("sends at most three reset emails while they are valid, and responds as before", async () => {
    const { accounts, mails } = rig;
    const email = "flooded@example.com";
    await accounts.createUser({ name: "F", email, password });
    const sent = () => mails.filter(({ to }) => to === email).length;
    const ask = async () => {
      const answer = await post(accounts, "/request-password-reset", { email });
      return [answer.status, await answer.json()];
    };
    const answers = [];
    for (let turn = 0; turn < 5; turn += 1) answers.push(await ask());
    assert.equal(sent(), 3);
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
    await sql`update accounts.verifications set expires_at = now() - interval '1 second'`.execute(test.db);
    await ask();
    assert.equal(sent(), 4);
  });

  it("ends a session after a week", async () => {
    const { accounts } = rig;
    const made = await accounts.createUser({ name: "W", email: "week@example.com", password: null });
    assert.ok(made.ok);
    const token = await accounts.createSession(made.userId);
    await sql`update accounts.sessions set expires_at = now() - interval '1 second' where user_id = ${made.userId}`.execute(
      test.db,
    );
    assert.equal(await accounts.authenticate({ kind: "bearer", token }), null);
  });

  it("offers only sign-in, sign-out and passwords", async () => {
    const { accounts } = rig;
    for (const path of ["/update-user", "/delete-user", "/change-email", "/link-social", "/list-sessions"]) {
      assert.equal((await post(accounts, path, {})).status, 404, path);
    }
    assert.equal((await accounts.handle(new Request(`${baseUrl}/api/auth/ok`))).status, 404);
  });
});

describeOnOneEngine("signing up", (engine) => {
  const { open, closeAll } = closing(engine);
  after(closeAll);

  const signUp = (accounts: Accounts<Request, Response>, email: string, fields = {}) =>
    post(accounts, "/sign-up/email", { name: "N", email, password, ...fields });

  it("allows the first account, and then those that the policy allows", async () => {
    const test = await open();
    const { accounts, opened } = openAccounts(test);
    // A sign-up can't set the account's own fields.
    for (const field of ["isFirst", "deletedAt"])
      assert.equal((await signUp(accounts, "first@example.com", { [field]: true })).status, 400, field);
    const first = await signUp(accounts, "first@example.com", { emailVerified: true, id: "mine" });
    assert.equal(first.status, 200);
    const { rows } = await sql`select email_verified, id = 'mine' as "chosen" from accounts.people`.execute(
      test.db,
    );
    assert.deepEqual(rows, [{ email_verified: false, chosen: false }]);
    const token = first.headers.get("set-auth-token") ?? "";
    assert.equal((await accounts.authenticate({ kind: "bearer", token }))?.email, "first@example.com");
    // A known and an unknown address get the same refusal.
    const refusals = await Promise.all(
      ["first@example.com", "second@example.com"].map(async (email) => {
        const answer = await signUp(accounts, email);
        return [answer.status, await answer.json()];
      }),
    );
    assert.deepEqual(refusals[0], refusals[1]);
    assert.equal(refusals[0]?.[0], 403);
    assert.equal((refusals[0]?.[1] as { code?: string } | undefined)?.code, "sign_up_closed");
    assert.equal((await signUp(accounts, "second@example.com", { invitation: "please" })).status, 200);
    assert.deepEqual(opened, [
      ["first@example.com", null],
      ["second@example.com", "please"],
    ]);
  });

  it("creates one first account if several people sign up at once", async () => {
    const test = await open();
    const { accounts, opened } = openAccounts(test);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, at) => signUp(accounts, `p${at}@example.com`)),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.equal(statuses[0], 200);
    // Each of the others found sign-up closed or met the first one's row.
    for (const status of statuses.slice(1)) assert.ok(status === 403 || status === 503, String(status));
    assert.equal(opened.length, 1);
    const { rows } = await sql`select count(*) as n from accounts.people`.execute(test.db);
    assert.deepEqual(rows, [{ n: "1" }]);
  });

  it("stays closed after the first account was deleted", async () => {
    const test = await open();
    const { accounts } = openAccounts(test);
    await signUp(accounts, "first@example.com");
    const first = await accounts.findByEmail("first@example.com");
    await accounts.deleteUser(first?.userId ?? "");
    assert.equal((await signUp(accounts, "second@example.com")).status, 403);
  });

  it("rejects a short password, an invalid address, and a body that is not an object", async () => {
    const test = await open();
    const { accounts } = openAccounts(test);
    assert.equal((await signUp(accounts, "a@example.com", { password: "short" })).status, 400);
    assert.equal((await signUp(accounts, "nowhere")).status, 400);
    for (const name of ["", "   ", "x".repeat(101), "a\u0000b", 7, null]) {
      const answer = await signUp(accounts, "a@example.com", { name });
      assert.equal(answer.status, 400, String(name));
    }
    for (const body of [null, [], "x", { email: { $ne: "" }, password: [] }]) {
      assert.equal((await post(accounts, "/sign-up/email", body)).status, 400, JSON.stringify(body));
    }
  });
});

describeOnOneEngine("the accounts' tables", (engine) => {
  const { open, closeAll } = closing(engine);
  after(closeAll);

  it("cannot be read by the role for requests, nor the cloud's tables by the role for accounts", async () => {
    const test = await open();
    const { accounts } = openAccounts(test);
    await accounts.createUser({ name: "A", email: "a@example.com", password });
    for (const table of ["people", "sessions", "credentials", "verifications"]) {
      const statement = sql.raw(`select * from accounts.${table}`);
      await assert.rejects(
        inScope(test.db, {}, (trx) => statement.execute(trx)),
        { name: "DatabaseError", reason: "forbidden" },
        table,
      );
    }
    for (const table of ["workspaces", "requests", "request_bodies", "sync_keys", "organisation_members"]) {
      const asAccounts = test.db.transaction().execute(async (trx) => {
        await sql`select set_config('role', 'meter_accounts', true)`.execute(trx);
        await sql.raw(`select * from ${table}`).execute(trx);
      });
      await assert.rejects(asAccounts, { name: "DatabaseError", reason: "forbidden" }, table);
    }
  });

  it("reset the role on the connections that they use", async () => {
    const test = await open({ maxConnections: 1 });
    const { accounts } = openAccounts(test);
    const role = async () => (await sql<{ r: string }>`select current_user as r`.execute(test.db)).rows[0]?.r;
    const before = await role();
    await accounts.createUser({ name: "A", email: "a@example.com", password: null });
    await accounts.createUser({ name: "A", email: "a@example.com", password: null });
    assert.equal(await role(), before);
  });

  it("store passwords as hashes, and no reset tokens", async () => {
    const test = await open();
    const { accounts, mails } = openAccounts(test);
    await accounts.createUser({ name: "A", email: "a@example.com", password });
    await post(accounts, "/request-password-reset", { email: "a@example.com" });
    const [, token = "?"] = /#([\w-]+)/.exec(mails[0]?.text ?? "") ?? [];
    const { rows } = await sql<{ t: string }>`
      select (select json_agg(c) from accounts.credentials c)::text
        || (select json_agg(v) from accounts.verifications v)::text as t`.execute(test.db);
    assert.ok(!rows[0]?.t.includes(password) && !rows[0]?.t.includes(token));
  });
});

describe("createBetterAuthAccounts()", () => {
  it("rejects a secret that is too short", async () => {
    const { openPgliteInMemory } = await import("../../../adapters/postgres/pglite.ts");
    const { openCloudDatabase } = await import("../../../cloud/store/open-database.ts");
    const db = openCloudDatabase(openPgliteInMemory());
    assert.throws(() => openAccounts({ db } as TestDatabase, { secret: "short" }), RangeError);
  });
});
