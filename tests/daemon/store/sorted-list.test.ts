import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { RequestRecord } from "../../../core/values/record.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { withStore } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

const turn = async () => {};
const MINUTE = 60_000;

/** Costs of which most are low, so that most blocks have low peaks, and some are equal or unknown. */
const cost = fc.oneof(
  { weight: 30, arbitrary: fc.bigInt({ min: 0n, max: 50n }) },
  { weight: 3, arbitrary: fc.bigInt({ min: 0n, max: 1_000_000n }) },
  { weight: 1, arbitrary: fc.constant(null) },
);

type Drawn = { readonly cost: bigint | null; readonly latency: number; readonly prompt: number | null };
const drawn = fc.record({
  cost,
  latency: fc.integer({ min: 0, max: 90 }),
  prompt: fc.option(fc.integer({ min: 0, max: 500 }), { nil: null }),
});

const toRecord = ({ cost: costPicoUsd, latency, prompt }: Drawn, at: number): RequestRecord =>
  sampleRecord({
    requestedAt: noon + at * MINUTE,
    project: at % 7 === 0 ? "rare" : "common",
    costPicoUsd,
    costSource: costPicoUsd === null ? "unpriced" : "computed",
    latencyMs: latency,
    tokens: {
      ...sampleRecord().tokens,
      ...{ promptTokens: prompt, cacheReadTokens: null, cacheWriteTokens: null },
      ...{ completionTokens: null, thinkingTokens: null },
    },
  });

const KEYS = {
  cost: (record: RequestRecord) => record.costPicoUsd ?? -1n,
  ms: (record: RequestRecord) => BigInt(record.latencyMs),
  tokens: (record: RequestRecord) => BigInt(record.tokens.promptTokens ?? -1),
} as const;

/** Reads all pages of a list. */
async function readAll(store: Store, query: Partial<Parameters<Store["records"]["list"]>[0]>) {
  const ids: string[] = [];
  let after: NonNullable<Parameters<Store["records"]["list"]>[0]["after"]> | null = null;
  do {
    const page = await store.records.list(
      { from: null, to: null, beforeSeq: null, limit: 300, ...query, after },
      turn,
    );
    ids.push(...page.requests.map(({ requestId }) => requestId));
    after = page.nextAfter;
  } while (after !== null);
  return ids;
}

describe("listSorted()", () => {
  it("lists all requests of a period by falling key, with and without rollups, and after changes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(drawn, { minLength: 700, maxLength: 1_300, size: "max" }),
        fc.integer({ min: 0, max: 1_300 }),
        fc.integer({ min: 0, max: 1_300 }),
        async (all, one, other) => {
          await withStore(async (store) => {
            const records = all.map(toRecord);
            const from = noon + Math.min(one, other) * MINUTE;
            const to = noon + Math.max(one, other) * MINUTE + 1;
            const check = async (project: string | undefined) => {
              for (const [sort, keyOf] of Object.entries(KEYS)) {
                const expected = records
                  .map((record, seq) => ({ record, seq, key: keyOf(record) }))
                  .filter(({ record: { requestedAt } }) => requestedAt >= from && requestedAt < to)
                  .filter(({ record }) => project === undefined || record.project === project)
                  .sort((a, b) => (a.key === b.key ? b.seq - a.seq : a.key < b.key ? 1 : -1))
                  .map(({ record: { requestId } }) => requestId);
                const found = await readAll(store, {
                  from,
                  to,
                  sort: sort as keyof typeof KEYS,
                  ...(project !== undefined && { project }),
                });
                assert.deepEqual(found, expected, sort);
              }
            };
            store.insertBatch({ records, bodies: [], coverage: [] });
            await check(undefined);
            for (let step = 0; step < 50 && store.rollups.buildSome(noon); step += 1);
            await check(undefined);
            await check("rare");
            // Above the peak of its block.
            const changed = Math.min(one, records.length - 1);
            const { requestId, costSource } = records[changed] ?? assert.fail();
            records[changed] = { ...(records[changed] ?? assert.fail()), costPicoUsd: 2_000_000n };
            const update = { requestId, costPicoUsd: 2_000_000n, costSource, ratesSource: null };
            assert.equal(store.records.updateCosts([update], noon), 1);
            await check(undefined);
          });
        },
      ),
      { numRuns: 3 },
    );
  });
});
