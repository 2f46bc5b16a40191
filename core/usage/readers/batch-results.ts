import { type AnswerFacts, type ApiReader, defineApiReader, type MessageReader } from "../api-reader.ts";
import { membersBelow, membersOfValue, type PickedMembers } from "../member-picker.ts";
import { isObject, membersOf, NO_TOKENS } from "../token-counts.ts";
import type { UsageFindings, UsageReport } from "../usage-report.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import { geminiGenerate } from "./gemini-generate.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiEmbeddings } from "./openai-embeddings.ts";
import { openaiImages } from "./openai-images.ts";
import { openaiResponses } from "./openai-responses.ts";

/**
 * As many results of one batch are reported; further ones are dropped, and the report is then not complete. Anthropic's
 * batches hold 100,000 requests at most, OpenAI's 50,000.
 */
export const MAX_BATCH_RESULTS = 100_000;

/** What an answer reports that does nothing but carry results. */
export function resultsOnly(results: readonly UsageReport[], tokensComplete: boolean): UsageFindings {
  return {
    tokens: NO_TOKENS,
    tokensComplete,
    model: null,
    responseId: null,
    serviceTier: null,
    extras: {},
    providerCostPicoUsd: null,
    unknownUsage: null,
    noRecord: "results",
    results,
  };
}

/** One result out of a batch, read by the reader of the API that the batch was for, at the price of a batch. */
export function readBatchResult(
  reader: ApiReader,
  body: PickedMembers,
  facts: AnswerFacts,
  fallbackId: string | null,
): UsageReport {
  const messages = reader.start({ ...facts, fetches: false });
  messages.read(body, true);
  const { noRecord: _, ...findings } = messages.end(true);
  const serviceTier = "batch";
  return {
    ...findings,
    responseId: findings.responseId ?? fallbackId,
    serviceTier,
    unknownUsage: null,
    error: null,
    ...(findings.results === undefined
      ? {}
      : { results: findings.results.map((result) => ({ ...result, serviceTier })) }),
  };
}

function startResults(readMessage: (message: PickedMembers) => readonly UsageReport[]): MessageReader {
  const results: UsageReport[] = [];
  let dropped = 0;
  return {
    knowsModel: () => true,
    read(message) {
      for (const result of readMessage(message)) {
        if (results.length < MAX_BATCH_RESULTS) results.push(result);
        else dropped++;
      }
    },
    end: (ended) => resultsOnly(results, ended && dropped === 0),
  };
}

/**
 * The results of Anthropic's Message Batches: a line each, in any order, `{custom_id, result: {type, message}}`, where
 * `message` is the answer of a Messages call, its `usage.service_tier` being `batch`. What was canceled, expired or
 * failed has no message and is not billed.
 */
export const anthropicBatchResults = defineApiReader({
  members: ["result.message.id", "result.message.model", "result.message.usage"],
  keys: ["usage"],
  framing: "results",
  streamsByDefault: null,
  promptMembers: [],
  start: (facts) =>
    startResults((line) => {
      const body = membersBelow(line, "result.message");
      return body.text("usage") === null ? [] : [readBatchResult(anthropicMessages, body, facts, null)];
    }),
});

const OPENAI_BODY = "response.body";

/**
 * The content of a file of OpenAI's, of which the output of a batch alone states usage: a line each,
 * `{id, custom_id, response: {status_code, body}, error}`, where `body` is the answer of the API that the batch was for.
 * A file of another kind has no such lines and yields nothing.
 */
export const openaiFileContent = defineApiReader({
  members: [
    "id",
    "model",
    "object",
    "usage",
    "choices",
    "background",
    "status",
    "tool_usage",
    "output",
    "tools",
  ]
    .map((member) => `${OPENAI_BODY}.${member}`)
    .concat("id"),
  keys: ["usage"],
  framing: "results",
  streamsByDefault: null,
  promptMembers: [],
  start: (facts) =>
    startResults((line) => {
      const body = membersBelow(line, OPENAI_BODY);
      if (body.text("usage") === null) return [];
      return [readBatchResult(openaiReaderOf(body), body, facts, line.string("id"))];
    }),
});

function openaiReaderOf(body: PickedMembers): ApiReader {
  switch (body.string("object")) {
    case "response":
    case "response.compaction":
      return openaiResponses;
    case "list":
      return openaiEmbeddings;
    case null:
      return openaiImages;
    default:
      return openaiChat;
  }
}

/**
 * The results of a batch of Gemini's as a file: a line each, `{key, response}`, where `response` is the answer of
 * generateContent.
 */
export const geminiBatchFile = defineApiReader({
  members: ["response.usageMetadata", "response.modelVersion", "response.responseId"],
  keys: ["usageMetadata"],
  framing: "results",
  streamsByDefault: null,
  promptMembers: [],
  start: (facts) =>
    startResults((line) => {
      const body = membersBelow(line, "response");
      return body.text("usageMetadata") === null ? [] : [readBatchResult(geminiGenerate, body, facts, null)];
    }),
});

/** As long an answer with inlined results is read, in bytes: Gemini takes requests inlined up to 20 MB together. */
const MAX_INLINED_BYTES = 8 * 1024 * 1024;

const INLINED = [
  "response.inlinedResponses.inlinedResponses",
  "metadata.output.inlinedResponses.inlinedResponses",
];

/**
 * A batch of Gemini's, polled: while it runs it has no results; then those of requests that came inlined stand in
 * `response.inlinedResponses.inlinedResponses[]`, each `{response}` or `{error}`, and others in a file.
 */
export const geminiBatch = defineApiReader({
  members: INLINED,
  keys: ["usageMetadata"],
  maxMemberBytes: MAX_INLINED_BYTES,
  streamsByDefault: null,
  promptMembers: [],
  start: (facts) =>
    startResults((message) =>
      (INLINED.map((path) => message.value(path)).find(Array.isArray) ?? [])
        .map((entry) => membersOf(entry).response)
        .filter((response) => isObject(membersOf(response).usageMetadata))
        .map((response) => readBatchResult(geminiGenerate, membersOfValue(response), facts, null)),
    ),
});
