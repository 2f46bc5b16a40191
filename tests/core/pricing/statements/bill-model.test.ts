import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { billModelOf } from "../../../../core/pricing/statements/bill-model.ts";

describe("billModelOf()", () => {
  const same = [
    ["Claude Sonnet 4.5", "claude-sonnet-4-5-20250929", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"],
    ["Claude4.5Sonnet", "anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"],
    ["Claude 3.5 Sonnet 2024-10-22", "claude-3-5-sonnet-20241022"],
    ["gpt-5-2025-08-07", "openai/gpt-5", "GPT-5"],
    ["NovaPro", "us.amazon.nova-pro-v1:0"],
  ];
  for (const names of same)
    it(`takes ${names.join(", ")} as one model`, () =>
      assert.equal(new Set(names.map(billModelOf)).size, 1, names.map(billModelOf).join(" | ")));

  it("distinguishes models", () => {
    const names = [
      "通义千问",
      "文心一言",
      "gpt-5",
      "gpt-5-mini",
      "gpt-5.1",
      "gpt-4.1",
      "o3",
      "claude-opus-4-5",
      "claude-opus-4-1",
    ];
    assert.equal(new Set(names.map(billModelOf)).size, names.length);
  });

  it("finds nothing in a name without letters and digits", () => assert.equal(billModelOf(" – "), ""));
});
