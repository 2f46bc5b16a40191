import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_TOKENS } from "../../../core/metering/usage/token-counts.ts";
import { isUnpriced } from "../../../core/pricing/unpriced.ts";

describe("isUnpriced()", () => {
  const call = { costPicoUsd: null, errorClass: null, tokens: NO_TOKENS };

  it("is true for a request without a cost, unless it failed without counts", () => {
    assert.equal(isUnpriced(call), true);
    assert.equal(isUnpriced({ ...call, errorClass: "timeout" }), false);
    const tokens = { ...NO_TOKENS, completionTokens: 3 };
    assert.equal(isUnpriced({ ...call, errorClass: "timeout", tokens }), true);
  });

  it("is false for a cost of zero", () => assert.equal(isUnpriced({ ...call, costPicoUsd: 0n }), false));
});
