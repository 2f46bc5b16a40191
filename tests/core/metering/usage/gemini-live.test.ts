import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMessageUsageReader } from "../../../../core/metering/usage/message-usage-reader.ts";
import { createRegistry } from "../../../../core/metering/usage/registry.ts";
import type { MeteredRoute } from "../../../../core/metering/usage/route.ts";
import type { UsageReport } from "../../../../core/metering/usage/usage-report.ts";
import { bytesOf, countsOf, NO_COUNTS, sumOf } from "./answers.rig.ts";

function liveRoute(model: string | null = null): MeteredRoute {
  const route = createRegistry().match({
    host: "generativelanguage.googleapis.com",
    port: 443,
    method: "GET",
    path: "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
  });
  if (route.kind !== "metered") throw new Error(`Live is ${route.kind}`);
  return { ...route, model };
}

/** What each message completes; null if it completes nothing. */
function readEach(messages: readonly unknown[], model?: string): (UsageReport | null)[] {
  const reader = createMessageUsageReader(liveRoute(model));
  return messages.map((message) =>
    reader.read(bytesOf(typeof message === "string" ? message : JSON.stringify(message))),
  );
}

const only = (usageMetadata: unknown): UsageReport => {
  const [report] = readEach([{ usageMetadata }]);
  assert.ok(report);
  return report;
};

describe("geminiLive", () => {
  it("reports each stated usage, and nothing else", () => {
    const usageMetadata = { promptTokenCount: 10, responseTokenCount: 5, totalTokenCount: 15 };
    const reports = readEach([
      { setupComplete: {} },
      { serverContent: { modelTurn: { parts: [{ text: 'says "usageMetadata"' }] } } },
      { serverContent: { turnComplete: true }, usageMetadata },
      { serverContent: { turnComplete: true }, usageMetadata: null },
      { usageMetadata: { ...usageMetadata, promptTokenCount: 30 } },
      { usageMetadata: [] },
      '{"usageMetadata":',
      "[]",
      "",
    ]);
    assert.deepEqual(
      reports.map((report) => report && countsOf(report)),
      [null, null, [10, 0, null, null, 5, 0], null, [30, 0, null, null, 5, 0], null, null, null, null],
    );
    assert.ok(reports.every((report) => report === null || report.tokensComplete));
  });

  it("splits text, audio and images, cached or not, into parts that sum to the provider's counts", () => {
    const report = only({
      promptTokenCount: 1_000,
      cachedContentTokenCount: 300,
      toolUsePromptTokenCount: 50,
      responseTokenCount: 120,
      thoughtsTokenCount: 40,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 400 },
        { modality: "AUDIO", tokenCount: 350 },
        { modality: "VIDEO", tokenCount: 250 },
      ],
      cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 100 }],
      responseTokensDetails: [{ modality: "AUDIO", tokenCount: 110 }],
      serviceTier: "STANDARD",
    });
    assert.deepEqual(countsOf(report), [750, 300, null, null, 120, 40]);
    assert.equal(sumOf(report), 1_000 + 50 + 120 + 40);
    assert.deepEqual(report.extras, {
      audio_input_tokens: 250,
      audio_cache_read_tokens: 100,
      audio_output_tokens: 110,
      video_input_tokens: 250,
    });
    assert.deepEqual([report.serviceTier, report.unknownUsage], ["standard", null]);
  });

  it("reads Vertex's member names, which take precedence", () => {
    const details = (tokenCount: number) => [{ modality: "AUDIO", tokenCount }];
    const vertex = only({
      promptTokenCount: 1,
      candidatesTokenCount: 7,
      candidatesTokensDetails: details(6),
    });
    assert.deepEqual([vertex.tokens.completionTokens, vertex.extras.audio_output_tokens], [7, 6]);
    const both = only({
      promptTokenCount: 1,
      candidatesTokenCount: 7,
      responseTokenCount: 3,
      candidatesTokensDetails: details(6),
      responseTokensDetails: details(2),
    });
    assert.deepEqual([both.tokens.completionTokens, both.extras.audio_output_tokens], [3, 2]);
  });

  it("does not derive the prompt from the total, which may omit thoughts", () => {
    const report = only({ responseTokenCount: 42, totalTokenCount: 564, thoughtsTokenCount: 136 });
    assert.deepEqual([report.tokens.promptTokens, report.tokensComplete], [null, false]);
    assert.deepEqual(countsOf(only({ totalTokenCount: 564 })), NO_COUNTS);
    assert.deepEqual(countsOf(only({})), NO_COUNTS);
  });

  it("keeps unknown members", () => {
    assert.equal(only({ promptTokenCount: 1, gazeTokenCount: 4 }).unknownUsage, '{"gazeTokenCount":4}');
  });

  it("counts the searches of a generation, and one per searching turn for older models", () => {
    const grounded = (...webSearchQueries: string[]) => ({
      serverContent: { groundingMetadata: { webSearchQueries } },
    });
    const usageMetadata = { promptTokenCount: 1, responseTokenCount: 1 };
    const messages = [grounded("a", "b"), grounded("b"), { usageMetadata }, { usageMetadata }];
    const searches = (model: string) =>
      readEach(messages, model).map((report) => report?.extras.web_search_requests ?? 0);
    assert.deepEqual(searches("gemini-3.1-flash-live-preview"), [0, 0, 2, 0]);
    assert.deepEqual(searches("gemini-2.5-flash-native-audio-latest"), [0, 0, 1, 0]);
  });
});
