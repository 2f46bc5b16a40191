/**
 * `npm run bench:queries`: the duration of overview and analytics on PostgreSQL 15 with 0.1, 1 and 10 million requests of
 * one workspace over a year: ten people with a machine each, two projects and three models. Requests and rollups are
 * created with the statement of ingest. Queries go through the app with session, membership and row-level security, without
 * a socket. No period starts or ends on a full hour. Then it measures the CPU time of every page over the largest number of requests, with
 * the coverage of 1,000 machines, against its goal. It also prints the disk space of each size, and how long vacuum takes. Fails if a page
 * exceeds its limit, or if a report takes longer with more requests.
 *
 * `node bench/queries/main.ts [--requests 100000,1000000,10000000] [--rounds 60] [--disk]`: `--disk` keeps the databases in a folder
 * for temporary files instead of in memory. Ten million requests need 8 GB.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { sql } from "kysely";
import { createManualClock } from "../../adapters/clock/manual-clock.ts";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { createRandomBytes, sha256 } from "../../adapters/crypto/node-crypto.ts";
import { createMemoryAccounts } from "../../adapters/memory/accounts.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import { createCloud } from "../../cloud/create-cloud.ts";
import { sumCoverage } from "../../cloud/store/coverage-days.ts";
import { migrateCloud } from "../../cloud/store/migrate.ts";
import { sumModels } from "../../cloud/store/model-sums.ts";
import { type CloudDatabase, openCloudDatabase } from "../../cloud/store/open-database.ts";
import { BRANCH_KEY, contributions, ROLLUP_KEY, ROLLUP_SUMS, USAGE_SUMS } from "../../cloud/store/rollups.ts";
import { missingPostgres, startPostgres } from "../../tests/cloud/kit/postgres-server.ts";
import { measurePaced, median, type PacedCpu, pacedMedian } from "../cpu-time.ts";

const { values: options } = parseArgs({
  options: {
    requests: { type: "string", default: "100000,1000000,10000000" },
    rounds: { type: "string", default: "60" },
    disk: { type: "boolean", default: false },
  },
});
const sizes = options.requests.split(",").map(Number);
const rounds = Number(options.rounds);

/** The maximum ratio of the duration at the largest size to that at the smallest. */
const MAX_RATIO = 1.5;
/** The goal of an overview: its median CPU time at the largest size, which other programs affect less than its duration. */
const OVERVIEW_GOAL_MS = 30;
/** The limit of an overview. With the coverage of 1,000 machines, that of a year is near the goal, and may not become slower. */
const maxOverviewMs = (path: string) => (path === "overview" ? OVERVIEW_GOAL_MS : 34);

const WARM_UP = 10;
const NOW = Date.UTC(2026, 10, 21, 12, 34, 56);
const YEAR = 365 * 86_400_000;
const WORKSPACE = "01994b8e-7c00-7000-8000-00000000000a";
const ORGANISATION = "01994b8e-7c00-7000-8000-00000000000b";

/** Rows per statement. */
const CHUNK = 250_000;

const ago = (days: number) => new Date(NOW - days * 86_400_000).toISOString();

/** A year minus a minute, so that the retention floor does not clamp it. */
const year = `from=${new Date(NOW - YEAR + 60_000).toISOString()}`;

const QUERIES: readonly (readonly [name: string, path: string])[] = [
  ["overview, 30 days", "overview"],
  ["overview, a year", `overview?${year}`],
  ["analytics by project, 30 days", "analytics?by=project"],
  ["analytics by user, a year", `analytics?by=user&${year}`],
  ["analytics by model and hour, 7 days", `analytics?by=model&bucket=hour&from=${ago(7)}`],
];

/** Inserts `total` requests, distributed evenly over the year, with their rollups. */
async function seed(db: CloudDatabase, total: number): Promise<void> {
  for (let first = 0; first < total; first += CHUNK) {
    const last = Math.min(first + CHUNK, total) - 1;
    await sql`
      insert into requests (workspace_id, request_id, requested_at, received_at, clock_skewed, machine_id, user_id,
          provider, model, request_kind, streaming, prompt_tokens, completion_tokens, cache_read_tokens,
          cache_write_tokens, thinking_tokens, tokens_complete, cost_pico_usd, cost_source, rates_source,
          reported_cost_pico_usd, latency_ms, ttfb_ms, http_status, error_class, project, attribution_tier,
          prompt_hash, method, path, git_branch, session_id)
        select ${WORKSPACE}::uuid, lpad(to_hex(i), 32, '0')::uuid, at, at, false,
          lpad(person::text, 32, '0')::uuid, 'user-' || person,
          case when model < 3 then 'openai' else 'anthropic' end, 'model-' || model,
          'chat', true, 1000 + i % 977, 100 + i % 89, i % 5003, i % 211, i % 53, true,
          (i % 1000003) * 1000000, 'computed', 'bundled', (i % 1000003) * 1000000, 900 + i % 5000, 200 + i % 700,
          case when i % 50 = 0 then 500 else 200 end, case when i % 50 = 0 then 'server_error' end,
          'project-' || (person + i / 7 % 2) % 4, 'git_root', md5(i::text) || md5(i::text), 'POST',
          '/v1/chat/completions', case when i % 5 < 2 then 'main' else 'topic-' || person || '-' || i * 30 / ${total}::bigint end,
          'session-' || person || '-' || i / 1000
        from (
          select i, at, (i * 7919) % 10 as person, ((i * 7919) % 10 + i / 13 % 3) % 6 as model
          from (
            select i, to_timestamp(${NOW / 1_000}::float8)
              - interval '1 millisecond' * (1 + (${total - 1}::bigint - i) * ${YEAR - 1_000}::float8 / ${total}::float8) as at
            from generate_series(${first}::bigint, ${last}::bigint) as i
          ) as times
        ) as people`.execute(db);
  }
  const sums = ROLLUP_SUMS.map((sum) => `sum(${sum})`).join(", ");
  for (const [table, time, ofHour] of [
    ["usage_hourly", "hour", "hour"],
    ["usage_daily", "day", "(hour at time zone 'UTC')::date"],
  ]) {
    const key = `${ofHour}, ${ROLLUP_KEY}`;
    const columns = `${time}, ${ROLLUP_KEY}, ${ROLLUP_SUMS.join(", ")}`;
    await sql`insert into ${sql.raw(`${table} (workspace_id, ${columns})`)}
      select ${WORKSPACE}::uuid, ${sql.raw(`${key}, ${sums} from (${contributions("requests", 1)}) as contributed group by ${key}`)}`.execute(
      db,
    );
  }
  await seedBranches(db);
  await sumModels(db, { kind: "sum_models", taskId: WORKSPACE, details: {} }, NOW);
  // The requests were stored without seals.
  await sql`insert into cost_seal_heads (workspace_id, seq, prev_hash, hash, summed_seq) values (${WORKSPACE}::uuid, 1, '', '', 1)`.execute(
    db,
  );
  await seedCoverage(db);
}

/**
 * Prints the disk space of a workspace's tables, and how long two vacuums take: the first one, and one after later records have filled in a
 * thousandth of the requests, the only way in which requests change.
 */
async function measureDisk(db: CloudDatabase, total: number): Promise<void> {
  const vacuum = async () => {
    const startedAt = performance.now();
    await sql`vacuum (analyze) requests`.execute(db);
    return ((performance.now() - startedAt) / 1_000).toFixed(1);
  };
  const first = await vacuum();
  await sql`vacuum analyze`.execute(db);
  const { rows } = await sql<{ heap: string; indexes: string; rest: string }>`select
    round(pg_table_size('requests')::numeric / ${total}::bigint) as heap,
    round(pg_indexes_size('requests')::numeric / ${total}::bigint) as indexes,
    round(sum(pg_total_relation_size(oid)) filter (where relname <> 'requests') / ${total}::bigint) as rest
    from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`.execute(db);
  await sql`update requests set thinking_tokens = thinking_tokens + 1
    where workspace_id = ${WORKSPACE}::uuid and request_id in (
      select lpad(to_hex(i), 32, '0')::uuid from generate_series(0, ${total - 1}::bigint, 1000) as i)`.execute(
    db,
  );
  const [size] = rows;
  console.log(
    `${total} requests: ${size?.heap} bytes each in the table, ${size?.indexes} in its indexes, ${size?.rest} in the other tables; ` +
      `vacuum takes ${first} s, and ${await vacuum()} s after a thousandth was filled in`,
  );
}

/** Creates the sums by branch of all requests. */
async function seedBranches(db: CloudDatabase): Promise<void> {
  for (const [hours, start] of [
    [1, "hour"],
    [24, "date_trunc('day', hour, 'UTC')"],
  ]) {
    await sql`insert into usage_branches (workspace_id, span_hours, starts_at, ${sql.raw(`${BRANCH_KEY}, ${USAGE_SUMS.join(", ")}`)})
      select ${WORKSPACE}::uuid, ${sql.raw(`${hours}, ${start}, ${BRANCH_KEY}, ${USAGE_SUMS.map((sum) => `sum(${sum})`).join(", ")}
        from (${contributions("requests", 1, ["git_branch"])}) as contributed group by ${start}, ${BRANCH_KEY}`)}`.execute(
      db,
    );
  }
}

/** The number of machines that report their coverage. */
const MACHINES = 1_000;

/** Creates machines that ran from 8 to 18 o'clock on each of 30 days, and missed calls in one hour of 20. */
async function seedCoverage(db: CloudDatabase): Promise<void> {
  const now = sql`to_timestamp(${NOW / 1_000}::float8)`;
  const id = sql`lpad(machine::text, 32, '0')::uuid`;
  await sql`insert into machines (workspace_id, machine_id, hostname, platform, daemon_version, created_at, user_id, coverage_at, queued_requests)
    select ${WORKSPACE}::uuid, ${id}, 'machine-' || machine, 'linux', '0.4.0', ${now}, 'user-' || machine % 10, ${now}, 0
    from generate_series(0, ${sql.lit(MACHINES - 1)}) as machine`.execute(db);
  await sql`insert into sync_keys (workspace_id, key_id, token_hash, prefix, scope, machine_id, user_id, created_at, last_used_at)
    select ${WORKSPACE}::uuid, ${id}, decode(md5(machine::text), 'hex'), 'mtr_', 'sync', ${id}, 'user-' || machine % 10, ${now}, ${now}
    from generate_series(0, ${sql.lit(MACHINES - 1)}) as machine`.execute(db);
  await sql`insert into coverage_hours (workspace_id, hour, machine_id, as_of, metered, seen, counts)
    select ${WORKSPACE}::uuid, hour, ${id}, ${now}, 40, case when missed then 43 else 40 end,
      case when missed then '{"unknown_path": 3, "without_usage": 1}' else '{}' end::jsonb
    from (select hour, machine, (machine + extract(epoch from hour)::bigint / 3600) % 20 = 0 as missed
      from generate_series(0, ${sql.lit(MACHINES - 1)}) as machine,
        generate_series(date_trunc('hour', ${now} - interval '30 days'), date_trunc('hour', ${now}), interval '1 hour') as hour
      where extract(hour from hour at time zone 'UTC') between 8 and 17) as hours`.execute(db);
  const tasks = await sql<{ workspace_id: string }>`select workspace_id from workspaces`.execute(db);
  for (const { workspace_id: taskId } of tasks.rows)
    await sumCoverage(db, { kind: "sum_coverage", taskId, details: {} }, NOW + 2 * 86_400_000);
  await sql`insert into daemon_runs (workspace_id, machine_id, run_from, run_to)
    select ${WORKSPACE}::uuid, ${id}, day + interval '8 hours', day + interval '18 hours'
    from generate_series(0, ${sql.lit(MACHINES - 1)}) as machine,
      generate_series(date_trunc('day', ${now} - interval '30 days'), date_trunc('day', ${now}), interval '1 day') as day`.execute(
    db,
  );
}

/** A cloud with a number of requests. */
interface Contender {
  readonly total: number;
  query(path: string): Promise<{ ms: number; counted: number }>;
  /** Requests a page and reads it to its end. */
  open(path: string): Promise<void>;
  close(): Promise<void>;
}

async function fill(url: string, total: number): Promise<Contender> {
  const db = openCloudDatabase(openPostgres(url, systemClock, { statementTimeoutMs: 600_000 }));
  await migrateCloud(db, NOW);
  const randomBytes = createRandomBytes();
  const accounts = createMemoryAccounts(randomBytes);
  const made = await accounts.createUser({ name: "Ann", email: "ann@example.com", password: null });
  if (!made.ok) throw new Error(made.reason);
  const place = { organisation_id: ORGANISATION, name: "Bench", created_at: NOW };
  await db.insertInto("organisations").values(place).execute();
  await db
    .insertInto("workspaces")
    .values({ ...place, workspace_id: WORKSPACE, plan: "business" })
    .execute();
  await db
    .insertInto("memberships")
    .values({ workspace_id: WORKSPACE, user_id: made.userId, role: "member", created_at: NOW })
    .execute();
  const startedAt = performance.now();
  await seed(db, total);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  const { rows } = await sql<Record<string, string>>`select
    (select count(*) from usage_hourly) as hours, (select count(*) from usage_daily) as days`.execute(db);
  console.log(
    `${total} requests: ${rows[0]?.hours} rows by hour, ${rows[0]?.days} by day, made in ${seconds} s`,
  );
  await measureDisk(db, total);
  const app = createCloud(
    {
      db,
      clock: createManualClock(NOW),
      randomBytes,
      sha256,
      accounts,
      log: () => {},
      mail: async () => {},
      peerAddress: () => null,
    },
    { rateLimits: { perUser: 1e9 } },
  );
  const token = await accounts.createSession(made.userId);
  const headers = { authorization: `Bearer ${token}` };
  return {
    total,
    query: async (path) => {
      const askedAt = performance.now();
      const answer = await app.request(`/v1/workspaces/${WORKSPACE}/${path}`, { headers });
      const { totals } = (await answer.json()) as { totals: { requests: number } };
      return { ms: performance.now() - askedAt, counted: totals.requests };
    },
    open: async (path) => {
      const answer = await app.request(`/w/${WORKSPACE}${path.replace(/^\/(?=$|\?)/, "")}`, {
        headers: { cookie: `session=${token}` },
      });
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${text.slice(0, 200)}`);
    },
    close: () => db.destroy(),
  };
}

const totalMs = ({ own, tree }: PacedCpu): number => own + tree;

/** Queries all contenders in turn, so that other load on the machine affects all. */
async function compare(
  contenders: readonly Contender[],
  postgres: number,
  name: string,
  path: string,
): Promise<void> {
  const latencies = contenders.map((): number[] => []);
  const figures: PacedCpu[] = [];
  for (let round = -WARM_UP; round < rounds; round += 1) {
    for (const [at, { query, total }] of contenders.entries()) {
      const isLargest = at === contenders.length - 1;
      let [ms, counted] = [0, 0];
      const ask = async () => {
        ({ ms, counted } = await query(path));
      };
      const measured = isLargest ? await measurePaced(postgres, ask) : null;
      if (measured === null) await ask();
      if (round >= 0) latencies[at]?.push(ms);
      if (round >= 0 && measured !== null) figures.push(measured);
      // The year lacks its first minute.
      if (path.startsWith("overview?") && Math.abs(counted - total) > 1 + total / 100_000)
        throw new Error(`the year has ${counted} of ${total} requests`);
    }
  }
  const medians = latencies.map(median);
  const [smallest, largest] = [medians[0] ?? 0, medians.at(-1) ?? 0];
  const ratio = largest / smallest;
  const cpu = pacedMedian(figures, totalMs);
  const isOverview = path.startsWith("overview");
  const isFine = ratio <= MAX_RATIO && (!isOverview || cpu <= maxOverviewMs(path));
  const judged = !isFine
    ? " (beyond the target)"
    : isOverview && cpu > OVERVIEW_GOAL_MS
      ? ` (above the goal of ${OVERVIEW_GOAL_MS})`
      : "";
  const shown = medians.map((ms) => `${ms.toFixed(1).padStart(7)} ms`).join("");
  if (!isFine) process.exitCode = 1;
  console.log(`${name.padEnd(36)}${shown}   ${ratio.toFixed(2)}   ${cpu.toFixed(0)} ms of CPU${judged}`);
}

/** The goal of each page: CPU time of the cloud and PostgreSQL together, in milliseconds. */
const PAGE_GOAL_MS = 100;

/**
 * The pages, each with its limit of CPU time in milliseconds. Pages whose limit is above the goal are known to miss the goal, and may not
 * become slower.
 */
const PAGES: readonly (readonly [path: string, mostMs: number])[] = [
  ["/", 100],
  ["/?period=12m", 110],
  ["/?period=12m&tz=Europe/Berlin", 115],
  ["/now", 100],
  ["/explore", 100],
  ["/explore?by=branch&period=12m", 115],
  ["/projects", 100],
  ["/projects?period=90d", 110],
  ["/models", 100],
  ["/requests", 100],
  ["/sessions", 100],
  ["/machines", 100],
  ["/people", 100],
  ["/savings", 100],
  ["/coverage", 150],
  ["/limits", 100],
];
const PAGE_ROUNDS = 7;

/** Measures the CPU time of each page. */
async function measurePages({ open }: Contender, postgres: number): Promise<void> {
  console.log(
    `\nCPU time of each page on the reference machine, median of ${PAGE_ROUNDS}, and how many times slower this machine is:`,
  );
  for (const [path, mostMs] of PAGES) {
    const figures: PacedCpu[] = [];
    for (let round = -2; round < PAGE_ROUNDS; round += 1) {
      const measured = await measurePaced(postgres, () => open(path));
      if (round >= 0) figures.push(measured);
    }
    const total = pacedMedian(figures, totalMs);
    const database = pacedMedian(figures, ({ tree }) => tree);
    const factor = median(figures.map((each) => each.factor));
    if (total > mostMs) process.exitCode = 1;
    const judged =
      total > mostMs
        ? ` (more than the ${mostMs} that it may take)`
        : total > PAGE_GOAL_MS
          ? ` (above the goal of ${PAGE_GOAL_MS})`
          : "";
    console.log(
      `${path.padEnd(36)}${total.toFixed(0).padStart(7)} ms, ${database.toFixed(0)} of them PostgreSQL, ${factor.toFixed(2)}${judged}`,
    );
  }
}

const missing = missingPostgres();
if (missing !== null) throw new Error(missing);
const server = await startPostgres(options.disk);
try {
  const admin = openCloudDatabase(openPostgres(server.url("postgres"), systemClock));
  const contenders: Contender[] = [];
  for (const [at, total] of sizes.entries()) {
    await sql.raw(`create database bench_${at}`).execute(admin);
    contenders.push(await fill(server.url(`bench_${at}`), total));
  }
  console.log(
    "\nmedian for each, the largest against the smallest, and the largest in CPU time of the reference machine:",
  );
  const postmaster = Number(readFileSync(join(server.folder, "postmaster.pid"), "utf8").split("\n")[0]);
  for (const [name, path] of QUERIES) await compare(contenders, postmaster, name, path);
  const largest = contenders.at(-1);
  if (largest !== undefined) await measurePages(largest, postmaster);
  await Promise.all(contenders.map(({ close }) => close()));
  await admin.destroy();
} finally {
  await server.stop();
}
