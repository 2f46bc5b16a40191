import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import { NO_RATES, type RateRow } from "../../../../core/pricing/rates.ts";
import { judgePriceList } from "../../../../core/pricing/sources/judge-price-list.ts";
import { mergePulledRows } from "../../../../core/pricing/sources/merge-pull.ts";
import type { PublishedRate } from "../../../../core/wire/pricing-rates.ts";

const TODAY = "2026-11-23";

const bundled = (rates: Partial<RateRow["rates"]> = {}, change: Partial<RateRow> = {}): RateRow => ({
  ...{ provider: "openai", model: "m", source: "bundled", match: "^m", effectiveFrom: null },
  ...{ effectiveTo: null, daily: null, provenanceDate: "2026-09-23" },
  rates: { ...NO_RATES, input: 1_000_000, output: 5_000_000, ...rates },
  ...change,
});

const listed = (input: string, change: Partial<PublishedRate> = {}): PublishedRate => ({
  ...{ provider: "openai", model: "m", input, output: "5", cache_read: null, cache_write: null },
  ...change,
});

const judge = (rates: readonly PublishedRate[], rows: readonly RateRow[] = [bundled()], today = TODAY) =>
  judgePriceList(
    { name: "litellm", rates, problems: [], today, now: Date.parse(`${today}T12:00:00Z`) },
    createPriceBook(rows),
  );

const held = (...given: Parameters<typeof judge>) =>
  judge(...given).held.map(({ field, problem }) => `${field} ${problem}`);

describe("judgePriceList()", () => {
  it("sorts rates into new, changed and unchanged, each with its origin", () => {
    const verdict = judge([listed("1"), listed("2", { model: "new" })]);
    assert.deepEqual([verdict.unchanged, verdict.changes, verdict.held], [1, [], []]);
    assert.deepEqual(
      verdict.added.map(({ model, origin, provenanceDate }) => [model, origin, provenanceDate]),
      [["new", { name: "litellm", retrievedOn: TODAY }, TODAY]],
    );
    assert.deepEqual(judge([listed("2")]).changes, [
      { provider: "openai", model: "m", field: "input", from: 1_000_000, to: 2_000_000 },
    ]);
  });

  it("holds back the model whose price moves too far, and accepts the others", () => {
    const verdict = judge([listed("10.000001"), listed("3", { model: "new" })]);
    assert.deepEqual(
      verdict.rows.map(({ model }) => model),
      ["new"],
    );
    assert.deepEqual(verdict.held, [
      {
        ...{ provider: "openai", model: "m", field: "input" },
        problem: "would change by more than a factor of 10: 1 to 10.000001",
      },
    ]);
  });

  it("holds back a rate that the list is known to have wrong, until the list states another one", () => {
    const realtime = (output: string) => listed("4", { model: "gpt-realtime-2", output, cache_read: null });
    const rows = [
      bundled({ input: 4_000_000, output: 24_000_000 }, { model: "gpt-realtime-2", match: null }),
    ];
    assert.deepEqual(held([realtime("16")], rows), [
      "output is known to be wrong: the list has the text output rate of gpt-realtime (https://developers.openai.com/api/docs/models/gpt-realtime-2.1)",
    ]);
    assert.deepEqual(judge([realtime("16")], rows).rows, []);
    assert.deepEqual(held([realtime("17")], rows), []);
    assert.deepEqual(
      judge([listed("0", { provider: "mistral", model: "labs-devstral-small-2512" })], []).held,
      [],
    );
  });

  it("holds back a move between free and paid, and prices above the ceiling", () => {
    assert.deepEqual(held([listed("0")]), ["input would change between free and paid: 1 to 0"]);
    assert.deepEqual(held([listed("1001", { model: "new" })]), [
      "input is above the ceiling of 1000 USD: 1001",
    ]);
    assert.deepEqual(held([listed("1", { extras: { web_search_requests: "100000001" } })]), [
      "web_search_requests is above the ceiling of 100000000 USD: 100000001",
    ]);
    assert.deepEqual(held([listed("-1")]), [
      'input must be a decimal text from zero up: current value is "-1"',
    ]);
  });

  it("compares a first cache rate with the input rate, and a first service tier with the standard rate", () => {
    assert.deepEqual(held([listed("1", { cache_read: "0.1" })]), []);
    assert.deepEqual(held([listed("1", { cache_read: "0.09" })]), [
      "cacheRead would change by more than a factor of 10: 1 to 0.09",
    ]);
    const flex = { input: "0.05", output: "2.5", cache_read: null, cache_write: null };
    assert.deepEqual(held([listed("1", { service_tiers: { flex } })]), [
      "flex: input would change by more than a factor of 10: 1 to 0.05",
    ]);
    const tiers = [{ above_tokens: 200_000, ...flex, input: "20" }];
    assert.deepEqual(held([listed("1", { tiers })]), [
      "above 200000 tokens: input would change by more than a factor of 10: 1 to 20",
    ]);
  });

  it("keeps what the list does not state of a known model, under any date of its name", () => {
    const known = bundled({ cacheRead: 100_000, thinking: 7, extras: { web_search_requests: 9 } });
    for (const model of ["m", "m-2026-01-02"]) {
      const [row] = judge([listed("2", { model })], [known]).rows;
      assert.deepEqual(row?.rates, { ...known.rates, input: 2_000_000 });
    }
  });

  it("keeps the token rates of a model for which the list states only a fee", () => {
    const fee = { input: null, output: null, extras: { web_search_requests: "10000" } };
    const verdict = judge([{ ...listed("1"), ...fee }]);
    assert.deepEqual([verdict.rows[0]?.rates.input, verdict.rows[0]?.rates.output], [1_000_000, 5_000_000]);
    assert.deepEqual(verdict.changes, [
      { provider: "openai", model: "m", field: "web search requests", from: null, to: 10_000_000_000 },
    ]);
  });

  it("takes nothing from another model whose rule matches the name", () => {
    const [row] = judge([listed("2", { model: "mini" })], [bundled({ cacheRead: 100_000 })]).added;
    assert.equal(row?.rates.cacheRead, null);
  });

  it("compares tiers, service tiers, fees and thinking with the known ones", () => {
    const flex = { input: "0.5", output: "2.5", cache_read: null, cache_write: null };
    const tiers = [{ ...flex, above_tokens: 200_000, input: "2" }];
    const offer = (change: Partial<PublishedRate>) =>
      listed("1", {
        tiers,
        service_tiers: { flex: { ...flex, tiers } },
        thinking: "5",
        per_request: "9",
        ...change,
      });
    const [known] = judge([offer({})]).rows;
    assert.ok(known !== undefined);
    assert.equal(judge([offer({})], [known]).unchanged, 1);
    const changed = offer({
      tiers: [{ ...flex, above_tokens: 200_000, input: "3" }],
      service_tiers: { flex: { ...flex, input: "0.6", tiers } },
      ...{ thinking: "6", per_request: "8" },
    });
    assert.deepEqual(
      judge([changed], [known]).changes.map(({ field, from, to }) => [field, from, to]),
      [
        ["above 200000 tokens: input", 2_000_000, 3_000_000],
        ["flex: input", 500_000, 600_000],
        ["thinking", 5_000_000, 6_000_000],
        ["request", 9_000_000, 8_000_000],
      ],
    );
  });

  it("judges a price that starts on a later day against the price of that day", () => {
    const rows = [bundled(), bundled({ input: 50_000_000 }, { effectiveFrom: "2027-01-01" })];
    assert.deepEqual(held([listed("60", { effective_from: "2027-01-02" })], rows), []);
  });

  it("does not compare with another provider's price list", () => {
    assert.equal(judge([listed("500", { provider: "azure" })]).added.length, 1);
  });

  it("compares the price of certain hours with the known price of those hours", () => {
    const daily = { fromSecond: 1_800, toSecond: 3_600 };
    const rows = [bundled(), bundled({ input: 50_000_000 }, { daily })];
    const offer = listed("50", { daily: { from: "00:30:00", to: "01:00:00" } });
    assert.deepEqual(held([offer], rows), []);
  });

  it("rejects the list if a quarter of the known models would move too far", () => {
    const models = Array.from({ length: 10 }, (_, index) => `m${index}`);
    const rows = models.map((model) => bundled({}, { model, match: null }));
    const offers = (input: string, count: number) =>
      models.map((model, index) => listed(index < count ? input : "1", { model }));
    assert.equal(judge(offers("1000", 9), rows).rejected, null);
    assert.equal(
      judge(offers("1000", 10), rows).rejected,
      "10 of 10 known models have a price that the guard does not accept",
    );
  });
});

describe("mergePulledRows()", () => {
  const pull = (stored: readonly RateRow[], rates: readonly PublishedRate[], today: string) => {
    const rows = [bundled(), ...stored];
    const verdict = judge(rates, rows, today);
    return mergePulledRows(
      stored,
      verdict.rows,
      createPriceBook(rows),
      today,
      Date.parse(`${today}T12:00:00Z`),
    );
  };
  const priceOn = (rows: readonly RateRow[], day: string, model = "m") =>
    createPriceBook([bundled(), ...rows]).find({
      ...{ provider: "openai", model, requestedModel: null },
      at: Date.parse(`${day}T10:00:00Z`),
    })?.rates.input;

  it("applies a changed price from the day of the pull, and keeps the rate of each day before", () => {
    const first = pull([], [listed("2")], "2026-11-20");
    const second = pull(first, [listed("3")], "2026-11-23");
    assert.equal(priceOn(second, "2026-11-19"), 1_000_000);
    assert.equal(priceOn(second, "2026-11-20"), 2_000_000);
    assert.equal(priceOn(second, "2026-11-22"), 2_000_000);
    assert.equal(priceOn(second, "2026-11-23"), 3_000_000);
  });

  it("applies the first price of a model to all days", () => {
    const rows = pull([], [listed("4", { provider: "openai", model: "x" })], "2026-11-20");
    assert.equal(priceOn(rows, "2026-01-01", "x"), 4_000_000);
    const changed = pull(rows, [listed("5", { model: "x" })], "2026-11-21");
    const again = pull(changed, [listed("6", { model: "x" })], "2026-11-22");
    assert.deepEqual(
      ["2026-11-20", "2026-11-21", "2026-11-22"].map((day) => priceOn(again, day, "x")),
      [4_000_000, 5_000_000, 6_000_000],
    );
  });

  it("only renews the date of a price that is the same, even at a second pull on one day", () => {
    const first = pull([], [listed("2")], "2026-11-20");
    const again = pull(first, [listed("2")], "2026-11-22");
    assert.deepEqual(
      again.map(({ effectiveFrom, origin }) => [effectiveFrom, origin?.retrievedOn]),
      [["2026-11-20", "2026-11-22"]],
    );
    const corrected = pull(again, [listed("3")], "2026-11-22");
    assert.equal(pull(corrected, [listed("4")], "2026-11-22").length, 2);
  });

  it("keeps the start that the list states", () => {
    const rows = pull([], [listed("2", { effective_from: "2027-01-01" })], "2026-11-20");
    assert.deepEqual(
      rows.map(({ effectiveFrom }) => effectiveFrom),
      ["2027-01-01"],
    );
    const later = pull(rows, [listed("2", { effective_from: "2026-12-01" })], "2026-11-21");
    assert.equal(pull(later, [listed("2")], "2026-11-22").length, 2);
  });

  it("compares with the latest stored row, in any order of the rows", () => {
    const first = pull([], [listed("2")], "2026-11-20");
    const second = pull(first, [listed("3")], "2026-11-22");
    const again = pull([...second].reverse(), [listed("3")], "2026-11-23");
    assert.deepEqual(again.map(({ effectiveFrom }) => effectiveFrom).sort(), ["2026-11-20", "2026-11-22"]);
  });

  it("keeps rows that an older version stored without an origin", () => {
    const old = bundled({}, { source: "auto", provenanceDate: "2026-10-01" });
    assert.equal(pull([old], [listed("2")], "2026-11-20").length, 2);
  });

  it("keeps the rows of other sources", () => {
    const other: RateRow = {
      ...bundled({}, { source: "auto", provenanceDate: "2026-11-01" }),
      origin: { name: "models.dev", retrievedOn: "2026-11-01" },
    };
    assert.equal(pull([other], [listed("2")], "2026-11-20").length, 2);
  });
});
