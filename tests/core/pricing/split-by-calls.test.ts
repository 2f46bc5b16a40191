import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { NO_RATES } from "../../../core/pricing/rates.ts";
import { splitByCalls } from "../../../core/pricing/split-by-calls.ts";

const tier = (aboveTokens: number) => ({ ...NO_RATES, aboveTokens });

const none = {
  promptTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  completionTokens: 0,
  thinkingTokens: 0,
};

describe("splitByCalls()", () => {
  it("does not split the tokens without call extras", () => {
    for (const extras of [null, {}, { web_search_requests: 1 }]) {
      const split = splitByCalls(extras, tier(200_000));
      assert.equal(split.tier?.aboveTokens, 200_000);
      assert.deepEqual(split.portionsOf(none), [{ tokens: none, tier: split.tier, suffix: "" }]);
      assert.equal(split.unknown, null);
    }
    assert.equal(splitByCalls({ model_calls: 2 }, null).tier, null);
  });

  it("returns a reason for a tier other than that of the call extras", () => {
    const split = splitByCalls({ model_calls: 2, above_200k_prompt_tokens: 5 }, tier(128_000));
    assert.equal(split.unknown, "no count of the tokens in calls above 128000 tokens");
    assert.equal(split.portionsOf(none).length, 1);
  });

  it("subtracts output from the completion first, then from thinking", () => {
    const extras = { model_calls: 2, above_200k_cache_read_tokens: 1, above_200k_output_tokens: 7 };
    const [below, above] = splitByCalls(extras, tier(200_000)).portionsOf({
      ...none,
      cacheReadTokens: 1,
      completionTokens: 5,
      thinkingTokens: 4,
    });
    assert.deepEqual([above?.tokens.completionTokens, above?.tokens.thinkingTokens], [5, 2]);
    assert.deepEqual([below?.tokens.completionTokens, below?.tokens.thinkingTokens], [0, 2]);
  });

  // Seen to fail with the one-hour part above the threshold not bounded by the whole one-hour part: the rest was negative.
  it("distributes every token once, for any extras", () => {
    const count = fc.nat(5);
    fc.assert(
      fc.property(
        fc.record({
          promptTokens: count,
          cacheReadTokens: count,
          cacheWriteTokens: count,
          cacheWrite1hTokens: count,
          completionTokens: count,
          thinkingTokens: count,
        }),
        fc.record({
          model_calls: fc.nat(2),
          above_200k_prompt_tokens: count,
          above_200k_cache_read_tokens: count,
          above_200k_cache_write_tokens: count,
          above_200k_cache_write_1h_tokens: count,
          above_200k_output_tokens: fc.nat(10),
        }),
        (tokens, extras) => {
          const portions = splitByCalls(extras, tier(200_000)).portionsOf(tokens);
          for (const name of Object.keys(tokens) as (keyof typeof tokens)[]) {
            const parts = portions.map((portion) => portion.tokens[name]);
            assert.equal(
              parts.reduce((sum, part) => sum + part, 0),
              tokens[name],
            );
            assert.ok(parts.every((part) => part >= 0));
          }
        },
      ),
    );
  });
});

describe("splitByCalls() with every part", () => {
  const extras = {
    model_calls: 3,
    above_200k_prompt_tokens: 1,
    above_200k_cache_read_tokens: 2,
    above_200k_cache_write_tokens: 4,
    above_200k_cache_write_1h_tokens: 3,
    above_200k_output_tokens: 5,
  };
  const tokens = {
    promptTokens: 10,
    cacheReadTokens: 10,
    cacheWriteTokens: 10,
    cacheWrite1hTokens: 10,
    completionTokens: 10,
    thinkingTokens: 10,
  };

  it("subtracts each part from its own count", () => {
    const [below, above] = splitByCalls(extras, tier(200_000)).portionsOf(tokens);
    assert.deepEqual(above, {
      tier: tier(200_000),
      suffix: " above 200000",
      tokens: {
        promptTokens: 1,
        cacheReadTokens: 2,
        cacheWriteTokens: 4,
        cacheWrite1hTokens: 3,
        completionTokens: 5,
        thinkingTokens: 0,
      },
    });
    assert.deepEqual([below?.tier, below?.suffix, below?.tokens.promptTokens], [null, "", 9]);
  });

  it("is in the base tier if no call exceeded it, and in the tier if any input did", () => {
    const only = (part: object) => splitByCalls({ model_calls: 2, ...part }, tier(200_000)).tier?.aboveTokens;
    assert.equal(only({}), undefined);
    assert.equal(only({ above_200k_prompt_tokens: 1 }), 200_000);
    assert.equal(only({ above_200k_cache_read_tokens: 1 }), 200_000);
    assert.equal(only({ above_200k_cache_write_tokens: 1 }), 200_000);
    assert.equal(only({ above_200k_prompt_tokens: 1, above_200k_cache_read_tokens: 1 }), 200_000);
    assert.equal(only({ above_200k_prompt_tokens: 1, above_200k_cache_write_tokens: 1 }), 200_000);
  });
});
