import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { TABLE_PLACES } from "../../../cloud/store/table-places.ts";
import { describeOnOneEngine, type TestDatabase } from "../kit/engines.ts";

const distributed = Object.entries(TABLE_PLACES)
  .filter(([, place]) => place === "distributed")
  .map(([table]) => table);

describeOnOneEngine("the schema fits a cluster", (engine) => {
  let test: TestDatabase;
  before(async () => {
    test = await engine.open();
  });
  after(() => test.close());

  const column = async (text: string) => {
    const { rows } = await sql.raw<{ name: string }>(text).execute(test.db);
    return rows.map(({ name }) => name);
  };

  it("gives each table a place", async () => {
    const tables = await column(`select relname as name from pg_class
      where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace`);
    assert.deepEqual(tables.sort(), Object.keys(TABLE_PLACES).sort());
  });

  it("has the workspace in each key and unique index of a distributed table", async () => {
    const keys = `select i.indexrelid::regclass::text as name from pg_index i
      join pg_class c on c.oid = i.indrelid
      where i.indisunique and c.relname = any ('{${distributed.join(",")}}')`;
    const withWorkspace = `${keys} and exists (select from pg_attribute a
      where a.attrelid = c.oid and a.attname = 'workspace_id' and a.attnum = any (i.indkey))`;
    const all = await column(keys);
    assert.ok(all.length >= distributed.length, `${all.length} keys`);
    assert.deepEqual(await column(`${keys} except ${withWorkspace}`), []);
  });

  it("has no foreign key from a distributed table to one on the coordinator, and none without the workspace", async () => {
    const foreign = `select f.conname as name from pg_constraint f
      join pg_class c on c.oid = f.conrelid join pg_class r on r.oid = f.confrelid
      where f.contype = 'f' and c.relname = any ('{${distributed.join(",")}}')`;
    const allowed = `${foreign} and r.relname = any ('{${distributed.join(",")}}')
      and exists (select from pg_attribute a
        where a.attrelid = c.oid and a.attname = 'workspace_id' and a.attnum = any (f.conkey))`;
    assert.deepEqual(await column(`${foreign} except ${allowed}`), []);
  });

  it("has no subquery in a policy", async () => {
    const policies = "select policyname as name from pg_policies";
    assert.ok((await column(policies)).length > distributed.length);
    assert.deepEqual(await column(`${policies} where concat(qual, ' ', with_check) ~* '\\mselect\\M'`), []);
  });
});
