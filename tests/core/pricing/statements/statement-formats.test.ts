import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  columnName,
  findPageFormat,
  findRowFormat,
  isEmptyPage,
  parsePages,
} from "../../../../core/pricing/statements/statement-formats.ts";
import { readSafely } from "../../../../core/pricing/statements/statement-values.ts";

describe("findPageFormat()", () => {
  const anthropic = (result: object) => ({ data: [{ starting_at: "2026-05-12", results: [result] }] });
  const openai = (object: string) => ({ data: [{ start_time: "1", results: [{ object }] }] });
  const pages: readonly (readonly [name: string | undefined, page: Readonly<Record<string, unknown>>])[] = [
    ["Anthropic cost report", anthropic({ amount: "1" })],
    ["Anthropic cost report", { data: [{ starting_at: "2026-05-12", results: [] }] }],
    ["Anthropic usage report", anthropic({ uncached_input_tokens: "1" })],
    ["OpenAI costs", openai("organization.costs.result")],
    ["OpenAI usage", openai("organization.usage.completions.result")],
    ["OpenRouter activity", { data: [{ date: "2026-05-12", usage: "1" }] }],
    [undefined, openai("organization.usage.images.result")],
    [undefined, { data: [{ start_time: "1", results: "none" }] }],
    [undefined, { data: [{ date: "2026-05-12" }] }],
    [undefined, { data: [] }],
    [undefined, { data: [null] }],
    [undefined, {}],
  ];
  for (const [name, page] of pages)
    it(`recognises ${name ?? "nothing"} in ${JSON.stringify(page)}`, () =>
      assert.equal(findPageFormat(page)?.name, name));
});

describe("findRowFormat()", () => {
  const columns: Readonly<Record<string, string>> = {
    "Claude Console cost export": "usage_date_utc model cost_usd",
    "Claude Console token export": "usage_date_utc model_version usage_output_tokens",
    "OpenAI cost export": "start_time amount_value line_item",
    "OpenAI usage export": "start_time num_model_requests",
    "OpenRouter generation export": "generation_id cost_total",
    "OpenRouter activity export": "date slug usage requests",
    "AWS Cost and Usage Report": "line_item_usage_start_date line_item_usage_type line_item_unblended_cost",
  };
  for (const [name, names] of Object.entries(columns))
    it(`recognises the ${name} by its columns`, () =>
      assert.equal(findRowFormat(names.split(" "))?.name, name));

  it("recognises nothing else", () => assert.equal(findRowFormat(["date", "usage"]), null));
});

describe("parsePages()", () => {
  it("reads one page or a list, with each number as its text", () => {
    assert.deepEqual(parsePages('{"a":1.10}'), { ok: true, pages: [{ a: "1.10" }] });
    assert.deepEqual(parsePages("[{},{}]"), { ok: true, pages: [{}, {}] });
  });

  it("says what is wrong", () => {
    assert.deepEqual(parsePages("{"), { ok: false, problem: "is not JSON" });
    assert.deepEqual(parsePages("[{},1]"), { ok: false, problem: "is not a page of a report" });
  });
});

describe("isEmptyPage()", () => {
  it("is true for a page whose buckets have no results", () => {
    assert.ok(isEmptyPage({ data: [{ results: [] }, { results: [] }] }));
    assert.ok(isEmptyPage({ data: [] }));
    for (const data of [undefined, [1], [{}], [{ results: [{}] }]]) assert.ok(!isEmptyPage({ data }));
  });
});

describe("readSafely()", () => {
  it("does not hide a fault of a reader", () => {
    const read = () => {
      throw new TypeError("a fault");
    };
    assert.throws(() => readSafely(read), TypeError);
  });
});

describe("columnName()", () => {
  it("spells columns as CUR 2.0 does", () => {
    for (const [title, name] of [
      ["lineItem/UnblendedCost", "line_item_unblended_cost"],
      ["\uFEFFusage_date_utc", "usage_date_utc"],
      ["BYOK Usage", "byok_usage"],
    ] as const)
      assert.equal(columnName(title), name);
  });
});
