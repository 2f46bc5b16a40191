import { parseDecimalToPico } from "../../../pricing/decimal.ts";
import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import type { PickedMembers } from "../member-picker.ts";
import { readStatedCost } from "../stated-cost.ts";
import { asObject, firstCount, NO_TOKENS, readCount } from "../token-counts.ts";
import { setExtra } from "../usage-extras.ts";
import type { UsageFindings } from "../usage-report.ts";
import { millisecondsOf } from "./openai-audio.ts";
import { readOpenaiUsage } from "./openai-usage.ts";

/**
 * Calls that are billed by other units than tokens, such as videos and searches, and whose response may state them. What it
 * does not state is unknown, never 0.
 *
 * - Work that takes longer is a job: the response that starts it has an id, and later responses repeat it with its state. A
 *   job makes one record when it is started. The response that states its usage completes that record.
 * - OpenAI and Together state a video's `seconds` from the start (Azure: `n_seconds`), xAI `video.duration` at the end.
 * - xAI and OpenRouter state the cost in `usage`, Together in `outputs.cost`, in USD.
 * - A container of OpenAI's code interpreter is one unit. A fine-tuning job states `trained_tokens` when it has ended.
 * - Tokens are read if `usage` states them as in OpenAI's APIs.
 *
 * Sources, read 2026-11-23: openai 6.49.0, resources: Video, ContainerCreateResponse, FineTuningJob; together-ai 0.52.0, resources/videos.d.ts: VideoJob;
 * @openrouter/sdk 1.3.19, models: VideoGenerationResponse; docs.x.ai, "Video Generation" (`status`: `pending`, `done`).
 */
export const otherUnits = defineApiReader({
  members: [
    "id",
    "request_id",
    "model",
    "status",
    "usage",
    "seconds",
    "n_seconds",
    "video.duration",
    "outputs.cost",
    "object",
    "trained_tokens",
  ],
  keys: ["usage"],
  streamsByDefault: null,
  promptMembers: ["prompt", "query", "input", "text"],
  start: startUnits,
});

interface UnitsState {
  readonly facts: AnswerFacts;
  model: string | null;
  id: string | null;
  /** xAI answers the start of a job with a `request_id` and no state. */
  hasRequestId: boolean;
  status: string | null;
  usage: unknown;
  usageText: string | null;
  milliseconds: number | null;
  /** Whether a container was created, which is billed by itself. */
  isContainer: boolean;
  trainedTokens: number | null;
  costText: string | null;
}

/** The states of a job whose usage does not change any more. */
const ENDED: ReadonlySet<string> = new Set([
  "completed",
  "done",
  "succeeded",
  "failed",
  "cancelled",
  "expired",
]);

function startUnits(facts: AnswerFacts): MessageReader {
  const state: UnitsState = {
    facts,
    model: null,
    id: null,
    hasRequestId: false,
    status: null,
    usage: undefined,
    usageText: null,
    milliseconds: null,
    isContainer: false,
    trainedTokens: null,
    costText: null,
  };
  return {
    read: (message) => readUnits(state, message),
    end: () => endUnits(state),
  };
}

function readUnits(state: UnitsState, message: PickedMembers): void {
  state.model = message.string("model") ?? state.model;
  state.id = message.string("id") ?? message.string("request_id") ?? state.id;
  state.hasRequestId ||= message.string("request_id") !== null;
  state.status = message.string("status") ?? state.status;
  state.milliseconds =
    millisecondsOf(
      message.value("seconds") ?? message.value("n_seconds") ?? message.value("video.duration"),
    ) ?? state.milliseconds;
  state.isContainer ||= message.string("object") === "container";
  state.trainedTokens = readCount(message.value("trained_tokens")) ?? state.trainedTokens;
  state.costText = message.text("outputs.cost") ?? state.costText;
  if (!isObject(message.value("usage"))) return;
  state.usage = message.value("usage");
  state.usageText = message.text("usage");
}

function endUnits(state: UnitsState): UsageFindings {
  const { facts, model, usage, usageText, milliseconds, status } = state;
  const around = { model, responseId: state.id ?? facts.routeId, serviceTier: null };
  const stated = asObject(usage);
  const hasTokens = firstCount(stated.prompt_tokens, stated.input_tokens) !== null;
  const found: UsageFindings = hasTokens
    ? readOpenaiUsage({
        ...around,
        provider: facts.provider,
        usageText,
        usage,
        final: true,
        style: "responses",
      })
    : {
        ...around,
        tokens: NO_TOKENS,
        tokensComplete: false,
        extras: {},
        providerCostPicoUsd: readStatedCost(facts.provider, usageText) ?? costOf(state.costText),
        unknownUsage: null,
      };
  setExtra(found.extras, "video_milliseconds", milliseconds);
  if (state.isContainer) setExtra(found.extras, "containers", 1);
  setExtra(found.extras, "trained_tokens", state.trainedTokens);
  const isStated =
    found.tokensComplete || found.providerCostPicoUsd !== null || Object.keys(found.extras).length > 0;
  const isJob = state.id !== null && (status !== null || state.hasRequestId);
  return {
    ...found,
    tokensComplete: isStated,
    ...(isJob ? { startsJob: true } : {}),
    ...(facts.fetches && !isStated && !ENDED.has(status ?? "") ? { noRecord: "unfinished" as const } : {}),
  };
}

function costOf(text: string | null): bigint | null {
  const cost = text === null ? null : parseDecimalToPico(text.trim());
  return cost !== null && cost >= 0n ? cost : null;
}
