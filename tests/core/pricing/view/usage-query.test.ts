import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  DEFAULT_USAGE_QUERY,
  parseUsageQuery,
  printUsageQuery,
  withFilter,
  withoutFilter,
} from "../../../../core/pricing/view/usage-query.ts";
import { aUsageQuery } from "./usage-query.rig.ts";

const parse = (text: string) => parseUsageQuery(new URLSearchParams(text));

describe("parseUsageQuery()", () => {
  it("reads what printUsageQuery() prints", () => {
    fc.assert(
      fc.property(aUsageQuery, (query) => {
        assert.deepEqual(parse(printUsageQuery(query)), { query, notices: [] });
      }),
    );
  });

  it("reads what printUsageQuery() prints with other defaults", () => {
    const defaults = { ...DEFAULT_USAGE_QUERY, period: "7d" as const, top: 10 };
    fc.assert(
      fc.property(aUsageQuery, (query) => {
        const printed = new URLSearchParams(printUsageQuery(query, defaults));
        assert.deepEqual(parseUsageQuery(printed, { defaults }), { query, notices: [] });
      }),
    );
  });

  it("prints nothing for the defaults", () => assert.equal(printUsageQuery(DEFAULT_USAGE_QUERY), ""));

  it("collects repeated filters, and keeps those that exclude apart", () => {
    const { query } = parse("project=b&project=a&project=b&project.not=c&client=");
    assert.deepEqual(query.filters, [
      { dimension: "project", not: false, values: ["a", "b"] },
      { dimension: "project", not: true, values: ["c"] },
      { dimension: "client", not: false, values: [""] },
    ]);
  });

  const notices: readonly (readonly [text: string, keys: readonly string[]])[] = [
    ["projcet=a", ["projcet"]],
    ["period=1d", ["period"]],
    ["period=7d&period=30d", ["period"]],
    ["period=7d&from=2026-11-01", ["period"]],
    ["to=2026-11-01", ["to"]],
    ["tz=Mars/Olympus", ["tz"]],
    ["top=0&metric=cost", ["top", "metric"]],
    ["by=model&then=model", ["then"]],
    ["then=model", ["then"]],
    ["status=unpriced", ["status"]],
    [`model=${"x".repeat(257)}`, ["model"]],
    // PostgreSQL refuses such a parameter.
    ["project=a%00b&error.not=%00", ["project", "error.not"]],
    ["constructor=1&__proto__=1", ["constructor", "__proto__"]],
    [Array.from({ length: 101 }, (_, at) => `model=${at}`).join("&"), ["model"]],
  ];
  for (const [text, keys] of notices)
    it(`reports ${text.slice(0, 30)}`, () => {
      const parsed = parse(text);
      assert.deepEqual(
        parsed.notices.map(({ key }) => key),
        keys,
      );
    });

  it("keeps the keys of a page", () => {
    const parsed = parseUsageQuery(new URLSearchParams("sort=cost&top=3"), { otherKeys: ["sort"] });
    assert.deepEqual(parsed, { query: { ...DEFAULT_USAGE_QUERY, top: 3 }, notices: [] });
  });
});

describe("withFilter()", () => {
  it("replaces the values of a dimension, and withoutFilter() removes them", () => {
    const { query } = parse("model=a&model=b&project.not=c");
    assert.equal(printUsageQuery(withFilter(query, "model", "x&y")), "project.not=c&model=x%26y");
    assert.equal(printUsageQuery(withFilter(query, "client", null)), "project.not=c&model=a&model=b&client=");
    assert.equal(printUsageQuery(withoutFilter(query, "model", false)), "project.not=c");
    assert.equal(printUsageQuery(withoutFilter(query, "project", true)), "model=a&model=b");
  });
});
