import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { UsageReport } from "../../../../core/metering/usage/usage-report.ts";
import { loadBundledRates } from "../../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import { priceUsage } from "../../../../core/pricing/price-usage.ts";
import { countsOf, NO_COUNTS, readAnswer, sse } from "./answers.rig.ts";

const IMAGES = "https://api.openai.com/v1/images/generations";
const TRANSCRIPTIONS = "https://api.openai.com/v1/audio/transcriptions";
const SPEECH = "https://api.openai.com/v1/audio/speech";

const book = createPriceBook(loadBundledRates());

function price(report: UsageReport, model: string, requestKind: "image" | "audio") {
  const { tokens, extras, serviceTier, providerCostPicoUsd } = report;
  return priceUsage(
    {
      provider: "openai",
      model,
      requestedModel: model,
      at: Date.UTC(2026, 10, 1),
      tokens,
      extras,
      serviceTier,
      providerCostPicoUsd,
      requestKind,
    },
    book,
  );
}

const imageUsage = (rest: object = {}) => ({
  input_tokens: 300,
  output_tokens: 1_000,
  total_tokens: 1_300,
  input_tokens_details: { text_tokens: 50, image_tokens: 250 },
  ...rest,
});

describe("openaiImages", () => {
  it("splits text and image input, and treats all output as images", () => {
    const report = readAnswer(IMAGES, JSON.stringify({ data: [{ b64_json: "QUJD" }], usage: imageUsage() }));
    assert.deepEqual(countsOf(report), [300, null, null, null, 1_000, null]);
    assert.deepEqual(report.extras, { image_input_tokens: 250, image_output_tokens: 1_000 });
    assert.equal(report.tokensComplete, true);
    // $5 text in, $8 image in, $32 image out per million.
    assert.equal(
      price(report, "gpt-image-1.5", "image").costPicoUsd,
      50n * 5_000_000n + 250n * 8_000_000n + 1_000n * 32_000_000n,
    );
  });

  it("separates text output if the response states it", () => {
    const usage = imageUsage({ output_tokens_details: { text_tokens: 100, image_tokens: 900 } });
    const report = readAnswer(IMAGES, JSON.stringify({ usage }));
    assert.equal(report.extras.image_output_tokens, 900);
  });

  it("reads the last event of a stream, and no usage from partial images", () => {
    const body = sse(
      { type: "image_generation.partial_image", b64_json: "QUJD" },
      { type: "image_generation.completed", b64_json: "QUJD", usage: imageUsage() },
    );
    assert.deepEqual(countsOf(readAnswer(IMAGES, body)), [300, null, null, null, 1_000, null]);
  });

  it("reports unknown usage for models billed per image", () => {
    const report = readAnswer(IMAGES, '{"created":1,"data":[{"url":"https://x.test"}]}');
    assert.deepEqual([...countsOf(report), report.tokensComplete], [...NO_COUNTS, false]);
    assert.match(price(report, "gpt-image-1", "image").unpricedReason ?? "", /no input count/);
  });

  it("ignores a usage that is not an object", () => {
    assert.deepEqual(countsOf(readAnswer(IMAGES, '{"usage":[1]}')), NO_COUNTS);
  });
});

describe("openaiTranscriptions", () => {
  it("reads tokens, including audio", () => {
    const usage = {
      type: "tokens",
      input_tokens: 14,
      output_tokens: 45,
      total_tokens: 59,
      input_token_details: { text_tokens: 4, audio_tokens: 10 },
    };
    const report = readAnswer(TRANSCRIPTIONS, JSON.stringify({ text: "hi", usage }));
    assert.deepEqual(countsOf(report), [14, null, null, null, 45, null]);
    assert.deepEqual(report.extras, { audio_input_tokens: 10 });
    assert.equal(report.unknownUsage, null);
    assert.equal(
      price(report, "gpt-4o-transcribe", "audio").costPicoUsd,
      4n * 2_500_000n + 10n * 6_000_000n + 45n * 10_000_000n,
    );
  });

  it("reads a duration, which is complete without tokens", () => {
    const report = readAnswer(TRANSCRIPTIONS, '{"text":"hi","usage":{"type":"duration","seconds":90}}');
    assert.deepEqual([...countsOf(report), report.tokensComplete], [...NO_COUNTS, true]);
    assert.deepEqual(report.extras, { audio_milliseconds: 90_000 });
    // $0.36 per hour.
    assert.equal(price(report, "whisper-1", "audio").costPicoUsd, 9_000_000_000n);
  });

  const durations: [name: string, body: string, milliseconds: number | undefined][] = [
    ["a verbose answer's duration", '{"text":"hi","duration":8.47}', 8_470],
    ["a duration as a text", '{"text":"hi","duration":"8.47"}', 8_470],
    ["a duration of nothing", '{"text":"hi","duration":0}', undefined],
    ["an empty duration", '{"text":"hi","duration":""}', undefined],
    ["a duration that is none", '{"text":"hi","duration":"soon"}', undefined],
    ["an endless duration", '{"text":"hi","duration":1e300}', undefined],
    ["usage before the duration", '{"duration":3,"usage":{"type":"duration","seconds":2}}', 2_000],
  ];
  for (const [name, body, milliseconds] of durations)
    it(`reads ${name}`, () => {
      const report = readAnswer(TRANSCRIPTIONS, body);
      assert.equal(report.extras.audio_milliseconds, milliseconds);
      assert.equal(report.tokensComplete, milliseconds !== undefined);
    });

  it("reads Mistral's tokens and seconds, and its model", () => {
    const report = readAnswer(
      "https://api.mistral.ai/v1/audio/transcriptions",
      '{"model":"voxtral-mini-2507","usage":{"prompt_audio_seconds":203,"prompt_tokens":4,"completion_tokens":635}}',
    );
    assert.deepEqual(countsOf(report), [4, null, null, null, 635, null]);
    assert.deepEqual([report.model, report.extras], ["voxtral-mini-2507", { audio_milliseconds: 203_000 }]);
  });

  it("reads the last event of a stream", () => {
    const body = sse(
      { type: "transcript.text.delta", delta: "h" },
      {
        type: "transcript.text.done",
        text: "hi",
        usage: { type: "tokens", input_tokens: 3, output_tokens: 2 },
      },
    );
    assert.deepEqual(countsOf(readAnswer(TRANSCRIPTIONS, body)), [3, null, null, null, 2, null]);
  });

  it("reports unknown usage for plain text and subtitles", () => {
    for (const body of ["hello there", "1\n00:00:00,000 --> 00:00:01,000\nhello\n"])
      assert.deepEqual(countsOf(readAnswer(TRANSCRIPTIONS, body)), NO_COUNTS);
  });
});

describe("openaiSpeech", () => {
  it("does not read audio, and leaves the call unpriced", () => {
    const sound = new Uint8Array(200_000).fill(0x7b);
    const report = readAnswer(SPEECH, sound, { contentType: "audio/mpeg" });
    assert.deepEqual([...countsOf(report), report.tokensComplete], [...NO_COUNTS, false]);
    assert.match(price(report, "gpt-4o-mini-tts", "audio").unpricedReason ?? "", /no input count/);
  });

  it("reads an error despite the audio content type", () => {
    const report = readAnswer(SPEECH, '{"error":{"message":"no","type":"x"}}', {
      status: 400,
      contentType: "audio/mpeg",
    });
    assert.equal(report.error?.message, "no");
  });

  it("reads the usage at the end of a speech stream", () => {
    const body = sse(
      { type: "speech.audio.delta", audio: "QUJD" },
      { type: "speech.audio.done", usage: { input_tokens: 14, output_tokens: 101, total_tokens: 115 } },
    );
    const report = readAnswer(SPEECH, body, { contentType: "text/event-stream" });
    assert.deepEqual(countsOf(report), [14, null, null, null, 101, null]);
  });
});
