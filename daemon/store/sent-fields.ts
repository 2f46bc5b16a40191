import type { SqliteConnection } from "../../core/ports/sqlite.ts";

/** The name lists of sent fields by their ID. Each list is stored once. */
type SentFieldLists = ReadonlyMap<number | null, readonly string[]>;

/** Reads all lists. */
export function readSentFieldLists(state: SqliteConnection): SentFieldLists {
  const rows = state
    .prepare<{ id: number; fields: string }>("SELECT sent_fields_id AS id, fields FROM sent_fields")
    .all([]);
  return new Map(rows.map(({ id, fields }) => [id, JSON.parse(fields) as string[]]));
}

/** Adds fields to those sent of the requests. The caller has begun a transaction. */
export function addSentFields(
  state: SqliteConnection,
  requestIds: readonly string[],
  fields: readonly string[],
): void {
  const ids = JSON.stringify(requestIds);
  const isListed = "request_id IN (SELECT value FROM json_each(?))";
  // Most requests are sent once. The cloud still has the earlier fields of those that were sent before.
  const earlier = state
    .prepare<{ id: number | null; fields: string | null }>(
      `SELECT DISTINCT r.sent_fields_id AS id, f.fields FROM requests AS r
       LEFT JOIN sent_fields AS f USING (sent_fields_id) WHERE ${isListed}`,
    )
    .all([ids]);
  for (const before of earlier) {
    const sent = before.fields === null ? [] : (JSON.parse(before.fields) as string[]);
    const id = findOrCreateList(state, [...new Set([...sent, ...fields])].sort());
    if (id === before.id) continue;
    state
      .prepare(`UPDATE requests SET sent_fields_id = ? WHERE sent_fields_id IS ? AND ${isListed}`)
      .run([id, before.id, ids]);
  }
}

function findOrCreateList(state: SqliteConnection, fields: readonly string[]): number {
  const text = JSON.stringify(fields);
  state.prepare("INSERT INTO sent_fields (fields) VALUES (?) ON CONFLICT DO NOTHING").run([text]);
  const row = state
    .prepare<{ id: number }>("SELECT sent_fields_id AS id FROM sent_fields WHERE fields = ?")
    .get([text]);
  if (row === null) throw new RangeError("the list of sent fields is missing");
  return row.id;
}
