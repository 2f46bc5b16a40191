import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Kysely, sql } from "kysely";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { openPgliteFolder } from "../../../adapters/postgres/pglite.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import { describeOnEngines, describeOnPostgres, type TestDatabase } from "../../cloud/kit/engines.ts";

/** One statement for each kind of failure that callers handle. */
const FAILURES: [statement: string, reason: string][] = [
  ["select 1 / 0", "invalid_value"],
  ["select 'x'::uuid", "invalid_value"],
  ["select 99999999999::integer", "invalid_value"],
  ["insert into organisations (organisation_id) values (null)", "constraint"],
  ["select * from nothing_of_that_name", "other"],
  ["do $$ begin raise exception using errcode = '40001'; end $$", "conflict"],
  ["do $$ begin raise exception using errcode = '40P01'; end $$", "conflict"],
  ["do $$ begin raise exception using errcode = '57014'; end $$", "timeout"],
  ["do $$ begin raise exception using errcode = '42501'; end $$", "forbidden"],
  ["do $$ begin raise exception using errcode = '53300'; end $$", "unavailable"],
  ["do $$ begin raise exception using errcode = 'XX000'; end $$", "unavailable"],
];

describeOnEngines("a database behind the port", (engine) => {
  let test: TestDatabase;
  before(async () => {
    test = await engine.open();
  });
  after(() => test.close());

  it("reads values as the port states, in any time zone of the server", async () => {
    const { rows } = await sql`select
      9223372036854775807::bigint as int8,
      '12345678901234567890.5'::numeric as "numeric",
      '2026-11-21 12:00:00.123+05:30'::timestamptz as timestamptz,
      '0001-01-01T00:00:00Z'::timestamptz as earliest,
      '9999-12-31T23:59:59.999Z'::timestamptz as latest,
      '2026-11-21'::date as "date",
      '\\x00ff'::bytea as bytea,
      '{"a": [1, null]}'::jsonb as jsonb,
      null::bigint as nothing`.execute(test.db);
    const [{ bytea, ...others }] = rows as [Record<string, unknown>];
    assert.deepEqual(others, {
      int8: "9223372036854775807",
      numeric: "12345678901234567890.5",
      timestamptz: Date.UTC(2026, 10, 21, 6, 30, 0, 123),
      earliest: -62_135_596_800_000,
      latest: 253_402_300_799_999,
      date: "2026-11-21",
      jsonb: { a: [1, null] },
      nothing: null,
    });
    assert.deepEqual(new Uint8Array(bytea as Uint8Array), new Uint8Array([0, 255]));
  });

  it("writes what it reads", async () => {
    const at = Date.UTC(1999, 11, 31, 23, 59, 59, 999);
    const { rows } = await sql`select
      ${at}::timestamptz as millis,
      ${"1999-12-31T23:59:59.999Z"}::timestamptz as iso,
      ${"2026-11-21"}::date as "date",
      ${9007199254740993n}::bigint as bigint,
      ${"9007199254740993"}::numeric as "numeric",
      ${JSON.stringify({ a: "é\u{1f600}" })}::text::jsonb as jsonb,
      encode(${new Uint8Array([0, 1, 255])}::bytea, 'hex') as bytea`.execute(test.db);
    assert.deepEqual(rows, [
      {
        millis: at,
        iso: at,
        date: "2026-11-21",
        bigint: "9007199254740993",
        numeric: "9007199254740993",
        jsonb: { a: "é\u{1f600}" },
        bytea: "0001ff",
      },
    ]);
  });

  it("throws the port's error for every failure, without the statement's parameters", async () => {
    for (const [statement, reason] of FAILURES) {
      await assert.rejects(
        sql.raw(statement).execute(test.db),
        (error: Error) => error.name === "DatabaseError" && (error as { reason?: string }).reason === reason,
        statement,
      );
    }
    await assert.rejects(sql`select ${"secret-canary"}::uuid`.execute(test.db), (error: Error) => {
      return !error.message.includes("canary");
    });
  });

  it("names the violated rule", async () => {
    const insert = () =>
      test.db.insertInto("cloud_migrations").values({ name: "twice", applied_at: 0 }).execute();
    await insert();
    await assert.rejects(insert(), { reason: "constraint", constraint: "cloud_migrations_pkey" });
  });
});

describeOnPostgres("openPostgres()", (engine) => {
  it("rejects if no connection becomes free in time, and uses one that does", async () => {
    const test = await engine.open({ maxConnections: 1, acquireTimeoutMs: 1_000 });
    let release = () => {};
    const held = test.db.connection().execute(() => new Promise<void>((resolve) => (release = resolve)));
    await assert.rejects(sql`select 1`.execute(test.db), { reason: "unavailable" });
    release();
    await held;
    const { rows } = await sql`select 1 as one`.execute(test.db);
    assert.deepEqual(rows, [{ one: 1 }]);
    await test.close();
  });

  it("ends a statement that takes too long", async () => {
    const test = await engine.open({ statementTimeoutMs: 100 });
    await assert.rejects(sql`select pg_sleep(10)`.execute(test.db), { reason: "timeout" });
    await test.close();
  });

  it("throws unavailable without a server", async () => {
    const { dialect } = openPostgres("postgres://127.0.0.1:1/nothing", systemClock, {
      acquireTimeoutMs: 1_000,
    });
    const db = new Kysely({ dialect });
    await assert.rejects(sql`select 1`.execute(db), { reason: "unavailable" });
    await db.destroy();
  });
});

describe("openPgliteFolder()", () => {
  it("keeps its data, and rejects a second process meanwhile", async () => {
    const folder = mkdtempSync(join(tmpdir(), "meter-pglite-"));
    const open = async () =>
      new Kysely<{ seen: { n: number } }>({ dialect: (await openPgliteFolder(folder)).dialect });
    const first = await open();
    await sql`create table seen (n integer)`.execute(first);
    await sql`insert into seen values (7)`.execute(first);
    await assert.rejects(openPgliteFolder(folder), { name: "DatabaseError", reason: "unavailable" });
    await first.destroy();
    const second = await open();
    assert.deepEqual(await second.selectFrom("seen").select("n").execute(), [{ n: 7 }]);
    await second.destroy();
    rmSync(folder, { recursive: true });
  });
});
