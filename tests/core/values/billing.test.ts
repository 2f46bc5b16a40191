import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PROVIDERS } from "../../../core/metering/usage/providers.ts";
import {
  EFFECTIVE_BILLING_SQL,
  effectiveBilling,
  METERED_PROVIDERS,
  PLAN_PROVIDERS,
} from "../../../core/values/billing.ts";

describe("effectiveBilling()", () => {
  it("returns the stored mode", () => {
    assert.equal(effectiveBilling({ billingMode: "metered", provider: "codex" }), "metered");
  });

  it("derives the billing of an older record from its provider, if all of its calls were billed alike", () => {
    const rows = [
      ["codex", "plan"],
      ["code-assist", "plan"],
      ["bedrock", "metered"],
      ["gemini", "metered"],
      ["anthropic", "unknown"],
      ["openai", "unknown"],
      ["xai", "unknown"],
      ["ollama", "unknown"],
    ] as const;
    for (const [provider, mode] of rows) {
      assert.equal(effectiveBilling({ billingMode: null, provider }), mode);
      assert.equal(effectiveBilling({ billingMode: "credits", provider }), "credits");
    }
  });

  it("names only providers whose entries agree, and is the same in SQL", () => {
    const billingOf = (name: string) =>
      new Set(PROVIDERS.filter(({ provider }) => provider === name).map(({ billing }) => billing ?? null));
    for (const name of METERED_PROVIDERS) assert.deepEqual([...billingOf(name)], [null], name);
    for (const name of PLAN_PROVIDERS) assert.deepEqual([...billingOf(name)], ["plan"], name);
    for (const name of [...METERED_PROVIDERS, ...PLAN_PROVIDERS])
      assert.ok(EFFECTIVE_BILLING_SQL.includes(`'${name}'`), name);
  });
});
