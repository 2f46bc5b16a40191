import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { isObject, NO_TOKENS } from "../token-counts.ts";
import { setExtra } from "../usage-extras.ts";
import type { UsageFindings } from "../usage-report.ts";
import { readOpenaiUsage } from "./openai-usage.ts";

const MS_PER_SECOND = 1000;

/** A length of audio in milliseconds, from the seconds that a provider states as a number or a text; else null. */
function millisecondsOf(seconds: unknown): number | null {
  const number = typeof seconds === "string" && seconds !== "" ? Number(seconds) : seconds;
  if (typeof number !== "number" || !(number > 0)) return null;
  const milliseconds = Math.round(number * MS_PER_SECOND);
  return Number.isSafeInteger(milliseconds) ? milliseconds : null;
}

/** A transcription's usage: tokens, or a time; `duration` stands beside it in verbose answers. */
export function readTranscriptionUsage(
  facts: Pick<AnswerFacts, "provider">,
  answer: { model: string | null; responseId: string | null },
  usage: unknown,
  usageText: string | null,
  duration: unknown,
): UsageFindings {
  const byTime = !isObject(usage) || usage.type === "duration";
  const milliseconds = millisecondsOf(
    isObject(usage) ? (usage.seconds ?? usage.prompt_audio_seconds) : duration,
  );
  if (!byTime) {
    const found = readOpenaiUsage({
      provider: facts.provider,
      ...answer,
      serviceTier: null,
      usageText,
      usage,
      final: true,
      style: "responses",
    });
    setExtra(found.extras, "audio_milliseconds", milliseconds);
    return found;
  }
  const extras: Record<string, number> = {};
  setExtra(extras, "audio_milliseconds", milliseconds);
  return {
    ...answer,
    tokens: NO_TOKENS,
    tokensComplete: milliseconds !== null,
    serviceTier: null,
    extras,
    providerCostPicoUsd: null,
    unknownUsage: null,
  };
}

/**
 * OpenAI Audio transcriptions and translations, whole or streamed, and the hosts that imitate them.
 *
 * - `usage.type` is `tokens`, whose `input_tokens` are **inclusive** of `input_token_details.audio_tokens`, or `duration`,
 *   whose `seconds` are what is billed: then there are no tokens, and the time stands in the extras.
 * - A verbose answer without usage states `duration` in seconds. An answer in plain text, SRT or VTT states nothing.
 * - A stream states usage in `transcript.text.done`. The answer names no model.
 */
export const openaiTranscriptions = defineApiReader({
  members: ["model", "usage", "duration"],
  keys: ["usage"],
  lastWins: true,
  promptMembers: ["prompt"],
  start: startTranscription,
});

function startTranscription(facts: AnswerFacts): MessageReader {
  let model: string | null = null;
  let usage: unknown;
  let usageText: string | null = null;
  let duration: unknown;
  return {
    knowsModel: () => true,
    read(message) {
      model = message.string("model") ?? model;
      duration = message.value("duration") ?? duration;
      if (!isObject(message.value("usage"))) return;
      usage = message.value("usage");
      usageText = message.text("usage");
    },
    end: () => readTranscriptionUsage(facts, { model, responseId: null }, usage, usageText, duration),
  };
}

/**
 * OpenAI Audio speech. The sound itself states nothing, so that the call is unpriced; asked for as server-sent events, it
 * ends with `speech.audio.done`, whose usage has tokens of text in and of audio out.
 */
export const openaiSpeech = defineApiReader({
  members: ["usage"],
  keys: ["usage"],
  lastWins: true,
  promptMembers: ["instructions", "input"],
  start: startTranscription,
});
