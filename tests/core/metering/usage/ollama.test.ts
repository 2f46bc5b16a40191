import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ADDRESSES, countsOf, NO_COUNTS, readAnswer } from "./answers.rig.ts";

const lines = (...values: readonly object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");

const piece = {
  model: "qwen-test",
  created_at: "2026-11-21T00:00:00Z",
  message: { role: "assistant", content: 'is "done":true' },
  done: false,
};
const last = (counts: object) => ({
  ...piece,
  done: true,
  done_reason: "stop",
  total_duration: 5,
  ...counts,
});

describe("ollamaChat", () => {
  const table: [name: string, counts: object, expected: (number | null)[], complete: boolean][] = [
    ["both counts", { prompt_eval_count: 26, eval_count: 298 }, [26, null, null, null, 298, null], true],
    [
      "cached tokens inside the prompt",
      { prompt_eval_count: 26, prompt_eval_cached_count: 20, eval_count: 8 },
      [6, 20, null, null, 8, null],
      true,
    ],
    [
      "no prompt count, as older servers answer from their cache",
      { eval_count: 8 },
      [null, null, null, null, 8, null],
      false,
    ],
    ["no output", { prompt_eval_count: 26 }, [26, null, null, null, 0, null], true],
    ["a model that is only loaded", { done_reason: "load" }, [0, null, null, null, 0, null], true],
    [
      "more cached than prompt",
      { prompt_eval_count: 2, prompt_eval_cached_count: 5, eval_count: 8 },
      [0, 2, null, null, 8, null],
      false,
    ],
  ];
  for (const [name, counts, expected, complete] of table)
    it(`reads ${name}, streamed and whole`, () => {
      for (const body of [lines(piece, piece, last(counts)), JSON.stringify(last(counts))]) {
        const report = readAnswer(ADDRESSES.ollamaChat, body);
        assert.deepEqual(countsOf(report), expected);
        assert.deepEqual([report.tokensComplete, report.model], [complete, "qwen-test"]);
      }
    });

  it("reads /api/generate in the same way", () => {
    const url = ADDRESSES.ollamaChat.replace("chat", "generate");
    const report = readAnswer(
      url,
      lines({ model: "m", response: "a", done: false }, last({ eval_count: 1, prompt_eval_count: 2 })),
    );
    assert.deepEqual(countsOf(report), [2, null, null, null, 1, null]);
  });

  it("reads the model of a truncated stream", () => {
    const report = readAnswer(ADDRESSES.ollamaChat, lines(piece, piece), { complete: false });
    assert.deepEqual(
      [countsOf(report), report.tokensComplete, report.model],
      [NO_COUNTS, false, "qwen-test"],
    );
  });

  it("reads errors in a response and in the middle of a stream", () => {
    const refused = readAnswer(ADDRESSES.ollamaChat, '{"error":"model \\"x\\" not found"}', { status: 404 });
    assert.equal(refused.error?.message, 'model "x" not found');
    const broken = readAnswer(ADDRESSES.ollamaChat, lines(piece, { error: "an error was encountered" }));
    assert.equal(broken.error?.message, "an error was encountered");
  });
});

describe("ollamaEmbed", () => {
  it("reads only input", () => {
    const report = readAnswer(
      ADDRESSES.ollamaEmbed,
      JSON.stringify({ model: "embed-test", embeddings: [[0.1]], prompt_eval_count: 8 }),
    );
    assert.deepEqual(
      [countsOf(report), report.tokensComplete, report.model],
      [[8, null, null, null, 0, null], true, "embed-test"],
    );
    const older = readAnswer(ADDRESSES.ollamaEmbed, JSON.stringify({ embedding: [0.1] }));
    assert.deepEqual([countsOf(older), older.tokensComplete], [NO_COUNTS, false]);
  });
});
