import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { RequestRecord } from "../../../core/record.ts";
import type { ReportRow, Store } from "../../../daemon/store/mod.ts";
import { withStore } from "./open-sample-store.ts";
import { noon, sampleRecord } from "./sample-records.ts";

const DAY_MS = 86_400_000;
const turn = async () => {};
const everything = { from: noon - 40 * DAY_MS, to: noon + 40 * DAY_MS, days: "utc" } as const;

const plain = (row: ReportRow | undefined) => row && { ...row, key: null };

/** What the reports, which ask once for everything, have to say of the same. */
async function reportsOf(store: Store) {
  const period = { from: everything.from, to: everything.to };
  const [total] = await store.report({ ...period, by: "total" });
  return {
    total: plain(total),
    days: await store.report({ ...period, by: "day", days: "utc" }),
    projects: await store.report({ ...period, by: "project" }),
  };
}

describe("readStatistics()", () => {
  it("gives no lines and zeros where there is nothing", () =>
    withStore(async (store) => {
      const { total, days, projects, models } = await store.readStatistics(everything, turn);
      assert.deepEqual([total.requests, total.costPicoUsd, total.tokens.prompt], [0, 0n, null]);
      assert.deepEqual([days, projects, models], [[], [], []]);
    }));

  it("is half-open, and keeps models of two providers apart", () =>
    withStore(async (store) => {
      store.insertRecords([
        sampleRecord({ requestedAt: noon - 1 }),
        sampleRecord({ requestedAt: noon, provider: "a", model: "m", project: "p", costPicoUsd: 5n }),
        sampleRecord({ requestedAt: noon + 9, provider: "b", model: "m", project: "p", costPicoUsd: 7n }),
        sampleRecord({ requestedAt: noon + 10 }),
      ]);
      const { total, models, projects } = await store.readStatistics(
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
        projects.map(({ key, requests, lastRequestedAt }) => [key, requests, lastRequestedAt]),
        [["p", 2, noon + 9]],
      );
    }));

  it("lets other work run between slices, also within one millisecond", () =>
    withStore(async (store) => {
      store.insertRecords(
        Array.from({ length: 12_001 }, (_, n) => sampleRecord({ requestedAt: noon + (n >> 13) })),
      );
      let turns = 0;
      const { total } = await store.readStatistics(everything, async () => void turns++);
      assert.equal(total.requests, 12_001);
      assert.ok(turns >= 2, `${turns}`);
    }));

  // Planted once: slices that reach an hour into the next one; found after 4 runs.
  it("says the same as the reports do", async () => {
    const record = fc.record({
      requestedAt: fc.integer({ min: -3 * 24, max: 3 * 24 }).map((hours) => noon + hours * 3_600_000),
      project: fc.constantFrom("a", "b", "c"),
      model: fc.constantFrom("x", "y"),
      costPicoUsd: fc.option(fc.bigInt({ min: 0n, max: 2n ** 62n }), { nil: null }),
      errorClass: fc.constantFrom("network" as const, null),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 40 }), (records) =>
        withStore(async (store) => {
          store.insertRecords(records.map((each) => sampleRecord(each as Partial<RequestRecord>)));
          const statistics = await store.readStatistics(everything, turn);
          const expected = await reportsOf(store);
          if (records.length > 0) assert.deepEqual(statistics.total, expected.total);
          assert.deepEqual(statistics.days, expected.days);
          assert.deepEqual(
            statistics.projects.map(({ lastRequestedAt: _, ...row }) => row),
            expected.projects,
          );
        }),
      ),
      { numRuns: 40 },
    );
  });
});

describe("listRequests()", () => {
  const all = { from: null, to: null, beforeSeq: null };

  it("pages through all that arrived, the last first, once each, while more arrives", () =>
    withStore(async (store) => {
      const records = Array.from({ length: 25 }, (_, n) => sampleRecord({ requestedAt: noon - n }));
      store.insertRecords(records);
      const seen: string[] = [];
      let beforeSeq: number | null = null;
      do {
        const page = await store.listRequests({ ...all, beforeSeq, limit: 10 }, turn);
        seen.push(...page.requests.map(({ requestId }) => requestId));
        beforeSeq = page.nextBeforeSeq;
        store.insertRecords([sampleRecord()]);
      } while (beforeSeq !== null);
      assert.deepEqual(seen, records.map(({ requestId }) => requestId).toReversed());
    }));

  it("filters", () =>
    withStore(async (store) => {
      store.insertRecords([
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
        (await store.listRequests({ ...all, limit: 10, ...query }, turn)).requests.map(
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

  it("looks through everything in slices for what is rare, and stops when nobody waits", () =>
    withStore(async (store) => {
      const [rare, ...rest] = Array.from({ length: 30_000 }, () => sampleRecord());
      store.insertRecords([{ ...(rare as RequestRecord), project: "rare" }, ...rest]);
      let turns = 0;
      const found = await store.listRequests({ ...all, project: "rare", limit: 1 }, async () => void turns++);
      assert.deepEqual([found.requests.length, found.nextBeforeSeq, turns], [1, null, 3]);
      const gone = new AbortController();
      await assert.rejects(
        store.listRequests(
          { ...all, project: "rare", limit: 1 },
          async () => gone.abort(new Error("left")),
          gone.signal,
        ),
        { message: "left" },
      );
    }));
});

describe("readRequest()", () => {
  it("finds one by its whole id, in any case, and no other", () =>
    withStore(async (store) => {
      const record = sampleRecord();
      store.insertRecords([record, sampleRecord()]);
      assert.equal((await store.readRequest(record.requestId.toUpperCase()))?.requestId, record.requestId);
      assert.equal(await store.readRequest(record.requestId.slice(0, 20)), null);
      assert.equal(await store.readRequest("msg_1"), null);
    }));
});
