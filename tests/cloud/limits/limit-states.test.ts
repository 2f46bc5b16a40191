import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { createMemoryStates, type LimitStates, statesOf } from "../../../cloud/limits/limit-states.ts";
import { createSharedStates, deleteExpiredStates } from "../../../cloud/store/limit-states.ts";
import { describeOnOneEngine, type TestDatabase } from "../kit/engines.ts";

const EXPIRES_AT = 60_000;

/** Adds one to the count of each client and returns the counts before. */
async function count(states: LimitStates, clients: readonly string[], now = 0): Promise<(number | null)[]> {
  return await states.change<number, (number | null)[]>(clients, now, (before) => ({
    states: before.map((each) => (each ?? 0) + 1),
    expiresAt: EXPIRES_AT,
    result: [...before],
  }));
}

/** What holds for all states. */
function testStates(create: () => LimitStates): void {
  it("change() passes the states of the clients in their order, null for a new one", async () => {
    const states = statesOf("order", create());
    assert.deepEqual(await count(states, ["b", "a"]), [null, null]);
    assert.deepEqual(await count(states, ["a"]), [1]);
    assert.deepEqual(await count(states, ["c", "a", "b"]), [null, 2, 1]);
    const look = { states: null, expiresAt: 0, result: "seen" };
    assert.equal(await states.change(["a"], 0, () => look), "seen");
    assert.deepEqual(await count(states, ["a"]), [3]);
  });

  it("change() does not pass a state that has expired", async () => {
    const states = statesOf("expiry", create());
    await count(states, ["a"]);
    assert.deepEqual(await count(states, ["a"], EXPIRES_AT - 1), [1]);
    assert.deepEqual(await count(states, ["a"], EXPIRES_AT), [null]);
  });

  it("change() separates the clients of different limits", async () => {
    const states = create();
    await count(statesOf("one", states), ["a"]);
    assert.deepEqual(await count(statesOf("other", states), ["a"]), [null]);
  });

  it("simultaneous changes of overlapping clients are all counted", async () => {
    const states = statesOf("together", create());
    const clients = ["a", "b", "c"];
    // Each in another order: transactions that lock in the order of their clients would wait for each other.
    await Promise.all(
      Array.from({ length: 12 }, (_, at) => count(states, at % 2 === 0 ? clients : clients.toReversed())),
    );
    assert.deepEqual(await count(states, clients), [12, 12, 12]);
  });
}

describe("createMemoryStates()", () => {
  testStates(() => createMemoryStates());

  it("removes the clients that expire first if there are too many", async () => {
    const states = createMemoryStates(10);
    for (let at = 0; at < 11; at += 1) await count(states, [`client-${at}`]);
    assert.deepEqual(await count(states, ["client-10"]), [1]);
    assert.deepEqual(await count(states, ["client-0"]), [null]);
  });
});

describeOnOneEngine("createSharedStates()", (engine) => {
  let test: TestDatabase;
  before(async () => {
    test = await engine.open();
  });
  after(() => test.close());

  testStates(() => createSharedStates(test.db, sha256));

  it("stores no client's name, and deleteExpiredStates() deletes what has expired", async () => {
    const states = createSharedStates(test.db, sha256);
    const rows = () => test.db.selectFrom("limit_states").selectAll().execute();
    await count(states, ["address 192.0.2.7"]);
    assert.ok(!JSON.stringify(await rows()).includes("192.0.2.7"));
    await deleteExpiredStates(test.db, EXPIRES_AT - 1);
    assert.notEqual((await rows()).length, 0);
    await deleteExpiredStates(test.db, EXPIRES_AT);
    assert.deepEqual(await rows(), []);
  });
});
