import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  openaiCosts,
  openaiCostsCsv,
  openaiUsage,
  openaiUsageCsv,
} from "../../../../core/pricing/statements/openai.ts";
import { linesOf, problemOf } from "./read-lines.rig.ts";

/** 2026-05-12 in UTC. */
const start_time = "1778544000";
const date = "2026-05-12";

describe("openaiCosts", () => {
  it("reads what a line item bills, and treats an unknown one as a fee", () => {
    const read = (line_item: string) => {
      const results = [{ object: "organization.costs.result", amount: { value: "1.5e-1" }, line_item }];
      const page = openaiCosts.readPage({ data: [{ start_time: "1778544000", results }] });
      assert.ok(page.ok);
      const [{ kind, model, part, tier, costPicoUsd } = assert.fail()] = page.lines;
      assert.equal(costPicoUsd, 150_000_000_000n);
      return [kind, model, part, tier];
    };
    assert.deepEqual(read("gpt-5-2025-08-07, input"), ["usage", "gpt-5-2025-08-07", "input", null]);
    assert.deepEqual(read("gpt-5 cached input"), ["usage", "gpt-5", "cache read", null]);
    assert.deepEqual(read("gpt-5 batch, output"), ["usage", "gpt-5", "output", "batch"]);
    assert.deepEqual(read("web search tool calls"), ["fee", null, null, null]);
  });

  it("treats a cost without a line item as one of the whole day, and names its key or project", () => {
    const cost = (more: object) =>
      linesOf(
        openaiCosts.readPage({
          data: [{ start_time, results: [{ amount: { value: "1", currency: "usd" }, ...more }] }],
        }),
      );
    const day = { date, kind: "usage", costPicoUsd: 1_000_000_000_000n };
    assert.deepEqual(cost({ line_item: null }), [day]);
    assert.deepEqual(cost({ project_id: "proj_1" }), [{ ...day, key: "proj_1" }]);
    assert.deepEqual(cost({ project_id: "proj_1", api_key_id: "key_1" }), [{ ...day, key: "key_1" }]);
  });

  it("refuses a result without an amount, and a bucket without a time", () => {
    const problem = (bucket: object) => problemOf(openaiCosts.readPage({ data: [bucket] }));
    assert.equal(problem({ start_time, results: [{ amount: null }] }), "amount.value is missing");
    assert.equal(problem({ start_time: "2026-05-12", results: [] }), 'start_time is "2026-05-12"');
  });
});

describe("openaiUsage", () => {
  const read = (result: object) =>
    linesOf(openaiUsage.readPage({ data: [{ start_time, results: [result] }] }));

  it("subtracts cached and written tokens from the input", () => {
    const result = {
      ...{ input_tokens: "100", input_cached_tokens: "60", input_cache_write_tokens: "10" },
      ...{ output_tokens: "5", num_model_requests: "2", model: "gpt-5", api_key_id: "key_1" },
      service_tier: "default",
    };
    const line = { date, kind: "usage", model: "gpt-5", key: "key_1", requests: 2 };
    const tokens = { input: 30n, "cache read": 60n, "cache write": 10n, output: 5n };
    assert.deepEqual(read(result), [{ ...line, tokens }]);
    // Counts that contradict each other state no input.
    assert.deepEqual(read({ ...result, input_tokens: "50" })[0]?.tokens, {
      ...{ "cache read": 60n, "cache write": 10n, output: 5n },
    });
    assert.deepEqual(read({})[0]?.tokens, { input: 0n, "cache read": 0n, "cache write": 0n });
  });

  it("names the tier as our records do", () => {
    const tierOf = (result: object) => read(result)[0]?.tier;
    assert.equal(tierOf({ batch: true, service_tier: "default" }), "batch");
    assert.equal(tierOf({ batch: "false", service_tier: "flex" }), "flex");
    assert.equal(tierOf({ service_tier: "fast" }), "priority");
  });
});

describe("the exports of OpenAI's dashboard", () => {
  it("read a cost, and nothing of a bucket without one", () => {
    const row = { start_time, amount_value: "2.25", amount_currency: "usd", line_item: "gpt-5, input" };
    const cost = { date, kind: "usage", model: "gpt-5", part: "input", item: "gpt-5, input" };
    const keys = { project_id: "proj_1", project_name: "web" };
    assert.deepEqual(linesOf(openaiCostsCsv.readRow({ ...row, ...keys })), [
      { ...cost, key: "web", costPicoUsd: 2_250_000_000_000n },
    ]);
    assert.equal(linesOf(openaiCostsCsv.readRow({ ...row, project_id: "proj_1" }))[0]?.key, "proj_1");
    assert.deepEqual(linesOf(openaiCostsCsv.readRow({ ...row, amount_value: "" })), []);
    assert.match(problemOf(openaiCostsCsv.readRow({ ...row, amount_currency: "eur" })), /^amount_currency/);
  });

  it("read usage, and nothing of a bucket without any", () => {
    const row = {
      start_time,
      input_tokens: "9",
      output_tokens: "1",
      num_model_requests: "1",
      model: "gpt-5",
    };
    const tokens = { input: 9n, "cache read": 0n, "cache write": 0n, output: 1n };
    assert.deepEqual(linesOf(openaiUsageCsv.readRow(row)), [
      { date, kind: "usage", model: "gpt-5", tokens, requests: 1 },
    ]);
    assert.deepEqual(linesOf(openaiUsageCsv.readRow({ ...row, num_model_requests: "" })), []);
  });
});
