import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, type ApiReader, defineApiReader, type MessageReader } from "../api-reader.ts";
import { membersUnder, type PickedMembers, pickedFromValue } from "../member-picker.ts";
import { asObject, NO_TOKENS } from "../token-counts.ts";
import type { UsageFindings, UsageReport } from "../usage-report.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import { geminiGenerate } from "./gemini-generate.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiEmbeddings } from "./openai-embeddings.ts";
import { openaiImages } from "./openai-images.ts";
import { openaiResponses } from "./openai-responses.ts";

/**
 * Maximum number of reported results per batch, and of events per response of a session. Further ones are dropped, and the report
 * of a batch is then incomplete. Anthropic's batches have at most 100,000 requests, OpenAI's 50,000.
 */
export const MAX_BATCH_RESULTS = 100_000;

/** Returns the findings of a response that only contains results. */
function resultsOnly(results: readonly UsageReport[], tokensComplete: boolean): UsageFindings {
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

/** Reads one result of a batch with the reader of the batch's API. It is priced with the service tier `batch`. */
function readBatchResult(
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
 * Creates the reader of a file with one result per line. The response of each is at the path `container`. A result whose response
 * has no member `usage` is not billed. `members` are those of the response; `lineMembers` those of the line.
 */
function resultLines(
  container: string,
  members: readonly string[],
  usage: string,
  read: (body: PickedMembers, facts: AnswerFacts, line: PickedMembers) => UsageReport,
  lineMembers: readonly string[] = [],
): ApiReader {
  return defineApiReader({
    members: [...members.map((member) => `${container}.${member}`), ...lineMembers],
    keys: [usage],
    framing: "results",
    streamsByDefault: null,
    promptMembers: [],
    start: (facts) =>
      startResults((line) => {
        const body = membersUnder(line, container);
        return body.text(usage) === null ? [] : [read(body, facts, line)];
      }),
  });
}

/**
 * The results of Anthropic's Message Batches: one line per result, in any order, `{custom_id, result: {type, message}}`.
 * `message` is a Messages response with the `usage.service_tier` `batch`. Canceled, expired and failed requests have no
 * message and are not billed.
 */
export const anthropicBatchResults = resultLines(
  "result.message",
  ["id", "model", "usage"],
  "usage",
  (body, facts) => readBatchResult(anthropicMessages, body, facts, null),
);

const XAI_COMPLETION = "batch_result.response.chat_get_completion";

/**
 * The results of an xAI batch: `{results: [{batch_request_id, batch_result}], pagination_token}`. `batch_result.response` has a
 * chat completion under `chat_get_completion`; a failed request has an `error` instead and is not billed. Results of other
 * kinds (images, videos) state no tokens here.
 * Source: docs.x.ai, "Batch API", read 2026-11-23.
 */
export const xaiBatchResults = defineApiReader({
  members: ["pagination_token"],
  elements: {
    array: "results",
    members: [
      "batch_request_id",
      ...["id", "model", "usage", "choices"].map((member) => `${XAI_COMPLETION}.${member}`),
    ],
  },
  keys: ["usage"],
  streamsByDefault: null,
  promptMembers: [],
  start: (facts) => {
    const batch = startResults((result) => {
      const body = membersUnder(result, XAI_COMPLETION);
      if (body.text("usage") === null) return [];
      return [readBatchResult(openaiChat, body, facts, result.string("batch_request_id"))];
    });
    return { ...batch, read() {}, element: (result) => batch.read(result, true) };
  },
});

/**
 * The content of an OpenAI file. Only the output file of a batch states usage: one line per result,
 * `{id, custom_id, response: {status_code, body}, error}`, where `body` is a response of the batch's API. Any other file has
 * no such lines and no results.
 */
export const openaiFileContent = resultLines(
  "response.body",
  ["id", "model", "object", "usage", "choices", "background", "status", "tool_usage", "output", "tools"],
  "usage",
  (body, facts, line) => readBatchResult(openaiReaderOf(body), body, facts, line.string("id")),
  ["id"],
);

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
 * The result file of a Gemini batch: one line per result, `{key, response}`, where `response` is a generateContent response.
 */
export const geminiBatchFile = resultLines(
  "response",
  ["usageMetadata", "modelVersion", "responseId"],
  "usageMetadata",
  (body, facts) => readBatchResult(geminiGenerate, body, facts, null),
);

/** Maximum size of inlined results, in bytes. Gemini accepts up to 20 MB of inlined requests. */
const MAX_INLINED_BYTES = 8 * 1024 * 1024;

const INLINED = [
  "response.inlinedResponses.inlinedResponses",
  "metadata.output.inlinedResponses.inlinedResponses",
];

/**
 * A polled Gemini batch. It has no results while it runs. The results of inlined requests are then in
 * `response.inlinedResponses.inlinedResponses[]`, each `{response}` or `{error}`; all others are in a file.
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
        .map((entry) => asObject(entry).response)
        .filter((response) => isObject(asObject(response).usageMetadata))
        .map((response) => readBatchResult(geminiGenerate, pickedFromValue(response), facts, null)),
    ),
});
