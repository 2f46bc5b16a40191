import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type BillingFacts, readBillingMode } from "../../../../core/metering/billing/billing-mode.ts";
import type { BillingMode } from "../../../../core/values/record.ts";

describe("readBillingMode()", () => {
  const call: BillingFacts = {
    provider: "anthropic",
    billing: null,
    credential: "api_key",
    responseHeaders: [],
    usesCredits: null,
    models: ["claude-sonnet-4-5"],
  };
  const codexHeaders = (used: string, credits: string) =>
    [
      ["X-Codex-Primary-Used-Percent", "12.5"],
      ["X-Codex-Secondary-Used-Percent", used],
      ["X-Codex-Credits-Has-Credits", credits],
    ] as const;
  const table: [text: string, facts: Partial<BillingFacts>, mode: BillingMode][] = [
    ["an API key", {}, "metered"],
    ["a signed request", { provider: "bedrock", credential: "signature" }, "metered"],
    ["a token of a cloud account", { provider: "vertex", credential: "token" }, "metered"],
    ["a token of a provider that sells plans", { provider: "openai", credential: "token" }, "unknown"],
    ["no credential", { credential: "none" }, "unknown"],
    ["a Claude login", { credential: "claude_login" }, "plan"],
    ["a Claude login without a response", { credential: "claude_login", responseHeaders: null }, "plan"],
    [
      "a Claude login with overage in use",
      {
        credential: "claude_login",
        responseHeaders: [["Anthropic-Ratelimit-Unified-Overage-In-Use", "true"]],
      },
      "credits",
    ],
    [
      "a Claude login whose deciding limit is the overage",
      {
        credential: "claude_login",
        responseHeaders: [["anthropic-ratelimit-unified-representative-claim", "overage"]],
      },
      "credits",
    ],
    [
      "a Claude login whose overage is only allowed",
      {
        credential: "claude_login",
        responseHeaders: [
          ["anthropic-ratelimit-unified-overage-status", "allowed"],
          ["anthropic-ratelimit-unified-overage-in-use", "false"],
          ["anthropic-ratelimit-unified-representative-claim", "five_hour"],
        ],
      },
      "plan",
    ],
    [
      "an API key, whatever the response's headers say",
      { responseHeaders: [["anthropic-ratelimit-unified-overage-in-use", "true"]] },
      "metered",
    ],
    ["a provider of plans", { provider: "codex", billing: "plan", credential: "token" }, "plan"],
    [
      "a used-up Codex window with credits",
      {
        provider: "codex",
        billing: "plan",
        credential: "token",
        responseHeaders: codexHeaders("100.0", "True"),
      },
      "credits",
    ],
    [
      "a used-up Codex window without credits",
      {
        provider: "codex",
        billing: "plan",
        credential: "token",
        responseHeaders: codexHeaders("100", "False"),
      },
      "plan",
    ],
    [
      "a Codex window that is not used up",
      {
        provider: "codex",
        billing: "plan",
        credential: "token",
        responseHeaders: codexHeaders("99.9", "true"),
      },
      "plan",
    ],
    [
      "headers that make no sense",
      {
        provider: "codex",
        billing: "plan",
        credential: "token",
        responseHeaders: codexHeaders("many", "true"),
      },
      "plan",
    ],
    [
      "a plan whose response says that credits pay",
      { provider: "codex", billing: "plan", credential: "token", usesCredits: true },
      "credits",
    ],
    [
      "a plan whose event says that the plan pays, after a handshake with a used-up window",
      {
        provider: "codex",
        billing: "plan",
        credential: "token",
        responseHeaders: codexHeaders("100", "True"),
        usesCredits: false,
      },
      "plan",
    ],
    [
      "a model that a local Ollama runs on ollama.com",
      { provider: "ollama", billing: "free", credential: "none", models: ["gpt-oss:120b-cloud"] },
      "plan",
    ],
    ["a server on this machine", { provider: "ollama", billing: "free", credential: "none" }, "free"],
  ];
  for (const [text, facts, mode] of table)
    it(`returns ${mode} for ${text}`, () => assert.equal(readBillingMode({ ...call, ...facts }), mode));
});
