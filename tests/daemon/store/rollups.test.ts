import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type SqliteConnection, type SqliteOptions, StoreError } from "../../../core/ports/sqlite.ts";
import { isUnpriced } from "../../../core/pricing/unpriced.ts";
import { parseRequestQuery } from "../../../core/pricing/view/request-query.ts";
import { effectiveBilling } from "../../../core/values/billing.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { REQUEST_SORTS, type RequestSort } from "../../../core/wire/queries.ts";
import { coverageSlot } from "../../../daemon/store/coverage.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { CoverageCount } from "../../../daemon/store/port/coverage.ts";
import type {
  RequestListQuery,
  RequestPage,
  RequestStatus,
  SortedPosition,
  StoredRequest,
} from "../../../daemon/store/port/records.ts";
import type { ReportQuery, ReportRow } from "../../../daemon/store/port/reports.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { listRequests } from "../../../daemon/store/request-list.ts";
import { ROLLUP_DEFINITION } from "../../../daemon/store/rollup-definition.ts";
import { propertyRuns } from "../../core/property-runs.rig.ts";
import { inZone } from "./in-zone.rig.ts";
import { naiveReport, naiveRow, naiveStreams, naiveUnpriced } from "./naive-report.rig.ts";
import { aUsageFilter, checkUsage, passes, someUsageQuery } from "./naive-usage.rig.ts";
import { inNewFolder, opener } from "./open-sample-store.rig.ts";
import { sampleRecord } from "./sample-records.rig.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const QUARTER_MS = HOUR_MS / 4;

/** Berlin's clocks go back on this day. */
const sunday = Date.UTC(2026, 9, 25);

/** Long after all requests of the tests. */
const later = sunday + 30 * DAY_MS;

/** Few requests are left out of the rollups, so that a test with few requests has rollups. */
const rollupTail = { max: 2, keep: 1 };

/** A failure that ends a transaction before it is committed. */
class PlannedFailure extends Error {}

/** An opener whose connections fail at a chosen statement, as if the process were killed. */
function createFailingOpener() {
  let statementsLeft = Number.POSITIVE_INFINITY;
  const count = () => {
    statementsLeft -= 1;
    if (statementsLeft < 0) throw new PlannedFailure("planned");
  };
  const watch = (connection: Awaited<ReturnType<typeof opener.open>>) => ({
    ...connection,
    prepare: <Row>(sql: string) => {
      const statement = connection.prepare<Row>(sql);
      return {
        ...statement,
        run: (values: Parameters<typeof statement.run>[0]) => {
          count();
          return statement.run(values);
        },
      };
    },
  });
  return {
    failAfter(statements: number) {
      statementsLeft = statements;
    },
    opener: {
      ...opener,
      open: async (path: string, options?: SqliteOptions) => watch(await opener.open(path, options)),
    },
  };
}

const everything = { from: null, to: null };

const readAll = (store: Store): StoredRequest[] =>
  store.records.read({ ...everything, afterSeq: 0, limit: 100_000 });

const sorted = <Row>(rows: readonly Row[]) =>
  rows
    .map((row) => JSON.stringify(row, (_, value) => (typeof value === "bigint" ? `${value}n` : value)))
    .sort();

const plain = ({ second, ...row }: ReportRow) => ({ ...(second !== undefined && { second }), ...row });

/** Checks that every report equals what the stored records give. */
async function checkReports(store: Store, query: ReportQuery): Promise<void> {
  const records = readAll(store);
  const rows = await store.reports.read(query);
  assert.deepEqual(
    sorted(rows.map((row) => plain(ordered(row)))),
    sorted(naiveReport(records, query).map((row) => plain(ordered(row)))),
    JSON.stringify(query),
  );
  const { by: _, and: __, days = "local", ...filters } = query;
  assert.deepEqual(
    sorted(await store.reports.readStreamsWithoutUsage(filters)),
    sorted(naiveStreams(records, filters)),
  );
  assert.deepEqual(
    sorted(await store.reports.readUnpricedModels(filters, 100)),
    sorted(naiveUnpriced(records, filters)),
  );
  const period = { from: query.from ?? sunday - 400 * DAY_MS, to: query.to ?? sunday + 400 * DAY_MS };
  await checkStatistics(store, records, { ...period, days });
}

async function checkStatistics(
  store: Store,
  records: readonly StoredRequest[],
  period: { from: number; to: number; days: "local" | "utc" },
): Promise<void> {
  const { total, days, projects, models } = await store.reports.readStatistics(period, async () => {});
  const inside = records.filter(({ requestedAt }) => requestedAt >= period.from && requestedAt < period.to);
  assert.deepEqual(ordered(total), ordered(naiveRow(inside, null)));
  assert.deepEqual(
    days.map(ordered),
    naiveReport(inside, { ...everything, by: "day", days: period.days })
      .sort((one, other) => ((one.key ?? "") < (other.key ?? "") ? -1 : 1))
      .map(ordered),
  );
  const expected = naiveReport(inside, { ...everything, by: "project" });
  assert.deepEqual(sorted(projects.map(ordered)), sorted(expected.map(ordered)));
  assert.deepEqual(
    sorted([...(await store.reports.readLastRequests(period))]),
    sorted(
      expected.map(({ key }) => [
        key,
        Math.max(...inside.filter(({ project }) => project === key).map(({ requestedAt }) => requestedAt)),
      ]),
    ),
  );
  assert.deepEqual(
    sorted(models.map(({ key, provider, requests }) => [provider, key, requests])),
    sorted(
      naiveReport(inside, { ...everything, by: "provider", and: "model" }).map((row) => [
        row.key,
        row.second,
        row.requests,
      ]),
    ),
  );
}

/** Compares the coverage with what was counted. */
function checkCoverage(store: Store, counted: readonly CoverageCount[], { from, to }: ReportQuery): void {
  const inside = counted.filter(({ at }) => {
    const slot = coverageSlot(at);
    return slot >= (from ?? 0) && slot < (to ?? Number.POSITIVE_INFINITY);
  });
  const groups = Map.groupBy(inside, ({ host, kind }) => JSON.stringify([host, kind]));
  const totals = [...groups.values()]
    .map((own) => ({
      host: own[0]?.host ?? null,
      kind: own[0]?.kind,
      count: own.reduce((sum, { count }) => sum + count, 0),
      lastSeenAt: Math.max(...own.map(({ at }) => coverageSlot(at))),
    }))
    .filter(({ count }) => count !== 0);
  assert.deepEqual(
    store.coverage.read({ from, to }),
    totals
      .map(({ lastSeenAt: _, ...total }) => total)
      .sort((one, other) => (`${one.host ?? ""} ${one.kind}` < `${other.host ?? ""} ${other.kind}` ? -1 : 1)),
  );
  assert.deepEqual(
    sorted(store.coverage.readGaps(["free", "unfinished"], { from, to }).map(ordered)),
    sorted(totals.filter(({ count }) => count > 0).map((total) => ordered({ ...total, call: null }))),
  );
}

/** Checks when each client was last metered since an instant. */
function checkLastCaptures(store: Store, since: number): void {
  const groups = Map.groupBy(
    readAll(store).filter(({ requestedAt }) => requestedAt >= since),
    ({ client }) => client ?? null,
  );
  const expected = [...groups].map(([client, own]) => ({
    client,
    at: Math.max(...own.map(({ requestedAt }) => requestedAt)),
  }));
  assert.deepEqual(sorted(store.records.lastCaptures(since)), sorted(expected));
}

/** A list and its page, with few rows per slice, so that a test with few requests has several slices. */
const LIST_SIZES = { sliceRows: 1, blockRows: 1 };

const aListQuery = fc.record(
  {
    project: fc.constantFrom("a", "c"),
    model: fc.constant("x"),
    client: fc.constantFrom("claude", ""),
    billing: fc.constantFrom("metered" as const, "unknown" as const),
    status: fc.constantFrom<RequestStatus[]>("ok", "failed", "blocked", "unpriced", "incomplete", 200, 529),
  },
  { requiredKeys: [] },
);

/** The filters, the text and the order of a list, as the query of its address. */
const anOrder = fc
  .record({
    filters: fc.array(aUsageFilter, { maxLength: 2 }),
    text: fc.constantFrom("", "", "q=MAIN", "q=imit", "q=a%0Ab"),
    sort: fc.constantFrom(...REQUEST_SORTS),
  })
  .map(({ filters, text, sort }) => [...filters, text, `sort=${sort}`].join("&"));

/** What a record is sorted by. */
function keyOf({ costPicoUsd, latencyMs, tokens }: StoredRequest, sort: RequestSort): bigint {
  if (sort === "cost") return costPicoUsd ?? -1n;
  if (sort === "ms") return BigInt(latencyMs ?? -1);
  const { cacheWrite1hTokens: _part, ...counts } = tokens;
  const known = Object.values(counts).filter((count) => count !== null);
  return known.length === 0 ? -1n : BigInt(known.reduce((sum, count) => sum + count, 0));
}

const compare = (one: bigint, other: bigint): number => (one === other ? 0 : one < other ? -1 : 1);

/** Whether a name of the record contains the text. */
const contains = (record: StoredRequest, text: string): boolean =>
  [record.project, record.gitBranch, record.model, record.provider, record.client, record.errorClass]
    .map((name) => name ?? "")
    .join("\n")
    .toLowerCase()
    .includes(text.toLowerCase());

/** Checks the pages of a list. */
async function checkList(
  path: string,
  records: readonly StoredRequest[],
  list: Partial<RequestListQuery>,
  order: string,
  { from, to }: ReportQuery,
): Promise<void> {
  const { project, model, client, billing, status } = list;
  const { query: own } = parseRequestQuery(new URLSearchParams(order));
  const expected = records
    .filter(
      (record) =>
        record.requestedAt >= (from ?? 0) &&
        record.requestedAt < (to ?? Number.POSITIVE_INFINITY) &&
        (project === undefined || record.project === project) &&
        (model === undefined || record.model === model) &&
        (client === undefined || record.client === client) &&
        (billing === undefined || effectiveBilling(record) === billing) &&
        (status !== "ok" || (record.errorClass === null && record.blockedBy === null)) &&
        (status !== "blocked" || record.blockedBy !== null) &&
        (status !== "failed" || record.errorClass !== null) &&
        (status !== "unpriced" || isUnpriced(record)) &&
        (status !== "incomplete" || !record.tokensComplete) &&
        (typeof status !== "number" || record.httpStatus === status) &&
        passes(record, own.filters) &&
        (own.text === null || contains(record, own.text)),
    )
    .reverse()
    .sort((one, other) => (own.sort === "time" ? 0 : compare(keyOf(other, own.sort), keyOf(one, own.sort))))
    .map(({ requestId }) => requestId);
  const connection = await opener.open(path, { readOnly: true });
  const listed: string[] = [];
  let [beforeSeq, after]: [number | null, SortedPosition | null] = [null, null];
  do {
    const query: RequestListQuery = { ...list, ...own, from, to, beforeSeq, after, limit: 3 };
    const page: RequestPage = await listRequests(connection, query, async () => {}, undefined, LIST_SIZES);
    listed.push(...page.requests.map(({ requestId }) => requestId));
    [beforeSeq, after] = [page.nextBeforeSeq, page.nextAfter];
  } while (beforeSeq !== null || after !== null);
  connection.close();
  assert.deepEqual(listed, expected, `${JSON.stringify(list)} ${order}`);
}

/** The row with its members in a fixed order. */
const ordered = <Row extends object>(row: Row): Row =>
  Object.fromEntries(Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1))) as Row;

/** A few times around the midnights of UTC and Berlin, so that several requests share a slot. */
const anInstant = fc
  .tuple(fc.integer({ min: -1, max: 2 }), fc.constantFrom(-8, -4, 0, 1), fc.constantFrom(-1, 0, 1, 400_000))
  .map(([days, quarters, ms]) => sunday + days * DAY_MS + quarters * QUARTER_MS + ms);

const aCount = fc.option(fc.integer({ min: 0, max: 5 }), { nil: null });

const anyRecord = fc
  .record({
    requestedAt: anInstant,
    project: fc.constantFrom("a", "b"),
    model: fc.constantFrom("x", "y"),
    provider: fc.constantFrom("anthropic", "openai", "codex", "gemini"),
    client: fc.constantFrom("claude", "", null),
    billingMode: fc.constantFrom("metered" as const, "plan" as const, "unknown" as const, null),
    errorClass: fc.constantFrom(null, null, "network" as const, "rate_limit" as const),
    httpStatus: fc.constantFrom(200, 529, null),
    blockedBy: fc.constantFrom(null, null, null, "cap"),
    costPicoUsd: fc.option(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), { nil: null }),
    costSource: fc.constantFrom("computed" as const, "estimated" as const, "unpriced" as const),
    tokensComplete: fc.boolean(),
    streaming: fc.boolean(),
    api: fc.constantFrom("openai.chat", "anthropic.messages"),
    prompt: aCount,
    completion: aCount,
    thinking: aCount,
    isDue: fc.boolean(),
    gitRemote: fc.constantFrom("github.com/a/b", null),
    gitBranch: fc.constantFrom("main", "topic", null),
    gitCommit: fc.constantFrom("a".repeat(40), `ab${"c".repeat(38)}`, null),
    pullRequest: fc.constantFrom(1, 12, null),
    sessionId: fc.constantFrom("s1", "s2", null),
    agentId: fc.constantFrom("g1", null),
    clientVersion: fc.constantFrom("1.0", null),
    latencyMs: fc.constantFrom(0, 5, 5_000),
    requestKind: fc.constantFrom("chat" as const, "image" as const),
  })
  .map(({ prompt, completion, thinking, isDue, ...given }) => ({
    ...given,
    tokens: {
      promptTokens: prompt,
      cacheReadTokens: thinking,
      cacheWriteTokens: null,
      cacheWrite1hTokens: completion,
      completionTokens: completion,
      thinkingTokens: thinking,
    },
    attributionDue: isDue ? given.requestedAt + 30_000 : null,
  }));

/** Every other request is in one series, so a slot has several of that series. */
const aRecord = fc.oneof(
  anyRecord,
  anInstant.map((requestedAt): Partial<RequestRecord> => ({ requestedAt, project: "a", model: "x" })),
);

/** Returns the n-th stored request, modulo their number. */
function pick(store: Store, n: number): StoredRequest | undefined {
  const records = readAll(store);
  return records[n % Math.max(records.length, 1)];
}

/** An operation on the store, with its name for the report of a failure. `counted` is what the coverage must have. */
type Operation = readonly [name: string, run: (store: Store, counted: CoverageCount[]) => void];

const index = fc.nat({ max: 30 });
const aBound = fc.option(anInstant, { nil: null });
const anOperation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(aRecord, { minLength: 1, maxLength: 6 }).map(
      (records): Operation => [
        `insert ${records.length}`,
        (store) => {
          const batch = records.map((record) => sampleRecord(record as Partial<RequestRecord>));
          store.insertBatch({ records: batch, bodies: [], coverage: [] });
        },
      ],
    ),
  },
  fc
    .array(
      fc.record({
        at: anInstant,
        host: fc.constantFrom("a.test", null),
        kind: fc.constantFrom("free" as const, "unfinished" as const),
        count: fc.constantFrom(1, 2, -1),
      }),
      { minLength: 1, maxLength: 4 },
    )
    .map(
      (coverage): Operation => [
        "count",
        (store, counted) => {
          store.insertBatch({ records: [], bodies: [], coverage });
          counted.push(...coverage);
        },
      ],
    ),
  fc.tuple(index, aRecord).map(
    ([n, usage]): Operation => [
      "complete",
      (store) => {
        const incomplete = readAll(store).filter(({ tokensComplete }) => !tokensComplete);
        const { requestId } = incomplete[n % incomplete.length] ?? sampleRecord();
        const record = sampleRecord({
          ...(usage as Partial<RequestRecord>),
          requestId,
          tokensComplete: true,
        });
        store.insertBatch({ records: [record], bodies: [], coverage: [] });
      },
    ],
  ),
  fc.array(index, { maxLength: 4 }).map(
    (indexes): Operation => [
      "attribute",
      (store) => {
        const attributed = indexes.flatMap((n) => {
          const record = pick(store, n);
          return record === undefined ? [] : [{ ...record, project: "c", client: "found" }];
        });
        store.insertBatch({ records: [], bodies: [], coverage: [], attributed });
      },
    ],
  ),
  fc.array(index, { maxLength: 4 }).map(
    (indexes): Operation => [
      "recompute",
      (store) =>
        store.records.updateCosts(
          indexes.map((n) => ({
            requestId: pick(store, n)?.requestId ?? "",
            costPicoUsd: n % 3 === 0 ? null : BigInt(n),
            costSource: n % 3 === 0 ? "unpriced" : "computed",
            ratesSource: null,
          })),
          later,
        ),
    ],
  ),
  fc.tuple(anInstant, fc.constantFrom("s1", "s2"), fc.constantFrom(2, 12)).map(
    ([at, session, pullRequest]): Operation => [
      "link a pull request",
      (store) => {
        const links = [{ session, at, pullRequest, agent: "claude" }];
        store.logs.save({ records: [], matches: [], position: null, links }, later);
        store.logs.linkPullRequests();
      },
    ],
  ),
  fc.tuple(aBound, aBound, fc.boolean()).map(
    ([from, to, isForth]): Operation => [
      "reassign",
      (store) => {
        const [fromProject, toProject] = isForth ? (["a", "b"] as const) : (["b", "a"] as const);
        store.reassignments.move({ fromProject, toProject, period: { from, to } }, later);
      },
    ],
  ),
  fc.constant<Operation>(["undo", (store) => void store.reassignments.undo()]),
  aBound.map((before): Operation => ["prune", (store) => void store.deletion.deleteSome(before)]),
  aBound.map(
    (before): Operation => [
      "finish pruning",
      (store, counted) => {
        store.deletion.finish(before, false);
        const kept = before === null ? [] : counted.filter(({ at }) => coverageSlot(at) >= before);
        counted.splice(0, counted.length, ...kept);
      },
    ],
  ),
  fc
    .array(index, { maxLength: 3 })
    .map(
      (indexes): Operation => [
        "delete",
        (store) => store.deletion.deleteRequests(indexes.map((n) => pick(store, n)?.requestId ?? "")),
      ],
    ),
  {
    weight: 4,
    arbitrary: fc.integer({ min: 1, max: 20 }).map(
      (steps): Operation => [
        `build ${steps}`,
        (store) => {
          for (let step = 0; step < steps; step += 1) store.rollups.buildSome(later);
        },
      ],
    ),
  },
);

const aGrouping = fc.constantFrom<Pick<ReportQuery, "by" | "and">>(
  { by: "total" },
  { by: "project" },
  { by: "model", and: "project" },
  { by: "client" },
  { by: "provider", and: "billing" },
  { by: "hour" },
  { by: "day" },
  { by: "day", and: "project" },
  { by: "client", and: "week" },
  { by: "month" },
  { by: "branch", and: "pr" },
  { by: "session", and: "agent" },
  { by: "commit", and: "day" },
  { by: "client-version" },
  { by: "machine", and: "project" },
);
const aFilter = fc.oneof(
  { weight: 3, arbitrary: fc.record({ project: fc.constantFrom("a", "c") }) },
  { weight: 3, arbitrary: fc.record({ model: fc.constant("x"), provider: fc.constant("codex") }) },
  fc.record({ remote: fc.constant("github.com/a/b"), branch: fc.constantFrom("main", "none") }),
  fc.record({ commit: fc.constantFrom("a", "ab", "a".repeat(40), "b") }),
  fc.record({ pullRequest: fc.constantFrom(1, 2) }),
  fc.record({ session: fc.constantFrom("s1", "none") }),
);
const aQuery = fc
  .record({
    grouping: aGrouping,
    from: aBound,
    to: aBound,
    filter: fc.option(aFilter, { nil: {} }),
    days: fc.constantFrom("local" as const, "utc" as const),
  })
  .map(({ grouping, filter, ...query }): ReportQuery => ({ ...grouping, ...query, ...filter }));

/** A step of a test: an operation, perhaps in another zone, with a failure or after a restart, and a report. */
const aStep = fc.record({
  operation: anOperation,
  query: aQuery,
  list: aListQuery,
  order: anOrder,
  usage: someUsageQuery(sunday),
  zone: fc.constantFrom("Europe/Berlin", "Europe/Berlin", "Asia/Kathmandu", "America/New_York"),
  event: fc.oneof(
    { weight: 6, arbitrary: fc.constant(null) },
    fc.constantFrom("restart" as const, "other version" as const, "other version meanwhile" as const),
    fc.integer({ min: 0, max: 12 }),
  ),
});

const quote = (text: string) => `'${text.replaceAll("'", "''")}'`;
const renameDefinition = (from: string, to: string) =>
  `UPDATE usage_state SET definition = ${quote(to)} WHERE definition = ${quote(from)};`;

/** Runs SQL on a separate connection. */
async function execute(path: string, sql: string): Promise<void> {
  const connection: SqliteConnection = await opener.open(path);
  connection.execute(sql);
  connection.close();
}

describe("rollups", () => {
  // Planted, each found: a change that leaves the sums of whole days; a prune that leaves the end of the rollups; a completed
  // record that is not subtracted; slots read by their start from a period that begins within one; the sums of a deleted day
  // that are still remembered.
  it("give every report the sums of the stored records, after any operations, failures and restarts", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aStep, { minLength: 4, maxLength: 14 }), (steps) =>
        inNewFolder(async (folder) => {
          const path = join(folder, "meter.db");
          const failing = createFailingOpener();
          const open = () => openStore(failing.opener as typeof opener, path, { rollupTail });
          let store = await open();
          const counted: CoverageCount[] = [];
          for (const { operation, query, list, order, usage, zone, event } of steps) {
            await inZone(zone, async () => {
              if (typeof event === "number") failing.failAfter(event);
              if (event === "other version meanwhile")
                await execute(path, renameDefinition(ROLLUP_DEFINITION, "another"));
              try {
                operation[1](store, counted);
              } catch (error) {
                if (!(error instanceof PlannedFailure)) throw error;
              }
              failing.failAfter(Number.POSITIVE_INFINITY);
              if (event === "other version meanwhile")
                await execute(path, renameDefinition("another", ROLLUP_DEFINITION));
              // The sums of another version may have another meaning.
              if (event === "other version")
                await execute(
                  path,
                  `${renameDefinition(ROLLUP_DEFINITION, "a third")} UPDATE usage_slots SET requests = 7`,
                );
              if (event === "restart") {
                store.close();
                store = await open();
              }
              await checkReports(store, query);
              // The same each time: its sums are remembered until they change.
              await checkReports(store, { ...everything, by: "project", days: "local" });
              checkCoverage(store, counted, query);
              checkLastCaptures(store, query.from ?? 0);
              await checkList(path, readAll(store), list, order, query);
              await checkUsage(store, readAll(store), usage, sunday + 2 * DAY_MS + 1_000);
            });
          }
          store.close();
        }),
      ),
      { numRuns: propertyRuns(20) },
    );
  });

  it("lose no record if they can't be updated", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const store = await openStore(opener, path, { rollupTail });
      const insert = () => store.insertBatch({ records: [sampleRecord()], bodies: [], coverage: [] });
      store.rollups.buildSome(later);
      for (let n = 0; n < 5; n += 1) insert();
      await execute(path, "DROP TABLE usage_slots");
      for (let n = 0; n < 5; n += 1) insert();
      const [total] = await store.reports.read({ ...everything, by: "total" });
      assert.equal(total?.requests, 10);
      store.close();
    }));

  it("don't hide why the disk refused a batch", () =>
    inNewFolder(async (folder) => {
      let isFull = false;
      const open = async (path: string, options?: SqliteOptions) => {
        const connection = await opener.open(path, options);
        const prepare = <Row>(sql: string) => {
          if (isFull && sql.startsWith("INSERT INTO usage_slots")) {
            // As SQLite does by itself at some of these errors.
            connection.execute("ROLLBACK");
            throw new StoreError("disk_full", "planned");
          }
          return connection.prepare<Row>(sql);
        };
        return { ...connection, prepare };
      };
      const store = await openStore({ ...opener, open }, join(folder, "meter.db"), { rollupTail });
      const insert = () => store.insertBatch({ records: [sampleRecord()], bodies: [], coverage: [] });
      while (store.rollups.buildSome(later));
      for (let n = 0; n < 2; n += 1) insert();
      isFull = true;
      assert.throws(insert, { reason: "disk_full" });
      isFull = false;
      insert();
      assert.equal(readAll(store).length, 3);
      store.close();
    }));

  it("are read by a report beside requests that are not in them, and only then", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const store = await openStore(opener, path, { rollupTail });
      for (let step = 0; step < 3; step += 1) store.rollups.buildSome(later);
      const records = Array.from({ length: 6 }, (_, n) => sampleRecord({ requestedAt: sunday + n * DAY_MS }));
      store.insertBatch({ records, bodies: [], coverage: [] });
      const count = async (by: "total" | "day") =>
        (await store.reports.read({ ...everything, by, days: "utc" })).map(({ requests }) => requests);
      // A unique sum shows what a report reads.
      await execute(path, "UPDATE usage_slots SET requests = 10");
      assert.deepEqual(await count("total"), [51]);
      assert.deepEqual(await count("day"), [10, 10, 10, 10, 10, 1]);
      await inZone("UTC", async () => {
        while (store.rollups.buildSome(later));
        await execute(
          path,
          "UPDATE usage_day_series SET requests = 20; UPDATE usage_day_values SET requests = 30",
        );
        assert.deepEqual(await count("total"), [151]);
        assert.deepEqual(await count("day"), [30, 30, 30, 30, 30, 1]);
        const branches = await store.reports.read({ ...everything, by: "branch" });
        assert.deepEqual(
          branches.map(({ requests }) => requests),
          [101],
        );
        // The hours of a day in another zone are read where the day is not.
        await execute(path, "DELETE FROM usage_days; UPDATE usage_hour_values SET requests = 40");
        // Until their version changes, sums are remembered.
        assert.deepEqual(await count("total"), [151]);
        await execute(path, "UPDATE usage_sums_version SET version = version + 1");
        assert.deepEqual(await count("total"), [201]);
      });
      await execute(path, "UPDATE usage_state SET definition = 'another'");
      assert.deepEqual(await count("total"), [6]);
      store.close();
    }));

  it("count a day that begins before the period if there are no earlier requests", () =>
    inNewFolder(async (folder) => {
      const store = await openStore(opener, join(folder, "meter.db"), { rollupTail });
      const records = [12, 13, 36, 60].map((hours) =>
        sampleRecord({ requestedAt: sunday + hours * HOUR_MS }),
      );
      store.insertBatch({ records, bodies: [], coverage: [] });
      await inZone("UTC", async () => {
        while (store.rollups.buildSome(later));
        const [from, to] = [6, 50].map((hours) => new Date(sunday + hours * HOUR_MS).toISOString());
        for (const bucket of ["none", "day", "week"]) {
          const text = `from=${from}&to=${to}&bucket=${bucket}`;
          await checkUsage(store, readAll(store), text, later);
        }
      });
      store.close();
    }));

  it("have the coverage of whole days, until it is deleted or the definition is another", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const store = await openStore(opener, path, { rollupTail });
      const coverage = [0, 1, 1].map((days) => ({
        ...{ at: sunday + days * DAY_MS, host: "a.test", kind: "free" as const, count: 1 },
      }));
      const records = [0, 1, 2, 3].map((days) => sampleRecord({ requestedAt: sunday + days * DAY_MS }));
      store.insertBatch({ records, bodies: [], coverage });
      await inZone("UTC", () => {
        while (store.rollups.buildSome(later));
      });
      const count = () => {
        const sum = store.coverage.read(everything)[0]?.count;
        // The sums by time add up to it.
        const times = store.coverage.readTimes(everything);
        const ofHost = store.coverage.readTimes(everything, { not: false, values: ["a.test"] });
        assert.deepEqual(ofHost, times);
        assert.deepEqual(store.coverage.readTimes(everything, { not: true, values: ["a.test"] }), []);
        assert.equal(
          times.reduce((all, each) => all + each.count, 0),
          sum ?? 0,
        );
        return sum;
      };
      assert.equal(count(), 3);
      // A unique sum shows what is read.
      await execute(
        path,
        "UPDATE coverage_days SET count = count * 10; UPDATE usage_sums_version SET version = version + 1",
      );
      assert.equal(count(), 30);
      store.deletion.finish(sunday + DAY_MS, false);
      assert.equal(count(), 20);
      store.deletion.finish(sunday + DAY_MS + 1, false);
      assert.equal(count(), undefined);
      store.insertBatch({ records: [], bodies: [], coverage });
      assert.equal(count(), 3);
      await inZone("UTC", () => {
        while (store.rollups.buildSome(later));
      });
      await execute(
        path,
        "UPDATE coverage_days SET count = 10; UPDATE usage_state SET definition = 'another'",
      );
      assert.equal(count(), 3);
      store.close();
    }));

  it("keep no deleted name", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const store = await openStore(opener, path, { rollupTail });
      while (store.rollups.buildSome(later));
      store.insertBatch({
        records: ["old", "old", "new", "new"].map((project, n) =>
          sampleRecord({ project, requestedAt: sunday + n * DAY_MS }),
        ),
        bodies: [],
        coverage: [],
      });
      while (store.rollups.buildSome(later));
      const before = sunday + 2 * DAY_MS;
      while (store.deletion.deleteSome(before).requests > 0);
      store.deletion.finish(before, false);
      const connection = await opener.open(path);
      assert.deepEqual(
        connection
          .prepare<{ project: string }>("SELECT project FROM usage_series")
          .all([])
          .map(({ project }) => project),
        ["new"],
      );
      const days = connection.prepare<{ n: number }>(
        "SELECT count(*) AS n FROM usage_day_series WHERE day_from < ?",
      );
      assert.equal(days.get([before - DAY_MS])?.n, 0);
      for (const table of ["usage_hour_values", "usage_day_values"]) {
        const names = connection.prepare<{ value: string }>(
          `SELECT DISTINCT value FROM ${table} WHERE column_name = 'project'`,
        );
        assert.deepEqual(
          names.all([]).map(({ value }) => value),
          ["new"],
          table,
        );
      }
      connection.execute("UPDATE usage_state SET definition = 'another'");
      while (store.deletion.deleteSome(null).requests > 0);
      store.deletion.finish(null, false);
      for (const table of [
        "usage_state",
        "usage_series",
        "usage_slots",
        "usage_hours",
        "usage_hour_values",
        "usage_day_series",
        "usage_day_values",
      ])
        assert.equal(connection.prepare(`SELECT 1 FROM ${table}`).get([]), null, table);
      connection.close();
      store.close();
    }));
});
