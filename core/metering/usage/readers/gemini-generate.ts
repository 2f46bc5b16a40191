import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { createDistinctTexts, type DistinctTexts } from "../distinct-texts.ts";
import { membersUnder, type PickedMembers } from "../member-picker.ts";
import { addCounts, asObject, firstCount, NO_TOKENS, readCount, splitTotal } from "../token-counts.ts";
import { type KnownMembers, unknownUsage } from "../unknown-usage.ts";
import { setExtra, setPartExtra } from "../usage-extras.ts";
import type { UsageFindings } from "../usage-report.ts";
import { GEMINI_MEDIA, modalityCount } from "./gemini-modalities.ts";

const KNOWN: KnownMembers = {
  promptTokenCount: true,
  initialPromptTokenCount: true,
  candidatesTokenCount: true,
  thoughtsTokenCount: true,
  toolUsePromptTokenCount: true,
  cachedContentTokenCount: true,
  totalTokenCount: true,
  promptTokensDetails: true,
  candidatesTokensDetails: true,
  toolUsePromptTokensDetails: true,
  cacheTokensDetails: true,
  trafficType: true,
  serviceTier: true,
};

const MEMBERS = ["usageMetadata", "modelVersion", "responseId", "candidates"] as const;

const spec = (members: readonly string[]) => ({
  members,
  keys: ["usageMetadata", "webSearchQueries"],
  lastWins: true,
  // The searches are in the candidates, after the text.
  maxMemberBytes: 1024 * 1024,
});

/**
 * Gemini's generateContent and streamGenerateContent. A stream is server-sent events or one JSON array.
 *
 * - `promptTokenCount` is **inclusive** of `cachedContentTokenCount`, and **exclusive** of `toolUsePromptTokenCount`.
 * - `candidatesTokenCount` is **exclusive** of `thoughtsTokenCount`: all output is their sum.
 * - `totalTokenCount` is the sum of prompt, tool use, candidates and thoughts. A larger total leaves the usage incomplete.
 * - These are proto3 fields, which omit zeros: an absent count is 0. The prompt is never empty, so an absent prompt count is
 *   the total minus the other counts, or unknown.
 * - Web searches are in `candidates[].groundingMetadata.webSearchQueries`. Gemini 3 and later are billed per query, older
 *   models once per grounded prompt (ai.google.dev, "Grounding with Google Search").
 * - Every chunk of a stream may contain cumulative usage. The last one counts.
 */
export const geminiGenerate = defineApiReader({
  ...spec(MEMBERS),
  promptMembers: ["systemInstruction", "contents"],
  start: startGenerate,
});

/**
 * Code Assist, which Gemini CLI and editor plug-ins call. It wraps a generateContent request in `request` and the response in
 * `response`.
 */
export const geminiCodeAssist = defineApiReader({
  ...spec(MEMBERS.map((member) => `response.${member}`)),
  promptMembers: ["systemInstruction", "contents"],
  promptContainer: "request",
  start(facts) {
    const reader = startGenerate(facts);
    return { ...reader, read: (message, whole) => reader.read(membersUnder(message, "response"), whole) };
  },
});

/** Starts the reader of one response, also for Gemini Live. */
export function startGenerate({ routeModel }: Pick<AnswerFacts, "routeModel">): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let usage: Readonly<Record<string, unknown>> | null = null;
  let wholeSeen = false;
  /** Distinct queries, because the chunks of a stream may repeat them. */
  const queries = createDistinctTexts();
  return {
    knowsModel: () => model !== null,
    read(message, whole) {
      addQueries(queries, message);
      model = message.string("modelVersion") ?? model;
      responseId = message.string("responseId") ?? responseId;
      const stated = message.value("usageMetadata");
      if (!isObject(stated)) return;
      usage = stated;
      wholeSeen = whole;
    },
    end(ended) {
      const extras: Record<string, number> = {};
      const perPrompt = /gemini-[12]\b/.test(model ?? routeModel ?? "");
      setExtra(extras, "web_search_requests", perPrompt ? Math.min(1, queries.count()) : queries.count());
      const counted =
        usage === null || !statesCounts(usage)
          ? { tokens: NO_TOKENS, tokensComplete: false }
          : readUsage(usage, extras, wholeSeen || ended);
      return {
        ...counted,
        model,
        responseId,
        serviceTier: usage === null ? null : tierOf(usage),
        extras,
        providerCostPicoUsd: null,
        unknownUsage: usage === null ? null : unknownUsage(usage, KNOWN),
      };
    },
  };
}

/** Reads the token counts of `usageMetadata`, and adds its modalities to `extras`. */
function readUsage(
  usage: Readonly<Record<string, unknown>>,
  extras: Record<string, number>,
  isWhole: boolean,
): Pick<UsageFindings, "tokens" | "tokensComplete"> {
  const toolUse = readCount(usage.toolUsePromptTokenCount) ?? 0;
  const candidates = readCount(usage.candidatesTokenCount) ?? 0;
  const thoughts = readCount(usage.thoughtsTokenCount) ?? 0;
  const prompt = promptCount(usage, toolUse + candidates + thoughts);
  const input = prompt === null ? null : addCounts(prompt, toolUse);
  const inputs = splitTotal(input, [readCount(usage.cachedContentTokenCount) ?? 0]);
  const cached = inputs.parts[0] as number;
  setModalities(extras, usage, inputs.rest, cached, candidates);
  return {
    tokens: {
      promptTokens: inputs.rest,
      cacheReadTokens: cached,
      cacheWriteTokens: null,
      cacheWrite1hTokens: null,
      completionTokens: candidates,
      thinkingTokens: thoughts,
    },
    tokensComplete:
      inputs.consistent &&
      input !== null &&
      (readCount(usage.totalTokenCount) ?? 0) <= input + candidates + thoughts &&
      isWhole,
  };
}

function addQueries(queries: DistinctTexts, message: PickedMembers): void {
  if (!message.text("candidates")?.includes('"webSearchQueries"')) return;
  const candidates = message.value("candidates");
  if (!Array.isArray(candidates)) return;
  for (const candidate of candidates) {
    const { webSearchQueries } = asObject(asObject(candidate).groundingMetadata);
    if (!Array.isArray(webSearchQueries)) continue;
    for (const query of webSearchQueries) if (typeof query === "string" && query !== "") queries.add(query);
  }
}

function statesCounts(usage: Readonly<Record<string, unknown>>): boolean {
  const counts = [usage.promptTokenCount, usage.candidatesTokenCount, usage.totalTokenCount];
  return firstCount(...counts) !== null;
}

function promptCount(usage: Readonly<Record<string, unknown>>, others: number): number | null {
  const prompt = readCount(usage.promptTokenCount);
  if (prompt !== null) return prompt;
  const total = readCount(usage.totalTokenCount);
  return total === null ? null : readCount(total - others);
}

/** Returns the service tier: `serviceTier` in Gemini, `trafficType` in Vertex. */
function tierOf(usage: Readonly<Record<string, unknown>>): string | null {
  const tier = usage.serviceTier ?? usage.trafficType;
  return typeof tier === "string" ? tier.toLowerCase() : null;
}

/**
 * Sets the counts by modality. Cached tokens are included in the prompt's counts and are subtracted if `cacheTokensDetails`
 * states them.
 */
function setModalities(
  extras: Record<string, number>,
  usage: Readonly<Record<string, unknown>>,
  fresh: number | null,
  cached: number,
  candidates: number,
): void {
  for (const [medium, modalities] of GEMINI_MEDIA) {
    const sum = (member: string) => modalityCount(usage[member], modalities);
    const inCache = sum("cacheTokensDetails");
    const input = sum("promptTokensDetails") + sum("toolUsePromptTokensDetails");
    setPartExtra(extras, `${medium}_input_tokens`, Math.max(0, input - inCache), fresh);
    if (medium !== "video") setPartExtra(extras, `${medium}_cache_read_tokens`, inCache, cached);
    setPartExtra(extras, `${medium}_output_tokens`, sum("candidatesTokensDetails"), candidates);
  }
}
