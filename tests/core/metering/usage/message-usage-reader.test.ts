import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMessageUsageReader } from "../../../../core/metering/usage/message-usage-reader.ts";
import { createRegistry } from "../../../../core/metering/usage/registry.ts";
import type { MeteredRoute } from "../../../../core/metering/usage/route.ts";
import { createUsageReader, MAX_MESSAGE_BYTES } from "../../../../core/metering/usage/usage-reader.ts";
import type { UsageReport } from "../../../../core/metering/usage/usage-report.ts";
import { bytesOf, countsOf, NO_COUNTS } from "./answers.rig.ts";

/** The route of a handshake. */
function socketRoute(host: string, path: string): MeteredRoute {
  const route = createRegistry().match({ host, port: 443, method: "GET", path });
  if (route.kind !== "metered") throw new Error(`${path} is ${route.kind}`);
  return route;
}

const RESPONSES = socketRoute("api.openai.com", "/v1/responses");
const REALTIME = socketRoute("api.openai.com", "/v1/realtime?model=gpt-realtime");

/** Returns the reports on all messages, which are objects or texts. */
function readAll(route: MeteredRoute, ...messages: readonly (object | string)[]): UsageReport[] {
  const reader = createMessageUsageReader(route);
  return messages
    .map((message) => reader.read(bytesOf(typeof message === "string" ? message : JSON.stringify(message))))
    .filter((report) => report !== null);
}

const response = (id: string, rest: object = {}) => ({
  id,
  model: "gpt-5.5",
  status: "completed",
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  ...rest,
});

describe("createMessageUsageReader() for Responses", () => {
  it("reports each response of a connection when it ends", () => {
    const reports = readAll(
      RESPONSES,
      { type: "response.created", response: response("resp_1", { status: "in_progress", usage: null }) },
      { type: "response.output_text.delta", delta: 'says "usage"' },
      {
        type: "response.output_item.done",
        item: { type: "web_search_call", id: "ws_1", action: { type: "search" } },
      },
      { type: "response.completed", response: response("resp_1", { service_tier: "flex" }) },
      { type: "response.created", response: response("resp_2", { status: "in_progress", usage: null }) },
      { type: "response.incomplete", response: response("resp_2", { status: "incomplete" }) },
    );
    assert.deepEqual(
      reports.map((report) => [report.responseId, report.serviceTier, report.extras, ...countsOf(report)]),
      [
        ["resp_1", "flex", { web_search_requests: 1 }, 10, null, null, null, 5, null],
        ["resp_2", null, {}, 10, null, null, null, 5, null],
      ],
    );
    assert.ok(reports.every((report) => report.tokensComplete && report.model === "gpt-5.5"));
  });

  it("reports a failure with its error", () => {
    const error = { code: "rate_limit_exceeded", message: "slow down" };
    const [failed, refused, ...rest] = readAll(
      RESPONSES,
      { type: "response.failed", response: response("resp_1", { status: "failed", usage: null, error }) },
      { type: "error", status: 400, error: { type: "invalid_request_error", message: "no" } },
    );
    assert.deepEqual(rest, []);
    assert.equal(failed?.error?.code, "rate_limit_exceeded");
    assert.equal(refused?.error?.status, 400, "the status stands beside the error");
    assert.deepEqual(
      [refused?.error?.type, ...countsOf(refused as UsageReport)],
      ["invalid_request_error", ...NO_COUNTS],
    );
  });

  it("reports that credits pay if a Codex window is used up", () => {
    const limits = (used_percent: number, has_credits: boolean) => ({
      type: "codex.rate_limits",
      rate_limits: { primary: { used_percent: 3 }, secondary: { used_percent } },
      credits: { has_credits, unlimited: false, balance: "5" },
    });
    const completed = { type: "response.completed", response: response("resp_1") };
    for (const [event, usesCredits] of [
      [limits(100, true), true],
      [limits(99.9, true), false],
      [limits(100, false), false],
      [{ ...limits(100, true), credits: null }, undefined],
      [{ ...limits(20, true), credits: null }, false],
      [{ type: "codex.rate_limits", rate_limits: null, credits: [] }, undefined],
    ] as const) {
      const [report, next] = readAll(RESPONSES, event, completed, completed);
      assert.equal(report?.usesCredits, usesCredits);
      assert.equal(next?.usesCredits, undefined, "it counts for one response");
    }
  });

  it("reports what states a limit: the latest event, and an error", () => {
    const event = (limit_name: string) => ({
      type: "codex.rate_limits",
      limit_name,
      rate_limits: { primary: {} },
    });
    const completed = { type: "response.completed", response: response("resp_1") };
    const error = { type: "usage_limit_reached", resets_at: 5 };
    const [report, next, refused, after] = readAll(
      RESPONSES,
      event("one"),
      event("two"),
      completed,
      completed,
      { type: "error", status: 429, error },
      completed,
    );
    assert.deepEqual(report?.limitEvent, {
      rate_limits: { primary: {} },
      credits: undefined,
      limit_name: "two",
      metered_limit_name: undefined,
    });
    assert.equal(next?.limitEvent, undefined);
    assert.equal(next?.limitError, undefined);
    assert.deepEqual(refused?.limitError, error);
    assert.equal(after?.limitError, undefined);
  });

  it("skips invalid messages, arrays, and messages that are too long", () => {
    assert.deepEqual(
      readAll(RESPONSES, "", "[]", "{", '"usage"', '{"usage":1}', '{"type":"x","usage":{}}'),
      [],
    );
    const long = JSON.stringify({ type: "response.completed", x: "x".repeat(MAX_MESSAGE_BYTES) });
    assert.deepEqual(readAll(RESPONSES, long), []);
  });
});

describe("createMessageUsageReader() for Realtime", () => {
  const usage = {
    total_tokens: 253,
    input_tokens: 132,
    output_tokens: 121,
    input_token_details: {
      text_tokens: 102,
      audio_tokens: 20,
      image_tokens: 10,
      cached_tokens: 64,
      cached_tokens_details: { text_tokens: 50, audio_tokens: 8, image_tokens: 6 },
    },
    output_token_details: { text_tokens: 30, audio_tokens: 91 },
  };

  it("reads text, audio and images, cached or not, with the session's model", () => {
    const reports = readAll(
      REALTIME,
      { type: "session.created", session: { model: "gpt-realtime-2", usage: null } },
      { type: "response.done", response: { id: "resp_1", status: "completed", usage } },
      { type: "response.done", response: { id: "resp_2", status: "cancelled", usage } },
    );
    assert.deepEqual(
      reports.map(({ responseId, model }) => [responseId, model]),
      [
        ["resp_1", "gpt-realtime-2"],
        ["resp_2", "gpt-realtime-2"],
      ],
    );
    const [report] = reports as [UsageReport];
    assert.deepEqual(countsOf(report), [68, 64, null, null, 121, null]);
    assert.deepEqual(report.extras, {
      audio_input_tokens: 12,
      image_input_tokens: 4,
      audio_cache_read_tokens: 8,
      image_cache_read_tokens: 6,
      audio_output_tokens: 91,
    });
    assert.equal(report.unknownUsage, null);
  });

  it("reports a transcription separately, with its own model", () => {
    const done = "conversation.item.input_audio_transcription.completed";
    const tokens = {
      type: "tokens",
      input_tokens: 26,
      output_tokens: 9,
      input_token_details: { audio_tokens: 26 },
    };
    const reports = readAll(
      REALTIME,
      {
        type: "session.updated",
        session: {
          model: "gpt-realtime",
          audio: { input: { transcription: { model: "gpt-4o-transcribe" } } },
        },
      },
      { type: done, item_id: "item_1", content_index: 1, transcript: "hi", usage: tokens },
      { type: done, item_id: "item_2", usage: { type: "duration", seconds: 1.5 } },
      { type: done, usage: { type: "duration", seconds: 2 } },
      { type: "session.updated", session: { input_audio_transcription: { model: "whisper-1" } } },
      { type: done, item_id: "item_3", usage: { type: "duration", seconds: 2 } },
      { type: "response.done", response: { id: "resp_1", usage } },
    );
    assert.deepEqual(
      reports.map((report) => [
        report.responseId,
        report.model,
        report.requestKind,
        report.tokens.promptTokens,
        report.extras.audio_milliseconds,
      ]),
      [
        ["item_1/1", "gpt-4o-transcribe", "audio", 26, undefined],
        ["item_2/0", "gpt-4o-transcribe", "audio", null, 1_500],
        [null, "gpt-4o-transcribe", "audio", null, 2_000],
        ["item_3/0", "whisper-1", "audio", null, 2_000],
        ["resp_1", "gpt-realtime", undefined, 68, undefined],
      ],
    );
  });

  it("reports a failed response, and no error of the session", () => {
    const error = { type: "server_error", code: "overloaded", message: "later" };
    const reports = readAll(
      REALTIME,
      { type: "error", error: { type: "invalid_request_error", message: "no such item" } },
      {
        type: "response.done",
        response: { id: "resp_1", status: "failed", status_details: { error }, usage: null },
      },
    );
    assert.equal(reports.length, 1);
    assert.deepEqual([reports[0]?.error?.code, reports[0]?.tokensComplete], ["overloaded", false]);
  });

  it("skips audio and text messages", () => {
    assert.deepEqual(readAll(REALTIME, { type: "response.output_audio.delta", delta: "QUJD" }), []);
  });

  it("reads a refused handshake as a response", () => {
    const reader = createUsageReader(REALTIME, { status: 401, contentType: null, streaming: null });
    reader.push(bytesOf('{"error":{"message":"no key","type":"invalid_request_error"}}'));
    const report = reader.end(true);
    assert.deepEqual(
      [report.error?.message, report.noRecord, ...countsOf(report)],
      ["no key", undefined, ...NO_COUNTS],
    );
  });

  it("has no model before the session names one", () => {
    const [report] = readAll(REALTIME, { type: "response.done", response: { id: "resp_1", usage } });
    assert.equal(report?.model, null);
  });
});
