import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStreamWithoutUsage, streamUsageFix } from "../../../../core/metering/estimate/stream-usage.ts";
import { NO_TOKENS } from "../../../../core/metering/usage/token-counts.ts";

describe("isStreamWithoutUsage()", () => {
  const stream = {
    api: "openai.chat",
    streaming: true,
    errorClass: null,
    tokensComplete: false,
    tokens: NO_TOKENS,
  } as const;

  it("is true for a finished stream of Chat Completions or Completions without counts", () => {
    assert.equal(isStreamWithoutUsage(stream), true);
    assert.equal(isStreamWithoutUsage({ ...stream, api: "openai.completions" }), true);
  });

  const others: [name: string, change: Partial<Parameters<typeof isStreamWithoutUsage>[0]>][] = [
    ["another API", { api: "openai.responses" }],
    ["a single response", { streaming: false }],
    ["a stream that was cut", { errorClass: "network" }],
    ["a stream with an estimate", { tokens: { ...NO_TOKENS, promptTokens: 4, completionTokens: 2 } }],
    ["a stream with a part of its counts", { tokens: { ...NO_TOKENS, promptTokens: 4 } }],
  ];
  for (const [name, change] of others)
    it(`is false for ${name}`, () => assert.equal(isStreamWithoutUsage({ ...stream, ...change }), false));
});

describe("streamUsageFix()", () => {
  const table: [client: string | null, fix: RegExp][] = [
    ["aider", /\.aider\.model\.settings\.yml/],
    ["/home/me/bin/aider", /\.aider\.model\.settings\.yml/],
    ["opencode", /"includeUsage": true .*opencode\.json/],
    ["litellm", /always_include_stream_usage: true/],
    ["open-webui", /"Usage"/],
    ["python3.12", /stream_options=\{"include_usage": True\}.*stream_usage=True/],
    ["Python.exe", /stream_options=\{"include_usage": True\}/],
    ["node", /stream_options: \{ include_usage: true \}.*streamUsage: true.*includeUsage: true/],
    ["bun", /stream_options: \{ include_usage: true \}/],
    ["summarise.py", /stream_options=\{"include_usage": True\}/],
    ["agent.mjs", /stream_options: \{ include_usage: true \}/],
    ["curl", /"stream_options": \{"include_usage": true\}/],
    [null, /"stream_options": \{"include_usage": true\}/],
  ];
  for (const [client, fix] of table)
    it(`names the setting of ${client}`, () => assert.match(streamUsageFix(client), fix));
});
