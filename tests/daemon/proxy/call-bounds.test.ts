import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type RequestHead, readRequestHead } from "../../../core/metering/exchange/head.ts";
import { isUnreadable } from "../../../core/metering/exchange/unreadable.ts";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import { createCallBounds, type KnownPricing, UNKNOWN_BOUND } from "../../../daemon/proxy/call-bounds.ts";

const model = "claude-sonnet-4-5";
const at = Date.UTC(2026, 10, 27);
const row = createPriceBook(loadBundledRates()).find({
  ...{ provider: "anthropic", model, requestedModel: null, at },
});
const route = { api: "anthropic.messages", provider: "anthropic", model: null, requestKind: "chat" } as const;
const known: KnownPricing = {
  ...{ host: "api.anthropic.com", port: 443, method: "POST", target: "/v1/messages", route, model, row },
};

function headOf(target = "/v1/messages", headers = ""): RequestHead {
  const head = readRequestHead(Buffer.from(`POST ${target} HTTP/1.1\r\nHost: api\r\n${headers}\r\n`));
  return isUnreadable(head) ? assert.fail() : head;
}

describe("createCallBounds()", () => {
  const bounds = createCallBounds(() => at);
  const find = (more: object = {}, head = headOf(), host = "api.anthropic.com") => {
    const body = Buffer.from(JSON.stringify({ model, max_tokens: 100, messages: [], ...more }));
    return { ...bounds.find({ host, port: 443, head, body }), bytes: body.length };
  };

  it("returns no bound before it knows how such calls are priced", () => {
    assert.deepEqual(find(), { ...UNKNOWN_BOUND, bytes: find().bytes });
  });

  it("bounds calls of a known path and model", () => {
    bounds.learn([known]);
    const { tokens, microUsd, bytes } = find();
    assert.equal(tokens, bytes + 8_192 + 100);
    // At most 6 USD per million tokens of input, for a cache write of one hour, and 15 of output.
    assert.equal(microUsd, (bytes + 8_192) * 6 + 100 * 15);
  });

  it("returns no bound for another path or host, or a compressed body", () => {
    for (const unknown of [
      find({}, headOf("/v1/messages/count_tokens")),
      find({}, headOf("/v1/messages", "Content-Encoding: gzip\r\n")),
      find({}, headOf(), "api.openai.com"),
    ])
      assert.deepEqual([unknown.microUsd, unknown.tokens], [null, null]);
  });

  it("returns a bound above every budget for an infinite output limit", () => {
    const body = Buffer.from(`{"model":"${model}","max_tokens":1e999}`);
    const { microUsd, tokens } = bounds.find({ host: "api.anthropic.com", port: 443, head: headOf(), body });
    // A hundred billion dollars.
    assert.ok(microUsd !== null && microUsd > 1e17);
    assert.ok(tokens !== null && tokens >= Number.MAX_SAFE_INTEGER);
  });

  it("bounds only the tokens of a model without known rates", () => {
    const other = find({ model: "claude-next" });
    assert.deepEqual([other.microUsd, other.tokens], [null, other.bytes + 8_192 + 100]);
  });

  it("forgets what is not part of the next list", () => {
    bounds.learn([]);
    assert.equal(find().tokens, null);
  });
});
