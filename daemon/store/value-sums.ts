import type { SqliteConnection, SqliteValue } from "../../core/ports/sqlite.ts";
import { TOKEN_COLUMNS, VALUE_COLUMNS, VALUE_COUNTS, type ValueColumn } from "./rollup-definition.ts";
import { readSummedRows } from "./summed-rows.ts";
import {
  bounds,
  type ColumnSql,
  groupsOf,
  matches,
  type Span,
  type SumQuery,
  type SumRow,
  wantedColumns,
} from "./usage-sums.ts";

/** The sums of a row, as in `SumRow`. A token count that no request states is null. */
export const valueSums = [...VALUE_COUNTS, ...TOKEN_COLUMNS, "cost_high", "cost_low"] as const;

const sums = valueSums.map((column) => `sum(${column}) AS ${column}`).join(", ");

/** The tables of sums by value. */
export const VALUE_TABLES = { hours: "usage_hour_values", days: "usage_day_values" } as const;

/** Returns the column whose sums by value answer a query, or null if only the sums of series do. */
export function valueColumnOf({ columns, filters, only, where = [] }: SumQuery): ValueColumn | null {
  if (only !== undefined) return null;
  const needed = new Set([...columns, ...wantedColumns(filters), ...where.flatMap((each) => each.columns)]);
  // All sums are separated by these two.
  needed.delete("billing_mode");
  needed.delete("cost_source");
  const [column = "", ...others] = needed;
  return others.length > 0 ? null : (VALUE_COLUMNS.find((each) => each === column) ?? null);
}

/** A further column that sums are separated by, as SQL over `span_from`, with the values that it binds. */
export interface TimeColumn {
  readonly sql: string;
  readonly values: readonly SqliteValue[];
}

/** Sums the whole hours or days of a period by the values of one column. */
export function sumValues(
  connection: SqliteConnection,
  kind: keyof typeof VALUE_TABLES,
  span: Span,
  query: SumQuery,
  column: ValueColumn,
  time?: TimeColumn,
): readonly SumRow[] {
  const ofValues: ColumnSql = (name) => (name === column ? "value" : name);
  const { selected, grouped } = groupsOf(query, ofValues);
  const { sql, values } = matches(query, ofValues);
  const [first, group] = time === undefined ? ["", ""] : [`${time.sql}, `, "1, "];
  return readSummedRows(
    connection,
    `SELECT ${first}${selected}, ${sums} FROM ${VALUE_TABLES[kind]}
     WHERE column_name = ? AND span_from >= ? AND span_from < ?${sql} GROUP BY ${group}${grouped}`,
    [...(time?.values ?? []), column, ...bounds(span), ...values],
  );
}
