import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { effectiveBilling } from "../../../core/values/billing.ts";

describe("effectiveBilling()", () => {
  it("returns the stored mode", () => {
    assert.equal(effectiveBilling({ billingMode: "metered", provider: "codex" }), "metered");
  });

  it("derives the mode of an older record only from a provider that serves nothing but plans", () => {
    assert.equal(effectiveBilling({ billingMode: null, provider: "codex" }), "plan");
    assert.equal(effectiveBilling({ billingMode: null, provider: "code-assist" }), "plan");
    assert.equal(effectiveBilling({ billingMode: null, provider: "anthropic" }), "unknown");
  });
});
