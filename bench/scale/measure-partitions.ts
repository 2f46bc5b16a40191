import { sql } from "kysely";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import { migrateCloud } from "../../cloud/store/migrate.ts";
import { type CloudDatabase, openCloudDatabase } from "../../cloud/store/open-database.ts";
import { startPostgres } from "../../tests/cloud/kit/postgres-server.ts";
import { median } from "../cpu-time.ts";
import { cpuOf } from "./measure-cloud.ts";

/** A figure for one table of requests, and for a table with a partition for each month. */
interface Pair<Value = number> {
  readonly table: Value;
  readonly partitions: Value;
}

/** The costs and savings of partitions by month. */
export interface MeasuredPartitions {
  readonly rows: number;
  /** Processor time of an inserted row, µs: the medians of all rounds. */
  readonly insertUs: Pair;
  /** Time to plan a count of 100 seconds, ms: the medians of all rounds. */
  readonly planMs: Pair;
  /** Processor time and duration of the first vacuum, ms. */
  readonly firstVacuumMs: Pair;
  readonly firstVacuumWallMs: Pair;
  /** The same after a thousandth of the rows, all of the last month, were filled in; of partitions, only that of the month. */
  readonly monthVacuumMs: Pair;
  readonly monthVacuumWallMs: Pair;
  /** The same after a thousandth of all rows were filled in; of partitions, all. */
  readonly allVacuumMs: Pair;
  readonly allVacuumWallMs: Pair;
}

const MONTHS = 14;
const ROUNDS = 5;
const NOW = Date.UTC(2026, 10, 21, 12);
const WORKSPACE = "01994b8e-7c00-7000-8000-00000000000a";

/** The tables are copies of `requests`, with all of its indexes. */
const NAMES = ["one_table", "by_month"] as const;
type Name = (typeof NAMES)[number];

/** Returns the lowest id of the month that many months ago. */
function firstId(monthsAgo: number): string {
  const start = Date.UTC(2026, 10 - monthsAgo, 1);
  const stamp = start.toString(16).padStart(12, "0");
  return `${stamp.slice(0, 8)}-${stamp.slice(8)}-0000-0000-000000000000`;
}

/** Compares one table with partitions by the month of the id, on a separate PostgreSQL server. */
export async function measurePartitions(rows: number): Promise<MeasuredPartitions> {
  const server = await startPostgres(true);
  // One connection, whose process is measured.
  const db = openCloudDatabase(
    openPostgres(server.url("postgres"), systemClock, { maxConnections: 1, statementTimeoutMs: 0 }),
  );
  try {
    await migrateCloud(db, NOW);
    await createTables(db);
    const { rows: found } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
    const pid = Number(found[0]?.pid);
    const spent = async (work: () => Promise<unknown>): Promise<Spent> => {
      const [cpu, startedAt] = [cpuOf(pid), performance.now()];
      await work();
      return { cpuUs: cpuOf(pid) - cpu, wallMs: performance.now() - startedAt };
    };
    return await measureOn(db, rows, spent);
  } finally {
    await db.destroy();
    await server.stop();
  }
}

interface Spent {
  readonly cpuUs: number;
  readonly wallMs: number;
}

async function measureOn(
  db: CloudDatabase,
  rows: number,
  spent: (work: () => Promise<unknown>) => Promise<Spent>,
): Promise<MeasuredPartitions> {
  const perRound = Math.ceil(rows / ROUNDS);
  const part = (round: number) => ({ first: round * perRound, count: perRound, total: rows });
  const inserts: Record<Name, number[]> = { one_table: [], by_month: [] };
  for (let round = 0; round < ROUNDS; round += 1)
    for (const name of round % 2 === 0 ? NAMES : NAMES.toReversed())
      inserts[name].push((await spent(() => insert(db, name, part(round)))).cpuUs / perRound);
  const vacuum = async (names: Pair<string>) => {
    const table = await spent(() => sql.raw(`vacuum ${names.table}`).execute(db));
    const partitions = await spent(() => sql.raw(`vacuum ${names.partitions}`).execute(db));
    const cpu = { table: table.cpuUs / 1_000, partitions: partitions.cpuUs / 1_000 };
    return { cpu, wall: { table: Math.round(table.wallMs), partitions: Math.round(partitions.wallMs) } };
  };
  const both = { table: "one_table", partitions: "by_month" };
  const first = await vacuum(both);
  for (const name of NAMES) await fillIn(db, name, rows / 1_000, firstId(0));
  const month = await vacuum({ ...both, partitions: "by_month_0" });
  for (const name of NAMES) await fillIn(db, name, rows / 1_000, firstId(MONTHS));
  const all = await vacuum(both);
  const plans: Record<Name, number[]> = { one_table: [], by_month: [] };
  for (let round = 0; round < ROUNDS; round += 1)
    for (const name of NAMES) plans[name].push(await planCount(db, name));
  const pair = (of: Record<Name, number[]>): Pair => ({
    table: round2(median(of.one_table)),
    partitions: round2(median(of.by_month)),
  });
  return {
    ...{ rows: perRound * ROUNDS, insertUs: pair(inserts), planMs: pair(plans) },
    ...{ firstVacuumMs: first.cpu, firstVacuumWallMs: first.wall },
    ...{ monthVacuumMs: month.cpu, monthVacuumWallMs: month.wall },
    ...{ allVacuumMs: all.cpu, allVacuumWallMs: all.wall },
  };
}

const round2 = (value: number) => Math.round(value * 100) / 100;

async function createTables(db: CloudDatabase): Promise<void> {
  const like = "(like requests including all)";
  await sql.raw(`create table one_table ${like} with (autovacuum_enabled = off)`).execute(db);
  await sql.raw(`create table by_month ${like} partition by range (request_id)`).execute(db);
  await sql.raw("create table by_month_default partition of by_month default").execute(db);
  for (let month = 0; month < MONTHS; month += 1)
    await sql
      .raw(
        `create table by_month_${month} partition of by_month
          for values from ('${firstId(month)}') to ('${firstId(month - 1)}') with (autovacuum_enabled = off)`,
      )
      .execute(db);
}

/** Inserts a part of the rows of 13 months, whose times are in order to within an hour. Their ids are UUIDv7 of their times. */
async function insert(
  db: CloudDatabase,
  name: Name,
  { first, count, total }: { readonly first: number; readonly count: number; readonly total: number },
): Promise<void> {
  const from = Date.UTC(2025, 10, 1);
  await sql`
    insert into ${sql.table(name)} (workspace_id, request_id, requested_at, received_at, clock_skewed, machine_id, user_id,
        provider, model, request_kind, streaming, prompt_tokens, completion_tokens, cache_read_tokens,
        cache_write_tokens, tokens_complete, cost_pico_usd, cost_source, rates_source, latency_ms, ttfb_ms,
        http_status, project, attribution_tier, prompt_hash, session_id)
      select ${WORKSPACE}::uuid,
        (lpad(to_hex(ms), 12, '0') || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid,
        to_timestamp(ms / 1000.0), to_timestamp(ms / 1000.0), false, lpad((i % 10)::text, 32, '0')::uuid, 'user-' || i % 10,
        'anthropic', 'model-' || i % 6, 'chat', true, 1000 + i % 977, 100 + i % 89, i % 5003, i % 211, true,
        (i % 1000003) * 1000000, 'computed', 'bundled', 900 + i % 5000, 200 + i % 700, 200, 'project-' || i % 4,
        'git_root', hash || hash, 'session-' || i / 1000
      from (
        select i, md5(i::text) as hash,
          ${from}::bigint + i * ${NOW - from}::bigint / ${total}::bigint
            + ('x' || substr(md5((-i)::text), 1, 8))::bit(32)::bigint % 3600000 as ms
        from generate_series(${first}::bigint, ${first + count - 1}::bigint) as i
      ) as times`.execute(db);
}

/** Fills in a count in rows whose id is at least `from`, as a record that is sent again does. */
async function fillIn(db: CloudDatabase, name: Name, count: number, from: string): Promise<void> {
  await sql`update ${sql.table(name)} set thinking_tokens = coalesce(thinking_tokens, 0) + 1
    where workspace_id = ${WORKSPACE}::uuid and request_id in (
      select request_id from ${sql.table(name)} where request_id >= ${from}::uuid
      order by prompt_hash limit ${Math.ceil(count)}::bigint)`.execute(db);
}

async function planCount(db: CloudDatabase, name: Name): Promise<number> {
  const { rows } = await sql<{
    "QUERY PLAN": string;
  }>`explain (summary on) select count(*) from ${sql.table(name)}
    where workspace_id = ${sql.lit(WORKSPACE)}::uuid
      and requested_at >= '2026-11-20T12:00:00Z' and requested_at < '2026-11-20T12:01:40Z'`.execute(db);
  const [, ms] = /Planning Time: ([\d.]+) ms/.exec(rows.map((row) => row["QUERY PLAN"]).join("\n")) ?? [];
  return Number(ms);
}
