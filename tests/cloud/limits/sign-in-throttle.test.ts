import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createBetterAuthAccounts } from "../../../adapters/accounts/create-accounts.ts";
import { createRandomBytes } from "../../../adapters/crypto/node-crypto.ts";
import {
  createSignInThrottle,
  FAILURES_TTL_MS,
  FIRST_WAIT_MS,
  FREE_FAILURES,
  MAX_WAIT_MS,
} from "../../../cloud/limits/sign-in-throttle.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";
import { lowerPasswordCost } from "../../adapters/accounts/low-cost-passwords.rig.ts";
import { type CloudRig, createRig } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

describe("createSignInThrottle()", () => {
  /** A throttle whose account has failed this often, each time as soon as it was allowed. */
  async function failed(times: number) {
    const throttle = createSignInThrottle();
    let now = 0;
    for (let at = 0; at < times; at += 1) {
      let wait = await throttle.take("ann", `a${at}`, now);
      if (wait !== null) {
        now += wait * 1_000;
        wait = await throttle.take("ann", `a${at}`, now);
      }
      assert.equal(wait, null);
    }
    return { throttle, now };
  }

  it("allows ten wrong passwords, then doubles the wait with each one, up to 15 minutes", async () => {
    const waits = [];
    for (let times = FREE_FAILURES - 1; times < FREE_FAILURES + 9; times += 1) {
      const { throttle, now } = await failed(times);
      waits.push((await throttle.take("ann", "b", now)) ?? 0);
    }
    assert.deepEqual(waits, [0, 15, 30, 60, 120, 240, 480, 900, 900, 900]);
    assert.equal(FIRST_WAIT_MS * 60, MAX_WAIT_MS);
  });

  it("does not count an attempt that it refused", async () => {
    const { throttle, now } = await failed(FREE_FAILURES);
    for (let times = 0; times < 100; times += 1) assert.equal(await throttle.take("ann", "b", now), 15);
    assert.equal(await throttle.take("ann", "b", now + FIRST_WAIT_MS), null);
  });

  it("ends a wait in time after the clock was set back", async () => {
    const { throttle, now } = await failed(FREE_FAILURES);
    const back = now - 3_600_000;
    assert.equal(await throttle.take("ann", "b", back), 15);
    assert.equal(await throttle.take("ann", "b", back + FIRST_WAIT_MS), null);
  });

  it("counts each account separately, and simultaneous attempts each", async () => {
    const { throttle, now } = await failed(FREE_FAILURES);
    assert.equal(await throttle.take("ben", "a", now), null);
    const fresh = createSignInThrottle();
    const taken = await Promise.all(Array.from({ length: 20 }, () => fresh.take("ann", "a", 0)));
    assert.equal(taken.filter((wait) => wait === null).length, FREE_FAILURES);
  });

  it("never delays an address that the account was signed in from", async () => {
    const throttle = createSignInThrottle();
    await throttle.take("ann", "home", 0);
    await throttle.succeeded("ann", "home", 0);
    for (let at = 0; at < 50; at += 1) await throttle.take("ann", `b${at}`, 0);
    assert.notEqual(await throttle.take("ann", "b", 0), null);
    assert.equal(await throttle.take("ann", "home", 0), null);
  });

  it("forgets failures after a success, after a day, and after a refund", async () => {
    const { throttle, now } = await failed(FREE_FAILURES);
    assert.equal(await throttle.take("ann", "b", now + FAILURES_TTL_MS), null);
    await throttle.succeeded("ann", "b", now);
    assert.equal(await throttle.take("ann", "c", now + FAILURES_TTL_MS), null);
    for (let times = 0; times < 50; times += 1) {
      assert.equal(await throttle.take("cat", "c", now), null);
      await throttle.refund("cat", now);
    }
    await throttle.refund("nobody", now);
  });

  it("remembers a bounded number of accounts, and forgets the one that failed longest ago", async () => {
    const { throttle, now } = await failed(FREE_FAILURES);
    for (let at = 0; at < 10_000; at += 1) await throttle.take(`stranger-${at}`, "b", now);
    assert.equal(await throttle.take("ann", "b", now), null);
  });
});

describeOnOneEngine("POST /api/auth/sign-in/email", (engine) => {
  const password = "correct horse battery";
  let rig: CloudRig;
  before(async () => {
    lowerPasswordCost();
    const randomBytes = createRandomBytes();
    rig = await createRig(engine, {
      config: { trustedHops: 1, rateLimits: { signInPerAddress: 1e6 } },
      accounts: ({ db }) =>
        createBetterAuthAccounts(db, {
          baseUrl: "http://127.0.0.1:8787",
          secret: "a secret of the tests that is long enough 0123456789",
          newId: () => uuidV7(0, randomBytes(10)),
          mail: async () => {},
          policy: { allows: async () => false, accountCreated: async () => {} },
        }),
    });
    const made = await rig.accounts.createUser({ name: "Ann", email: "ann@example.com", password });
    assert.ok(made.ok);
  });
  after(() => rig.close());
  const signIn = async (email: string, word: string, address: string) => {
    const headers = { "x-forwarded-for": address };
    const body = { email, password: word };
    return await rig.main("POST", "/api/auth/sign-in/email", body, headers);
  };

  it("slows down guesses from many addresses, in the same way whether or not the account exists", async () => {
    assert.equal((await signIn("ann@example.com", password, "192.0.2.1")).status, 200);
    for (const email of ["ann@example.com", "nobody@example.com"]) {
      const said = [];
      for (let at = 0; at < FREE_FAILURES + 2; at += 1) {
        // Another spelling of the address is the same account.
        const spelling = at % 2 === 0 ? email : email.toUpperCase();
        const answer = await signIn(spelling, "wrong wrong wrong", `198.51.100.${at}`);
        said.push([answer.status, answer.headers.get("retry-after")]);
      }
      const free = Array.from({ length: FREE_FAILURES }, () => [401, null]);
      assert.deepEqual(said, [...free, [429, "15"], [429, "15"]], email);
    }
    assert.equal((await signIn("ann@example.com", password, "203.0.113.9")).status, 429);
    assert.equal((await signIn("ann@example.com", password, "192.0.2.1")).status, 200);
  });

  it("reads JSON in any media type, and no forms, which would not be counted", async () => {
    const guess = async (type: string, body: string) => {
      const headers = { "x-forwarded-for": "198.51.100.99", "content-type": type };
      const sent = await rig.main("POST", "/api/auth/sign-in/email", body, headers);
      return sent.status;
    };
    const fields = { email: "ben@example.com", password: "wrong wrong wrong" };
    const form = "application/x-www-form-urlencoded";
    for (let at = 0; at < FREE_FAILURES; at += 1) {
      assert.equal(await guess(form, `${new URLSearchParams(fields)}`), 400);
      assert.equal(await guess(form, JSON.stringify(fields)), 401);
    }
    assert.equal(await guess("application/json", JSON.stringify(fields)), 429);
  });
});
