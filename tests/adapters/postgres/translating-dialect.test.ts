import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from "kysely";
import { MissingPackageError } from "../../../adapters/optional-packages.ts";
import { translatingDialect } from "../../../adapters/postgres/translating-dialect.ts";
import { DatabaseError } from "../../../core/ports/postgres.ts";

/** Runs a statement on a database that fails to open. */
async function failToOpen(cause: Error): Promise<void> {
  const db = new Kysely({
    dialect: translatingDialect({
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (each) => new PostgresIntrospector(each),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createDriver: () => Object.assign(new DummyDriver(), { init: () => Promise.reject(cause) }),
    }),
  });
  await sql`select 1`.execute(db);
}

describe("translatingDialect()", () => {
  it("rejects with the error of the port, with the driver's as its cause", async () => {
    const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    await assert.rejects(failToOpen(cause), (error) => {
      assert.ok(error instanceof DatabaseError);
      assert.deepEqual([error.reason, error.cause], ["unavailable", cause]);
      return true;
    });
  });

  it("rejects with the error of a missing package unchanged, whose message says how to install it", async () => {
    const cause = new MissingPackageError("Install it: npm install @electric-sql/pglite");
    await assert.rejects(failToOpen(cause), cause);
  });
});
