import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import fc from "fast-check";
import { sql } from "kysely";
import { REQUEST_COLUMNS } from "../../../cloud/store/request-columns.ts";
import { rollupChanges } from "../../../cloud/store/rollup-changes.ts";
import {
  BRANCH_KEY,
  contributions,
  MODEL_KEY,
  ROLLUP_KEY,
  ROLLUP_SUMS,
  summedContributions,
} from "../../../cloud/store/rollups.ts";
import type { StoredRequest } from "../../../cloud/store/stored-request.ts";
import { describeOnOneEngine, type TestDatabase } from "../kit/engines.ts";

const count = fc.option(fc.constantFrom(0, 1, 7, Number.MAX_SAFE_INTEGER), { nil: null });
const cost = fc.option(fc.constantFrom("0", "5", "123456789012345678901234567890"), { nil: null });

/** The columns that a rollup reads. */
const request = fc.record({
  requested_at: fc.constantFrom(
    "0001-01-01T00:00:00.000Z",
    "2026-11-20T23:59:59.999Z",
    "2026-11-21T00:00:00.000Z",
    "9999-12-31T23:59:59.999Z",
  ),
  machine_id: fc.constantFrom(null, "019a0000-0000-7000-8000-000000000001"),
  user_id: fc.constantFrom("ann", "bob"),
  project: fc.constantFrom(null, "", 'a"b'),
  git_branch: fc.constantFrom(null, "", "main", 'b"c'),
  provider: fc.constantFrom("openai", "codex", "openrouter"),
  model: fc.constantFrom("m", "ü"),
  error_class: fc.constantFrom(null, "server_error"),
  http_status: fc.constantFrom(null, 200, 399, 400, 529),
  tokens_complete: fc.constantFrom(null, true, false),
  billing_mode: fc.constantFrom(null, "metered", "credits", "free", "plan", "unknown"),
  prompt_tokens: count,
  completion_tokens: count,
  cache_read_tokens: count,
  cache_write_tokens: count,
  thinking_tokens: count,
  cost_pico_usd: cost,
  reported_cost_pico_usd: cost,
}) as unknown as fc.Arbitrary<StoredRequest>;

/** Requests of which many have the same key, and no tokens. */
const similar = fc.tuple(request, fc.boolean(), fc.boolean()).map(([each, hasOwnKey, hasTokens]) => ({
  ...each,
  ...(!hasOwnKey && {
    ...{ machine_id: null, user_id: "ann", project: null, git_branch: null },
    ...{ provider: "openai", model: "m" },
  }),
  ...(!hasTokens && {
    ...{ prompt_tokens: null, completion_tokens: 0, cache_read_tokens: null },
    ...{ cache_write_tokens: null, thinking_tokens: null, cost_pico_usd: null },
  }),
}));

describeOnOneEngine("rollupChanges()", (engine) => {
  let test: TestDatabase;
  before(async () => {
    test = await engine.open();
  });
  after(() => test.close());

  /** The same sums, in SQL. */
  async function inSql(
    added: readonly StoredRequest[],
    removed: readonly StoredRequest[],
    time: string,
    key: string,
  ) {
    const columns = Object.entries(REQUEST_COLUMNS).map(([column, type]) => `${column} ${type}`);
    const input = (rows: readonly StoredRequest[]) =>
      sql`(select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (${sql.raw(columns.join(", "))}))`;
    const sums = ROLLUP_SUMS.map((sum) => `sum(${sum}) as ${sum}`).join(", ");
    const isChanged = ROLLUP_SUMS.map((sum) => `sum(${sum}) <> 0`).join(" or ");
    const { rows } = await sql`
      with added as ${input(added)}, removed as ${input(removed)}
      select ${sql.raw(`${time}, ${key}, ${sums}`)}
      from (${sql.raw(`${contributions("added", 1, ["git_branch"])} union all ${contributions("removed", -1, ["git_branch"])}`)}) as contributed
      group by ${sql.raw(`1, ${key} having ${isChanged}`)}`.execute(test.db);
    return rows;
  }

  it("computes what contributions() computes in SQL, for any requests", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { maxLength: 8 }),
        fc.array(request, { maxLength: 8 }),
        async (added, removed) => {
          const changes = rollupChanges([
            { sign: -1, requests: removed },
            { sign: 1, requests: added },
          ]);
          const sorted = (rows: readonly unknown[]) =>
            rows.map((row) => JSON.stringify(Object.entries(row as object).sort())).sort();
          const hour = `to_char(hour at time zone 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"')`;
          const hours = await inSql(added, removed, `${hour} as hour`, ROLLUP_KEY);
          assert.deepEqual(sorted(changes.hours), sorted(hours));
          const day = `to_char(hour at time zone 'UTC', 'YYYY-MM-DD')`;
          assert.deepEqual(
            sorted(changes.days),
            sorted(await inSql(added, removed, `${day} as day`, ROLLUP_KEY)),
          );
          const ofModels = "'' as project, '' as git_branch";
          const startsAt = `to_char(hour at time zone 'UTC', 'YYYY-MM-DD') || 'T00:00:00Z' as starts_at`;
          assert.deepEqual(
            sorted(changes.branches),
            sorted([
              ...(await inSql(added, removed, `${hour} as starts_at, 1 as span_hours`, BRANCH_KEY)),
              ...(await inSql(added, removed, `${startsAt}, 24 as span_hours`, BRANCH_KEY)),
              ...(await inSql(
                added,
                removed,
                `${hour} as starts_at, -1 as span_hours, ${ofModels}`,
                MODEL_KEY,
              )),
              ...(await inSql(added, removed, `${startsAt}, -24 as span_hours, ${ofModels}`, MODEL_KEY)),
            ]),
          );
        },
      ),
      { numRuns: 40 },
    );
  });

  // Planted: a failed request without tokens counts as unpriced; and requests are not grouped by their billing mode.
  it("sums in SQL what summedContributions() sums by key, for any requests", async () => {
    const columns = Object.entries(REQUEST_COLUMNS).map(([column, type]) => `${column} ${type}`);
    const key = `hour, git_branch, ${ROLLUP_KEY}`;
    const sums = ROLLUP_SUMS.map((sum) => `sum(${sum})::text as ${sum}`).join(", ");
    const sum = async (requests: readonly StoredRequest[], contributed: string) => {
      const { rows } = await sql`
        with own as (select * from json_to_recordset(${JSON.stringify(requests)}::text::json) as r (${sql.raw(columns.join(", "))}))
        select ${sql.raw(`${key}, ${sums} from (${contributed}) as contributed group by ${key} order by ${key}`)}`.execute(
        test.db,
      );
      return rows;
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(similar, { maxLength: 12 }),
        fc.constantFrom(1 as const, -1 as const),
        fc.boolean(),
        async (requests, sign, isOneHour) => {
          const own = isOneHour
            ? requests.map((each) => ({ ...each, requested_at: "2026-11-20T23:59:59.999Z" }))
            : requests;
          assert.deepEqual(
            await sum(own, summedContributions("own", sign, ["git_branch"], isOneHour)),
            await sum(own, contributions("own", sign, ["git_branch"])),
          );
        },
      ),
      { numRuns: 40 },
    );
  });
});
