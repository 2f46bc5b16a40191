import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { NO_TOKENS } from "../token-counts.ts";
import { setExtra } from "../usage-extras.ts";
import type { UsageFindings } from "../usage-report.ts";
import { readOpenaiUsage } from "./openai-usage.ts";

const MS_PER_SECOND = 1000;

/** Converts seconds, stated as a number or text, to milliseconds. Returns null for any other value. */
export function millisecondsOf(seconds: unknown): number | null {
  const number = typeof seconds === "string" && seconds !== "" ? Number(seconds) : seconds;
  if (typeof number !== "number" || !(number > 0)) return null;
  const milliseconds = Math.round(number * MS_PER_SECOND);
  return Number.isSafeInteger(milliseconds) ? milliseconds : null;
}

/** Reads the usage of a transcription: tokens or a duration. Verbose responses state `duration` next to the usage. */
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
 * OpenAI Audio transcriptions and translations, streamed or not, and compatible hosts.
 *
 * - `usage.type` is `tokens` or `duration`. With `tokens`, `input_tokens` is **inclusive** of
 *   `input_token_details.audio_tokens`. With `duration`, the `seconds` are billed; there are no tokens, and the duration is in
 *   the extras.
 * - A verbose response without usage states `duration` in seconds. Plain text, SRT and VTT responses state no usage.
 * - A stream states usage in `transcript.text.done`. The response names no model.
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
 * OpenAI Audio speech. An audio response states no usage, so the call is unpriced. A response as server-sent events ends with
 * `speech.audio.done`, whose usage states text input tokens and audio output tokens.
 */
export const openaiSpeech = defineApiReader({
  members: ["usage"],
  keys: ["usage"],
  lastWins: true,
  promptMembers: ["instructions", "input"],
  start: startTranscription,
});
