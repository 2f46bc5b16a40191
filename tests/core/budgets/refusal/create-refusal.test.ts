import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  createRefusal,
  createTurnRefusal,
  createUndecidedRefusal,
  formatRefusalResponse,
} from "../../../../core/budgets/refusal/create-refusal.ts";
import {
  formatRefusal,
  formatRefusedAmount,
  isMisread,
  type RefusalFacts,
} from "../../../../core/budgets/refusal/refusal-text.ts";
import type { RefusedClient } from "../../../../core/budgets/refusal/refused-client.ts";
import type { HeaderList } from "../../../../core/metering/exchange/head.ts";
import { API_READERS, type ApiId } from "../../../../core/metering/usage/api-readers.ts";

const facts: RefusalFacts = {
  budget: "agents",
  isFleet: false,
  reason: "amount",
  unit: "usd",
  limit: 20_000_000_000_000n,
  periodEnd: Date.UTC(2026, 10, 24),
  retryAfter: 3_600.2,
};
const client = (userAgent: string, more: HeaderList = [], program: string | null = null): RefusedClient => ({
  headers: [["user-agent", userAgent], ...more],
  program,
});
const claude = client("claude-cli/2.1.330 (external, cli)", [["x-claude-code-session-id", "1"]]);

/** The texts on which each client repeats a call. Sources: pi-mono, opencode, Roo Code, LangChain; 2026-11. */
const CLIENT_RULES: readonly RegExp[] = [
  /overloaded|provider.?returned.?error|rate.?limit|too many requests|429|500|502|503|504|service.?unavailable|server.?error|internal.?error|network.?error|connection.?(?:error|refused|lost)|other side closed|fetch failed|upstream.?connect|reset before headers|socket hang up|ended without|timed? out|timeout|terminated|retry delay/i,
  /exceeds the context window|prompt is too long|maximum (?:prompt|context) length|token limit|too many tokens|exceeds the limit of|context[_ ]length/i,
  /exhausted|unavailable|quota|throttl|try again/i,
];
const isRepeated = (text: string) => CLIENT_RULES.some((rule) => rule.test(text));

describe("formatRefusal()", () => {
  it("names the budget, the amount, the end of the period and the command that lifts it", () => {
    assert.equal(
      formatRefusal(facts),
      'meter: the budget "agents" (USD 20.00) is used up or has no room for this call, so it was not sent. It allows calls again on 2026-11-24 00:00 UTC. To continue now: meter budget lift agents --for 1h',
    );
  });

  it("says that a rate guard stopped the call", () => {
    const text = formatRefusal({ ...facts, reason: "rate", unit: "requests", limit: 60n, periodEnd: null });
    assert.match(text, /spending guard "agents" \(60 requests\) has stopped this call\. To continue/);
  });

  it("quotes a name for a shell", () => {
    assert.match(
      formatRefusal({ ...facts, budget: "a b; rm -rf 'x'" }),
      / lift 'a b; rm -rf '\\''x'\\''' --for 1h$/,
    );
  });

  it("lists the budgets if the name can't be copied", () => {
    assert.match(formatRefusal({ ...facts, budget: "rate-limit" }), /: meter budget list$/);
  });

  it("names no command that lifts the budget of a workspace, which this machine can't lift", () => {
    const fleet = { ...facts, budget: "workspace/agents", isFleet: true };
    assert.match(
      formatRefusal(fleet),
      /A workspace set it\. To see where it can be lifted: meter budget show workspace\/agents$/,
    );
    assert.match(
      formatRefusal({ ...fleet, budget: "workspace/rate-limit" }),
      /A workspace set it.*: meter budget list$/,
    );
  });

  const hostileNames = fc
    .array(
      fc.constantFrom(
        "rate",
        " ",
        "limit",
        "500",
        "4",
        "29",
        "overloaded",
        "server error",
        "timeout",
        "fetch",
        "\n",
        '"',
        "\u202e",
        "x",
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join(""));

  it("contains no text that makes a client retry, whatever the name and the amount", () => {
    const units = fc.constantFrom("usd" as const, "tokens" as const, "requests" as const);
    const limits = fc.oneof(
      fc.bigInt(0n, 10n ** 19n),
      fc
        .tuple(
          fc.constantFrom(429n, 500n, 502n, 503n, 504n, 529n, 500_500n),
          fc.constantFrom(1n, 10n ** 6n, 10n ** 10n, 10n ** 12n),
        )
        .map(([n, scale]) => n * scale),
    );
    const reasons = fc.constantFrom("amount" as const, "rate" as const, "unknown" as const, "cut" as const);
    const ends = fc.option(fc.integer({ min: 0, max: 8.64e15 }));
    fc.assert(
      fc.property(hostileNames, units, limits, reasons, ends, (budget, unit, limit, reason, periodEnd) => {
        for (const isFleet of [false, true]) {
          const text = formatRefusal({
            ...{ budget, isFleet, unit, limit, reason, periodEnd, retryAfter: null },
          });
          assert.equal(isRepeated(text), false, text);
          assert.doesNotMatch(text, /[\u0000-\u001f\u202a-\u202e]/);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("formats amounts that look like a status in cents", () => {
    assert.equal(formatRefusedAmount("usd", 500_000_000_000_000n), "50,000 US cents");
    assert.equal(formatRefusedAmount("usd", 1_500_250_000_000_000n), "150,025 US cents");
    assert.equal(formatRefusedAmount("usd", 450_000_000_000n), "USD 0.45");
    assert.equal(formatRefusedAmount("usd", 1n), "USD 0.000000000001");
    assert.equal(formatRefusedAmount("tokens", 1_000_000n), "1,000,000 tokens");
    assert.equal(isMisread(formatRefusedAmount("requests", 500n)), false);
  });
});

describe("createRefusal()", () => {
  const refuse = (api: ApiId, by = client("curl/8")) => {
    const { status, headers, body } = createRefusal({ api }, by, facts);
    return { status, headers: Object.fromEntries(headers), body: JSON.parse(body) };
  };

  it("answers Claude Code as Anthropic's gateway does", () => {
    const { status, headers, body } = refuse("anthropic.messages", claude);
    assert.equal(status, 429);
    assert.deepEqual(
      [headers["x-should-retry"], headers["retry-after"], body.type, body.error.type],
      ["false", "3601", "error", "billing_error"],
    );
  });

  it("answers each client with the status at which it stops", () => {
    const table: readonly (readonly [number, ApiId, Parameters<typeof createRefusal>[1]])[] = [
      [429, "anthropic.messages", client("Anthropic/JS 0.120.0")],
      [400, "anthropic.messages", client("Anthropic/JS 0.120.0", [], "pi")],
      [400, "anthropic.messages", client("claude-cli/2.1.2 (external, cli)")], // pi with a Claude login
      [400, "anthropic.messages", client("opencode/1.18 ai-sdk/provider-utils/4 runtime/node.js/24")],
      [400, "anthropic.messages", client("ai/7.0.77 ai-sdk/provider-utils/5")],
      [400, "anthropic.messages", client("ai-sdk-anthropic/4.0.105 ai-sdk-provider-utils/5.0.81 node.js/24")],
      [429, "openai.chat", client("OpenAI/JS 7.5.0")],
      [429, "openai.responses", client("OpenAI/Python 2.1")],
      [400, "openai.responses", client("codex_exec/0.99 (Ubuntu 24.4; x86_64) xterm")],
      [400, "openai.chat", client("litellm/1.80")],
      [400, "openai.chat", client("QwenCode/0.4 (linux; x64)")],
      [400, "gemini.generate", client("google-genai-sdk/1.52 gl-node/24")],
      [400, "gemini.code_assist", client("GeminiCLI/0.30/gemini-2.5-pro (linux; x64; terminal)")],
      [400, "bedrock.converse", client("aws-sdk-js/3")],
      [400, "ollama.chat", client("ollama-js/0.6")],
    ];
    for (const [status, api, by] of table) assert.equal(refuse(api, by).status, status, JSON.stringify(by));
  });

  it("tells only clients that stop at 429 how long to wait", () => {
    assert.equal(refuse("openai.chat", client("ai/7.0 ai-sdk/x")).headers["retry-after"], undefined);
    assert.equal(refuse("openai.chat", client("OpenAI/JS 7")).headers["retry-after"], "3601");
    const long = createRefusal({ api: "openai.chat" }, client("x"), { ...facts, retryAfter: 1e9 });
    assert.ok(long.headers.some(([name, value]) => name === "retry-after" && value === "86400"));
  });

  it("has the shape of each API", () => {
    const message = formatRefusal(facts);
    assert.deepEqual(refuse("openai.chat").body, {
      error: { message, type: "insufficient_quota", param: null, code: "insufficient_quota" },
    });
    assert.deepEqual(refuse("gemini.generate").body, {
      error: { code: 400, message, status: "FAILED_PRECONDITION", details: [] },
    });
    assert.deepEqual(refuse("bedrock.invoke").body, { message });
    assert.equal(refuse("bedrock.invoke").headers["x-amzn-errortype"], "ValidationException");
    assert.deepEqual(refuse("ollama.chat").body, { error: message });
    assert.deepEqual(refuse("cohere.chat").body, { message });
    for (const api of Object.keys(API_READERS) as ApiId[])
      assert.ok(JSON.stringify(refuse(api).body).includes("meter budget lift agents"), api);
  });

  it("contains no text that makes a client retry, except 429 for clients that stop at it", () => {
    for (const api of Object.keys(API_READERS) as ApiId[]) {
      const { body } = createRefusal({ api }, client("pi", [], "pi"), facts);
      assert.equal(isRepeated(body.replaceAll("insufficient_quota", "")), false, `${api}: ${body}`);
    }
  });
});

describe("createUndecidedRefusal()", () => {
  it("says that no decision was possible, in the shape of the API that the path shows", () => {
    const message =
      'meter: this call was not sent, because no budget decision was possible and budgets are set to fail = "closed". Check: meter status';
    const openai = createUndecidedRefusal("openai", client("OpenAI/JS 7"));
    assert.equal(openai.status, 429);
    assert.equal(JSON.parse(openai.body).error.message, message);
    assert.ok(openai.headers.every(([name]) => name !== "retry-after"));
    const anthropic = createUndecidedRefusal("anthropic", client("x"));
    assert.deepEqual(JSON.parse(anthropic.body), {
      type: "error",
      error: { type: "billing_error", message },
    });
    const unknown = createUndecidedRefusal(null, client("x"));
    assert.deepEqual([unknown.status, JSON.parse(unknown.body).message], [400, message]);
  });
});

describe("formatRefusalResponse()", () => {
  it("is one complete HTTP response that closes the connection", () => {
    const text = new TextDecoder().decode(
      formatRefusalResponse(createRefusal({ api: "ollama.chat" }, claude, facts)),
    );
    const [head = "", body = ""] = text.split("\r\n\r\n");
    assert.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/);
    assert.match(
      head,
      new RegExp(`\r\ncontent-length: ${new TextEncoder().encode(body).length}\r\nconnection: close$`),
    );
  });

  it("has no body for HEAD", () => {
    const bytes = formatRefusalResponse(createRefusal({ api: "ollama.chat" }, claude, facts), "HEAD");
    assert.ok(new TextDecoder().decode(bytes).endsWith("\r\n\r\n"));
  });
});

describe("createTurnRefusal()", () => {
  it("answers a turn of Responses as Codex reads it", () => {
    const answer = JSON.parse(createTurnRefusal({ api: "openai.responses" }, { eventId: null }, facts));
    assert.deepEqual([answer.type, answer.status, answer.error.code], ["error", 400, "insufficient_quota"]);
  });

  it("answers a turn of Realtime with its event", () => {
    for (const eventId of ["e1", null]) {
      const answer = JSON.parse(createTurnRefusal({ api: "openai.realtime" }, { eventId }, facts));
      assert.deepEqual([answer.type, answer.error.event_id], ["error", eventId]);
    }
  });
});
