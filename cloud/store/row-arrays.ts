/**
 * Returns the columns of a select of rows from one array per column, by their names with their types. Parameter `$first` is the first
 * column's array, and the others follow. PostgreSQL combines the arrays into rows, and fills up shorter ones with nulls. So one column must
 * have no nulls.
 *
 * This takes a quarter of the bytes of `json_to_recordset`, which needs every name in every row, and 45 % less of PostgreSQL's time. The cast to
 * text gives a parameter the same type with every driver.
 */
export function arrayColumns(types: Readonly<Record<string, string>>, first: number): string {
  return Object.entries(types)
    .map(([column, type], at) => `unnest($${first + at}::text::${type}[]) as ${column}`)
    .join(", ");
}

/** Returns the arrays of columns of rows, for `arrayColumns()`. Nulls at the end of a column are left out. */
export function columnArrays(rows: readonly object[], columns: readonly string[]): string[] {
  return columns.map((column) => {
    const read = (row: object) => (row as Readonly<Record<string, unknown>>)[column];
    const stated = rows.slice(0, rows.findLastIndex((row) => read(row) !== null) + 1);
    return arrayText(stated.map(read));
  });
}

/** Returns PostgreSQL's text of an array. An object becomes the text of its JSON. */
function arrayText(values: readonly unknown[]): string {
  const json = JSON.stringify(values);
  // PostgreSQL escapes quotes and backslashes as JSON does, but nothing else, and it has no objects.
  const isSame = !json.includes("\\") && !json.includes("{");
  return `{${isSame ? json.slice(1, -1) : values.map(elementText).join(",")}}`;
}

function elementText(value: unknown): string {
  if (typeof value !== "string" && (typeof value !== "object" || value === null)) return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
