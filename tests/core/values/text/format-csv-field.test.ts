import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatCsvField, formatCsvLine } from "../../../../core/values/text/format-csv-field.ts";

describe("formatCsvField()", () => {
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
    ["\t=1", `"\t'=1"`],
    ['\r="x"', `"\r'=""x"""`],
    ["a=1", "a=1"],
    ["a - b", "a - b"],
    ["\uFF1D1+1", "'\uFF1D1+1"],
    ["\uFF0B1", "'\uFF0B1"],
    ["\uFF0D1", "'\uFF0D1"],
    ["\uFF20sum", "'\uFF20sum"],
    ["\uFE661", "'\uFE661"],
    ["\u22121", "'\u22121"],
    ["  =1", "'  =1"],
    ["\u00A0=1", "'\u00A0=1"],
    ["\uFEFF\u200B\0=1", "'\uFEFF\u200B\0=1"],
    ["a;=1", `"a;'=1"`],
    ["a\n=1\r\n@x", `"a\n'=1\r\n'@x"`],
    ["a\t-1", `"a\t'-1"`],
  ] as const) {
    it(`writes ${JSON.stringify(typeof value === "bigint" ? `${value}n` : value)}`, () => {
      assert.equal(formatCsvField(value), field);
    });
  }
});

describe("formatCsvLine()", () => {
  it("separates fields by commas and ends with a line end", () => {
    assert.equal(formatCsvLine(["a", null, 2n, "b,c"]), 'a,,2,"b,c"\r\n');
  });
});
