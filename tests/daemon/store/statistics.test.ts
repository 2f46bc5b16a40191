import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { RequestRecord } from "../../../core/values/record.ts";
import type { ReportRow } from "../../../daemon/store/port/reports.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { propertyRuns } from "../../core/property-runs.rig.ts";
import { withStore } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

const DAY_MS = 86_400_000;
const turn = async () => {};
const everything = { from: noon - 40 * DAY_MS, to: noon + 40 * DAY_MS, days: "utc" } as const;

const plain = (row: ReportRow | undefined) => row && { ...row, key: null };

/** The same figures from the reports, which read everything at once. */
async function reportsOf(store: Store) {
  const period = { from: everything.from, to: everything.to };
  const [total] = await store.reports.read({ ...period, by: "total" });
  return {
    total: plain(total),
    days: await store.reports.read({ ...period, by: "day", days: "utc" }),
    projects: await store.reports.read({ ...period, by: "project" }),
  };
}

describe("reports.readStatistics()", () => {
  it("returns zeros and no rows without requests", () =>
    withStore(async (store) => {
      const { total, days, projects, models } = await store.reports.readStatistics(everything, turn);
      assert.deepEqual([total.requests, total.costPicoUsd, total.tokens.prompt], [0, 0n, null]);
      assert.deepEqual([days, projects, models], [[], [], []]);
    }));

  it("uses a half-open period, and separates equal models of two providers", () =>
    withStore(async (store) => {
      store.records.insert([
        sampleRecord({ requestedAt: noon - 1 }),
        sampleRecord({ requestedAt: noon, provider: "a", model: "m", project: "p", costPicoUsd: 5n }),
        sampleRecord({ requestedAt: noon + 9, provider: "b", model: "m", project: "p", costPicoUsd: 7n }),
        sampleRecord({ requestedAt: noon + 10 }),
      ]);
      const { total, models, projects } = await store.reports.readStatistics(
        { from: noon, to: noon + 10, days: "utc" },
        turn,
      );
      assert.deepEqual([total.requests, total.costPicoUsd], [2, 12n]);
      assert.deepEqual(
        models.map(({ provider, key, costPicoUsd }) => [provider, key, costPicoUsd]),
        [
          ["b", "m", 7n],
          ["a", "m", 5n],
        ],
      );
      assert.deepEqual(
        projects.map(({ key, requests }) => [key, requests]),
        [["p", 2]],
      );
    }));

  it("lets other work run between slices, also within one millisecond", () =>
    withStore(async (store) => {
      store.records.insert(
        Array.from({ length: 12_001 }, (_, n) => sampleRecord({ requestedAt: noon + (n >> 13) })),
      );
      let turns = 0;
      const { total } = await store.reports.readStatistics(everything, async () => void turns++);
      assert.equal(total.requests, 12_001);
      assert.ok(turns >= 2, `${turns}`);
    }));

  // Planted once: slices that extend an hour into the next one; found after 4 runs.
  it("agrees with the reports", async () => {
    const record = fc.record({
      requestedAt: fc.integer({ min: -3 * 24, max: 3 * 24 }).map((hours) => noon + hours * 3_600_000),
      project: fc.constantFrom("a", "b", "c"),
      model: fc.constantFrom("x", "y"),
      costPicoUsd: fc.option(fc.bigInt({ min: 0n, max: 2n ** 62n }), { nil: null }),
      errorClass: fc.constantFrom("network" as const, null),
      blockedBy: fc.constantFrom(null, null, "cap"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 40 }), (records) =>
        withStore(async (store) => {
          store.records.insert(records.map((each) => sampleRecord(each as Partial<RequestRecord>)));
          const statistics = await store.reports.readStatistics(everything, turn);
          const expected = await reportsOf(store);
          if (records.length > 0) assert.deepEqual(statistics.total, expected.total);
          assert.deepEqual(statistics.days, expected.days);
          assert.deepEqual(statistics.projects, expected.projects);
        }),
      ),
      { numRuns: propertyRuns(15) },
    );
  });
});

describe("reports.readLastRequests()", () => {
  it("returns when each project was last requested in a half-open period", () =>
    withStore(async (store) => {
      store.records.insert(
        [-1, 0, 9, 10].map((ms) => sampleRecord({ requestedAt: noon + ms, project: ms < 9 ? "p" : "q" })),
      );
      const read = await store.reports.readLastRequests({ from: noon, to: noon + 10 });
      assert.deepEqual([...read].sort(), [
        ["p", noon],
        ["q", noon + 9],
      ]);
    }));
});

describe("records.list()", () => {
  const all = { from: null, to: null, beforeSeq: null };

  it("lists every request once in pages, the latest first, while more arrive", () =>
    withStore(async (store) => {
      const records = Array.from({ length: 25 }, (_, n) => sampleRecord({ requestedAt: noon - n }));
      store.records.insert(records);
      const seen: string[] = [];
      let beforeSeq: number | null = null;
      do {
        const page = await store.records.list({ ...all, beforeSeq, limit: 10 }, turn);
        seen.push(...page.requests.map(({ requestId }) => requestId));
        beforeSeq = page.nextBeforeSeq;
        store.records.insert([sampleRecord()]);
      } while (beforeSeq !== null);
      assert.deepEqual(seen, records.map(({ requestId }) => requestId).toReversed());
    }));

  it("filters", () =>
    withStore(async (store) => {
      store.records.insert([
        sampleRecord({ project: "a", requestedAt: noon, client: null }),
        sampleRecord({
          project: "b",
          requestedAt: noon + 1,
          model: "m",
          errorClass: "timeout",
          httpStatus: 504,
        }),
        sampleRecord({ project: "b", requestedAt: noon + 2, provider: "p", client: "codex" }),
      ]);
      const count = async (query: object) =>
        (await store.records.list({ ...all, limit: 10, ...query }, turn)).requests.map(
          ({ requestedAt }) => requestedAt - noon,
        );
      assert.deepEqual(await count({}), [2, 1, 0]);
      assert.deepEqual(await count({ project: "b" }), [2, 1]);
      assert.deepEqual(await count({ model: "m" }), [1]);
      assert.deepEqual(await count({ provider: "p" }), [2]);
      assert.deepEqual(await count({ client: "codex" }), [2]);
      assert.deepEqual(await count({ status: "failed" }), [1]);
      assert.deepEqual(await count({ status: "ok" }), [2, 0]);
      assert.deepEqual(await count({ status: 504 }), [1]);
      assert.deepEqual(await count({ from: noon + 1, to: noon + 2 }), [1]);
      assert.deepEqual(await count({ project: "none" }), []);
    }));

  it("searches in slices for rare matches, and stops when aborted", () =>
    withStore(async (store) => {
      const [rare, ...rest] = Array.from({ length: 30_000 }, () => sampleRecord());
      store.records.insert([{ ...(rare as RequestRecord), project: "rare" }, ...rest]);
      let turns = 0;
      const found = await store.records.list({ ...all, project: "rare", limit: 1 }, async () => void turns++);
      assert.deepEqual([found.requests.length, found.nextBeforeSeq, turns], [1, null, 3]);
      const gone = new AbortController();
      await assert.rejects(
        store.records.list(
          { ...all, project: "rare", limit: 1 },
          async () => gone.abort(new Error("left")),
          gone.signal,
        ),
        { message: "left" },
      );
    }));
});

describe("records.get()", () => {
  it("finds a request by its complete ID, in any case", () =>
    withStore(async (store) => {
      const record = sampleRecord();
      store.records.insert([record, sampleRecord()]);
      assert.equal((await store.records.get(record.requestId.toUpperCase()))?.requestId, record.requestId);
      assert.equal(await store.records.get(record.requestId.slice(0, 20)), null);
      assert.equal(await store.records.get("msg_1"), null);
    }));
});
