import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readRequest } from "../../../../core/metering/usage/read-request.ts";
import type { MeteredRoute } from "../../../../core/metering/usage/route.ts";
import { createUsageReader } from "../../../../core/metering/usage/usage-reader.ts";
import { ADDRESSES, bytesOf, countsOf, NO_COUNTS, readAnswer, routeOf, sse } from "./answers.rig.ts";

const CODE_ASSIST = "https://cloudcode-pa.googleapis.com/v1internal:generateContent";
const INTERACTIONS = "https://generativelanguage.googleapis.com/v1beta/interactions";
const VERTEX =
  "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/publishers/google/models/gemini-x:generateContent";
const VERTEX_CLAUDE =
  "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-x:rawPredict";

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 4, totalTokenCount: 14 };

const grounded = (...queries: readonly unknown[]) => ({
  content: { parts: [{ text: "x" }] },
  groundingMetadata: { webSearchQueries: queries },
});

describe("geminiGenerate and its searches", () => {
  const searches = (body: object | string, url: string = ADDRESSES.gemini) =>
    readAnswer(url, typeof body === "string" ? body : JSON.stringify(body)).extras.web_search_requests;

  it("counts each query of a model since Gemini 3", () => {
    const candidates = [grounded("a", "b"), grounded("b", "c", "", 7)];
    assert.equal(searches({ modelVersion: "gemini-3-flash", candidates, usageMetadata }), 3);
  });

  it("counts a grounded prompt of an older model once", () => {
    assert.equal(
      searches({ modelVersion: "gemini-2.5-pro", candidates: [grounded("a", "b")], usageMetadata }),
      1,
    );
    const older = ADDRESSES.gemini.replace("gemini-x", "gemini-2.0-flash");
    assert.equal(searches({ candidates: [grounded("a", "b")], usageMetadata }, older), 1);
  });

  it("counts none without a search", () => {
    for (const candidates of [[grounded()], [{}], [null], { a: "webSearchQueries" }, undefined])
      assert.equal(searches({ modelVersion: "gemini-2.5-pro", candidates, usageMetadata }), undefined);
    const text = [
      { content: { parts: [{ text: '"webSearchQueries"' }] }, groundingMetadata: { webSearchQueries: 1 } },
    ];
    assert.equal(searches({ modelVersion: "gemini-3-flash", candidates: text, usageMetadata }), undefined);
  });

  it("counts the searches of all chunks, and keeps the last usage", () => {
    const chunk = (candidate: object, usage?: object) => ({
      modelVersion: "gemini-3-flash",
      candidates: [candidate],
      ...(usage && { usageMetadata: usage }),
    });
    const body = sse(
      chunk({}, { promptTokenCount: 10 }),
      chunk(grounded("a"), { promptTokenCount: 10, candidatesTokenCount: 1 }),
      chunk({}, { promptTokenCount: 10, candidatesTokenCount: 2 }),
      chunk(grounded("a", "b")),
    );
    const report = readAnswer(ADDRESSES.geminiStream, body);
    assert.equal(report.extras.web_search_requests, 2);
    assert.deepEqual(countsOf(report), [10, 0, null, null, 2, 0]);
  });
});

describe("geminiCodeAssist", () => {
  const answer = {
    response: { candidates: [], usageMetadata, modelVersion: "gemini-2.5-pro", responseId: "r1" },
  };

  it("reads the wrapped response", () => {
    const report = readAnswer(CODE_ASSIST, JSON.stringify(answer));
    assert.deepEqual(
      [report.model, report.responseId, ...countsOf(report)],
      ["gemini-2.5-pro", "r1", 10, 0, null, null, 4, 0],
    );
    assert.deepEqual(report.extras, {});
  });

  it("reads a stream, and an error", () => {
    const stream = CODE_ASSIST.replace(":generate", ":streamGenerate");
    assert.deepEqual(countsOf(readAnswer(stream, sse(answer, answer))), [10, 0, null, null, 4, 0]);
    const error = '{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota"}}';
    assert.equal(readAnswer(CODE_ASSIST, error, { status: 429 }).error?.type, "RESOURCE_EXHAUSTED");
  });

  it("hashes the prompt in the wrapped request", () => {
    const request = { contents: [{ parts: [{ text: "hi" }] }], generationConfig: {} };
    const facts = readRequest(
      routeOf(CODE_ASSIST),
      bytesOf(JSON.stringify({ model: "gemini-2.5-pro", request })),
    );
    assert.equal(facts.canonicalPrompt, '{"contents":[{"parts":[{"text":"hi"}]}]}');
    assert.equal(facts.requestedModel, "gemini-2.5-pro");
    assert.equal(readRequest(routeOf(CODE_ASSIST), bytesOf("{}")).canonicalPrompt, null);
  });
});

describe("Vertex", () => {
  it("reads the tier from the traffic type, and detects a regional endpoint", () => {
    const usage = { ...usageMetadata, trafficType: "ON_DEMAND_PRIORITY" };
    const report = readAnswer(VERTEX, JSON.stringify({ usageMetadata: usage }));
    assert.deepEqual([report.serviceTier, report.extras], ["on_demand_priority", { regional_endpoint: 1 }]);
    const throughput = { ...usageMetadata, trafficType: "PROVISIONED_THROUGHPUT" };
    assert.equal(
      readAnswer(VERTEX, JSON.stringify({ usageMetadata: throughput })).serviceTier,
      "provisioned_throughput",
    );
  });

  it("reads Claude like Anthropic, with the model in the path", () => {
    const body = { id: "msg_1", model: "claude-x", usage: { input_tokens: 3, output_tokens: 2 } };
    assert.deepEqual(countsOf(readAnswer(VERTEX_CLAUDE, JSON.stringify(body))), [3, 0, 0, 0, 2, null]);
    const request = { anthropic_version: "vertex-2023-10-16", stream: true, messages: [] };
    const facts = readRequest(routeOf(VERTEX_CLAUDE), bytesOf(JSON.stringify(request)));
    assert.deepEqual([facts.requestedModel, facts.streaming], ["claude-x", true]);
  });
});

describe("geminiInteractions", () => {
  const usage = {
    total_input_tokens: 100,
    total_cached_tokens: 60,
    total_tool_use_tokens: 7,
    total_output_tokens: 30,
    total_thought_tokens: 20,
    total_tokens: 157,
    input_tokens_by_modality: [
      { modality: "text", tokens: 50 },
      { modality: "image", tokens: 30 },
      { modality: "document", tokens: 5 },
      { modality: "audio", tokens: 15 },
    ],
    tool_use_tokens_by_modality: [{ modality: "image", tokens: 2 }],
    cached_tokens_by_modality: [{ modality: "audio", tokens: 10 }, null],
    output_tokens_by_modality: [{ modality: "text", tokens: 30 }],
    grounding_tool_count: [
      { type: "google_search", count: 3 },
      { type: "google_maps", count: 1 },
    ],
  };
  const interaction = (rest: object = {}) => ({
    id: "int_1",
    model: "gemini-3-flash-preview",
    status: "completed",
    usage,
    ...rest,
  });

  it("is incomplete if the total exceeds the parts", () => {
    const hidden = { total_input_tokens: 7, total_output_tokens: 5, total_tokens: 90 };
    const report = readAnswer(INTERACTIONS, JSON.stringify(interaction({ usage: hidden })));
    assert.deepEqual([countsOf(report), report.tokensComplete], [[7, 0, null, null, 5, 0], false]);
  });

  it("reads a complete response, whose parts sum to its total", () => {
    const report = readAnswer(INTERACTIONS, JSON.stringify(interaction()));
    assert.deepEqual(countsOf(report), [47, 60, null, null, 30, 20]);
    assert.deepEqual(
      [report.responseId, report.model, report.tokensComplete, report.unknownUsage, report.noRecord],
      ["int_1", "gemini-3-flash-preview", true, null, undefined],
    );
    assert.deepEqual(report.extras, {
      audio_input_tokens: 5,
      image_input_tokens: 37,
      audio_cache_read_tokens: 10,
      web_search_requests: 3,
    });
  });

  it("treats thoughts as part of the output if the total proves it", () => {
    const inside = {
      total_input_tokens: 10,
      total_output_tokens: 30,
      total_thought_tokens: 20,
      total_tokens: 40,
    };
    assert.deepEqual(countsOf(readAnswer(INTERACTIONS, JSON.stringify(interaction({ usage: inside })))), [
      10,
      0,
      null,
      null,
      10,
      20,
    ]);
  });

  it("treats omitted counts as 0, except the input", () => {
    const least = interaction({ usage: { total_input_tokens: 10 } });
    assert.deepEqual(countsOf(readAnswer(INTERACTIONS, JSON.stringify(least))), [10, 0, null, null, 0, 0]);
    const nothing = readAnswer(INTERACTIONS, JSON.stringify(interaction({ usage: {} })));
    assert.deepEqual([...countsOf(nothing), nothing.tokensComplete], [...NO_COUNTS, false]);
  });

  it("reads the last event of a stream", () => {
    const body = sse(
      {
        event_type: "interaction.created",
        interaction: interaction({ status: "in_progress", usage: undefined }),
      },
      { event_type: "step.delta", delta: { text: "x" } },
      { event_type: "interaction.completed", interaction: interaction() },
    );
    assert.deepEqual(countsOf(readAnswer(INTERACTIONS, body)), [47, 60, null, null, 30, 20]);
  });

  const POLL: MeteredRoute = { ...routeOf(INTERACTIONS), fetches: true };
  const poll = (body: object) => {
    const reader = createUsageReader(POLL, { status: 200, contentType: null, streaming: null });
    reader.push(bytesOf(JSON.stringify(body)));
    return reader.end(true);
  };

  it("makes no record before it is complete, and one from the poll that states usage", () => {
    const running = interaction({ status: "in_progress", usage: undefined });
    assert.equal(readAnswer(INTERACTIONS, JSON.stringify(running)).noRecord, "unfinished");
    assert.equal(poll(running).noRecord, "unfinished");
    assert.deepEqual([poll(interaction()).noRecord, poll(interaction()).responseId], [undefined, "int_1"]);
  });

  it("ignores invalid counts", () => {
    const odd = {
      total_input_tokens: 5,
      input_tokens_by_modality: [{ modality: "image", tokens: -1 }],
      grounding_tool_count: [{ type: "google_search", count: "x" }, null],
    };
    assert.deepEqual(readAnswer(INTERACTIONS, JSON.stringify(interaction({ usage: odd }))).extras, {});
    const queued = interaction({ status: "queued", usage: null });
    assert.equal(readAnswer(INTERACTIONS, JSON.stringify(queued)).noRecord, "unfinished");
    const cut = sse(
      { event_type: "interaction.created" },
      { event_type: "interaction.created", interaction: {} },
    );
    const report = readAnswer(INTERACTIONS, cut, { complete: false });
    assert.deepEqual(
      [report.model, report.responseId, report.noRecord, ...countsOf(report)],
      [null, null, undefined, ...NO_COUNTS],
    );
  });

  it("names the agent if no model is named", () => {
    const agent = interaction({ model: undefined, agent: "deep-research-pro" });
    assert.equal(readAnswer(INTERACTIONS, JSON.stringify(agent)).model, "deep-research-pro");
  });
});
