import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { UsageReport } from "../../../../core/metering/usage/usage-report.ts";
import { loadBundledRates } from "../../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import { priceUsage } from "../../../../core/pricing/price-usage.ts";
import { countsOf, NO_COUNTS, readAnswer } from "./answers.rig.ts";

const OCR = "https://api.mistral.ai/v1/ocr";
const GOOGLE = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models";
const EMBED = `${GOOGLE}/gemini-embedding-001:predict`;
const IMAGES = `${GOOGLE}/imagen-4.0-generate-001:predict`;

const book = createPriceBook(loadBundledRates());

const price = (report: UsageReport, provider: string, model: string, requestKind: "other" | "image") =>
  priceUsage(
    { ...report, provider, model, requestedModel: model, at: Date.UTC(2026, 10, 1), requestKind },
    book,
  );

describe("mistralOcr", () => {
  const answer = (usage_info: unknown, rest: object = {}) =>
    readAnswer(OCR, JSON.stringify({ pages: [], model: "mistral-ocr-4-1", ...rest, usage_info }));

  it("counts pages, which are billed without tokens", () => {
    const report = answer({ pages_processed: 12, doc_size_bytes: 4096 });
    assert.deepEqual(countsOf(report), NO_COUNTS);
    assert.deepEqual([report.tokensComplete, report.model], [true, "mistral-ocr-4-1"]);
    assert.deepEqual([report.extras, report.unknownUsage], [{ document_pages: 12 }, null]);
    // $4 for 1,000.
    assert.equal(price(report, "mistral", "mistral-ocr-4-1", "other").costPicoUsd, 48_000_000_000n);
  });

  it("counts pages as annotated if the document was, unless the response counts them", () => {
    const note = { document_annotation: "{}" };
    assert.deepEqual(answer({ pages_processed: 2 }, note).extras, { annotated_document_pages: 2 });
    assert.deepEqual(answer({ pages_processed: 2, pages_processed_annotation: null }, note).extras, {
      annotated_document_pages: 2,
    });
    assert.deepEqual(answer({ pages_processed: 2, pages_processed_annotation: 0 }, note).extras, {
      document_pages: 2,
    });
    assert.deepEqual(answer({ pages_processed_annotation: 2 }).extras, { annotated_document_pages: 2 });
    for (const document_annotation of [null, ""])
      assert.deepEqual(answer({ pages_processed: 2 }, { document_annotation }).extras, { document_pages: 2 });
  });

  it("leaves a call unpriced if both counts are stated", () => {
    const report = answer({ pages_processed: 3, pages_processed_annotation: 2 });
    assert.equal(report.tokensComplete, false);
    const priced = price(report, "mistral", "mistral-ocr-4-1", "other");
    assert.equal(priced.costPicoUsd, null);
    assert.match(priced.unpricedReason ?? "", /no input count/);
  });

  it("reports unknown usage if it is absent, invalid or truncated", () => {
    for (const usage of [undefined, null, [], {}, { pages_processed: -1 }, { pages_processed: "3" }]) {
      const report = answer(usage);
      assert.deepEqual([report.extras, report.tokensComplete], [{}, false]);
    }
    const cut = readAnswer(OCR, '{"model":"m","usage_info":{"pages_processed":3},"document_ann', {
      complete: false,
    });
    assert.deepEqual([cut.extras, cut.tokensComplete], [{ document_pages: 3 }, false]);
  });

  it("reads the same from an event, without a model", () => {
    const event = (json: string) => readAnswer(OCR, `data: {}\n\ndata: ${json}\n\n`);
    const report = event('{"model":"m","usage_info":{"pages_processed":3}}');
    assert.deepEqual([report.extras, report.model], [{ document_pages: 3 }, "m"]);
    assert.equal(event('{"usage_info":{"pages_processed":3}}').model, null);
  });

  it("keeps unknown members of the usage", () => {
    assert.equal(answer({ pages_processed: 1, credits: 2 }).unknownUsage, '{"credits":2}');
  });
});

describe("vertexPredict", () => {
  const text = (count: unknown, name = "token_count") => ({
    embeddings: { values: [0.5, 1], statistics: { [name]: count, truncated: false } },
  });
  const embed = (...predictions: readonly unknown[]) => readAnswer(EMBED, JSON.stringify({ predictions }));

  it("sums the tokens of all texts, with either member names", () => {
    const report = embed(text(3), text(4, "tokenCount"), text(0));
    assert.deepEqual(countsOf(report), [7, null, null, null, 0, null]);
    assert.equal(report.tokensComplete, true);
  });

  it("reports an unknown sum if a text states no count", () => {
    for (const odd of [text("3"), text(-1), text(1.5), text(null), {}, { embeddings: {} }]) {
      const report = embed(text(3), odd);
      assert.deepEqual([...countsOf(report), report.tokensComplete], [...NO_COUNTS, false]);
    }
    assert.deepEqual(countsOf(embed()), NO_COUNTS);
    assert.deepEqual(countsOf(embed("text", 3, [text(1)])), NO_COUNTS);
  });

  it("reads megabytes of numbers, however they are split", () => {
    const values = Array.from({ length: 3072 }, (_, index) => index / 7);
    const body = JSON.stringify(
      {
        predictions: Array.from({ length: 40 }, () => ({
          embeddings: { values, statistics: { token_count: 9 } },
        })),
        metadata: { billableCharacterCount: 1440 },
      },
      null,
      2,
    );
    assert.ok(body.length > 3_000_000);
    const cuts = Array.from({ length: 60 }, (_, index) => index * 49_999);
    const report = readAnswer(EMBED, body, { cuts });
    assert.equal(report.tokens.promptTokens, 360);
    assert.deepEqual(report.extras, { billable_characters: 1440 });
  });

  it("keeps the counts before a truncation as incomplete", () => {
    const body = JSON.stringify({ predictions: [text(3), text(4)] });
    const report = readAnswer(EMBED, body.slice(0, -8), { complete: false });
    assert.deepEqual([report.tokens.promptTokens, report.tokensComplete], [3, false]);
  });

  it("counts the generated images, which have no price", () => {
    const image = { mimeType: "image/png", bytesBase64Encoded: "A".repeat(100_000) };
    const body = JSON.stringify({ predictions: [image, { raiFilteredReason: "no" }, image] });
    const report = readAnswer(IMAGES, body);
    assert.deepEqual([report.extras, report.tokensComplete], [{ generated_images: 2 }, true]);
    assert.deepEqual(countsOf(report), NO_COUNTS);
    const priced = price(report, "vertex", "imagen-4.0-generate-001", "image");
    assert.deepEqual([priced.costPicoUsd, priced.costSource], [null, "unpriced"]);
    assert.match(priced.unpricedReason ?? "", /no rate for vertex imagen/);
  });

  it("reports unknown usage if all images were filtered", () => {
    const report = readAnswer(IMAGES, JSON.stringify({ predictions: [{ raiFilteredReason: "no" }] }));
    assert.deepEqual([report.extras, report.tokensComplete], [{}, false]);
  });

  it("reports unknown usage for a response of another shape", () => {
    const report = readAnswer(EMBED, `data: {}\n\ndata: ${JSON.stringify({ predictions: [text(3)] })}\n\n`);
    assert.deepEqual([...countsOf(report), report.tokensComplete], [...NO_COUNTS, false]);
  });

  it("reads the error of a call that failed", () => {
    const error = { code: 400, message: "too long", status: "INVALID_ARGUMENT" };
    const report = readAnswer(EMBED, JSON.stringify({ error }), { status: 400 });
    assert.equal(report.error?.message, "too long");
  });
});
