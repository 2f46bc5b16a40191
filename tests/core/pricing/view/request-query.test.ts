import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  isUsageFilter,
  parseRequestQuery,
  printRequestQuery,
  toUsageParameter,
} from "../../../../core/pricing/view/request-query.ts";
import { MAX_SEARCH, REQUEST_SORTS } from "../../../../core/wire/queries.ts";
import { aUsageQuery } from "./usage-query.rig.ts";

const parse = (text: string) => parseRequestQuery(new URLSearchParams(text));

describe("parseRequestQuery()", () => {
  it("reads filters that repeat and exclude, the text and the order", () => {
    const { query, notices } = parse("project=a&project=b&model.not=m&branch=&q=Fix&sort=cost&period=7d");
    assert.deepEqual(query, {
      filters: [
        { dimension: "project", not: false, values: ["a", "b"] },
        { dimension: "branch", not: false, values: [""] },
        { dimension: "model", not: true, values: ["m"] },
      ],
      text: "Fix",
      sort: "cost",
    });
    assert.deepEqual(notices, []);
  });

  it("accepts the former names of filters", () => {
    for (const [before, now] of [
      ["status=unpriced", "cost=unpriced"],
      ["status=incomplete", "tokens=incomplete"],
      ["status=429", "http_status=429"],
      ["http=500", "http_status=500"],
      ["status=failed", "status=failed"],
      ["user=u1", "person=u1"],
      ["status.not=429", "http_status.not=429"],
      ["user.not=u1", "person.not=u1"],
    ] as const)
      assert.deepEqual(parse(before), parse(now), before);
    assert.deepEqual(toUsageParameter(["q", "a"]), ["q", "a"]);
  });

  it("names what is invalid, and leaves it out", () => {
    for (const [text, key] of [
      ["status=broken", "status"],
      ["cost=cheap", "cost"],
      ["kind=poem", "kind"],
      ["sort=name", "sort"],
      [`q=${"x".repeat(MAX_SEARCH + 1)}`, "q"],
      ["q=a%00b", "q"],
      ["project=a%00b", "project"],
      [`project=${"x".repeat(257)}`, "project"],
    ] as const) {
      const { query, notices } = parse(text);
      assert.deepEqual(
        notices.map((notice) => notice.key),
        [key],
      );
      assert.deepEqual([query.filters, query.sort], [[], "time"]);
      assert.ok((query.text ?? "").length <= MAX_SEARCH);
    }
  });

  it("reads what printRequestQuery() prints", () => {
    fc.assert(
      fc.property(
        aUsageQuery,
        fc.option(fc.string({ unit: fc.constantFrom("a", "+", " ", "%", "&", "=", "é"), minLength: 1 }), {
          nil: null,
        }),
        fc.constantFrom(...REQUEST_SORTS),
        ({ filters }, text, sort) => {
          const query = { filters, text, sort };
          assert.deepEqual(parse(printRequestQuery(query)), { query, notices: [] });
        },
      ),
    );
  });

  it("tells filters from other parameters", () => {
    assert.deepEqual(["kind", "kind.not", "person", "q", "sort", "user"].map(isUsageFilter), [
      ...[true, true, true, false, false, false],
    ]);
  });
});
