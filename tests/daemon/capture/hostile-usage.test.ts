import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { propertyRuns } from "../../core/property-runs.rig.ts";
import { call, createCaptureRig } from "./capture.rig.ts";

/** Possible JSON values of a count or a cost. JSON numbers have no limits. */
const figure = fc.oneof(
  { arbitrary: fc.nat(1_000_000).map(String), weight: 3 },
  fc.constantFrom("0", "-1", "-0", "1.5", "1e1", "1e15", "1e18", "1e308", "1e999", "-1e308", "0.1e-400"),
  fc.constantFrom(String(2 ** 40), String(2 ** 40 + 1), String(2 ** 53 - 1), "9007199254740993"),
  fc.constantFrom("9223372036854775807", "9223372036854775808", "9".repeat(99), "9".repeat(300)),
  fc.constantFrom("null", "true", '"7"', '""', "[]", "[1]", "{}", `${"[".repeat(9000)}${"]".repeat(9000)}`),
);

const object = (...names: string[]) =>
  fc
    .tuple(...names.map(() => fc.option(figure, { nil: undefined })))
    .map(
      (figures) =>
        `{${names.flatMap((name, at) => (figures[at] === undefined ? [] : [`"${name}":${figures[at]}`])).join()}}`,
    );

const openAi = fc
  .tuple(
    object("prompt_tokens", "completion_tokens", "total_tokens", "cost", "cost_in_usd_ticks", "elsewhere"),
    object("cached_tokens", "audio_tokens", "cache_write_tokens"),
    object("reasoning_tokens", "audio_tokens", "accepted_prediction_tokens"),
  )
  .map(([flat, input, output]) =>
    `${flat.slice(0, -1)},"prompt_tokens_details":${input},"completion_tokens_details":${output}}`.replace(
      "{,",
      "{",
    ),
  );
const anthropic = fc
  .tuple(
    object(
      "input_tokens",
      "output_tokens",
      "cache_read_input_tokens",
      "cache_creation_input_tokens",
      "elsewhere",
    ),
    object("ephemeral_1h_input_tokens", "ephemeral_5m_input_tokens"),
    object("web_search_requests"),
  )
  .map(([flat, writes, tools]) =>
    `${flat.slice(0, -1)},"cache_creation":${writes},"server_tool_use":${tools}}`.replace("{,", "{"),
  );
const gemini = object(
  ...["promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount"],
  ...["toolUsePromptTokenCount", "totalTokenCount", "elsewhere"],
);

const chat = { messages: [] };
const apis = [
  { host: "api.openai.com", path: "/v1/chat/completions", model: "gpt-5", usage: openAi, member: "usage" },
  { host: "openrouter.ai", path: "/api/v1/chat/completions", model: "x/y", usage: openAi, member: "usage" },
  { host: "api.x.ai", path: "/v1/chat/completions", model: "grok-4", usage: openAi, member: "usage" },
  {
    host: "api.anthropic.com",
    path: "/v1/messages",
    model: "claude-opus-4-1",
    usage: anthropic,
    member: "usage",
  },
  {
    ...{ host: "generativelanguage.googleapis.com", path: "/v1beta/models/gemini-2.5-pro:generateContent" },
    ...{ model: "gemini-2.5-pro", usage: gemini, member: "usageMetadata" },
  },
];

describe("a provider that reports impossible numbers", () => {
  let store: Store;
  before(async () => {
    store = await openStore(createSqliteOpener(), ":memory:");
  });
  after(() => store?.close());

  for (const { host, path, model, usage, member } of apis) {
    // Planted bugs that this found: a cost beyond 64 bits, which the store refuses, and unknown members stored at any depth.
    it(`loses no record: ${host}`, async () => {
      await fc.assert(
        fc.asyncProperty(usage, fc.boolean(), async (text, streaming) => {
          const rig = createCaptureRig();
          const whole = `{"id":"i","model":"${model}","modelVersion":"${model}","choices":[],"${member}":${text}}`;
          const body = streaming && member === "usage" ? `data: ${whole}\n\ndata: [DONE]\n\n` : whole;
          await call(rig, { host, path, body: { ...chat, model, stream: streaming } }, { body });
          assert.equal(rig.records.length, 1);
          const record = { ...rig.records[0]!, requestId: crypto.randomUUID() };
          store.insertBatch({ records: [record], bodies: [], coverage: [] });
        }),
        { numRuns: propertyRuns(50) },
      );
    });
  }
});
