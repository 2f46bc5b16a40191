import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CompiledQuery, type DatabaseConnection } from "kysely";
import type { Sql } from "postgres";
import { createSessionDriver } from "../../../adapters/postgres/session-pool.ts";

/** A statement that was sent and has not ended. */
interface Sent {
  readonly text: string;
  succeed(): void;
  fail(error: Error): void;
}

/** A connection of a pool whose client answers when the test says so. */
async function open({ prepare = true } = {}) {
  const sent: Sent[] = [];
  const unsafe = (text: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const result = Object.assign([], { command: "SELECT", count: 0 });
    sent.push({ text, succeed: () => resolve(result), fail: reject });
    return promise;
  };
  const driver = createSessionDriver({
    ...{ maxSessions: 1, acquireTimeoutMs: 1_000, setTimer: () => () => {} },
    open: () => ({ unsafe, end: async () => {} }) as unknown as Sql,
    ...{ prepare, begin: "begin" },
  });
  const connection = await driver.acquireConnection();
  return { driver, connection, sent, texts: () => sent.map(({ text }) => text) };
}

const execute = (connection: DatabaseConnection, text: string, ...parameters: unknown[]) =>
  connection.executeQuery(CompiledQuery.raw(text, parameters));

/** Lets everything run that waits for no answer. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("createSessionDriver()", () => {
  /** Like `open()`, with a connection that has answered. */
  async function openConnected() {
    const opened = await open();
    const first = execute(opened.connection, "select 1");
    await turn();
    opened.sent.shift()?.succeed();
    await first;
    return opened;
  }

  it("sends the beginning of a transaction and its first statement together", async () => {
    const { driver, connection, sent, texts } = await openConnected();
    await driver.beginTransaction(connection, {});
    const first = execute(connection, "set local a = 1");
    await turn();
    assert.deepEqual(texts(), ["begin", "set local a = 1"]);
    for (const { succeed } of sent) succeed();
    await first;
  });

  it("begins the first transaction of a connection alone, whose error says why there is no connection", async () => {
    const { driver, connection, sent, texts } = await open();
    const beginning = driver.beginTransaction(connection, {});
    await turn();
    assert.deepEqual(texts(), ["begin"]);
    sent[0]?.fail(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
    await assert.rejects(beginning, { reason: "unavailable", code: "ECONNREFUSED" });
  });

  it("fails the first statement if the transaction could not begin, even if that statement succeeds", async () => {
    const { driver, connection, sent } = await openConnected();
    await driver.beginTransaction(connection, {});
    const first = execute(connection, "select 1");
    await turn();
    sent[0]?.fail(new Error("no transaction"));
    sent[1]?.succeed();
    await assert.rejects(first, { name: "DatabaseError" });
  });

  it("lets nothing follow a statement with parameters that runs for the first time, and keeps the order", async () => {
    const { connection, sent, texts } = await open();
    const all = Promise.allSettled([
      execute(connection, "set local a = 1"),
      execute(connection, "insert $1", 1),
      execute(connection, "update $1", 1),
      execute(connection, "commit"),
    ]);
    await turn();
    assert.deepEqual(texts(), ["set local a = 1", "insert $1"]);
    sent[1]?.succeed();
    await turn();
    assert.deepEqual(texts().slice(2), ["update $1"]);
    sent[2]?.fail(new Error("refused"));
    await turn();
    assert.deepEqual(texts().slice(3), ["commit"]);
    for (const { succeed } of sent) succeed();
    assert.deepEqual(
      (await all).map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected", "fulfilled"],
    );
  });

  it("sends statements that are prepared without waiting for earlier ones", async () => {
    const { connection, sent, texts } = await open();
    for (const text of ["insert $1", "update $1"]) {
      const first = execute(connection, text, 1);
      await turn();
      sent.at(-1)?.succeed();
      await first;
    }
    const all = ["update $1", "insert $1", "update $1"].map((text) => execute(connection, text, 2));
    await turn();
    assert.deepEqual(texts().slice(2), ["update $1", "insert $1", "update $1"]);
    for (const { succeed } of sent) succeed();
    await Promise.all(all);
  });

  it("sends one statement with parameters at a time where none is prepared", async () => {
    const { connection, sent, texts } = await open({ prepare: false });
    const first = execute(connection, "insert $1", 1);
    await turn();
    sent[0]?.succeed();
    await first;
    const all = ["insert $1", "insert $1"].map((text) => execute(connection, text, 2));
    await turn();
    assert.equal(texts().length, 2);
    sent[1]?.succeed();
    await turn();
    sent[2]?.succeed();
    await Promise.all(all);
  });

  it("sends nothing on a connection that was lost while a statement was prepared", async () => {
    const { connection, sent, texts } = await open();
    const all = [execute(connection, "insert $1", 1), execute(connection, "update $1", 1)];
    await turn();
    sent[0]?.fail(Object.assign(new Error("lost"), { code: "CONNECTION_CLOSED" }));
    for (const each of all) await assert.rejects(each, { reason: "unavailable" });
    assert.deepEqual(texts(), ["insert $1"]);
  });
});
