import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderExplanation } from "../../../../cli/commands/explain/render-explanation.ts";
import { loadBundledRates } from "../../../../core/pricing/bundled-rates.ts";
import { explainRequest } from "../../../../core/pricing/explain-request.ts";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import type { StoredRequest } from "../../../../daemon/store/port/records.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";

const book = createPriceBook(loadBundledRates());
const counts = {
  promptTokens: 100,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  cacheWrite1hTokens: null,
  completionTokens: 10,
  thinkingTokens: null,
};

/** Returns the lines of the explanation, with single spaces, of a request stored with the cost from the price book. */
function explain(request: Partial<StoredRequest>): string[] {
  const stored: StoredRequest = {
    ...sampleRecord({ requestedAt: Date.UTC(2026, 8, 1), providerCostPicoUsd: null, serviceTier: null }),
    seq: 1,
    syncedAt: null,
    syncSkippedAt: null,
    recomputedAt: null,
    reassignedAt: null,
    reassignedFrom: null,
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    requestKind: "chat",
    tokens: counts,
    usageExtras: null,
    ...request,
  };
  const { priced } = explainRequest(stored, book);
  const { costPicoUsd, costSource, ratesSource } = priced;
  const explanation = explainRequest({ ...stored, costPicoUsd, costSource, ratesSource }, book);
  return renderExplanation(explanation, 120)
    .split("\n")
    .map((line) => line.replaceAll(/ {2,}/g, "  ").trim());
}

const has = (lines: readonly string[], ...wanted: string[]) => {
  for (const line of wanted) assert.ok(lines.includes(line), `${line}\n--\n${lines.join("\n")}`);
};

describe("renderExplanation()", () => {
  it("says what to change where a stream states no tokens", () => {
    const tokens = { ...counts, promptTokens: null, completionTokens: null };
    const stream = { api: "openai.chat", streaming: true, tokens, tokensComplete: false, errorClass: null };
    has(
      explain({ ...stream, client: "aider" }),
      "The stream states no tokens, because the request did not ask for them.",
      "In aider: set extra_params: { stream_options: { include_usage: true } } in .aider.model.settings.yml",
      "Estimate such counts from the text: meter estimates on",
    );
    has(
      explain({ ...stream, client: null }),
      'In the program: send "stream_options": {"include_usage": true} with the request',
    );
    has(
      explain({ ...stream, api: "anthropic.messages" }),
      "The usage is incomplete: the provider did not state all counts.",
    );
  });

  it("says what happened to a stream that the client cut off, and what the cost includes", () => {
    const cut = explain({
      errorClass: "network",
      retryable: false,
      tokensComplete: false,
      latencyMs: 12_340,
    });
    const text = cut.join(" ");
    assert.ok(
      text.includes(
        "The client (claude) closed the connection after 12.3 s, before the response was complete. By then the provider had stated 100 input tokens and 10 output tokens. The final counts had not arrived. The stored cost includes only these counts, and the provider may bill more.",
      ),
      text,
    );
    assert.ok(
      cut.every((line) => line.length <= 100),
      text,
    );
    assert.ok(!text.includes("The usage is incomplete"), text);
  });

  it("shows each count, each line and the sum", () => {
    const lines = explain({
      tokens: {
        ...counts,
        cacheReadTokens: 50,
        cacheWriteTokens: 30,
        cacheWrite1hTokens: 20,
        thinkingTokens: 5,
      },
    });
    has(
      lines,
      "input, cache write  30",
      "of it for one hour  20",
      "output, thinking  5",
      "line  quantity  rate  cost",
      "input  100  $3.00 / M  $0.0003",
      "cache read  50  $0.30 / M  $0.000015",
      "cache write  10  $3.75 / M  $0.0000375",
      "cache write 1h  20  $6.00 / M  $0.00012",
      "thinking  5  $15.00 / M  $0.000075",
      "sum  $0.0006975",
    );
  });

  it("shows a factor with its page, and the rate before and after it", () => {
    const lines = explain({ serviceTier: "batch" });
    has(
      lines,
      "service tier  batch",
      "line  quantity  list rate  rate  cost",
      "input  100  $3.00 / M  $1.50 / M  $0.00015",
    );
    assert.ok(
      lines.some((line) =>
        /^× 1\/2 for service tier batch.* \(https:\/\/\S+(, read on [\d-]+)?\)$/.test(line),
      ),
    );
  });

  it("shows a flag by its meaning", () => {
    const lines = explain({ model: "claude-opus-5", usageExtras: { fast_mode: 1 } });
    has(lines, "fast mode  yes");
    assert.ok(lines.some((line) => line.startsWith("× 2/1 for fast mode")));
  });

  it("shows units at their price per unit", () => {
    const lines = explain({ usageExtras: { web_search_requests: 3, web_fetch_requests: 2 } });
    has(lines, "web search  3", "web fetch requests  2", "web search  3  $0.01 each  $0.03");
  });

  it("indents the parts of a count", () => {
    const lines = explain({
      provider: "openai",
      model: "gpt-realtime",
      usageExtras: { audio_input_tokens: 60, audio_output_tokens: 4 },
    });
    const at = lines.indexOf("input, fresh  100");
    assert.equal(lines[at + 1], "of it audio input  60");
    has(
      lines,
      "of it audio output  4",
      "audio input  60  $32.00 / M  $0.00192",
      "input  40  $4.00 / M  $0.00016",
    );
  });

  it("shows the model calls of a response, and the tokens above the tier", () => {
    const lines = explain({
      tokens: { ...counts, promptTokens: 300_000 },
      usageExtras: { model_calls: 3, above_200k_prompt_tokens: 210_000, above_200k_output_tokens: 4 },
    });
    has(
      lines,
      "model calls  3: 210,000 prompt, 4 output above 200,000 input tokens",
      "input  90,000  $3.00 / M  $0.27",
      "input above 200000  210,000  $6.00 / M  $1.26",
    );
  });

  it("marks estimates, and never attributes them to the provider", () => {
    const lines = explain({
      tokensComplete: false,
      usageExtras: { estimated_input: 1, estimated_output: 1 },
    });
    has(
      lines,
      "input, fresh  ~100",
      "output, visible  ~10",
      "~ means estimated from the text, because the provider did not state the count.",
      "Stored: $0.00045 = 450000000 pico-USD (estimated).",
    );
    assert.ok(!lines.some((line) => line.includes("estimated input")));
  });

  it("explains a missing price", () => {
    const lines = explain({ tokens: { ...counts, promptTokens: null } });
    has(
      lines,
      "input, fresh  –",
      "Not priced: the provider stated no input count.",
      "Stored: no cost (unpriced).",
    );
  });
});
