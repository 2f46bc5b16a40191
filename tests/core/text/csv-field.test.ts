import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { csvField } from "../../../core/text/csv-field.ts";

describe("csvField()", () => {
  for (const [value, field] of [
    [null, ""],
    ["", ""],
    [-12n, "-12"],
    [0.5, "0.5"],
    [true, "true"],
    ["plain", "plain"],
    ["a,b", '"a,b"'],
    ['say "no"', '"say ""no"""'],
    ["two\nlines", '"two\nlines"'],
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@sum", "'@sum"],
    ["\t=1", "'\t=1"],
    ['\r="x"', `"'\r=""x"""`],
    ["a=1", "a=1"],
  ] as const) {
    it(`writes ${JSON.stringify(typeof value === "bigint" ? `${value}n` : value)}`, () => {
      assert.equal(csvField(value), field);
    });
  }
});
