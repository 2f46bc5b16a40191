import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SqliteConnection } from "../../../core/ports/sqlite.ts";
import { changeSums, readSummedRows } from "../../../daemon/store/summed-rows.ts";
import { opener } from "./open-sample-store.rig.ts";

async function withSums(work: (connection: SqliteConnection) => void): Promise<void> {
  const connection = await opener.open(":memory:");
  connection.execute(
    `CREATE TABLE usage_sums_version (version INTEGER NOT NULL) STRICT;
     INSERT INTO usage_sums_version VALUES (0);
     CREATE TABLE sums (at INTEGER NOT NULL, n INTEGER NOT NULL) STRICT;
     INSERT INTO sums VALUES (1, 10), (2, 20)`,
  );
  try {
    work(connection);
  } finally {
    connection.close();
  }
}

const SQL = "SELECT n FROM sums WHERE at >= ?";
const numbers = (connection: SqliteConnection, from: number | bigint, sql = SQL) =>
  readSummedRows<{ n: number }>(connection, sql, [from]).map(({ n }) => n);

describe("readSummedRows()", () => {
  it("remembers rows by query and values until the sums change", () =>
    withSums((connection) => {
      assert.deepEqual(numbers(connection, 1), [10, 20]);
      connection.execute("UPDATE sums SET n = n + 1");
      assert.deepEqual(numbers(connection, 1), [10, 20]);
      assert.deepEqual(numbers(connection, 2), [21]);
      assert.deepEqual(numbers(connection, 1n), [11, 21]);
      changeSums(connection);
      assert.deepEqual(numbers(connection, 1), [11, 21]);
    }));

  it("forgets the rows that were used longest ago when there are too many", () =>
    withSums((connection) => {
      const many = `WITH RECURSIVE every(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM every LIMIT 3000) SELECT n + (SELECT min(n) FROM sums) AS n FROM every`;
      const first = (from: number) => numbers(connection, from, many)[0];
      assert.deepEqual([first(1), first(2)], [11, 12]);
      connection.execute("UPDATE sums SET n = n + 100");
      // The first is used again, so the third query takes the place of the second.
      assert.deepEqual([first(1), first(3)], [11, 113]);
      assert.deepEqual([first(1), first(2)], [11, 112]);
    }));

  it("remembers nothing without a version", () =>
    withSums((connection) => {
      connection.execute("DELETE FROM usage_sums_version");
      assert.deepEqual(numbers(connection, 2), [20]);
      connection.execute("UPDATE sums SET n = n + 1");
      assert.deepEqual(numbers(connection, 2), [21]);
    }));
});
