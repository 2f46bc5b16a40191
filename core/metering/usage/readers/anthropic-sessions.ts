import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import type { PickedMembers } from "../member-picker.ts";
import { asObject, NO_TOKENS } from "../token-counts.ts";
import type { UsageFindings, UsageReport } from "../usage-report.ts";
import { readAnthropicCounts } from "./anthropic-usage.ts";
import { MAX_BATCH_RESULTS } from "./batch-results.ts";

const EVENT = ["id", "type", "model_usage", "usage", "agent.model.id"] as const;

/**
 * The events of a managed agent's session, streamed or listed.
 *
 * - `span.model_request_end` states the tokens of one request of the agent to its model (`model_usage`), and
 *   `span.outcome_evaluation_end` those of the graders of one evaluation (`usage`). Each makes a record with the event's id, so
 *   that an event that is streamed and listed is counted once.
 * - The counts are those of Messages: the input is exclusive of the cache.
 * - `session.usage`, and the session itself, repeat the running totals and make no record.
 * - An event names no model. The model is known if the session's agent was changed on the same stream (`session.updated`);
 *   otherwise it is unknown and the record unpriced. The running time of a session, which is billed too, is not counted.
 *
 * Source: @anthropic-ai/sdk 1.12.0, resources/beta/sessions/events.d.ts: BetaManagedAgentsSpanModelRequestEndEvent,
 * BetaManagedAgentsSpanOutcomeEvaluationEndEvent, BetaManagedAgentsSpanModelUsage, read 2026-11-23.
 */
export const anthropicSessionEvents = defineApiReader({
  members: [...EVENT],
  elements: { array: "data", members: EVENT },
  keys: ["model_usage", "usage"],
  streamsByDefault: null,
  promptMembers: [],
  start: startEvents,
});

function startEvents(): MessageReader {
  const results: UsageReport[] = [];
  let model: string | null = null;
  const read = (event: PickedMembers): void => {
    model = event.string("agent.model.id") ?? model;
    const type = event.string("type");
    const usage =
      type === "span.model_request_end"
        ? event.value("model_usage")
        : type === "span.outcome_evaluation_end"
          ? event.value("usage")
          : undefined;
    if (isObject(usage) && results.length < MAX_BATCH_RESULTS)
      results.push({ ...findingsOf(usage, model, event.string("id")), error: null });
  };
  return {
    element: read,
    read,
    end: () => ({ ...findingsOf(undefined, null, null), noRecord: "results", results }),
  };
}

/**
 * A dream: work of a model on a memory store. Its `usage` grows until the dream has ended. It makes one record when it is
 * created, and the response with the final usage completes that record.
 * Source: @anthropic-ai/sdk 1.12.0, resources/beta/dreams.d.ts: BetaDream, BetaDreamUsage, read 2026-11-23.
 */
export const anthropicDreams = defineApiReader({
  members: ["id", "status", "model.id", "usage"],
  keys: ["usage"],
  streamsByDefault: null,
  promptMembers: ["instructions"],
  start: startDream,
});

const ENDED_DREAM: ReadonlySet<string | null> = new Set(["completed", "failed", "canceled"]);

function startDream({ fetches, routeId }: AnswerFacts): MessageReader {
  let found: UsageFindings = findingsOf(undefined, null, routeId);
  return {
    read(message) {
      const hasEnded = ENDED_DREAM.has(message.string("status"));
      const usage = hasEnded ? message.value("usage") : undefined;
      found = findingsOf(usage, message.string("model.id"), message.string("id") ?? routeId);
    },
    end: () => ({
      ...found,
      ...(fetches ? {} : { startsJob: true }),
      ...(fetches && !found.tokensComplete ? { noRecord: "unfinished" as const } : {}),
    }),
  };
}

function findingsOf(usage: unknown, model: string | null, responseId: string | null): UsageFindings {
  const stated = asObject(usage);
  const { tokens, consistent } = isObject(usage)
    ? readAnthropicCounts(stated)
    : { tokens: NO_TOKENS, consistent: false };
  return {
    tokens,
    tokensComplete: consistent && tokens.promptTokens !== null && tokens.completionTokens !== null,
    model,
    responseId,
    serviceTier: null,
    extras: stated.speed === "fast" ? { fast_mode: 1 } : {},
    providerCostPicoUsd: null,
    unknownUsage: null,
  };
}
