import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import {
  createPriceHistory,
  type ListOptions,
  listPrices,
  nameOf,
  parseListedModel,
} from "../../../core/pricing/list-prices.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import { NO_RATES, type RateRow } from "../../../core/pricing/rates.ts";

const at = Date.UTC(2026, 10, 21);

const rowOf = (model: string, change: Partial<RateRow> = {}): RateRow => ({
  ...{ provider: "acme", model, source: "bundled", match: null },
  ...{ effectiveFrom: null, effectiveTo: null, daily: null, provenanceDate: "2026-09-23" },
  rates: { ...NO_RATES, input: 1, output: 2 },
  ...change,
});

const list = (rows: readonly RateRow[], options: Partial<ListOptions> = {}) => {
  const given = { text: "", at, limit: 10, isLeftOut: () => false, ...options };
  const { models, more } = listPrices(createPriceBook(rows), given);
  return [...models.map(nameOf), ...(more ? ["…"] : [])];
};

describe("listPrices()", () => {
  it("lists each model once, by name, with the price that applies", () => {
    const rows = [rowOf("b"), rowOf("a"), rowOf("B", { source: "operator" })];
    const { models } = listPrices(createPriceBook(rows), {
      ...{ text: "", at, limit: 10, isLeftOut: () => false },
    });
    assert.deepEqual(
      models.map(({ provider, model, row }) => [provider, model.toLowerCase(), row.source]),
      [
        ["acme", "a", "bundled"],
        ["acme", "b", "operator"],
      ],
    );
  });

  it("leaves out patterns, other names, excluded models, and models without a price at the time", () => {
    const rows = [
      rowOf("a-1"),
      rowOf("a-2"),
      rowOf("c"),
      rowOf("a-*", { source: "operator" }),
      rowOf("a-old", { effectiveTo: "2026-01-01" }),
    ];
    assert.deepEqual(list(rows.slice(0, 3), { text: " ACME/A" }), ["acme/a-1", "acme/a-2"]);
    assert.deepEqual(list(rows, { isLeftOut: ({ model }) => model === "a-1" }), [
      "acme/a-2",
      "acme/a-old",
      "acme/c",
    ]);
    assert.deepEqual(list([...rows.slice(0, 3), rows[4]!]), ["acme/a-1", "acme/a-2", "acme/c"]);
  });

  it("says whether there are more than the limit", () => {
    const rows = ["a", "b", "c"].map((model) => rowOf(model));
    assert.deepEqual(list(rows, { limit: 2 }), ["acme/a", "acme/b", "…"]);
    assert.deepEqual(list(rows, { limit: 3 }), ["acme/a", "acme/b", "acme/c"]);
  });

  it("lists the bundled models with names that find their price", () => {
    const book = createPriceBook(loadBundledRates());
    const { models, more } = listPrices(book, {
      ...{ text: "anthropic/claude", at, limit: 20, isLeftOut: () => false },
    });
    assert.equal(models.length, 20);
    assert.equal(more, true);
    for (const each of models) {
      const parsed = parseListedModel(nameOf(each)) ?? assert.fail(nameOf(each));
      assert.equal(book.find({ ...parsed, requestedModel: null, at }), each.row);
    }
  });
});

describe("parseListedModel()", () => {
  it("splits at the first slash, since names of models have slashes", () => {
    assert.deepEqual(parseListedModel("openrouter/meta/llama"), {
      provider: "openrouter",
      model: "meta/llama",
    });
    for (const text of ["", "claude", "/claude", "anthropic/"])
      assert.equal(parseListedModel(text), null, text);
  });
});

describe("createPriceHistory()", () => {
  it("has all prices of a model of a list, the latest beginning first", () => {
    const rows = [
      rowOf("m"),
      rowOf("m", { effectiveFrom: "2026-03-01" }),
      rowOf("M", { source: "auto", provenanceDate: "2026-10-01" }),
      rowOf("m", { effectiveFrom: "2026-05-01" }),
      rowOf("m", { provider: "other" }),
      rowOf("n"),
    ];
    const history = createPriceHistory(createPriceBook(rows));
    assert.deepEqual(history(rows[0]!), [rows[3], rows[1], rows[2], rows[0]]);
    assert.deepEqual(history(rows[5]!), [rows[5]]);
    assert.deepEqual(history(rowOf("unknown")), []);
    const same = [rowOf("m"), rowOf("m")];
    assert.deepEqual(createPriceHistory(createPriceBook(same))(same[0]!), same);
  });
});
