import type { CompiledQuery, QueryResult, Transaction, UpdateResult } from "kysely";
import { DatabaseError } from "../../core/ports/postgres.ts";
import type { CloudSchema } from "./schema.ts";
import { executeTogether } from "./transaction.ts";

/**
 * Throws a conflict unless a statement affected as many rows as it must. The transaction then runs again, and the caller gets a
 * 503 if that does not help. On a cluster, a statement can affect no row without an error while its shard moves.
 */
export function expectRows(affected: number | bigint | undefined, expected: number): void {
  if (Number(affected ?? 0) === expected) return;
  throw new DatabaseError("conflict", {
    message: `a statement affected ${affected ?? 0} rows instead of ${expected}`,
  });
}

/** A statement that changes rows, and how many it must affect. */
export interface CheckedQuery {
  readonly query: CompiledQuery;
  readonly rows: number;
}

/** Makes changes with `executeTogether()`, and returns their results. Throws a conflict if one affected another number of rows. */
export async function changeTogether(
  trx: Transaction<CloudSchema>,
  changes: readonly CheckedQuery[],
): Promise<readonly QueryResult<unknown>[]> {
  const queries = changes.map(({ query }) => query);
  return await executeTogether(trx, queries, ({ numAffectedRows }, at) =>
    expectRows(numAffectedRows, (changes[at] as CheckedQuery).rows),
  );
}

/** Runs an update that must change exactly one row. */
export async function updateOne(update: { executeTakeFirst(): Promise<UpdateResult> }): Promise<void> {
  expectRows((await update.executeTakeFirst()).numUpdatedRows, 1);
}

/** Throws a conflict if a query still finds a row that the statements before it must have changed or deleted. */
export async function expectNoneLeft(left: { executeTakeFirst(): Promise<unknown> }): Promise<void> {
  expectRows((await left.executeTakeFirst()) === undefined ? 0 : 1, 0);
}
