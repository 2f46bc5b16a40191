import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { asObject, NO_TOKENS, readCount } from "../token-counts.ts";
import { setExtra } from "../usage-extras.ts";

const THOUSAND = 1000;

/** Reads a positive decimal, as a number or text, in thousandths. Returns null for any other value. */
function thousandthsOf(value: unknown): number | null {
  const number =
    typeof value === "string" && /^\d{1,12}(\.\d{1,12})?$/.test(value.trim()) ? Number(value) : value;
  return typeof number === "number" && number > 0 ? readCount(Math.round(number * THOUSAND)) : null;
}

/** Reads a header that states a whole number. */
function countOf(header: string | null): number | null {
  return header !== null && /^\d{1,12}$/.test(header.trim()) ? readCount(Number(header)) : null;
}

const UNFINISHED: ReadonlySet<string> = new Set(["queued", "processing", "starting"]);

/**
 * Providers of media that bill by units other than tokens. Each states the units in its own place, and they are stored as
 * extras. There are no bundled rates for them, so the calls are unpriced. A response that states none has incomplete usage.
 *
 * - ElevenLabs: the header `character-cost`, in characters (credits).
 * - Deepgram: `metadata.duration` of a transcription, in seconds; the header `dg-char-count` of speech.
 * - AssemblyAI: `audio_duration` of a finished transcript, in seconds.
 * - Replicate: `metrics` of a finished prediction: `predict_time` in seconds, and `input_token_count` and
 *   `output_token_count` of language models.
 * - fal: the header `x-fal-billable-units`, a decimal in the unit of the model.
 *
 * Sources, read 2026-11-23: elevenlabs.io/docs/api-reference, "Tracking generation costs"; developers.deepgram.com, "Pre-recorded
 * audio", "Text to speech"; assemblyai.com/docs, "Transcript"; replicate.com/docs/reference/http, "predictions.get";
 * docs.fal.ai, "Billing".
 */
export const statedUnits = defineApiReader({
  members: [
    "id",
    "request_id",
    "status",
    "model",
    "metrics",
    "metadata.duration",
    "metadata.request_id",
    "audio_duration",
  ],
  keys: ["metrics", "duration", "audio_duration"],
  streamsByDefault: null,
  promptMembers: ["text", "input", "prompt"],
  start: startUnits,
});

function startUnits({ header, routeModel, routeId }: AnswerFacts): MessageReader {
  let model = header("dg-model-name") ?? routeModel;
  let responseId = header("x-fal-request-id") ?? routeId;
  let metrics: Readonly<Record<string, unknown>> = {};
  let seconds: unknown;
  let status = "";
  return {
    read(message) {
      model = message.string("model") ?? model;
      responseId =
        message.string("id") ??
        message.string("request_id") ??
        message.string("metadata.request_id") ??
        responseId;
      status = message.string("status") ?? status;
      metrics = asObject(message.value("metrics") ?? metrics);
      seconds = message.value("metadata.duration") ?? message.value("audio_duration") ?? seconds;
    },
    end() {
      const characters = countOf(header("character-cost")) ?? countOf(header("dg-char-count"));
      const units = thousandthsOf(header("x-fal-billable-units"));
      const audio = thousandthsOf(seconds);
      const compute = thousandthsOf(metrics.predict_time);
      const input = readCount(metrics.input_token_count);
      const output = readCount(metrics.output_token_count);
      const extras: Record<string, number> = {};
      setExtra(extras, "billable_characters", characters);
      setExtra(extras, "billable_unit_thousandths", units);
      setExtra(extras, "audio_milliseconds", audio);
      setExtra(extras, "compute_milliseconds", compute);
      return {
        tokens: { ...NO_TOKENS, promptTokens: input, completionTokens: output },
        tokensComplete: [characters, units, audio, compute, output].some((count) => count !== null),
        model,
        responseId,
        serviceTier: null,
        extras,
        providerCostPicoUsd: null,
        unknownUsage: null,
        ...(responseId !== null && status !== "" && { startsJob: true as const }),
        ...(UNFINISHED.has(status) && { noRecord: "unfinished" as const }),
      };
    },
  };
}
