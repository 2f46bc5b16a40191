import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { noUsage, stated } from "./answer.ts";
import { expectedCostPicoUsd } from "./expected-cost.ts";
import { readScenario } from "./scenario.ts";
import type { SimulatedCall } from "./simulated-call.ts";

const empty = Buffer.alloc(0);
const entry: SimulatedCall = {
  ...noUsage,
  ordinal: 0,
  connection: 0,
  provider: "anthropic",
  host: "api.anthropic.com",
  method: "POST",
  path: "/v1/messages",
  api: "anthropic.messages",
  model: "claude-sonnet-4-5-20250929",
  requestedModel: "claude-sonnet-4-5",
  streaming: false,
  scenario: readScenario(""),
  status: 200,
  serviceTier: "standard",
  extras: {},
  error: null,
  responseId: null,
  delivery: "whole",
  requestHeaders: [],
  requestBody: empty,
  contentEncoding: null,
  responsePlain: empty,
  responseEncoded: empty,
};
const at = new Date("2026-11-21T00:00:00Z");

describe("expectedCostPicoUsd()", () => {
  // Computed by hand from Anthropic's price page: 3 USD in, 15 out, 0.30 read, 3.75 and 6 written, 10 per thousand
  // searches; above 200,000 tokens of input 6 and 22.50.
  it("is the count times the rate", () => {
    const tokens = {
      promptTokens: 1_000,
      cacheReadTokens: 10_000,
      cacheWriteTokens: 500,
      cacheWrite1hTokens: 200,
      completionTokens: 100,
      thinkingTokens: 50,
    };
    const cost = expectedCostPicoUsd({ ...entry, ...stated(tokens), extras: { web_search_requests: 2 } }, at);
    // 0.003 + 0.003 + 0.001125 + 0.0012 + 0.00225 + 0.02 USD
    assert.equal(cost, 30_575_000_000n);
  });

  it("uses the rates of the tier of the whole input", () => {
    const above = stated({ promptTokens: 1, cacheReadTokens: 200_000, completionTokens: 2 });
    assert.equal(
      expectedCostPicoUsd({ ...entry, ...above }, at),
      6_000_000n + 120_000_000_000n + 45_000_000n,
    );
    const below = stated({ promptTokens: 1, cacheReadTokens: 199_999, completionTokens: 2 });
    assert.equal(expectedCostPicoUsd({ ...entry, ...below }, at), 3_000_000n + 59_999_700_000n + 30_000_000n);
  });

  it("prefers the cost stated by the provider", () => {
    assert.equal(expectedCostPicoUsd({ ...entry, ...stated({ promptTokens: 1 }, true, 7n) }, at), 7n);
  });

  it("is null without counts, and 0 on a server of this machine", () => {
    assert.equal(expectedCostPicoUsd(entry, at), null);
    assert.equal(expectedCostPicoUsd({ ...entry, ...stated({ promptTokens: 1 }) }, at), null);
    const home = { ...entry, provider: "ollama", model: "llama3.2", serviceTier: null } as const;
    assert.equal(
      expectedCostPicoUsd({ ...home, ...stated({ promptTokens: 1, completionTokens: 1 }) }, at),
      0n,
    );
  });

  it("halves the price of OpenAI's flex tier, and rejects what it cannot price", () => {
    const used = stated({ promptTokens: 1_000, completionTokens: 100 });
    const openai = { ...entry, ...used, provider: "openai", model: "gpt-5" } as const;
    // 1.25 USD in, 10 out: 0.00125 + 0.001 USD, and half of it.
    assert.equal(expectedCostPicoUsd({ ...openai, serviceTier: "default" }, at), 2_250_000_000n);
    assert.equal(expectedCostPicoUsd({ ...openai, serviceTier: "flex" }, at), 1_125_000_000n);
    const priority = { ...entry, ...used, serviceTier: "priority" };
    assert.throws(() => expectedCostPicoUsd(priority, at), /no factor for the service tier: priority/);
  });
});
