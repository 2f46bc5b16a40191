import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  anthropicCostCsv,
  anthropicCostReport,
  anthropicTokensCsv,
  anthropicUsageReport,
} from "../../../../core/pricing/statements/anthropic.ts";
import { linesOf, problemOf } from "./read-lines.rig.ts";

const page = (...results: unknown[]) => ({ data: [{ starting_at: "2026-05-12T00:00:00Z", results }] });
const date = "2026-05-12";
const CENT = 10_000_000_000n;

describe("anthropicCostReport", () => {
  const read = (result: object) => linesOf(anthropicCostReport.readPage(page(result)));

  it("reads the cost of one kind of tokens, in cents", () => {
    const tokens = {
      ...{ amount: "123.45", currency: "USD", cost_type: "tokens", model: "claude-haiku-4-5" },
      ...{ service_tier: "standard", token_type: "cache_creation.ephemeral_1h_input_tokens" },
      ...{ description: "Cache write", workspace_id: "wrkspc_1" },
    };
    const line = { date, kind: "usage", model: "claude-haiku-4-5", key: "wrkspc_1", part: "cache write 1h" };
    assert.deepEqual(read(tokens), [{ ...line, costPicoUsd: (12_345n * CENT) / 100n, item: "Cache write" }]);
    assert.deepEqual(read({ ...tokens, service_tier: "batch" })[0]?.tier, "batch");
    assert.equal(read({ ...tokens, token_type: "toString" })[0]?.part, undefined);
  });

  it("treats everything except tokens as a fee, and an ungrouped cost as usage", () => {
    assert.deepEqual(read({ amount: "1", cost_type: "web_search" }), [
      { date, kind: "fee", costPicoUsd: CENT, item: "web_search" },
    ]);
    assert.deepEqual(read({ amount: "2", cost_type: null }), [
      { date, kind: "usage", costPicoUsd: 2n * CENT },
    ]);
  });

  it("refuses a page with a value that the format does not have", () => {
    const problem = (value: object) => problemOf(anthropicCostReport.readPage(value as never));
    assert.equal(problem(page({ amount: 5 })), "amount is 5");
    assert.equal(problem(page({ amount: "1e12" })), 'amount is "1e12"');
    assert.equal(problem(page({ amount: "-1e12" })), 'amount is "-1e12"');
    assert.equal(problem(page({ amount: "1", currency: "EUR" })), 'currency is "EUR"');
    assert.equal(
      problem({ data: [{ starting_at: "yesterday", results: [] }] }),
      'starting_at is "yesterday"',
    );
    assert.equal(problem({ data: [{ starting_at: "2026-05-12", results: {} }] }), "results is {}");
    assert.equal(problem({ data: [{ starting_at: "2026-05-12" }] }), "results is missing");
  });

  // Seen to fail with a TypeError.
  it("rejects a bucket that is not an object", () => {
    const broken = { data: [...page({ amount: "1" }).data, null] };
    assert.ok(anthropicCostReport.matches(broken));
    assert.match(problemOf(anthropicCostReport.readPage(broken)), /^data is \[/);
  });
});

describe("anthropicUsageReport", () => {
  it("reads each kind of tokens that is stated", () => {
    const result = {
      ...{ uncached_input_tokens: "10", cache_read_input_tokens: "20", output_tokens: "50" },
      cache_creation: { ephemeral_5m_input_tokens: "30", ephemeral_1h_input_tokens: "40" },
      ...{ model: "claude-haiku-4-5", api_key_id: "apikey_1", service_tier: "priority" },
    };
    const some = { uncached_input_tokens: "7", output_tokens: null };
    assert.deepEqual(linesOf(anthropicUsageReport.readPage(page(result, some))), [
      {
        ...{ date, kind: "usage", model: "claude-haiku-4-5", key: "apikey_1", tier: "priority" },
        tokens: { input: 10n, "cache read": 20n, "cache write": 30n, "cache write 1h": 40n, output: 50n },
      },
      { date, kind: "usage", tokens: { input: 7n } },
    ]);
  });

  it("rejects an invalid count", () => {
    for (const count of ["-1", "1e19", "many", 5])
      assert.match(
        problemOf(anthropicUsageReport.readPage(page({ uncached_input_tokens: count }))),
        /^uncached_input_tokens is /,
      );
  });
});

describe("the Console's exports", () => {
  it("read the cost of a row, and the standard tier by its name there", () => {
    const row = {
      ...{ usage_date_utc: date, model: "Claude Haiku 4.5", api_key: "acme-web", usage_type: "message" },
      ...{ token_type: "input_cache_read", cost_usd: "0.15", cost_type: "token" },
    };
    const line = { date, kind: "usage", model: "Claude Haiku 4.5", key: "acme-web", part: "cache read" };
    assert.deepEqual(linesOf(anthropicCostCsv.readRow(row)), [
      { ...line, costPicoUsd: 15n * CENT, item: "token" },
    ]);
    assert.equal(problemOf(anthropicCostCsv.readRow({ ...row, cost_usd: "?" })), 'cost_usd is "?"');
  });

  it("read the tokens of a row", () => {
    const row = {
      ...{ usage_date_utc: date, model_version: "claude-haiku-4-5", api_key: "k", usage_type: "batch" },
      ...{ usage_input_tokens_no_cache: "1", usage_input_tokens_cache_read: "2" },
      ...{ usage_input_tokens_cache_write_5m: "3", usage_input_tokens_cache_write_1h: "" },
      usage_output_tokens: "5",
    };
    assert.deepEqual(linesOf(anthropicTokensCsv.readRow(row)), [
      {
        ...{ date, kind: "usage", model: "claude-haiku-4-5", key: "k", tier: "batch" },
        tokens: { input: 1n, "cache read": 2n, "cache write": 3n, output: 5n },
      },
    ]);
  });
});
