import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  countLetThrough,
  describeLetThrough,
  describeLetThroughTotal,
} from "../../../core/budgets/let-through.ts";

describe("countLetThrough()", () => {
  it("counts by reason, and describeLetThrough() lists the reasons in a fixed order", () => {
    const counts = (["records", "caller", "caller"] as const).reduce(countLetThrough, {});
    assert.deepEqual(counts, { records: 1, caller: 2 });
    assert.equal(
      describeLetThrough(counts),
      "2 calls whose caller was not found within 5 ms, 1 call while its records could not be read",
    );
    assert.equal(describeLetThrough({}), "");
  });
});

describe("describeLetThroughTotal()", () => {
  it("says how many calls were sent before the budgets were read", () => {
    const because = "sent since the daemon started because a budget could not decide";
    assert.equal(describeLetThroughTotal(1, 0), `1 call was ${because}.`);
    assert.equal(describeLetThroughTotal(2, 2), `2 calls were ${because}, before the budgets were read.`);
    assert.equal(
      describeLetThroughTotal(3, 1),
      `3 calls were ${because}, 1 call of them before the budgets were read.`,
    );
  });
});
