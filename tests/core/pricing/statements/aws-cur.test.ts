import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { awsCostAndUsage } from "../../../../core/pricing/statements/aws-cur.ts";
import type { StatementRow } from "../../../../core/pricing/statements/statement-line.ts";
import { linesOf, problemOf } from "./read-lines.rig.ts";

const row = {
  line_item_usage_start_date: "2026-05-12T10:00:00Z",
  line_item_product_code: "AmazonBedrock",
  line_item_line_item_type: "Usage",
  line_item_usage_account_id: "111122223333",
  line_item_usage_type: "USE1-Claude4.5Haiku-input-tokens",
  line_item_usage_amount: "1.5",
  pricing_unit: "1K tokens",
  line_item_unblended_cost: "0.0015",
};
const read = (change: StatementRow) => linesOf(awsCostAndUsage.readRow({ ...row, ...change }));

describe("awsCostAndUsage", () => {
  it("reads the model, the kind of tokens and their number", () => {
    assert.deepEqual(read({}), [
      {
        ...{ date: "2026-05-12", kind: "usage", model: "Claude4.5Haiku", key: "111122223333" },
        ...{ part: "input", costPicoUsd: 1_500_000_000n, tokens: { input: 1_500n } },
        item: "USE1-Claude4.5Haiku-input-tokens",
      },
    ]);
  });

  const usageTypes: readonly (readonly [type: string, model?: string, part?: string, tier?: string])[] = [
    ["EUW1-NovaPro-output-tokens-batch", "NovaPro", "output", "batch"],
    [
      "USE1-Claude4.6Sonnet-cache-read-input-token-count-cross-region-global",
      "Claude4.6Sonnet",
      "cache read",
    ],
    ["USE1-Claude4.6Sonnet-cache-write-input-token-count", "Claude4.6Sonnet", "cache write"],
    ["NovaLite-input-tokens-Flex", "NovaLite", "input", "flex"],
    ["USE1-MP:USE1_CacheReadInputTokenCount-Units", "Claude 3.7 Sonnet", "cache read"],
    ["USE1-MP:USE1_OutputTokenCount_Batch-Units", "Claude 3.7 Sonnet", "output", "batch"],
  ];
  for (const [line_item_usage_type, model, part, tier] of usageTypes)
    it(`reads the usage type ${line_item_usage_type}`, () => {
      const [line] = read({
        line_item_usage_type,
        product_product_name: "Claude 3.7 Sonnet (Amazon Bedrock Edition)",
      });
      assert.deepEqual([line?.kind, line?.model, line?.part, line?.tier], ["usage", model, part, tier]);
    });

  it("finds the model of AWS Marketplace also in the description", () => {
    const [line] = read({
      line_item_usage_type: "USE1-MP:USE1_InputTokenCount-Units",
      line_item_line_item_description: "Claude 3 Opus (Amazon Bedrock Edition) input",
      pricing_unit: "Units",
    });
    assert.deepEqual([line?.model, line?.part, line?.tokens], ["Claude 3 Opus", "input", undefined]);
  });

  it("treats a line without a model as a fee", () => {
    const [line] = read({ line_item_usage_type: "USE1-Guardrail-ContentPolicyUnits" });
    assert.deepEqual([line?.kind, line?.model, line?.part], ["fee", undefined, undefined]);
    const [bare] = read({ line_item_usage_type: "", line_item_line_item_type: "" });
    assert.deepEqual([bare?.kind, bare?.item], ["fee", "Usage"]);
  });

  it("reads credits, discounts and taxes, which belong to no model", () => {
    const kinds = { Credit: "credit", EdpDiscount: "credit", Tax: "tax", Fee: "fee" };
    for (const [line_item_line_item_type, kind] of Object.entries(kinds)) {
      const [line] = read({ line_item_line_item_type, line_item_unblended_cost: "-1" });
      assert.deepEqual([line?.kind, line?.model, line?.tokens], [kind, undefined, undefined]);
      assert.equal(line?.costPicoUsd, -1_000_000_000_000n);
    }
  });

  it("reads no tokens from an amount that does not count them", () => {
    for (const change of [
      { pricing_unit: "" },
      { pricing_unit: "Requests" },
      { line_item_usage_amount: "many" },
      { line_item_usage_amount: "-1" },
    ])
      assert.equal(read(change)[0]?.tokens, undefined);
    const { line_item_usage_amount: _, ...without } = row;
    assert.equal(linesOf(awsCostAndUsage.readRow(without))[0]?.tokens, undefined);
  });

  it("leaves out other services, and reads an empty cost as 0", () => {
    assert.deepEqual(read({ line_item_product_code: "AmazonEC2" }), []);
    assert.equal(read({ line_item_unblended_cost: "" })[0]?.costPicoUsd, 0n);
    assert.match(problemOf(awsCostAndUsage.readRow({ ...row, line_item_currency_code: "CNY" })), /CNY/);
  });
});
