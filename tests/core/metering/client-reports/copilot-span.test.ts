import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readCopilotLine } from "../../../../core/metering/client-reports/copilot-span.ts";
import { readOtlp } from "../../../../core/metering/client-reports/read-otlp.ts";
import { AT, tracesRequest } from "./otlp.rig.ts";

const usage = {
  "gen_ai.operation.name": "chat",
  "gen_ai.response.model": "claude-sonnet-5",
  "gen_ai.response.id": "msg_9",
  "gen_ai.conversation.id": "cp-1",
  "gen_ai.usage.input_tokens": 5000,
  "gen_ai.usage.output_tokens": 200,
  "gen_ai.usage.cache_read.input_tokens": 4000,
  "gen_ai.usage.cache_creation.input_tokens": 500,
};

const span = (more: object = {}, values: object = {}) => ({
  ...{ type: "span", name: "chat claude-sonnet-5", traceId: "t", spanId: "s", endTime: [AT / 1000, 5e6] },
  attributes: { ...usage, ...values },
  ...more,
});

describe("readCopilotLine()", () => {
  it("reads a request, with input and output without their parts", () => {
    const { key, ...report } = readCopilotLine(span({}, { "gen_ai.usage.reasoning.output_tokens": 40 }))!;
    assert.equal(key, JSON.stringify(["copilot", "t", "s", "msg_9"]));
    assert.deepEqual(report, {
      ...{ client: "copilot", scope: "request", event: "chat", at: AT + 5, startedAt: null },
      ...{ session: "cp-1", model: "claude-sonnet-5", responseId: "msg_9" },
      tokens: {
        ...{ promptTokens: 500, cacheReadTokens: 4000, cacheWriteTokens: 500, cacheWrite1hTokens: null },
        ...{ completionTokens: 160, thinkingTokens: 40 },
      },
      ...{ statedCostPicoUsd: null, providerRequestId: null, querySource: null },
    });
  });

  it("gives a request the same key as the same span that was exported", () => {
    const [exported] = readOtlp("traces", tracesRequest("github-copilot", { id: "s", values: usage }), AT);
    const [, traceId, spanId] = JSON.parse(exported!.key) as string[];
    const read = readCopilotLine(span({ spanContext: { traceId, spanId }, traceId, spanId }));
    assert.equal(read?.key, exported?.key);
  });

  it("takes ids from the context of the span, and attributes as OTLP writes them", () => {
    const line = span({
      ...{ traceId: undefined, spanId: undefined },
      attributes: Object.entries({ ...usage, "gen_ai.usage.input_tokens": undefined }).map(
        ([key, value]) => ({
          key,
          value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value },
        }),
      ),
    });
    const { traceId: _, spanId: __, ...rest } = line;
    const report = readCopilotLine({ ...rest, spanContext: { traceId: "t", spanId: "s" } });
    assert.equal(report?.key, JSON.stringify(["copilot", "t", "s", "msg_9"]));
    const withoutIds = readCopilotLine(rest);
    assert.equal(withoutIds?.key, JSON.stringify(["copilot", null, null, "msg_9"]));
    assert.deepEqual([report?.tokens.promptTokens, report?.tokens.cacheReadTokens], [null, 4000]);
  });

  const times: readonly (readonly [string, object, number | undefined])[] = [
    ["seconds and nanoseconds", { endTime: [AT / 1000, 0] }, AT],
    ["a text", { endTime: new Date(AT).toISOString() }, AT],
    ["milliseconds", { endTime: AT }, AT],
    ["nanoseconds", { endTime: undefined, endTimeUnixNano: `${AT}000000` }, AT],
    ["nothing", { endTime: undefined }, undefined],
    ["seconds alone", { endTime: [AT / 1000] }, undefined],
    ["texts in a list", { endTime: ["1", "2"] }, undefined],
    ["a time before there were agents", { endTime: [1, 2] }, undefined],
  ];
  for (const [name, more, expected] of times)
    it(`${expected === undefined ? "leaves out a span whose end is" : "reads the end of a span from"} ${name}`, () => {
      assert.equal(readCopilotLine(span(more))?.at, expected);
    });

  it("falls back to the requested model, and leaves unknown what is absent or malformed", () => {
    const report = readCopilotLine(
      span(
        {},
        {
          "gen_ai.response.model": undefined,
          "gen_ai.request.model": "gpt-5",
          "gen_ai.conversation.id": { a: 1 },
          "gen_ai.usage.output_tokens": -1,
        },
      ),
    );
    assert.deepEqual(
      [report?.model, report?.session, report?.tokens.completionTokens],
      ["gpt-5", null, null],
    );
    const unnamed = readCopilotLine(span({}, { "gen_ai.response.model": 5 }));
    assert.equal(unnamed?.model, "unknown");
  });

  it("reads no span of an agent or a tool, no metric, no span without counts, and nothing else", () => {
    const withoutCounts = { "gen_ai.operation.name": "chat" };
    for (const line of [
      span({}, { "gen_ai.operation.name": "invoke_agent" }),
      span({ type: "metric" }),
      span({ attributes: withoutCounts }),
      span({ attributes: null }),
      null,
      7,
      [],
    ])
      assert.equal(readCopilotLine(line), null);
  });

  it("treats sums whose parts exceed them as unknown", () => {
    const values = { "gen_ai.usage.input_tokens": 1, "gen_ai.usage.reasoning.output_tokens": 900 };
    const tokens = readCopilotLine(span({}, values))?.tokens;
    assert.deepEqual(
      [tokens?.promptTokens, tokens?.completionTokens, tokens?.thinkingTokens],
      [null, null, 900],
    );
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (attributes, endTime) => {
        readCopilotLine({ type: "span", attributes, endTime });
        readCopilotLine(attributes);
        readCopilotLine(span({ endTime, spanContext: attributes }));
      }),
    );
  });
});
