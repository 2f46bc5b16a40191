import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FIELD_TYPES, storedFields } from "../../../core/values/record-fields.ts";
import { migrate } from "../../../daemon/store/migrate.ts";
import { opener } from "./open-sample-store.rig.ts";

describe("the columns of requests in SQLite", () => {
  it("have the types and nullability of the declared fields", async () => {
    const connection = await opener.open(":memory:");
    migrate(connection);
    const columns = connection
      .prepare<{ name: string; type: string; notnull: number }>("PRAGMA table_info(requests)")
      .all([]);
    const found = new Map(
      columns.map(({ name, type, notnull }) => [name, { type, isRequired: notnull === 1 }]),
    );
    for (const { column, type, nullable, optional } of storedFields) {
      const isRequired = nullable !== true && optional !== true;
      assert.deepEqual(found.get(column), { type: FIELD_TYPES[type].sqlite, isRequired }, column);
      found.delete(column);
    }
    assert.deepEqual(
      [...found.keys()],
      [
        ...["seq", "synced_at", "sync_skipped_at", "recomputed_at", "reassigned_at", "reassigned_from"],
        "sent_fields_id",
      ],
    );
    connection.close();
  });
});
