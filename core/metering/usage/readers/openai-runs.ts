import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { asObject, NO_TOKENS } from "../token-counts.ts";
import type { UsageFindings, UsageReport } from "../usage-report.ts";
import { readOpenaiUsage } from "./openai-usage.ts";

/**
 * Runs of OpenAI's Assistants, also of Azure's agents: created, streamed or polled.
 *
 * - A run states its `usage` when it has ended, in the response of a poll or in the last event of a stream; before, it is null.
 * - The run's steps repeat parts of that usage and make no record.
 * - A run makes one record when it is created. The response with the usage completes it.
 *
 * Source: openai 6.49.0, resources/beta/threads/runs/runs.d.ts: Run, Run.Usage, read 2026-11-23.
 */
export const openaiRuns = defineApiReader({
  members: ["id", "object", "model", "usage"],
  keys: ["usage"],
  promptMembers: ["instructions", "thread", "additional_messages"],
  start: startRun,
});

function startRun({ provider, fetches, routeId }: AnswerFacts): MessageReader {
  let model: string | null = null;
  let responseId = routeId;
  let usage: unknown;
  let usageText: string | null = null;
  return {
    // The first event of a stream may be that of the thread.
    knowsModel: () => model !== null,
    read(message) {
      if (message.string("object") !== "thread.run") return;
      model = message.string("model");
      responseId = message.string("id") ?? responseId;
      if (!isObject(message.value("usage"))) return;
      usage = message.value("usage");
      usageText = message.text("usage");
    },
    end(): UsageFindings {
      const found = readOpenaiUsage({
        provider,
        model,
        responseId,
        serviceTier: null,
        usageText,
        usage,
        final: true,
        style: "chat",
      });
      if (!fetches) return { ...found, startsJob: true };
      return isObject(usage) ? found : { ...found, noRecord: "unfinished" };
    },
  };
}

/**
 * Runs of OpenAI's evals. `per_model_usage` has the tokens of each model, graders included, when the run has ended. A run makes
 * one record when it is created; the usage of its first model completes that record, and the other models have their own.
 * Source: openai 6.49.0, resources/evals/runs/runs.d.ts: RunRetrieveResponse.PerModelUsage, read 2026-11-23.
 */
export const openaiEvalRuns = defineApiReader({
  members: ["id", "status", "per_model_usage"],
  keys: ["per_model_usage"],
  streamsByDefault: null,
  promptMembers: [],
  start: startEvalRun,
});

const ENDED_RUN: ReadonlySet<string> = new Set(["completed", "failed", "canceled"]);

function startEvalRun({ provider, fetches, routeId }: AnswerFacts): MessageReader {
  let responseId = routeId;
  let status: string | null = null;
  let models: readonly unknown[] = [];
  const reportOf = (entry: unknown, index: number): UsageReport => {
    const { model_name, ...usage } = asObject(entry);
    return {
      ...readOpenaiUsage({
        provider,
        model: typeof model_name === "string" ? model_name : null,
        responseId: index === 0 || responseId === null ? responseId : `${responseId}/${index}`,
        serviceTier: null,
        usageText: null,
        usage: entry === undefined ? undefined : usage,
        final: true,
        style: "chat",
      }),
      error: null,
    };
  };
  return {
    read(message) {
      responseId = message.string("id") ?? responseId;
      status = message.string("status") ?? status;
      const stated = message.value("per_model_usage");
      if (Array.isArray(stated)) models = stated;
    },
    end() {
      const hasEnded = ENDED_RUN.has(status ?? "") && models.length > 0;
      const [first, ...others] = (hasEnded ? models : []).map(reportOf);
      const { error: _, ...found } = first ?? reportOf(undefined, 0);
      return {
        ...found,
        tokens: hasEnded ? found.tokens : NO_TOKENS,
        ...(fetches ? {} : { startsJob: true }),
        ...(fetches && !hasEnded ? { noRecord: "unfinished" as const } : {}),
        ...(others.length > 0 ? { results: others } : {}),
      };
    },
  };
}
