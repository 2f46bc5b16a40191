import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  openrouterActivity,
  openrouterActivityCsv,
  openrouterGenerationsCsv,
} from "../../../../core/pricing/statements/openrouter.ts";
import { linesOf, problemOf } from "./read-lines.rig.ts";

const line = { date: "2026-05-12", kind: "usage", model: "anthropic/claude-haiku-4.5" };
const stated = { costPicoUsd: 4_500_000_000_000n, requests: 3 };
const tokens = { "all input": 100n, output: 20n };

describe("openrouterActivity", () => {
  it("reads the cost, the tokens and the requests of a day and model", () => {
    const item = {
      ...{ date: "2026-05-12", model: "anthropic/claude-haiku-4.5", usage: "4.5", requests: "3" },
      ...{ prompt_tokens: "100", completion_tokens: "20" },
    };
    assert.deepEqual(linesOf(openrouterActivity.readPage({ data: [item] })), [
      { ...line, ...stated, tokens },
    ]);
    const bare = { date: "2026-05-12 00:00:00", model: null, model_permaslug: "a/b", usage: "1" };
    assert.deepEqual(linesOf(openrouterActivity.readPage({ data: [bare] })), [
      { date: "2026-05-12", kind: "usage", model: "a/b", costPicoUsd: 1_000_000_000_000n },
    ]);
    assert.equal(
      problemOf(openrouterActivity.readPage({ data: [{ ...item, date: "2026-13-01" }] })),
      'date is "2026-13-01"',
    );
    const { date: _, ...undated } = item;
    assert.equal(problemOf(openrouterActivity.readPage({ data: [undated] })), "date is missing");
  });
});

describe("OpenRouter's exports", () => {
  it("read a generation without its tokens, which OpenRouter counts in its own way", () => {
    const row = {
      ...{ generation_id: "gen-1", created_at: "2026-05-12 10:00:00.123", cost_total: "4.5" },
      ...{ model_permaslug: "anthropic/claude-haiku-4.5", api_key_name: "laptop", tokens_prompt: "99" },
    };
    assert.deepEqual(linesOf(openrouterGenerationsCsv.readRow(row)), [
      { ...line, key: "laptop", costPicoUsd: stated.costPicoUsd, requests: 1 },
    ]);
  });

  it("read a day and model", () => {
    const row = {
      ...{ date: "2026-05-12", slug: "anthropic/claude-haiku-4.5", usage: "4.5", requests: "3" },
      ...{ prompt_tokens: "100", completion_tokens: "20" },
    };
    assert.deepEqual(linesOf(openrouterActivityCsv.readRow(row)), [{ ...line, ...stated, tokens }]);
    assert.equal(problemOf(openrouterActivityCsv.readRow({ ...row, usage: "" })), 'Usage is ""');
  });
});
