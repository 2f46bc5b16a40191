import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countsOf, readAnswer } from "./answers.rig.ts";

const ADDRESS = "https://ai-gateway.vercel.sh/v3/ai/language-model";
const EMBEDDING = "https://ai-gateway.vercel.sh/v3/ai/embedding-model";

type Counts = (number | null)[];

describe("vercelLanguageModel", () => {
  const table: [name: string, usage: object, counts: Counts, complete?: boolean][] = [
    [
      "flat totals that include their parts",
      {
        inputTokens: 100,
        outputTokens: 50,
        totalTokens: 150,
        cachedInputTokens: 60,
        reasoningTokens: 20,
      },
      [40, 60, null, null, 30, 20],
    ],
    [
      "reasoning beside the output, as the total shows",
      { inputTokens: 35, outputTokens: 112, totalTokens: 209, reasoningTokens: 62 },
      [35, null, null, null, 112, 62],
    ],
    [
      "more reasoning than output",
      { inputTokens: 35, outputTokens: 12, totalTokens: 47, reasoningTokens: 62 },
      [35, null, null, null, 12, 62],
    ],
    [
      "more cached than input, as providers with exclusive counts state it",
      { inputTokens: 12, outputTokens: 30, totalTokens: 42, cachedInputTokens: 4000 },
      [12, 4000, null, null, 30, null],
    ],
    [
      "nested totals",
      {
        inputTokens: { total: 100, noCache: 30, cacheRead: 60, cacheWrite: 10 },
        outputTokens: { total: 50, text: 30, reasoning: 20 },
      },
      [30, 60, 10, null, 30, 20],
    ],
    [
      "a total that nothing explains",
      { inputTokens: 35, outputTokens: 12, totalTokens: 109 },
      [35, null, null, null, 12, null],
      false,
    ],
    [
      "usage without counts",
      { inputTokens: {}, outputTokens: {} },
      [null, null, null, null, null, null],
      false,
    ],
  ];
  for (const [name, usage, counts, complete = true] of table)
    it(`reads ${name}`, () => {
      const report = readAnswer(ADDRESS, JSON.stringify({ response: { modelId: "m" }, usage }));
      assert.deepEqual(countsOf(report), counts);
      assert.equal(report.tokensComplete, complete);
    });

  it("reads the input of an embedding", () => {
    const report = readAnswer(EMBEDDING, JSON.stringify({ embeddings: [[0.1]], usage: { tokens: 7 } }));
    assert.deepEqual([countsOf(report), report.tokensComplete], [[7, null, null, null, 0, null], true]);
  });
});
