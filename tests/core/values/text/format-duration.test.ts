import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatDuration } from "../../../../core/values/text/format-duration.ts";

describe("formatDuration()", () => {
  const table: readonly [ms: number, text: string][] = [
    [0, "0 ms"],
    [999.4, "999 ms"],
    [999.6, "1.0 s"],
    [59_949, "59.9 s"],
    [59_950, "1 min 0 s"],
    [61_000, "1 min 1 s"],
    [119_600, "2 min 0 s"],
  ];
  for (const [ms, text] of table) it(`${ms} as ${text}`, () => assert.equal(formatDuration(ms), text));
});
