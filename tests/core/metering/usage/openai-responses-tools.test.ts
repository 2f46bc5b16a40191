import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { MeteredRoute } from "../../../../core/metering/usage/route.ts";
import { createUsageReader } from "../../../../core/metering/usage/usage-reader.ts";
import type { UsageReport } from "../../../../core/metering/usage/usage-report.ts";
import { ADDRESSES, bytesOf, countsOf, readAnswer, routeOf, sse } from "./answers.rig.ts";

const USAGE = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };

const response = (rest: object = {}) => ({
  id: "resp_1",
  object: "response",
  model: "gpt-5.5",
  status: "completed",
  usage: USAGE,
  ...rest,
});

const POLL: MeteredRoute = { ...routeOf(ADDRESSES.responses), fetches: true };

function poll(body: object | string, status = 200): UsageReport {
  const reader = createUsageReader(POLL, { status, contentType: null, streaming: null });
  reader.push(bytesOf(typeof body === "string" ? body : JSON.stringify(body)));
  return reader.end(true);
}

describe("openaiResponses in the background", () => {
  for (const status of ["queued", "in_progress"])
    it(`makes no record while the status is ${status}`, () => {
      const body = JSON.stringify(response({ status, background: true, usage: null }));
      assert.equal(readAnswer(ADDRESSES.responses, body).noRecord, "unfinished");
      assert.equal(poll(body).noRecord, "unfinished");
    });

  it("makes a record from the poll that states usage", () => {
    const report = poll(response({ background: true }));
    assert.equal(report.noRecord, undefined);
    assert.deepEqual([report.responseId, ...countsOf(report)], ["resp_1", 10, null, null, null, 5, null]);
  });

  it("makes a record from a resumed stream", () => {
    const report = poll(
      sse(
        {
          type: "response.created",
          response: response({ status: "in_progress", background: true, usage: null }),
        },
        { type: "response.completed", response: response({ background: true }) },
      ),
    );
    assert.equal(report.noRecord, undefined);
    assert.equal(report.tokens.promptTokens, 10);
  });

  it("makes no record when a stored response is fetched", () => {
    assert.equal(poll(response({ background: false })).noRecord, "not_new");
    assert.equal(poll(response()).noRecord, "not_new");
  });

  it("makes no record from a failed poll or a deletion", () => {
    const failed = poll({ error: { message: "gone", type: "invalid_request_error" } }, 404);
    assert.deepEqual([failed.noRecord, failed.error?.message], ["not_new", "gone"]);
    assert.equal(poll({ id: "resp_1", object: "response", deleted: true }).noRecord, "unfinished");
  });

  it("makes a record of a failed call, and of one without usage", () => {
    assert.equal(readAnswer(ADDRESSES.responses, "{}", { status: 500 }).noRecord, undefined);
    const failed = response({ status: "failed", usage: null });
    assert.equal(readAnswer(ADDRESSES.responses, JSON.stringify(failed)).noRecord, undefined);
  });
});

describe("openaiResponses and its tools", () => {
  const search = (id: string, type = "search") => ({ type: "web_search_call", id, action: { type } });

  it("counts the billed searches that the response states", () => {
    const tool_usage = { web_search: { num_requests: 3 }, image_gen: { input_tokens: 0, output_tokens: 0 } };
    const body = JSON.stringify(response({ output: [search("ws_1")], tool_usage }));
    const report = readAnswer(ADDRESSES.responses, body);
    assert.deepEqual(report.extras, { web_search_requests: 3 });
    assert.equal(report.results, undefined);
  });

  it("does not count a search that was not billed", () => {
    const tool_usage = { web_search: { num_requests: 0 } };
    const body = JSON.stringify(response({ output: [search("ws_1")], tool_usage }));
    assert.deepEqual(readAnswer(ADDRESSES.responses, body).extras, {});
  });

  it("counts the search actions if the response has no count", () => {
    const output = [
      search("ws_1"),
      search("ws_2", "open_page"),
      search("ws_3", "find_in_page"),
      { type: "web_search_call", id: "ws_4" },
      { type: "web_search_call" },
      { type: "message", content: [] },
      null,
    ];
    const body = JSON.stringify(response({ output }));
    assert.deepEqual(readAnswer(ADDRESSES.responses, body).extras, { web_search_requests: 3 });
  });

  it("counts each call of a stream once, even if it is repeated", () => {
    const body = sse(
      { type: "response.created", response: response({ usage: null }) },
      { type: "response.output_item.added", item: search("ws_1") },
      { type: "response.output_item.done", item: search("ws_1") },
      { type: "response.output_item.done", item: search("ws_2") },
      { type: "response.completed", response: response({ output: [search("ws_1"), search("ws_2")] }) },
    );
    assert.deepEqual(readAnswer(ADDRESSES.responses, body).extras, { web_search_requests: 2 });
  });

  it("does not count text that mentions calls", () => {
    const output = [{ type: "message", content: [{ text: 'a "web_search_call"' }] }];
    assert.deepEqual(readAnswer(ADDRESSES.responses, JSON.stringify(response({ output }))).extras, {});
    const odd = JSON.stringify(response({ output: { a: '"web_search_call"', b: "web_search_call" } }));
    assert.deepEqual(readAnswer(ADDRESSES.responses, odd).extras, {});
  });

  const image_gen = {
    input_tokens: 100,
    output_tokens: 1_000,
    total_tokens: 1_100,
    input_tokens_details: { text_tokens: 20, image_tokens: 80 },
    output_tokens_details: { text_tokens: 0, image_tokens: 1_000 },
    cached_tokens: 30,
    cached_tokens_details: { cached_text_tokens: 10, cached_image_tokens: 20 },
  };

  it("reports the image tool's model separately", () => {
    const tools = [{ type: "web_search" }, { type: "image_generation", model: "gpt-image-1.5" }];
    const body = JSON.stringify(response({ tools, tool_usage: { image_gen } }));
    const [image, ...rest] = readAnswer(ADDRESSES.responses, body).results ?? [];
    assert.deepEqual(rest, []);
    assert.ok(image);
    assert.deepEqual(
      [image.model, image.responseId, image.requestKind, ...countsOf(image)],
      ["gpt-image-1.5", "resp_1/image_gen", "image", 70, 30, null, null, 1_000, null],
    );
    assert.deepEqual(image.extras, {
      image_input_tokens: 60,
      image_cache_read_tokens: 20,
      image_output_tokens: 1_000,
    });
  });

  it("has no model for an image tool that the response does not name", () => {
    for (const tools of [undefined, [{ type: "image_generation" }], { "": "image_generation" }]) {
      const body = JSON.stringify({ ...response({ tools, tool_usage: { image_gen } }), id: undefined });
      const image = readAnswer(ADDRESSES.responses, body).results?.[0];
      assert.deepEqual([image?.model, image?.responseId], [null, null]);
    }
  });

  it("reads xAI's tools, whose cost is stated", () => {
    const usage = {
      ...USAGE,
      cost_in_usd_ticks: 37_756_000,
      num_server_side_tools_used: 6,
      server_side_tool_usage_details: {
        web_search_calls: 3,
        x_search_calls: 2,
        code_interpreter_calls: 1,
        document_search_calls: 0,
      },
    };
    const report = readAnswer(ADDRESSES.xaiResponses, JSON.stringify(response({ usage })));
    assert.deepEqual(report.extras, {
      web_search_requests: 3,
      x_search_requests: 2,
      code_execution_requests: 1,
    });
    assert.equal(report.providerCostPicoUsd, 3_775_600_000n);
    assert.equal(report.unknownUsage, null);
  });
});

describe("openaiChat and Groq's compound systems", () => {
  const usage = (prompt_tokens: number, completion_tokens: number) => ({ prompt_tokens, completion_tokens });
  const answer = {
    id: "c1",
    model: "groq/compound",
    choices: [],
    usage: usage(30, 9),
    usage_breakdown: {
      models: [
        { model: "openai/gpt-oss-120b", usage: usage(20, 5) },
        { model: "llama-3.3-70b-versatile", usage: usage(10, 4) },
        { usage: null },
      ],
    },
  };

  it("reports each of several models instead of their sum", () => {
    const report = readAnswer(ADDRESSES.groq, JSON.stringify(answer));
    assert.equal(report.noRecord, "results");
    assert.deepEqual(
      report.results?.map((result) => [result.responseId, result.model, ...countsOf(result)]),
      [
        ["c1/0", "openai/gpt-oss-120b", 20, null, null, null, 5, null],
        ["c1/1", "llama-3.3-70b-versatile", 10, null, null, null, 4, null],
        ["c1/2", null, null, null, null, null, null, null],
      ],
    );
  });

  it("does the same for a stream", () => {
    const { id, model, ...x_groq } = answer;
    const body = `${sse({ id, model, choices: [] }, { id, model, choices: [], x_groq })}data: [DONE]\n\n`;
    assert.equal(readAnswer(ADDRESSES.groq, body).results?.length, 3);
  });

  it("uses the sum without a list of models, and invents no id", () => {
    const none = { ...answer, usage_breakdown: { models: [] } };
    assert.deepEqual(countsOf(readAnswer(ADDRESSES.groq, JSON.stringify(none))), [
      30,
      null,
      null,
      null,
      9,
      null,
    ]);
    const nameless = readAnswer(ADDRESSES.groq, JSON.stringify({ ...answer, id: undefined }));
    assert.equal(nameless.results?.[0]?.responseId, null);
  });
});
