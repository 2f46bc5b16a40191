import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { agree, comparable, differenceOf, totalOf } from "../../../../core/metering/witnesses/evidence.ts";
import { counts } from "./evidence.rig.ts";

const unknown = { input: null, cacheRead: null, cacheWrite: null, output: null };

describe("comparable()", () => {
  it("adds thinking to the output, since not all witnesses separate them", () => {
    const outputOf = (completionTokens: number | null, thinkingTokens: number | null) =>
      comparable({ ...counts(10), completionTokens, thinkingTokens }).output;
    assert.deepEqual(
      [outputOf(5, 7), outputOf(5, null), outputOf(null, 7), outputOf(null, null)],
      [12, 5, 7, null],
    );
  });

  it("is unknown without counts", () => {
    assert.deepEqual(comparable(null), unknown);
    assert.deepEqual(comparable(undefined), unknown);
  });
});

describe("agree()", () => {
  const known = comparable(counts(10));

  it("does not compare a count that one of the witnesses does not state", () => {
    assert.equal(agree(known, { ...unknown, output: 7 }), true);
    assert.equal(agree(unknown, known), true);
    assert.equal(agree(known, { ...unknown, output: 8 }), false);
  });
});

describe("differenceOf()", () => {
  it("adds up the counts that both state", () => {
    const known = comparable(counts(10));
    assert.equal(differenceOf(known, { ...known, input: 13, output: 5 }), 5);
    assert.equal(differenceOf(known, { ...unknown, input: 13 }), 3);
    assert.equal(differenceOf(unknown, known), 0);
  });
});

describe("totalOf()", () => {
  it("adds up what is known", () => {
    assert.equal(totalOf(comparable(counts(10))), 117);
    assert.equal(totalOf({ ...unknown, input: 3 }), 3);
  });
});
