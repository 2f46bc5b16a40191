import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { boundCall } from "../../../../core/budgets/bound/bound-call.ts";
import type { RequestHead } from "../../../../core/metering/exchange/head.ts";
import { createMessageReader } from "../../../../core/metering/exchange/message-reader.ts";
import { createRegistry } from "../../../../core/metering/usage/registry.ts";
import { loadBundledRates } from "../../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
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
  it("is the bytes of the body and the output that it allows, at the highest rates", () => {
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
