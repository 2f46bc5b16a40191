import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readGatewayCost, readStatedCost } from "../../../../core/metering/usage/stated-cost.ts";
import { ADDRESSES, readAnswer, sse } from "./answers.rig.ts";

describe("readStatedCost()", () => {
  const table: [name: string, provider: string, usage: string | null, pico: bigint | null][] = [
    ["xAI's ticks of 10^-10 USD", "xai", '{"cost_in_usd_ticks":37756000}', 3_775_600_000n],
    [
      "more ticks than a double can hold",
      "xai",
      '{"cost_in_usd_ticks": 9007199254740993 }',
      900_719_925_474_099_300n,
    ],
    ["no cost beyond 64 bits of pico-USD", "openrouter", '{"cost":1e8}', null],
    ["no ticks that are no integer", "xai", '{"cost_in_usd_ticks":1.5}', null],
    ["no negative ticks", "xai", '{"cost_in_usd_ticks":-1}', null],
    ["no ticks where none are", "xai", "{}", null],
    ["no cost of xAI's", "xai", '{"cost":1}', null],
    ["OpenRouter's cost", "openrouter", '{"cost":0.00014}', 140_000_000n],
    ["a cost with an exponent", "openrouter", '{"cost":1.5e-7}', 150_000n],
    ["a cost beyond twelve places, half to even", "openrouter", '{"cost":0.0000000000025}', 2n],
    ["a cost that a double would blur", "openrouter", '{"cost":0.1000000000000000055}', 100_000_000_000n],
    ["a cost of nothing", "openrouter", '{"cost":0}', 0n],
    [
      "a cost beside an upstream cost that is not the caller's",
      "openrouter",
      '{"cost":0.95,"is_byok":false,"cost_details":{"upstream_inference_cost":19}}',
      950_000_000_000n,
    ],
    [
      "the fee and the upstream cost with a key of one's own",
      "openrouter",
      '{"cost":0.05,"is_byok":true,"cost_details":{"upstream_inference_cost":1}}',
      1_050_000_000_000n,
    ],
    [
      "the fee alone where the upstream cost is null",
      "openrouter",
      '{"cost":0.05,"is_byok":true,"cost_details":{"upstream_inference_cost":null}}',
      50_000_000_000n,
    ],
    ["no negative cost", "openrouter", '{"cost":-0.5}', null],
    ["no cost in quotes", "openrouter", '{"cost":"0.5"}', null],
    ["no cost that is null", "openrouter", '{"cost":null}', null],
    [
      "Perplexity's total",
      "perplexity",
      '{"cost":{"input_tokens_cost":0.1,"total_cost":0.006}}',
      6_000_000_000n,
    ],
    [
      "no cost of a provider that is not known to state one",
      "openai",
      '{"cost":1,"cost_in_usd_ticks":1}',
      null,
    ],
    ["no cost without usage", "xai", null, null],
  ];
  for (const [name, provider, usage, pico] of table)
    it(`reads ${name}`, () => {
      assert.equal(readStatedCost(provider, usage), pico);
    });

  it("reaches the report from every API that states one", () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, cost: 0.25, cost_in_usd_ticks: 7 };
    const chat = { id: "i", model: "m", choices: [], usage };
    assert.equal(
      readAnswer(ADDRESSES.openrouter, JSON.stringify(chat)).providerCostPicoUsd,
      250_000_000_000n,
    );
    assert.equal(
      readAnswer(ADDRESSES.openrouter, sse({ model: "m" }, chat)).providerCostPicoUsd,
      250_000_000_000n,
    );
    assert.equal(readAnswer(ADDRESSES.xai, JSON.stringify(chat)).providerCostPicoUsd, 700n);
    assert.equal(readAnswer(ADDRESSES.chat, JSON.stringify(chat)).providerCostPicoUsd, null);
    const response = {
      id: "r",
      model: "m",
      usage: { input_tokens: 1, output_tokens: 1, cost_in_usd_ticks: 7 },
    };
    assert.equal(readAnswer(ADDRESSES.xaiResponses, JSON.stringify(response)).providerCostPicoUsd, 700n);
    const messages = { model: "m", usage: { input_tokens: 1, output_tokens: 1, cost: 0.5 } };
    assert.equal(
      readAnswer("https://openrouter.ai/api/v1/messages", JSON.stringify(messages)).providerCostPicoUsd,
      500_000_000_000n,
    );
    const embeddings = { model: "m", usage: { prompt_tokens: 1, cost: 0.5 } };
    assert.equal(
      readAnswer("https://openrouter.ai/api/v1/embeddings", JSON.stringify(embeddings)).providerCostPicoUsd,
      500_000_000_000n,
    );
  });
});

describe("readGatewayCost()", () => {
  const cases: [what: string, gateway: unknown, cost: bigint | null][] = [
    ["takes what was charged", { cost: "0.0042", marketCost: "0.005" }, 4_200_000_000n],
    ["takes a free model as free", { cost: "0", marketCost: "0" }, 0n],
    ["takes a charge of nothing without a price as free", { cost: "0" }, 0n],
    ["knows nothing of a call with the caller's own key", { cost: "0", marketCost: "0.005" }, null],
    ["ignores numbers, and amounts that no call costs", { cost: 0.0042 }, null],
    ["ignores too much", { cost: "99999999999" }, null],
    ["ignores a text that is no amount", { cost: "free" }, null],
    ["ignores anything else", "0.0042", null],
  ];
  for (const [what, gateway, cost] of cases) it(what, () => assert.equal(readGatewayCost(gateway), cost));
});
