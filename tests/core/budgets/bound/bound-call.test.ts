import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { boundCall, type CallToBound, mayCostNothing } from "../../../../core/budgets/bound/bound-call.ts";
import type { RequestHead } from "../../../../core/metering/exchange/head.ts";
import { createMessageReader } from "../../../../core/metering/exchange/message-reader.ts";
import { createRegistry } from "../../../../core/metering/usage/registry.ts";
import { loadBundledRates } from "../../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import { NO_RATES, type RateRow, type Rates } from "../../../../core/pricing/rates.ts";
import { loadCases } from "../../../conformance/load-cases.ts";

const prices = createPriceBook(loadBundledRates());
const at = Date.UTC(2026, 10, 23);
const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

function bound(value: unknown, more: Partial<Parameters<typeof boundCall>[0]> = {}) {
  const body = encode(value);
  const route = {
    api: "anthropic.messages",
    provider: "anthropic",
    model: null,
    requestKind: "chat",
  } as const;
  return { bytes: body.length, ...boundCall({ route, body, bodyBytes: body.length, at, ...more }, prices) };
}

const hello = { model: "claude-sonnet-4-5", max_tokens: 100, messages: [{ role: "user", content: "hello" }] };

describe("boundCall()", () => {
  it("is the bytes of the body plus the output that it allows, at the highest rates", () => {
    const { bytes, tokens, costPicoUsd, model } = bound(hello);
    assert.equal(model, "claude-sonnet-4-5");
    assert.equal(tokens, bytes + 8_192 + 100);
    assert.ok((costPicoUsd ?? 0n) >= BigInt(bytes) * 3_000_000n + 100n * 15_000_000n);
  });

  it("multiplies the output by the number of choices", () => {
    const route = { api: "openai.chat", provider: "openai", model: null, requestKind: "chat" } as const;
    const one = bound({ model: "gpt-4o", max_tokens: 1_000 }, { route });
    const three = bound({ model: "gpt-4o", max_tokens: 1_000, n: 3 }, { route });
    assert.equal((three.tokens ?? 0) - (one.tokens ?? 0), 2_000 + three.bytes - one.bytes);
  });

  it("is finite even if the request states an infinite limit, or limits whose product is infinite", () => {
    for (const limits of ['"max_tokens":1e999', '"max_tokens":1e300,"n":1e300']) {
      const body = new TextEncoder().encode(`{"model":"claude-sonnet-4-5",${limits}}`);
      const { tokens, costPicoUsd } = bound(hello, { body, bodyBytes: body.length });
      assert.equal(Number.isFinite(tokens), true);
      assert.ok((costPicoUsd ?? 0n) > 1_000_000_000_000n);
    }
  });

  it("has a cost of 0 on a server of this machine, unless its model has rates", () => {
    const route = { api: "ollama.chat", provider: "ollama", model: null, requestKind: "chat" } as const;
    const free = bound({ model: "no-such-model:7b", messages: [] }, { route: { ...route, billing: "free" } });
    assert.deepEqual([free.tokens, free.costPicoUsd], [null, 0n]);
    const priced = bound(hello, { route: { ...route, provider: "anthropic", billing: "free" } });
    assert.ok((priced.costPicoUsd ?? 0n) > 0n);
  });

  it("assumes the model's limit if the request states none", () => {
    const { max_tokens: _, ...rest } = hello;
    assert.equal(
      bound({ ...rest, model: "claude-3-haiku-20240307" }).tokens,
      bound(rest).bytes + 6 + 8_192 + 4_096,
    );
  });

  it("assumes the whole context window for input that is not in the body", () => {
    const file = { type: "document", source: { type: "file", file_id: "file_1" } };
    assert.equal(bound({ ...hello, messages: [{ role: "user", content: [file] }] }).tokens, 2_097_152 + 100);
  });

  it("is unknown for a body that was not seen whole, for the provider's own tools and for other units", () => {
    assert.equal(bound(hello, { bodyBytes: 1_000_000 }).costPicoUsd, null);
    assert.equal(bound(hello, { bodyBytes: null }).tokens, null);
    assert.equal(
      bound({ ...hello, tools: [{ type: "web_search_20250305", name: "web_search" }] }).costPicoUsd,
      null,
    );
    assert.equal(bound({ ...hello, model: "unheard-of" }).costPicoUsd, null);
    assert.notEqual(bound({ ...hello, model: "unheard-of" }).tokens, null);
  });

  it("is unknown without a body, and states the model of the route", () => {
    const route = {
      api: "gemini.generate",
      provider: "gemini",
      model: "gemini-2.5-pro",
      requestKind: "chat",
    } as const;
    const { model, tokens, costPicoUsd } = bound({}, { route, body: null });
    assert.deepEqual([model, tokens, costPicoUsd], ["gemini-2.5-pro", null, null]);
  });

  it("is that of the model that a deployment is configured to have", () => {
    const deployments = new Map([["our-chat", "gpt-5-mini"]]);
    const route = { api: "openai.chat", provider: "openai", requestKind: "chat", deployments } as const;
    const inPath = bound(hello, { route: { ...route, model: "our-chat" } });
    assert.equal(inPath.model, "gpt-5-mini");
    assert.ok((inPath.costPicoUsd ?? 0n) > 0n);
    assert.equal(
      bound({ ...hello, model: "our-chat" }, { route: { ...route, model: null } }).model,
      "gpt-5-mini",
    );
    assert.equal(bound(hello, { route: { ...route, model: "other" } }).model, hello.model);
    assert.equal(bound({}, { route: { ...route, model: null } }).model, null);
  });

  it("takes the highest rate of all tiers, media and service tiers that may apply", () => {
    const costOf = (rates: Partial<Rates>, more: object = {}) => {
      const row: RateRow = {
        ...{ provider: "anthropic", model: "m", source: "bundled", match: null, daily: null },
        ...{ effectiveFrom: null, effectiveTo: null, provenanceDate: "2026-09-23" },
        rates: { ...NO_RATES, ...rates },
      };
      const route = {
        api: "anthropic.messages",
        provider: "anthropic",
        model: null,
        requestKind: "chat",
      } as const;
      const body = encode({ model: "m", max_tokens: 10, ...more });
      const call = { route, body, bodyBytes: body.length, at };
      const { costPicoUsd, tokens } = boundCall(call, createPriceBook([row]));
      return costPicoUsd === null ? null : { costPicoUsd, input: BigInt((tokens ?? 0) - 10) };
    };
    const check = (rates: Partial<Rates>, inputRate: bigint, outputRate: bigint, fee = 0n) => {
      const found = costOf(rates);
      assert.equal(found?.costPicoUsd, (found?.input ?? 0n) * inputRate + 10n * outputRate + fee);
    };
    // One-hour writes to the cache cost twice the input.
    check({ input: 3, output: 15 }, 6n, 15n);
    check({ input: null, cacheRead: 2, output: 15, perRequest: 7 }, 2n, 15n, 7n);
    check({ input: 3, output: 15, thinking: 40 }, 6n, 40n);
    const priority = { ...NO_RATES, input: 10, output: 50, tiers: [] };
    check({ input: 3, output: 15, serviceTiers: { priority } }, 20n, 50n);
    const tier = (aboveTokens: number) => ({ ...NO_RATES, aboveTokens, input: 30, output: 60 });
    check({ input: 3, output: 15, tiers: [tier(8_000)] }, 60n, 60n);
    check({ input: 3, output: 15, tiers: [tier(1_000_000)] }, 6n, 15n);
    check({ input: 3, output: 15, extras: { audio_input_tokens: 25 } }, 25n, 25n);
    check({ input: 3, output: 15, extras: { web_search_requests: 10_000 } }, 6n, 15n);
    // Without a rate of the input or the output, no cost is known.
    assert.equal(costOf({ output: 15 }), null);
    assert.equal(costOf({ input: 3 }), null);
  });

  it("does not take text for a tool", () => {
    const content = 'say "type":"web_search" and "file_id"';
    assert.notEqual(bound({ ...hello, messages: [{ role: "user", content }] }).costPicoUsd, null);
  });

  it("is never below the real cost of a call of the conformance corpus", () => {
    let compared = 0;
    let known = 0;
    const below: string[] = [];
    for (const { name, request, expected } of loadCases()) {
      const [record] = expected.records;
      if (expected.records.length !== 1 || record === undefined || record.error !== null) continue;
      const sent = readOnlyRequest(request);
      if (sent === null) continue;
      const { head, body } = sent;
      const registry = createRegistry([], { deployments: expected.configuration?.deployments ?? {} });
      const route = registry.match({ ...expected.address, method: head.method, path: head.target });
      if (route.kind !== "metered" || route.fetches === true || route.webSocket === true) continue;
      compared += 1;
      const { prompt, cache_read, cache_write, completion, thinking } = record.tokens;
      const input = (prompt ?? 0) + (cache_read ?? 0) + (cache_write ?? 0);
      const isEncoded = head.headers.some(([header]) => header.toLowerCase() === "content-encoding");
      // The corpus abbreviates prompts: spaces after the JSON stand for the rest.
      const whole = new Uint8Array(Math.max(body.length, input)).fill(0x20);
      whole.set(body);
      const found = boundCall(
        { route, body: isEncoded ? null : whole, bodyBytes: whole.length, at: Date.parse(expected.at) },
        prices,
      );
      const used = input + (completion ?? 0) + (thinking ?? 0);
      // Some of its responses are longer than their requests allow, or search without a tool.
      if (found.tokens === null || (completion ?? 0) + (thinking ?? 0) > found.tokens - input - 8_192)
        continue;
      assert.ok(used <= found.tokens, `${name}: ${used} tokens, bound ${found.tokens}`);
      if (record.extras.web_search_requests !== undefined) continue;
      if (found.costPicoUsd === null || record.cost.pico_usd === null) continue;
      known += 1;
      if (BigInt(record.cost.pico_usd) > found.costPicoUsd)
        below.push(`${name}: ${record.cost.pico_usd}, bound ${found.costPicoUsd}`);
    }
    assert.deepEqual(below, []);
    assert.ok(compared > 300 && known > 150, `${compared} compared, ${known} with a bound`);
  });
});

/** Returns the request if the bytes are exactly one request. */
function readOnlyRequest(bytes: Uint8Array): { head: RequestHead; body: Uint8Array } | null {
  const heads: RequestHead[] = [];
  const pieces: Uint8Array[] = [];
  const reader = createMessageReader("request", {
    head: (head) => void heads.push(head),
    body: (piece) => void pieces.push(piece.slice()),
    end() {},
    unreadable() {},
  });
  reader.push(bytes);
  const [head] = heads;
  return head === undefined || heads.length !== 1
    ? null
    : { head, body: new Uint8Array(Buffer.concat(pieces)) };
}

describe("mayCostNothing()", () => {
  const rates: Rates = { ...NO_RATES, input: 0, output: 0 };
  const row = (more: Partial<Rates>): RateRow => ({
    ...{ provider: "p", model: "m", source: "operator", match: null, daily: null },
    ...{ effectiveFrom: null, effectiveTo: null, provenanceDate: "2026-11-23" },
    rates: { ...rates, ...more },
  });
  const may = (
    found: RateRow | null,
    model: string | null = "m",
    more: Partial<CallToBound["route"]> = {},
  ) => {
    const route = { api: "openai.chat", provider: "p", model: null, requestKind: "chat", ...more } as const;
    return mayCostNothing({ route, model, at }, { find: () => found });
  };

  it("is true for a model without a cost, and as long as the model is not known", () => {
    assert.equal(may(row({})), true);
    assert.equal(may(row({ output: null }), "m", { requestKind: "embedding" }), true);
    assert.equal(may(null, "m", { billing: "free" }), true);
    assert.equal(may(null, null), true);
  });

  it("is false for a model that has a cost, or no known one", () => {
    assert.equal(may(row({ input: 1 })), false);
    assert.equal(may(row({ output: 1 })), false);
    assert.equal(may(row({ input: 1 }), "m", { billing: "free" }), false);
    assert.equal(may(null), false);
  });
});
