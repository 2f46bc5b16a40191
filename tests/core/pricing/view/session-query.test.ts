import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { NO_COST } from "../../../../core/pricing/cost-split.ts";
import { MAX_COST_PICO_USD } from "../../../../core/pricing/money.ts";
import {
  describeUnknownCosts,
  hasCost,
  parseSessionQuery,
  printSessionQuery,
} from "../../../../core/pricing/view/session-query.ts";
import { SESSION_SORTS } from "../../../../core/wire/queries.ts";
import { aUsageQuery } from "./usage-query.rig.ts";

const parse = (text: string) => parseSessionQuery(new URLSearchParams(text));

describe("describeUnknownCosts()", () => {
  it("says how many sessions an amount leaves out, and why", () => {
    assert.equal(
      describeUnknownCosts(1),
      "1 session may cost more: a call has no known price. It is left out.",
    );
    assert.equal(
      describeUnknownCosts(1_200),
      "1,200 sessions may cost more: calls have no known price. They are left out.",
    );
  });
});

describe("parseSessionQuery()", () => {
  it("reads filters that repeat and exclude, the lowest cost and the order", () => {
    assert.deepEqual(parse("project=a&project=b&model.not=m&user=u1&min_cost=1.50&sort=calls&limit=3"), {
      query: {
        filters: [
          { dimension: "project", not: false, values: ["a", "b"] },
          { dimension: "model", not: true, values: ["m"] },
          { dimension: "person", not: false, values: ["u1"] },
        ],
        minPicoUsd: 1_500_000_000_000n,
        sort: "calls",
      },
      notices: [],
    });
    for (const text of ["", "min_cost=", "min_cost=0", "min_cost=0.00"])
      assert.deepEqual(parse(text), {
        query: { filters: [], minPicoUsd: null, sort: "latest" },
        notices: [],
      });
  });

  it("names what is invalid, and leaves it out", () => {
    for (const [text, key] of [
      ["min_cost=much", "min_cost"],
      ["min_cost=-1", "min_cost"],
      ["min_cost=1e20", "min_cost"],
      ["sort=name", "sort"],
      ["status=broken", "status"],
    ] as const) {
      const { query, notices } = parse(text);
      assert.deepEqual(
        [query, notices.map((notice) => notice.key)],
        [{ filters: [], minPicoUsd: null, sort: "latest" }, [key]],
      );
    }
  });

  it("reads what printSessionQuery() prints", () => {
    fc.assert(
      fc.property(
        aUsageQuery,
        fc.option(fc.bigInt({ min: 1n, max: MAX_COST_PICO_USD })),
        fc.constantFrom(...SESSION_SORTS),
        ({ filters }, minPicoUsd, sort) => {
          const query = { filters, minPicoUsd, sort };
          assert.deepEqual(parse(printSessionQuery(query)), { query, notices: [] });
        },
      ),
    );
  });
});

describe("hasCost()", () => {
  it("compares each part of a cost alone, since they are never added up", () => {
    const split = { ...NO_COST, spentPicoUsd: 3n, planUsagePicoUsd: 4n };
    assert.deepEqual(
      [3n, 4n, 5n, 7n].map((min) => hasCost(split, min)),
      [true, true, false, false],
    );
    assert.equal(hasCost({ ...NO_COST, unknownBillingPicoUsd: 5n }, 5n), true);
  });
});
