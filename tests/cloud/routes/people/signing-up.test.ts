import assert from "node:assert/strict";
import { before, it } from "node:test";
import { createBetterAuthAccounts } from "../../../../adapters/accounts/create-accounts.ts";
import { createRandomBytes, sha256 } from "../../../../adapters/crypto/node-crypto.ts";
import { createUser, listWorkspacesOf } from "../../../../cloud/accounts/admin.ts";
import { createSignUpPolicy } from "../../../../cloud/accounts/sign-up-policy.ts";
import type { Clock } from "../../../../core/ports/clock.ts";
import { uuidV7 } from "../../../../core/values/uuid.ts";
import { lowerPasswordCost } from "../../../adapters/accounts/low-cost-passwords.rig.ts";
import { type CloudRig, createRig, json } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine, type Engine, type TestDatabase } from "../../kit/engines.ts";

before(lowerPasswordCost);

const BASE = "http://127.0.0.1:8787";
const password = "correct horse battery";
const randomBytes = createRandomBytes();

function accountsOn(test: TestDatabase, clock: Clock, openSignUp: boolean) {
  const parts = { db: test.db, clock, randomBytes, sha256 };
  return createBetterAuthAccounts(test.db, {
    baseUrl: BASE,
    secret: "a secret of the tests that is long enough 0123456789",
    newId: () => uuidV7(clock.now(), randomBytes(10)),
    mail: async () => {},
    policy: createSignUpPolicy(parts, { openSignUp }),
  });
}

/** A cloud as served, with accounts by better-auth. */
async function withPeople(
  engine: Engine,
  openSignUp: boolean,
  work: (rig: CloudRig) => Promise<void>,
  signInPerAddress = 1e6,
): Promise<void> {
  const rig = await createRig(engine, {
    config: { baseUrl: BASE, rateLimits: { perUser: 1e6, signInPerAddress } },
    accounts: (test, clock) => accountsOn(test, clock, openSignUp),
  });
  try {
    await work(rig);
  } finally {
    await rig.close();
  }
}

const tokenOf = (answer: Response) => answer.headers.get("set-auth-token") ?? "";

const signUp = (rig: CloudRig, email: string, invitation?: string) =>
  rig.main("POST", "/api/auth/sign-up/email", {
    name: "Ann",
    email,
    password,
    ...(invitation === undefined ? {} : { invitation }),
  });

describeOnOneEngine("signing up", (engine) => {
  it("gives the first person an organisation and a workspace, and those whom they invite theirs", async () => {
    await withPeople(engine, false, async (rig) => {
      const first = await signUp(rig, "ann@example.com");
      assert.equal(first.status, 200);
      const me = await json(rig.call("GET", "/v1/me", tokenOf(first)));
      assert.deepEqual(
        [me.organisations[0].name, me.organisations[0].role, me.workspaces[0].name, me.workspaces[0].role],
        ["Ann's organisation", "owner", "Main", "admin"],
      );
      assert.equal((await json(signUp(rig, "ben@example.com"))).code, "sign_up_closed");

      const workspaceId = me.workspaces[0].id;
      const path = `/v1/workspaces/${workspaceId}/invitations`;
      const { link } = await json(rig.call("POST", path, tokenOf(first), { email: "ben@example.com" }));
      const [, invitation] = link.split("#");
      // Another person with Ben's link, and Ben with a changed link.
      assert.equal((await signUp(rig, "eve@example.com", invitation)).status, 403);
      assert.equal((await signUp(rig, "ben@example.com", `${invitation.slice(0, -2)}AA`)).status, 403);
      const ben = await signUp(rig, "Ben@example.com", invitation);
      assert.equal(ben.status, 200);
      const his = await json(rig.call("GET", "/v1/me", tokenOf(ben)));
      assert.deepEqual(
        his.workspaces.map((one: { id: string; role: string }) => [one.id, one.role]),
        [[workspaceId, "member"]],
      );
      assert.equal((await signUp(rig, "eve@example.com", invitation)).status, 403);
    });
  });

  it("is available to everyone if it is open, each with their own workspace", async () => {
    await withPeople(engine, true, async (rig) => {
      const tokens = [];
      for (const email of ["a@example.com", "b@example.com"]) tokens.push(tokenOf(await signUp(rig, email)));
      const [one, other] = await Promise.all(tokens.map((token) => json(rig.call("GET", "/v1/me", token))));
      assert.notEqual(one.workspaces[0].id, other.workspaces[0].id);
      const foreign = await rig.call(
        "GET",
        `/v1/workspaces/${one.workspaces[0].id}/settings`,
        tokens[1] ?? "",
      );
      assert.equal(foreign.status, 404);
    });
  });

  it("signs in and out with a cookie, slowed down by address", async () => {
    await withPeople(
      engine,
      false,
      async (rig) => {
        const made = await createUser(rig.parts, { name: "Op", email: "op@example.com", password });
        assert.ok(made.ok);
        assert.deepEqual(
          (await listWorkspacesOf(rig.parts, "OP@example.com"))?.map(({ workspaceId, role }) => [
            workspaceId,
            role,
          ]),
          [[made.workspaceId, "admin"]],
        );
        assert.equal(await listWorkspacesOf(rig.parts, "nobody@example.com"), null);
        const signIn = (word: string) =>
          rig.main(
            "POST",
            "/api/auth/sign-in/email",
            { email: "op@example.com", password: word },
            { origin: BASE },
          );
        const answer = await signIn(password);
        const cookie = answer.headers.getSetCookie()[0]?.split(";")[0] ?? "";
        // Plain HTTP on a loopback address: the cookie must work there too.
        assert.match(cookie, /^meter\.session_token=/);
        const me = await rig.main("GET", "/v1/me", undefined, { cookie });
        assert.equal((await json(me)).user.email, "op@example.com");
        const evil = { cookie, origin: "https://evil.example" };
        assert.equal((await rig.main("POST", "/api/auth/sign-out", {}, evil)).status, 403);
        assert.equal(
          (await rig.main("POST", "/api/auth/sign-out", {}, { cookie, origin: BASE })).status,
          200,
        );
        assert.equal((await rig.main("GET", "/v1/me", undefined, { cookie })).status, 401);
        for (let turn = 0; turn < 3; turn += 1) assert.equal((await signIn("wrong wrong wrong")).status, 401);
        const limited = await signIn(password);
        assert.equal(limited.status, 429);
        assert.ok(Number(limited.headers.get("retry-after")) > 0);
      },
      5,
    );
  });

  it("accepts only what a sign-in needs, and offers nothing else at its address", async () => {
    await withPeople(engine, false, async (rig) => {
      const large = await rig.main("POST", "/api/auth/sign-in/email", { email: "x".repeat(20_000) });
      assert.equal(large.status, 413);
      assert.equal((await rig.main("GET", "/api/auth/list-sessions")).status, 404);
      assert.equal((await rig.main("POST", "/api/auth/update-user", { name: "x" })).status, 404);
      assert.equal((await rig.main("PUT", "/api/auth/sign-in/email", {})).status, 404);
      assert.equal((await rig.main("HEAD", "/api/auth/get-session")).status, 404);
    });
  });
});
