import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ADDRESSES, countsOf, NO_COUNTS, readAnswer, sse, sumOf } from "./answers.rig.ts";

const chunk = (usageMetadata: object | undefined, rest: object = {}) => ({
  candidates: [{ content: { parts: [{ text: 'so "usageMetadata": {}' }], role: "model" }, index: 0 }],
  ...(usageMetadata === undefined ? {} : { usageMetadata }),
  modelVersion: "gemini-test-001",
  responseId: "r-1",
  ...rest,
});

describe("geminiGenerate", () => {
  const table: [name: string, usage: object | undefined, counts: (number | null)[], complete: boolean][] = [
    [
      "thoughts beside the candidates",
      { promptTokenCount: 7, candidatesTokenCount: 5, thoughtsTokenCount: 30, totalTokenCount: 42 },
      [7, 0, null, null, 5, 30],
      true,
    ],
    [
      "cached tokens inside the prompt",
      { promptTokenCount: 100, cachedContentTokenCount: 90, candidatesTokenCount: 5, totalTokenCount: 105 },
      [10, 90, null, null, 5, 0],
      true,
    ],
    [
      "tool use on top of the prompt",
      { promptTokenCount: 10, toolUsePromptTokenCount: 40, candidatesTokenCount: 5, totalTokenCount: 55 },
      [50, 0, null, null, 5, 0],
      true,
    ],
    ["no candidates", { promptTokenCount: 7, totalTokenCount: 7 }, [7, 0, null, null, 0, 0], true],
    [
      "no prompt count, told by the total",
      { candidatesTokenCount: 5, thoughtsTokenCount: 2, totalTokenCount: 10 },
      [3, 0, null, null, 5, 2],
      true,
    ],
    ["no prompt count and no total", { candidatesTokenCount: 5 }, [null, 0, null, null, 5, 0], false],
    [
      "a total smaller than its parts",
      { candidatesTokenCount: 5, totalTokenCount: 3 },
      [null, 0, null, null, 5, 0],
      false,
    ],
    [
      "more cached than prompt",
      { promptTokenCount: 5, cachedContentTokenCount: 9, candidatesTokenCount: 1 },
      [0, 5, null, null, 1, 0],
      false,
    ],
    [
      "a total that its parts do not explain",
      { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 90 },
      [7, 0, null, null, 5, 0],
      false,
    ],
    ["usage without counts", { trafficType: "ON_DEMAND" }, NO_COUNTS, false],
    ["no usage", undefined, NO_COUNTS, false],
  ];
  for (const [name, usage, counts, complete] of table)
    it(`reads ${name}`, () => {
      const report = readAnswer(ADDRESSES.gemini, JSON.stringify(chunk(usage), null, 2));
      assert.deepEqual(countsOf(report), counts);
      assert.equal(report.tokensComplete, complete);
      assert.deepEqual([report.model, report.responseId], ["gemini-test-001", "r-1"]);
    });

  it("reads the tier of Gemini and of Vertex", () => {
    const tier = (usage: object) =>
      readAnswer(ADDRESSES.gemini, JSON.stringify(chunk({ promptTokenCount: 1, ...usage }))).serviceTier;
    assert.equal(tier({ serviceTier: "FLEX" }), "flex");
    assert.equal(tier({ trafficType: "ON_DEMAND_PRIORITY" }), "on_demand_priority");
    assert.equal(tier({}), null);
    assert.equal(tier({ serviceTier: 5 }), null);
  });

  it("splits modalities, separates cached ones, and treats a document as an image", () => {
    const report = readAnswer(
      ADDRESSES.gemini,
      JSON.stringify(
        chunk({
          promptTokenCount: 1000,
          cachedContentTokenCount: 300,
          toolUsePromptTokenCount: 5,
          candidatesTokenCount: 60,
          promptTokensDetails: [
            { modality: "TEXT", tokenCount: 100 },
            { modality: "AUDIO", tokenCount: 500 },
            { modality: "IMAGE", tokenCount: 250 },
            { modality: "DOCUMENT", tokenCount: 50 },
            { modality: "VIDEO", tokenCount: 100 },
            { modality: "VIDEO" },
            null,
          ],
          toolUsePromptTokensDetails: [{ modality: "AUDIO", tokenCount: 5 }],
          cacheTokensDetails: [
            { modality: "AUDIO", tokenCount: 200 },
            { modality: "VIDEO", tokenCount: 100 },
          ],
          candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 58 }],
          newDetail: [1],
        }),
      ),
    );
    assert.deepEqual(report.extras, {
      audio_input_tokens: 305,
      audio_cache_read_tokens: 200,
      image_input_tokens: 300,
      image_output_tokens: 58,
    });
    assert.equal(report.unknownUsage, '{"newDetail":[1]}');
  });

  const chunks = [
    chunk({ promptTokenCount: 7, totalTokenCount: 7 }),
    chunk({ promptTokenCount: 7, candidatesTokenCount: 2, thoughtsTokenCount: 4, totalTokenCount: 13 }),
    chunk(undefined),
    chunk({ promptTokenCount: 7, candidatesTokenCount: 9, thoughtsTokenCount: 4, totalTokenCount: 20 }),
  ];
  for (const [name, body] of [
    ["server-sent events", sse(...chunks)],
    ["a JSON array", `[${chunks.map((one) => JSON.stringify(one, null, 2)).join(",\r\n")}\n]\n`],
  ] as const) {
    it(`uses the last usage of a stream as ${name}`, () => {
      const report = readAnswer(ADDRESSES.geminiStream, body);
      assert.deepEqual(countsOf(report), [7, 0, null, null, 9, 4]);
      assert.equal(report.tokensComplete, true);
    });

    it(`keeps the usage of a truncated stream as ${name}`, () => {
      const cut = readAnswer(ADDRESSES.geminiStream, body.slice(0, body.lastIndexOf('candidates"')), {
        complete: false,
      });
      assert.deepEqual(countsOf(cut), [7, 0, null, null, 2, 4]);
      assert.deepEqual([cut.tokensComplete, cut.model], [false, "gemini-test-001"]);
    });
  }

  it("reads an error in the middle of a stream", () => {
    const error = { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } };
    for (const body of [sse(chunks[0]!, error), JSON.stringify([chunks[0], error])]) {
      const report = readAnswer(ADDRESSES.geminiStream, body);
      assert.deepEqual(report.error, {
        type: "UNAVAILABLE",
        code: null,
        message: "The model is overloaded.",
        status: 503,
      });
      assert.deepEqual(countsOf(report), [7, 0, null, null, 0, 0]);
    }
  });

  it("splits the total into parts that sum to it", () => {
    // Planted: thoughts counted as part of the candidates.
    const count = fc.integer({ min: 0, max: 5000 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9000 }),
        count,
        count,
        count,
        count,
        (fresh, cached, tools, visible, thoughts) => {
          const report = readAnswer(
            ADDRESSES.gemini,
            JSON.stringify(
              chunk({
                promptTokenCount: fresh + cached,
                cachedContentTokenCount: cached,
                toolUsePromptTokenCount: tools,
                candidatesTokenCount: visible,
                thoughtsTokenCount: thoughts,
                totalTokenCount: fresh + cached + tools + visible + thoughts,
              }),
            ),
          );
          assert.deepEqual(countsOf(report), [fresh + tools, cached, null, null, visible, thoughts]);
          assert.equal(sumOf(report), fresh + cached + tools + visible + thoughts);
        },
      ),
    );
  });
});

describe("geminiEmbed", () => {
  it("reads the input if it is stated", () => {
    const body = (usageMetadata?: object) =>
      JSON.stringify({ embedding: { values: [0.5] }, ...(usageMetadata && { usageMetadata }) });
    const known = readAnswer(ADDRESSES.geminiEmbed, body({ promptTokenCount: 6, promptTokensDetails: [] }));
    assert.deepEqual([countsOf(known), known.tokensComplete], [[6, null, null, null, 0, null], true]);
    const unknown = readAnswer(ADDRESSES.geminiEmbed, body());
    assert.deepEqual([countsOf(unknown), unknown.tokensComplete], [NO_COUNTS, false]);
    const batch = readAnswer(
      ADDRESSES.geminiEmbed.replace("embedContent", "batchEmbedContents"),
      body({ totalTokenCount: 9 }),
    );
    assert.deepEqual(countsOf(batch), [9, null, null, null, 0, null]);
  });

  for (const member of ["promptTokenDetails", "promptTokensDetails"])
    it(`splits the input by ${member}, with a document as an image`, () => {
      const usageMetadata = {
        promptTokenCount: 700,
        [member]: [
          { modality: "TEXT", tokenCount: 42 },
          { modality: "IMAGE", tokenCount: 258 },
          { modality: "DOCUMENT", tokenCount: 68 },
          { modality: "AUDIO", tokenCount: 200 },
          { modality: "VIDEO", tokenCount: 132 },
        ],
      };
      const report = readAnswer(ADDRESSES.geminiEmbed, JSON.stringify({ embedding: {}, usageMetadata }));
      assert.deepEqual(report.extras, {
        image_input_tokens: 326,
        audio_input_tokens: 200,
        video_input_tokens: 132,
      });
      assert.deepEqual(countsOf(report), [700, null, null, null, 0, null]);
      assert.equal(report.unknownUsage, null);
    });

  it("finds usage in a stream that was not requested", () => {
    const report = readAnswer(
      ADDRESSES.geminiEmbed,
      JSON.stringify([{ modelVersion: "m" }, { usageMetadata: { promptTokenCount: 2 } }]),
    );
    assert.deepEqual([countsOf(report), report.model], [[2, null, null, null, 0, null], "m"]);
  });
});
