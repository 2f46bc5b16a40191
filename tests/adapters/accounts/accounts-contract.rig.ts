import assert from "node:assert/strict";
import { it } from "node:test";
import type { Accounts } from "../../../core/ports/accounts.ts";

/** The tests that every accounts adapter passes. `open` returns accounts that other tests may share. */
export function accountsContract(open: () => Accounts<Request, Response>): void {
  let made = 0;
  const create = async (accounts: Accounts<Request, Response>, name = "Ann") => {
    made += 1;
    const email = `Ann.${made}@Example.com`;
    const created = await accounts.createUser({ name, email, password: null });
    assert.ok(created.ok);
    return { userId: created.userId, email };
  };

  it("creates an account with its address in lower case, once per address", async () => {
    const accounts = open();
    const { userId, email } = await create(accounts);
    const person = { userId, name: "Ann", email: email.toLowerCase() };
    assert.deepEqual(await accounts.findByEmail(email.toUpperCase()), person);
    assert.deepEqual(
      [...(await accounts.getPeople([userId, "nobody", userId])).entries()].map(([id, found]) => [
        id,
        { ...found },
      ]),
      [[userId, person]],
    );
    assert.deepEqual(await accounts.createUser({ name: "Ben", email: email.toUpperCase(), password: null }), {
      ok: false,
      reason: "email_taken",
    });
    assert.deepEqual(await accounts.createUser({ name: "Ben", email: "nowhere", password: null }), {
      ok: false,
      reason: "email_malformed",
    });
    assert.equal(await accounts.findByEmail("nobody@example.com"), null);
    assert.equal((await accounts.getPeople([])).size, 0);
  });

  it("returns the person of a session, and null for any other token or cookie", async () => {
    const accounts = open();
    const { userId, email } = await create(accounts);
    const token = await accounts.createSession(userId);
    assert.deepEqual(
      { ...(await accounts.authenticate({ kind: "bearer", token })) },
      { userId, name: "Ann", email: email.toLowerCase() },
    );
    const changed = `${token[0] === "a" ? "b" : "a"}${token.slice(1)}`;
    for (const other of [changed, token.slice(0, -8), userId, "x", `${token}x.y`]) {
      assert.equal(await accounts.authenticate({ kind: "bearer", token: other }), null, other);
      assert.equal(await accounts.authenticate({ kind: "cookie", cookie: `session=${other}` }), null, other);
    }
    await assert.rejects(accounts.createSession("nobody"));
  });

  it("ends a person's sessions at once, and no others", async () => {
    const accounts = open();
    const [ann, ben] = [await create(accounts), await create(accounts)];
    const tokens = [await accounts.createSession(ann.userId), await accounts.createSession(ann.userId)];
    const bens = await accounts.createSession(ben.userId);
    await accounts.endSessions(ann.userId);
    await accounts.endSessions(ann.userId);
    for (const token of tokens) assert.equal(await accounts.authenticate({ kind: "bearer", token }), null);
    assert.equal((await accounts.authenticate({ kind: "bearer", token: bens }))?.userId, ben.userId);
  });

  it("closes an account: sessions end, lookups return null, the name stays until it is erased, and the address is free", async () => {
    const accounts = open();
    const { userId, email } = await create(accounts, "Gone");
    const token = await accounts.createSession(userId);
    await accounts.deleteUser(userId);
    await accounts.deleteUser(userId);
    assert.equal(await accounts.authenticate({ kind: "bearer", token }), null);
    assert.equal(await accounts.findByEmail(email), null);
    assert.equal((await accounts.getPeople([userId])).get(userId)?.name, "Gone");
    await assert.rejects(accounts.createSession(userId));
    assert.equal((await accounts.getPeople([userId])).get(userId)?.email, null);
    const again = await accounts.createUser({ name: "New", email, password: null });
    assert.ok(again.ok && again.userId !== userId);
    await accounts.eraseUser(userId);
    await accounts.eraseUser(userId);
    assert.equal((await accounts.getPeople([userId])).get(userId)?.name ?? "", "");
    await accounts.eraseUser(again.userId);
    assert.equal((await accounts.getPeople([again.userId])).get(again.userId)?.name, "New");
  });
}
