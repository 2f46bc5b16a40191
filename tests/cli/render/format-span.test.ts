import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatSpan } from "../../../cli/render/format-span.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("formatSpan()", () => {
  it("takes the two largest units, and seconds below a minute", () => {
    for (const [ms, text] of [
      [0, "0 s"],
      [-5, "0 s"],
      [999, "0 s"],
      [45_000, "45 s"],
      [MINUTE - 1, "59 s"],
      [MINUTE, "1 min"],
      [59 * MINUTE, "59 min"],
      [HOUR, "1 h"],
      [134 * MINUTE, "2 h 14 min"],
      [24 * HOUR, "1 d"],
      [24 * HOUR + 5 * MINUTE, "1 d"],
      [123.5 * HOUR, "5 d 3 h"],
    ] as const)
      assert.equal(formatSpan(ms), text);
  });
});
