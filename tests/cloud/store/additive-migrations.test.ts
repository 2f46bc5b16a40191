import assert from "node:assert/strict";
import { it } from "node:test";
import { sql } from "kysely";
import { CLOUD_MIGRATIONS, migrateCloud } from "../../../cloud/store/migrate.ts";
import type { CloudDatabase } from "../../../cloud/store/open-database.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

/** What the statements of a version rely on, by a name that says what it is. */
type Promises = ReadonlyMap<string, string>;

/** Queries of two columns: what exists, and what must not change about it. */
const QUERIES = [
  `select 'column ' || table_schema || '.' || table_name || '.' || column_name as name, data_type as value
   from information_schema.columns where table_schema in ('public', 'accounts')`,
  `select 'grant ' || grantee || ' ' || privilege_type || ' ' || table_schema || '.' || table_name || '.' || column_name as name,
     '' as value
   from information_schema.column_privileges where grantee like 'meter\\_%' and table_schema in ('public', 'accounts')`,
  `select 'delete ' || grantee || ' ' || table_schema || '.' || table_name as name, '' as value
   from information_schema.table_privileges where grantee like 'meter\\_%' and privilege_type = 'DELETE'`,
  `select 'key ' || c.conrelid::regclass || ' ' || pg_get_constraintdef(c.oid) as name, '' as value
   from pg_constraint c join pg_namespace n on n.oid = c.connamespace
   where c.contype = 'p' and n.nspname in ('public', 'accounts')`,
];

/** Columns that an insert must name. */
const REQUIRED = `select table_schema || '.' || table_name || '.' || column_name as name, table_schema || '.' || table_name as value
  from information_schema.columns
  where table_schema in ('public', 'accounts') and is_nullable = 'NO' and column_default is null and is_generated = 'NEVER'`;

async function read(db: CloudDatabase, text: string): Promise<Promises> {
  const { rows } = await sql.raw<{ name: string; value: string }>(text).execute(db);
  return new Map(rows.map(({ name, value }) => [name, value]));
}

/** A schema as the statements of a version see it. */
interface Schema {
  readonly promises: Promises;
  readonly required: Promises;
}

async function readSchema(db: CloudDatabase): Promise<Schema> {
  const promises = await Promise.all(QUERIES.map((query) => read(db, query)));
  return { promises: new Map(promises.flatMap((each) => [...each])), required: await read(db, REQUIRED) };
}

/** Returns what statements that were written for `before` can't rely on after it. */
function findBroken(before: Schema, after: Schema): string[] {
  const gone = [...before.promises].filter(([name, value]) => after.promises.get(name) !== value);
  const tables = new Set(
    [...before.promises.keys()].flatMap((name) => /^column (\S+)\.[^.]+$/.exec(name)?.[1] ?? []),
  );
  const needed = [...after.required].filter(
    ([name, table]) => tables.has(table) && !before.required.has(name),
  );
  return [...gone, ...needed].map(([name]) => name);
}

describeOnOneEngine("CLOUD_MIGRATIONS", (engine) => {
  it("only add to the schema, so that processes of the previous version keep working during an update", async () => {
    const { db, close } = await engine.openEmpty();
    const broken: string[] = [];
    let schema: Schema | null = null;
    for (const [at, { name }] of CLOUD_MIGRATIONS.entries()) {
      await migrateCloud(db, 0, CLOUD_MIGRATIONS.slice(0, at + 1));
      const after = await readSchema(db);
      broken.push(...findBroken(schema ?? after, after).map((each) => `${name}: ${each}`));
      schema = after;
    }
    assert.deepEqual(broken, []);
    // The test itself: each of these would break a process of the previous version.
    const breaking = [
      ["alter table requests drop column model", "column public.requests.model"],
      ["alter table requests alter column http_status type bigint", "column public.requests.http_status"],
      ["alter table machines rename column hostname to host", "column public.machines.hostname"],
      ["revoke delete on limit_readings from meter_app", "delete meter_app public.limit_readings"],
      ["alter table budgets add column needed text not null", "public.budgets.needed"],
      ["alter table machines alter column fingerprint set not null", "public.machines.fingerprint"],
    ] as const;
    for (const [statement, named] of breaking) {
      const before = await readSchema(db);
      await sql.raw(statement).execute(db);
      const found = findBroken(before, await readSchema(db));
      assert.ok(found.includes(named), `${statement}: ${found.join(", ")}`);
    }
    await close();
  });
});
