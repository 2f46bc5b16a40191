import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { ClientReport } from "../../../../core/metering/client-reports/client-report.ts";
import { OTLP_REQUESTS } from "../../../../core/metering/client-reports/otlp-shapes.ts";
import { decodeProtobuf } from "../../../../core/metering/client-reports/protobuf-fields.ts";
import { readOtlp } from "../../../../core/metering/client-reports/read-otlp.ts";
import { AT, attributes, encodeOtlp, logsRequest, metricsRequest, nanos, tracesRequest } from "./otlp.rig.ts";

const counts = ({ tokens }: ClientReport) => [
  tokens.promptTokens,
  tokens.cacheReadTokens,
  tokens.cacheWriteTokens,
  tokens.completionTokens,
  tokens.thinkingTokens,
];

const claude = {
  "session.id": "s-1",
  model: "claude-sonnet-4-5",
  input_tokens: 10,
  output_tokens: 20,
  cache_read_tokens: 30,
  cache_creation_tokens: 40,
  cost_usd: 0.0125,
  request_id: "req_1",
  query_source: "repl_main_thread",
};

const claudeRequest = (values: Record<string, string | number> = {}) =>
  logsRequest("claude-code", { event: "claude_code.api_request", values: { ...claude, ...values } });

describe("readOtlp()", () => {
  it("reads a request of Claude Code", () => {
    const [report, ...more] = readOtlp("logs", claudeRequest(), AT);
    assert.deepEqual(more, []);
    assert.deepEqual(
      { ...report, key: "" },
      {
        key: "",
        client: "claude",
        scope: "request",
        event: "claude_code.api_request",
        session: "s-1",
        at: AT,
        startedAt: null,
        model: "claude-sonnet-4-5",
        tokens: {
          promptTokens: 10,
          cacheReadTokens: 30,
          cacheWriteTokens: 40,
          cacheWrite1hTokens: null,
          completionTokens: 20,
          thinkingTokens: null,
        },
        statedCostPicoUsd: 12_500_000_000n,
        providerRequestId: "req_1",
        responseId: null,
        querySource: "repl_main_thread",
      },
    );
  });

  it("reads the same from protobuf", () => {
    const bytes = encodeOtlp("logs", claudeRequest());
    const read = readOtlp("logs", decodeProtobuf(bytes, OTLP_REQUESTS.logs), AT);
    assert.deepEqual(read, readOtlp("logs", claudeRequest(), AT));
  });

  it("reads counts that are strings, and treats malformed ones as unknown", () => {
    const [report] = readOtlp(
      "logs",
      claudeRequest({ input_tokens: "7", output_tokens: "many", cache_read_tokens: -1 }),
      AT,
    );
    assert.deepEqual(counts(report!), [7, null, 40, null, null]);
    const [later] = readOtlp(
      "logs",
      claudeRequest({ "session.id": "two words", model: "a\nb", request_id: "" }),
      AT,
    );
    assert.deepEqual([later?.session, later?.model, later?.providerRequestId], [null, "unknown", null]);
  });

  it("drops every other event, and an event without usage", () => {
    const prompt = { event: "claude_code.user_prompt", values: { prompt: "secret plan", input_tokens: 5 } };
    assert.deepEqual(readOtlp("logs", logsRequest("claude-code", prompt), AT), []);
    const empty = { event: "claude_code.api_request", values: { model: "m" } };
    assert.deepEqual(readOtlp("logs", logsRequest("claude-code", empty), AT), []);
    const delta = {
      event: "codex.sse_event",
      values: { "event.kind": "response.delta", input_token_count: 5 },
    };
    assert.deepEqual(readOtlp("logs", logsRequest("codex_cli_rs", delta), AT), []);
  });

  it("splits the counts of Codex, whose input includes the cache and whose output includes reasoning", () => {
    const values = {
      "event.kind": "response.completed",
      "conversation.id": "t-1",
      model: "gpt-5.1-codex",
      input_token_count: 100,
      cached_token_count: 60,
      output_token_count: 50,
      reasoning_token_count: 20,
      tool_token_count: 150,
    };
    const [report] = readOtlp("logs", logsRequest("codex_cli_rs", { event: "codex.sse_event", values }), AT);
    assert.deepEqual(
      [report?.client, report?.session, ...counts(report!)],
      ["codex", "t-1", 40, 60, null, 30, 20],
    );
  });

  it("treats a total that is smaller than its part as unknown", () => {
    const values = { "event.kind": "response.completed", input_token_count: 10, cached_token_count: 60 };
    const [report] = readOtlp("logs", logsRequest("codex_cli_rs", { event: "codex.sse_event", values }), AT);
    assert.deepEqual(counts(report!), [null, 60, null, null, null]);
  });

  it("reads a response of Gemini CLI", () => {
    const values = {
      "session.id": "g-1",
      model: "gemini-2.5-pro",
      input_token_count: 100,
      cached_content_token_count: 25,
      output_token_count: 30,
      thoughts_token_count: 40,
      tool_token_count: 5,
      response_text: "secret",
    };
    const [report] = readOtlp(
      "logs",
      logsRequest("gemini-cli", { event: "gemini_cli.api_response", values }),
      AT,
    );
    assert.deepEqual([report?.client, ...counts(report!)], ["gemini", 80, 25, null, 30, 40]);
    assert.ok(
      !JSON.stringify(report, (_, value) => (typeof value === "bigint" ? `${value}` : value)).includes(
        "secret",
      ),
    );
  });

  it("reads a response of Gemini CLI whose input is unknown, and one without tools", () => {
    const read = (values: Record<string, number>) =>
      counts(
        readOtlp("logs", logsRequest("gemini-cli", { event: "gemini_cli.api_response", values }), AT)[0]!,
      );
    assert.deepEqual(read({ output_token_count: 30, tool_token_count: 5 }), [null, null, null, 30, null]);
    assert.deepEqual(read({ input_token_count: 100 }), [100, null, null, null, null]);
  });

  it("recognises Claude Code's event by its short name, but only from Claude Code", () => {
    const request = (service: string) => logsRequest(service, { event: "api_request", values: claude });
    const [report] = readOtlp("logs", request("claude-code"), AT);
    assert.deepEqual([report?.client, report?.event], ["claude", "claude_code.api_request"]);
    assert.deepEqual(readOtlp("logs", request("shop"), AT), []);
    assert.deepEqual(
      readOtlp("logs", logsRequest("claude-code", { event: "toString", values: claude }), AT),
      [],
    );
  });

  it("reads the chat spans of Copilot, and not the span of the agent around them", () => {
    const usage = {
      "gen_ai.conversation.id": "c-1",
      "gen_ai.response.model": "claude-sonnet-5",
      "gen_ai.response.id": "msg_9",
      "gen_ai.usage.input_tokens": 5000,
      "gen_ai.usage.cache_read.input_tokens": 4000,
      "gen_ai.usage.cache_creation.input_tokens": 500,
      "gen_ai.usage.output_tokens": 200,
    };
    const request = (service: string) =>
      tracesRequest(
        service,
        { id: "00f067aa0ba902b7", values: { "gen_ai.operation.name": "chat", ...usage } },
        { id: "00f067aa0ba902b8", values: { "gen_ai.operation.name": "invoke_agent", ...usage } },
      );
    const [report, ...more] = readOtlp("traces", request("github-copilot"), AT);
    assert.deepEqual(more, []);
    assert.deepEqual([report?.responseId, ...counts(report!)], ["msg_9", 500, 4000, 500, 200, null]);
    assert.deepEqual(readOtlp("traces", request("shop"), AT), []);
    const endless = request("github-copilot");
    endless.resourceSpans[0]!.scopeSpans[0]!.spans[0]!.endTimeUnixNano = "soon";
    assert.equal(readOtlp("traces", endless, 5)[0]?.at, 5);
    assert.deepEqual(readOtlp("traces", { resourceSpans: [{ scopeSpans: [{ spans: [{}] }] }] }, AT), []);
  });

  it("merges the points of an interval by session and model", () => {
    const point = (type: string, value: number, session = "s-1") => ({
      value,
      values: { type, model: "claude-sonnet-4-5", "session.id": session },
    });
    const request = metricsRequest(
      1,
      {
        name: "claude_code.token.usage",
        points: [
          point("input", 1),
          point("output", 2),
          point("cacheRead", 3),
          point("cacheCreation", 4),
          point("input", 9, "s-2"),
        ],
      },
      { name: "claude_code.cost.usage", points: [point("", 0.25)] },
      { name: "claude_code.active_time.total", points: [point("input", 99)] },
    );
    const reports = readOtlp("metrics", request, AT);
    assert.deepEqual(
      reports.map((each) => [
        each.session,
        each.scope,
        each.startedAt,
        each.statedCostPicoUsd,
        ...counts(each),
      ]),
      [
        ["s-1", "interval", AT - 60_000, 250_000_000_000n, 1, 3, 4, 2, null],
        ["s-2", "interval", AT - 60_000, null, 9, null, null, null, null],
      ],
    );
  });

  it("splits the input of Gemini CLI, and treats one that is smaller than its cache as unknown", () => {
    const read = (types: Record<string, number>) =>
      readOtlp(
        "metrics",
        metricsRequest(1, {
          name: "gemini_cli.token.usage",
          points: Object.entries(types).map(([type, value]) => ({ value, values: { type, model: "m" } })),
        }),
        AT,
      ).map(counts);
    assert.deepEqual(read({ input: 100, cache: 25, tool: 5, thought: 40 }), [[80, 25, null, null, 40]]);
    assert.deepEqual(read({ input: 100, output: 3 }), [[100, null, null, 3, null]]);
    assert.deepEqual(read({ input: 10, cache: 25 }), [[null, 25, null, null, null]]);
  });

  it("leaves out points that state no usage, no time or no value", () => {
    const point = { timeUnixNano: nanos(AT), asInt: "5", attributes: attributes({ type: "input" }) };
    const read = (change: object, temporality: unknown = "AGGREGATION_TEMPORALITY_DELTA") => {
      const sum = { aggregationTemporality: temporality, dataPoints: [{ ...point, ...change }] };
      const metrics = [{ name: "claude_code.token.usage", sum }];
      const resource = { attributes: attributes({ "session.id": "of-the-resource" }) };
      return readOtlp("metrics", { resourceMetrics: [{ resource, scopeMetrics: [{ metrics }] }] }, AT);
    };
    const [report, ...more] = read({});
    assert.deepEqual(more, []);
    assert.deepEqual(
      [report?.session, report?.model, report?.scope, report?.tokens.promptTokens],
      ["of-the-resource", "unknown", "interval", 5],
    );
    assert.equal(read({}, "AGGREGATION_TEMPORALITY_CUMULATIVE")[0]?.scope, "running_total");
    for (const change of [{ timeUnixNano: "soon" }, { asInt: "many" }, { attributes: [] }])
      assert.deepEqual(read(change), [], JSON.stringify(change));
    for (const temporality of [null, 0, "AGGREGATION_TEMPORALITY_UNSPECIFIED"])
      assert.deepEqual(read({}, temporality), [], `${temporality}`);
  });

  it("takes a cost that is negative or too large as unknown", () => {
    const read = (value: number) =>
      readOtlp(
        "metrics",
        metricsRequest(1, { name: "claude_code.cost.usage", points: [{ value, values: {} }] }),
        AT,
      ).map((each) => each.statedCostPicoUsd);
    assert.deepEqual(read(0.5), [500_000_000_000n]);
    assert.deepEqual(read(-1), []);
    assert.deepEqual(read(1e30), []);
  });

  it("gives a running total the same key all day", () => {
    const total = (at: number, value: number) =>
      readOtlp(
        "metrics",
        metricsRequest(2, {
          name: "gemini_cli.token.usage",
          points: [{ at, start: AT, value, values: { type: "input", model: "m", "session.id": "g" } }],
        }),
        at,
      )[0]!;
    const [first, second, nextDay] = [total(AT + 1, 5), total(AT + 60_000, 8), total(AT + 86_400_000, 9)];
    assert.equal(first.scope, "running_total");
    assert.equal(first.key, second.key);
    assert.notEqual(first.key, nextDay.key);
  });

  it("gives the same request the same key, and two requests different ones", () => {
    const keyOf = (values: Record<string, string | number> = {}) =>
      readOtlp("logs", claudeRequest(values), AT)[0]?.key;
    assert.equal(keyOf(), keyOf());
    assert.notEqual(keyOf(), keyOf({ "event.sequence": 2 }));
    assert.notEqual(keyOf(), keyOf({ output_tokens: 21 }));
  });

  it("uses the time of receipt if the record has none that is possible", () => {
    for (const timeUnixNano of ["0", "soon", nanos(Date.UTC(2300, 0))]) {
      const request = claudeRequest();
      request.resourceLogs[0]!.scopeLogs[0]!.logRecords[0]!.timeUnixNano = timeUnixNano;
      assert.equal(readOtlp("logs", request, 5)[0]?.at, 5);
    }
  });

  it("never throws, whatever the payload is", () => {
    const names = ["resourceLogs", "scopeLogs", "logRecords", "resourceMetrics", "scopeMetrics", "metrics"];
    const more = [
      "sum",
      "dataPoints",
      "attributes",
      "resourceSpans",
      "scopeSpans",
      "spans",
      "key",
      "value",
      "body",
    ];
    const payload = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 8 },
        fc.constantFrom(
          "claude_code.api_request",
          "api_request",
          "input_tokens",
          "1",
          2,
          null,
          true,
          -1,
          1e300,
        ),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.dictionary(
          fc.constantFrom(...names, ...more, "stringValue", "intValue", "__proto__"),
          tie("any"),
          { maxKeys: 5 },
        ),
      ),
    })).any;
    fc.assert(
      fc.property(
        fc.constantFrom("logs" as const, "metrics" as const, "traces" as const),
        payload,
        (signal, value) => {
          for (const { tokens } of readOtlp(signal, value, AT))
            for (const count of Object.values(tokens))
              assert.ok(count === null || Number.isSafeInteger(count));
        },
      ),
      { numRuns: 300 },
    );
  });
});
