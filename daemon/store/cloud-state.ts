import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";
import type { CloudStateRow, CloudStateTable } from "./port/delivery.ts";
import type { Tables } from "./tables.ts";

/** Reads the only row of a state table. */
export function readCloudState<Table extends CloudStateTable>(
  state: SqliteConnection,
  table: Table,
): CloudStateRow<Table> {
  const row = state.prepare<Tables[Table]>(`SELECT * FROM ${table} WHERE id = 1`).get([]);
  if (row === null) throw new RangeError(`the row of ${table} is missing`);
  const { id: _, ...rest } = row;
  return rest as unknown as CloudStateRow<Table>;
}

/** Changes columns of the only row of a state table. */
export function updateCloudState<Table extends CloudStateTable>(
  state: SqliteConnection,
  table: Table,
  change: Partial<CloudStateRow<Table>>,
): void {
  const names = Object.keys(change);
  if (names.length === 0) return;
  if (names.some((name) => !/^[a-z_]+$/.test(name))) throw new RangeError(`not columns: ${names.join(", ")}`);
  state
    .prepare(`UPDATE ${table} SET ${names.map((name) => `${name} = ?`).join(", ")} WHERE id = 1`)
    .run(Object.values(change) as SqliteValue[]);
}
