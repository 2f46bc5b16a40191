import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { MAX_BATCH_RESULTS } from "../../../../core/metering/usage/readers/batch-results.ts";
import { createRegistry } from "../../../../core/metering/usage/registry.ts";
import { createUsageReader } from "../../../../core/metering/usage/usage-reader.ts";
import type { UsageReport } from "../../../../core/metering/usage/usage-report.ts";
import { bytesOf, countsOf } from "./answers.rig.ts";

const registry = createRegistry();

function fetchAll(
  url: string,
  body: string | Uint8Array,
  status = 200,
  cuts: readonly number[] = [],
): UsageReport {
  const { hostname, pathname } = new URL(url);
  const route = registry.match({ host: hostname, port: 443, method: "GET", path: pathname });
  if (route.kind !== "metered") throw new Error(`${url} is ${route.kind}`);
  const reader = createUsageReader(route, { status, contentType: "application/x-jsonl", streaming: null });
  const bytes = typeof body === "string" ? bytesOf(body) : body;
  let from = 0;
  for (const cut of [...cuts].sort((one, other) => one - other)) {
    reader.push(bytes.slice(from, cut));
    from = cut;
  }
  reader.push(bytes.slice(from));
  return reader.end(true);
}

const lines = (...values: readonly object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");

/** Returns id, model, tier and counts of each result. */
const resultsOf = ({ results = [] }: UsageReport) =>
  results.map((result) => [result.responseId, result.model, result.serviceTier, ...countsOf(result)]);

const ANTHROPIC = "https://api.anthropic.com/v1/messages/batches/msgbatch_1/results";
const FILE = "https://api.openai.com/v1/files/file-1/content";
const GEMINI = "https://generativelanguage.googleapis.com/v1beta/batches/b1";
const GEMINI_FILE = "https://generativelanguage.googleapis.com/download/v1beta/files/f1:download";

const message = (id: string, usage: object) => ({
  custom_id: id,
  result: { type: "succeeded", message: { id, type: "message", model: "claude-opus-5", content: [], usage } },
});

describe("anthropicBatchResults", () => {
  const body = lines(
    message("msg_1", {
      input_tokens: 10,
      cache_read_input_tokens: 3,
      cache_creation_input_tokens: 2,
      output_tokens: 4,
      service_tier: "batch",
    }),
    { custom_id: "b", result: { type: "errored", error: { type: "invalid_request", message: "no usage" } } },
    { custom_id: "c", result: { type: "canceled" } },
    message("msg_2", { input_tokens: 1, output_tokens: 2 }),
  );

  it("reports each billed result at batch prices, and makes no record itself", () => {
    const report = fetchAll(ANTHROPIC, body);
    assert.deepEqual([report.noRecord, report.error, report.tokensComplete], ["results", null, true]);
    assert.deepEqual(resultsOf(report), [
      ["msg_1", "claude-opus-5", "batch", 10, 3, 2, null, 4, null],
      ["msg_2", "claude-opus-5", "batch", 1, 0, 0, 0, 2, null],
    ]);
    assert.ok(report.results?.every((result) => result.tokensComplete && result.noRecord === undefined));
  });

  it("reports the advisors of a result at the price of a batch too", () => {
    const iterations = [
      { type: "message", input_tokens: 1, output_tokens: 1 },
      { type: "advisor_message", model: "claude-fable-5", input_tokens: 5, output_tokens: 6 },
    ];
    const [result] =
      fetchAll(ANTHROPIC, lines(message("m", { input_tokens: 1, output_tokens: 1, iterations }))).results ??
      [];
    assert.deepEqual(
      result?.results?.map(({ model, serviceTier }) => [model, serviceTier]),
      [["claude-fable-5", "batch"]],
    );
  });

  it("makes no record of a fetch that failed", () => {
    const report = fetchAll(
      ANTHROPIC,
      '{"type":"error","error":{"type":"not_found_error","message":"gone"}}',
      404,
    );
    assert.deepEqual(
      [report.noRecord, report.error?.type, report.results],
      ["not_new", "not_found_error", []],
    );
  });

  it("reports at most MAX_BATCH_RESULTS results, and is then incomplete", () => {
    const one = JSON.stringify(message("m", { input_tokens: 1, output_tokens: 2 }));
    const report = fetchAll(ANTHROPIC, `${one}\n`.repeat(MAX_BATCH_RESULTS + 1));
    assert.deepEqual([report.results?.length, report.tokensComplete], [MAX_BATCH_RESULTS, false]);
  });

  it("reports as many events of a session", () => {
    const one = JSON.stringify({ type: "span.model_request_end", model_usage: { input_tokens: 1 } });
    const url = "https://api.anthropic.com/v1/sessions/sesn_1/events";
    const report = fetchAll(url, `{"data":[${`${one},`.repeat(MAX_BATCH_RESULTS)}${one}]}`);
    assert.equal(report.results?.length, MAX_BATCH_RESULTS);
  });

  // Planted once: the two parts of a line that was cut not joined, which lost its result.
  it("reads the same however the bytes are split", () => {
    const whole = fetchAll(ANTHROPIC, body);
    fc.assert(
      fc.property(fc.array(fc.nat(body.length), { maxLength: 8 }), (cuts) => {
        assert.deepEqual(fetchAll(ANTHROPIC, body, 200, cuts), whole);
      }),
    );
  });
});

describe("openaiFileContent", () => {
  const line = (id: string, body: object | null) => ({
    id,
    custom_id: `custom-${id}`,
    response: body === null ? null : { status_code: 200, request_id: "r", body },
    error: body === null ? { code: "batch_expired", message: "usage" } : null,
  });

  it("reads the results of a batch of each API", () => {
    const report = fetchAll(
      FILE,
      lines(
        line("1", {
          id: "chatcmpl-1",
          object: "chat.completion",
          model: "gpt-5",
          service_tier: "default",
          choices: [],
          usage: { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } },
        }),
        line("2", {
          id: "resp_1",
          object: "response",
          model: "gpt-5",
          status: "completed",
          usage: { input_tokens: 7, output_tokens: 6, output_tokens_details: { reasoning_tokens: 2 } },
        }),
        line("3", { object: "list", model: "text-embedding-3-small", data: [], usage: { prompt_tokens: 8 } }),
        line("4", { created: 1, data: [], usage: { input_tokens: 3, output_tokens: 9 } }),
        line("5", null),
      ),
    );
    assert.deepEqual([report.noRecord, report.error], ["results", null]);
    assert.deepEqual(resultsOf(report), [
      ["chatcmpl-1", "gpt-5", "batch", 6, 4, null, null, 5, null],
      ["resp_1", "gpt-5", "batch", 7, null, null, null, 4, 2],
      ["3", "text-embedding-3-small", "batch", 8, null, null, null, 0, null],
      ["4", null, "batch", 3, null, null, null, 9, null],
    ]);
    assert.ok(
      report.results?.every(({ noRecord, tokensComplete }) => noRecord === undefined && tokensComplete),
    );
  });

  it("reports nothing for any other file", () => {
    const requests = lines({
      custom_id: "1",
      method: "POST",
      url: "/v1/responses",
      body: { model: "m", usage: {} },
    });
    for (const body of [
      requests,
      "",
      "{}",
      "a,b\n1,2\n",
      "[]",
      '{"response":{"body":{"usage":null}}}',
      "%PDF-1.7",
    ])
      assert.deepEqual([fetchAll(FILE, body).noRecord, fetchAll(FILE, body).results], ["results", []]);
    assert.deepEqual(fetchAll(FILE, new Uint8Array(5_000).fill(0)).results, []);
  });
});

describe("geminiBatch and geminiBatchFile", () => {
  const response = (responseId: string) => ({
    responseId,
    modelVersion: "gemini-2.5-flash",
    candidates: [],
    usageMetadata: {
      promptTokenCount: 9,
      cachedContentTokenCount: 4,
      candidatesTokenCount: 3,
      totalTokenCount: 12,
    },
  });

  it("reads inlined results once the batch is done", () => {
    const inlinedResponses = {
      inlinedResponses: [
        { response: response("r1") },
        { error: { code: 3 } },
        {},
        { response: response("r2") },
      ],
    };
    for (const body of [
      { name: "batches/b1", done: true, metadata: { state: "done" }, response: { inlinedResponses } },
      { name: "batches/b1", metadata: { output: { inlinedResponses } } },
    ]) {
      const report = fetchAll(GEMINI, JSON.stringify(body));
      assert.equal(report.noRecord, "results");
      assert.deepEqual(resultsOf(report), [
        ["r1", "gemini-2.5-flash", "batch", 5, 4, null, null, 3, 0],
        ["r2", "gemini-2.5-flash", "batch", 5, 4, null, null, 3, 0],
      ]);
    }
  });

  it("reports nothing while the batch runs", () => {
    const running = '{"name":"batches/b1","metadata":{"state":"BATCH_STATE_RUNNING"}}';
    assert.deepEqual(
      [fetchAll(GEMINI, running).noRecord, fetchAll(GEMINI, running).results],
      ["results", []],
    );
  });

  it("reads a file of results", () => {
    const body = lines(
      { key: "1", response: response("r1") },
      { key: "2", error: { code: 3, message: "usageMetadata" } },
    );
    assert.deepEqual(resultsOf(fetchAll(GEMINI_FILE, body)), [
      ["r1", "gemini-2.5-flash", "batch", 5, 4, null, null, 3, 0],
    ]);
  });
});
