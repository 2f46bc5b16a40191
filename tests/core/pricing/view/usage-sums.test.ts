import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { emptySums, parseSums, sumsJson } from "../../../../core/pricing/view/usage-sums.ts";

describe("parseSums()", () => {
  const sums = { ...emptySums(), requests: 3, failed: 1, blocked: 2 };

  it("reads what sumsJson() writes", () => {
    assert.deepEqual(parseSums(sumsJson(sums)), sums);
  });

  it("reads no refused calls from an older version, which does not state them", () => {
    assert.deepEqual(parseSums({ ...sumsJson(sums), blocked_requests: null }), { ...sums, blocked: 0 });
  });
});
