import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isStreamWithoutUsage } from "../../../core/metering/estimate/stream-usage.ts";
import { NO_TOKENS } from "../../../core/metering/usage/token-counts.ts";
import type { CostSource } from "../../../core/values/record.ts";
import { dayOf } from "../../../daemon/store/days.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { ReportGrouping, ReportRow } from "../../../daemon/store/port/reports.ts";
import { propertyRuns } from "../../core/property-runs.rig.ts";
import { inZone } from "./in-zone.rig.ts";
import { inNewFolder, opener, withStore } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

const ever = { from: null, to: null };
const keys = (rows: readonly ReportRow[]) => rows.map(({ key, requests }) => `${key} ${requests}`);

describe("readStreamsWithoutUsage()", () => {
  it("counts by program what isStreamWithoutUsage() finds, most first", async () => {
    const unstated = {
      api: "openai.chat",
      tokens: NO_TOKENS,
      tokensComplete: false,
      costPicoUsd: null,
    } as const;
    const records = [
      sampleRecord({ ...unstated, client: "aider" }),
      sampleRecord({ ...unstated, client: "node" }),
      sampleRecord({ ...unstated, client: "node", api: "openai.completions" }),
      sampleRecord({ ...unstated, client: null, project: "other" }),
      sampleRecord({ ...unstated, client: "a", streaming: false }),
      sampleRecord({ ...unstated, client: "b", api: "openai.responses" }),
      sampleRecord({ ...unstated, client: "c", errorClass: "network" }),
      sampleRecord({ ...unstated, client: "d", tokens: { ...NO_TOKENS, promptTokens: 0 } }),
      sampleRecord({ client: "e", api: "openai.chat" }),
    ];
    await withStore(async (store) => {
      store.insertBatch({ records, bodies: [], coverage: [] });
      assert.deepEqual(await store.reports.readStreamsWithoutUsage(ever), [
        { client: "node", requests: 2 },
        { client: null, requests: 1 },
        { client: "aider", requests: 1 },
      ]);
      assert.deepEqual(await store.reports.readStreamsWithoutUsage({ ...ever, project: "other" }), [
        { client: null, requests: 1 },
      ]);
      const found = records.filter(isStreamWithoutUsage).map(({ client }) => client);
      assert.deepEqual(found, ["aider", "node", "node", null]);
    });
  });
});

describe("readUnpricedModels()", () => {
  it("counts the requests without a cost whose tokens are known, by model, with the latest id", async () => {
    const unpriced = { costPicoUsd: null, costSource: "unpriced" } as const;
    const records = [
      sampleRecord({ ...unpriced, model: "a", requestedAt: noon }),
      sampleRecord({ ...unpriced, model: "b", requestedAt: noon + 1 }),
      sampleRecord({ ...unpriced, model: "b", requestedAt: noon + 2, project: "other" }),
      sampleRecord({ ...unpriced, model: "c", tokens: NO_TOKENS }),
      sampleRecord({ model: "d" }),
    ];
    await withStore(async (store) => {
      store.insertBatch({ records, bodies: [], coverage: [] });
      const [a, b1, b2] = records.map(({ requestId }) => requestId) as [string, string, string];
      const provider = sampleRecord().provider;
      const rowB = { provider, model: "b", requests: 2, lastRequestId: [b1, b2].sort()[1] as string };
      assert.deepEqual(await store.reports.readUnpricedModels(ever, 5), [
        rowB,
        { provider, model: "a", requests: 1, lastRequestId: a },
      ]);
      assert.deepEqual(await store.reports.readUnpricedModels(ever, 1), [rowB]);
      assert.deepEqual(await store.reports.readUnpricedModels({ ...ever, project: "other" }, 5), [
        { provider, model: "b", requests: 1, lastRequestId: b2 },
      ]);
    });
  });
});

describe("report()", () => {
  const records = () => [
    sampleRecord({ project: "a", model: "m1", costPicoUsd: 10n, requestedAt: noon }),
    sampleRecord({ project: "b", model: "m1", costPicoUsd: 500n, requestedAt: noon + 1, client: null }),
    sampleRecord({ project: "a", model: "m2", provider: "openai", costPicoUsd: 20n, requestedAt: noon + 2 }),
    sampleRecord({
      project: "a",
      model: "m2",
      provider: "openai",
      requestedAt: noon + 3,
      costPicoUsd: null,
      costSource: "unpriced",
      errorClass: "timeout",
      tokens: NO_TOKENS,
      tokensComplete: false,
    }),
  ];

  const tables: [by: ReportGrouping, query: object, expected: string[]][] = [
    ["project", {}, ["b 1", "a 3"]],
    ["model", {}, ["m1 2", "m2 2"]],
    ["provider", {}, ["anthropic 2", "openai 2"]],
    ["client", {}, ["null 1", "claude 3"]],
    ["total", {}, ["null 4"]],
    ["day", { days: "utc" }, ["2026-05-12 4"]],
    ["project", { from: noon + 1, to: noon + 3 }, ["b 1", "a 1"]],
    ["project", { project: "a" }, ["a 3"]],
    ["model", { project: "a", provider: "anthropic" }, ["m1 1"]],
    ["total", { model: "m2" }, ["null 2"]],
    ["day", { days: "utc", model: "m2", to: noon + 3 }, ["2026-05-12 1"]],
    ["day", { days: "utc", model: "none" }, []],
    ["total", { project: "none" }, []],
    ["project", { from: noon + 9 }, []],
  ];
  for (const [by, query, expected] of tables) {
    it(`groups by ${by} with ${JSON.stringify(query)}`, () =>
      withStore(async (store) => {
        store.records.insert(records());
        assert.deepEqual(keys(await store.reports.read({ ...ever, ...query, by })), expected);
      }));
  }

  it("counts and sums, separately by cost source", () =>
    withStore(async (store) => {
      store.records.insert([
        ...records(),
        sampleRecord({ project: "a", costPicoUsd: 5n, costSource: "provider" }),
        sampleRecord({ project: "a", costPicoUsd: 7n, costSource: "estimated" }),
        // The failed request used nothing, so its cost is not missing; this one's is.
        sampleRecord({ project: "a", costPicoUsd: null, costSource: "unpriced" }),
      ]);
      const [row] = await store.reports.read({ ...ever, by: "project", project: "a" });
      assert.deepEqual(row, {
        key: "a",
        requests: 6,
        errors: 1,
        blocked: 0,
        unpriced: 1,
        incomplete: 1,
        tokens: {
          prompt: 500n,
          cacheRead: 10_000n,
          cacheWrite: 150n,
          cacheWrite1h: 50n,
          completion: 250n,
          thinking: null,
        },
        costPicoUsd: 42n,
        split: { spentPicoUsd: 42n, planUsagePicoUsd: 0n, unknownBillingPicoUsd: 0n },
        byBilling: {
          metered: { requests: 6, costPicoUsd: 42n },
          plan: { requests: 0, costPicoUsd: 0n },
          credits: { requests: 0, costPicoUsd: 0n },
          free: { requests: 0, costPicoUsd: 0n },
          unknown: { requests: 0, costPicoUsd: 0n },
        },
        bySource: {
          computed: { requests: 2, costPicoUsd: 30n },
          provider: { requests: 1, costPicoUsd: 5n },
          estimated: { requests: 1, costPicoUsd: 7n },
          unpriced: { requests: 2, costPicoUsd: 0n },
        },
      });
    }));

  it("keeps keys with any characters apart, and an unknown client from an empty one", () =>
    withStore(async (store) => {
      const clients = ["a", "a\u0001", "=a", "\u0001", "", null];
      store.records.insert(clients.map((client) => sampleRecord({ client })));
      const rows = await store.reports.read({ by: "client", from: null, to: null });
      assert.deepEqual(new Set(rows.map(({ key }) => key)), new Set(clients));
      const pairs = await store.reports.read({ by: "client", and: "project", from: null, to: null });
      assert.deepEqual(new Set(pairs.map(({ key }) => key)), new Set(clients));
    }));

  it("sums beyond 64 bits of pico-USD and beyond 2^53 tokens", () =>
    withStore(async (store) => {
      const largest = 2n ** 63n - 1n;
      const tokens = { ...NO_TOKENS, promptTokens: 2 ** 40 };
      store.records.insert(
        Array.from({ length: 10_000 }, () => sampleRecord({ costPicoUsd: largest, tokens })),
      );
      const [row] = await store.reports.read({ ...ever, by: "total" });
      assert.equal(row?.costPicoUsd, largest * 10_000n);
      assert.equal(row?.tokens.prompt, 2n ** 40n * 10_000n);
    }));

  it("tolerates damaged cells", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const store = await openStore(opener, path);
      store.records.insert([sampleRecord({ costPicoUsd: 3n }), sampleRecord({ costPicoUsd: 4n })]);
      const other = await opener.open(path);
      other.execute("UPDATE requests SET cost_source = 'compted', requested_at = 1 << 62 WHERE seq = 1");
      other.close();
      const [row] = await store.reports.read({ ...ever, by: "total" });
      assert.equal(row?.costPicoUsd, 7n);
      assert.deepEqual(row?.bySource.estimated, { requests: 1, costPicoUsd: 3n });
      assert.deepEqual(keys(await store.reports.read({ ...ever, by: "day", days: "utc" })), ["2026-05-12 1"]);
      store.close();
    }));

  // Planted: `cost_pico_usd % 1000000000` left out of the sum; and a filter `<=` on the end of the period.
  it("agrees with a naive sum for any records and period", async () => {
    const record = fc.record({
      at: fc.integer({ min: 0, max: 6 }),
      project: fc.constantFrom("a", "b"),
      cost: fc.option(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n })),
      prompt: fc.option(fc.integer({ min: 0, max: 9 })),
    });
    const bound = fc.option(fc.integer({ min: 0, max: 7 }));
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 8 }), bound, bound, (given, from, to) =>
        withStore(async (store) => {
          store.records.insert(
            given.map(({ at, project, cost, prompt }) =>
              sampleRecord({
                requestedAt: noon + at,
                project,
                costPicoUsd: cost,
                costSource: cost === null ? "unpriced" : "computed",
                tokens: { ...NO_TOKENS, promptTokens: prompt },
              }),
            ),
          );
          const inside = given.filter(({ at }) => (from === null || at >= from) && (to === null || at < to));
          const rows = await store.reports.read({
            by: "project",
            from: from === null ? null : noon + from,
            to: to === null ? null : noon + to,
          });
          for (const project of ["a", "b"]) {
            const own = inside.filter((one) => one.project === project);
            const row = rows.find(({ key }) => key === project);
            assert.equal(row?.requests ?? 0, own.length);
            assert.equal(
              row?.costPicoUsd ?? 0n,
              own.reduce((sum, { cost }) => sum + (cost ?? 0n), 0n),
            );
            const prompts = own.flatMap(({ prompt }) => (prompt === null ? [] : [prompt]));
            const expected = prompts.length === 0 ? null : BigInt(prompts.reduce((sum, n) => sum + n, 0));
            assert.equal(row?.tokens.prompt ?? null, expected);
          }
        }),
      ),
      { numRuns: propertyRuns(20) },
    );
  });

  it("has the same total for every grouping", () =>
    withStore(async (store) => {
      const sources: CostSource[] = ["computed", "provider", "estimated"];
      store.records.insert(
        Array.from({ length: 60 }, (_, n) =>
          sampleRecord({
            requestedAt: noon + n * 7_000_000,
            project: `p${n % 3}`,
            model: `m${n % 5}`,
            costPicoUsd: BigInt(n) ** 9n,
            costSource: sources[n % 3] as CostSource,
          }),
        ),
      );
      const totals = [];
      for (const by of ["project", "model", "provider", "client", "day", "total"] as const) {
        const rows = await store.reports.read({ ...ever, by });
        totals.push(rows.reduce((sum, { costPicoUsd }) => sum + costPicoUsd, 0n));
      }
      assert.equal(new Set(totals).size, 1);
    }));
});

describe("days", () => {
  const hour = 3_600_000;
  const zones: [zone: string, at: number, date: string, hours: number, text: string][] = [
    ["UTC", Date.UTC(2026, 4, 12, 23, 59), "2026-05-12", 24, "an ordinary day"],
    ["Europe/Berlin", Date.UTC(2026, 2, 29, 12), "2026-03-29", 23, "clocks forward"],
    ["Europe/Berlin", Date.UTC(2026, 9, 25, 12), "2026-10-25", 25, "clocks back"],
    ["Europe/Berlin", Date.UTC(2026, 9, 24, 22), "2026-10-25", 25, "the first instant of that day"],
    ["America/New_York", Date.UTC(2026, 2, 8, 12), "2026-03-08", 23, "clocks forward, behind UTC"],
    ["Asia/Kathmandu", Date.UTC(2026, 4, 12, 18, 15), "2026-05-13", 24, "an offset of 5:45"],
    ["Pacific/Kiritimati", Date.UTC(2026, 4, 12, 10), "2026-05-13", 24, "an offset of 14 hours"],
    ["America/Sao_Paulo", Date.UTC(2017, 9, 15, 12), "2017-10-15", 23, "a midnight that was skipped"],
    [
      "America/Sao_Paulo",
      Date.UTC(2018, 1, 18, 2, 30),
      "2018-02-17",
      25,
      "an hour before midnight that came twice",
    ],
    ["America/Havana", Date.UTC(2026, 10, 1, 4, 30), "2026-11-01", 25, "a midnight that came twice"],
    ["Pacific/Apia", Date.UTC(2011, 11, 30, 9, 59), "2011-12-29", 24, "before the day that was left out"],
    ["Pacific/Apia", Date.UTC(2011, 11, 30, 10), "2011-12-31", 24, "after it"],
  ];
  for (const [zone, at, date, hours, text] of zones) {
    it(`dayOf() handles ${text}: ${zone} ${date}`, () =>
      inZone(zone, () => {
        const day = dayOf(at, "local");
        assert.deepEqual({ date: day.date, hours: (day.to - day.from) / hour }, { date, hours });
        assert.ok(day.from <= at && at < day.to);
        assert.equal(dayOf(day.from, "local").date, date);
        assert.equal(dayOf(day.to - 1, "local").date, date);
        assert.notEqual(dayOf(day.to, "local").date, date);
      }));
  }

  it("dayOf() returns UTC days in any zone", () =>
    inZone("Asia/Kathmandu", () => {
      assert.deepEqual(dayOf(Date.UTC(2026, 4, 12, 23, 59), "utc"), {
        date: "2026-05-12",
        from: Date.UTC(2026, 4, 12),
        to: Date.UTC(2026, 4, 13),
      });
      assert.equal(dayOf(-1, "utc").date, "1969-12-31");
    }));

  it("report() splits local days when the clocks change, and at the ends of the period", () =>
    inZone("Europe/Berlin", () =>
      withStore(async (store) => {
        // 2026-10-25 runs from 22:00 UTC the day before to 23:00 UTC.
        const from = Date.UTC(2026, 9, 24, 22);
        const to = Date.UTC(2026, 9, 25, 23);
        store.records.insert(
          [from - 1, from, from + 1, to - 1, to].map((requestedAt) => sampleRecord({ requestedAt })),
        );
        assert.deepEqual(keys(await store.reports.read({ ...ever, by: "day" })), [
          "2026-10-24 1",
          "2026-10-25 3",
          "2026-10-26 1",
        ]);
        assert.deepEqual(keys(await store.reports.read({ by: "day", from: from + 1, to: to - 1 })), [
          "2026-10-25 1",
        ]);
        assert.deepEqual(keys(await store.reports.read({ ...ever, by: "day", days: "utc" })), [
          "2026-10-24 3",
          "2026-10-25 2",
        ]);
      }),
    ));

  it("report() is not slowed down by records from the distant future", () =>
    withStore(async (store) => {
      store.records.insert(
        [0, noon, Date.UTC(9999, 11, 30)].map((requestedAt, n) =>
          sampleRecord({ requestedAt, requestId: `id-${n}` }),
        ),
      );
      assert.deepEqual(keys(await store.reports.read({ ...ever, by: "day", days: "utc" })), [
        "1970-01-01 1",
        "2026-05-12 1",
        "9999-12-30 1",
      ]);
    }));
});
