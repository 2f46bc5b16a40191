import { CALL_EXTRAS_TIER_TOKENS } from "../../../pricing/usage-extras.ts";
import type { TokenCounts } from "../../../values/record.ts";
import { addCounts, asObject, firstCount, NO_TOKENS, readCount, splitTotal } from "../token-counts.ts";
import { setExtra } from "../usage-extras.ts";
import type { UsageReport } from "../usage-report.ts";

/** The counts of a usage object, and whether its parts are consistent with its totals. */
interface AnthropicCounts {
  tokens: TokenCounts;
  consistent: boolean;
}

/**
 * Reads a usage object, or an entry of `usage.iterations[]`, which has the same members. If `input_tokens` is stated, a cache
 * count that is null or absent is 0. See `anthropicMessages` for what the totals include.
 */
export function readAnthropicCounts(usage: Readonly<Record<string, unknown>>): AnthropicCounts {
  const input = readCount(usage.input_tokens);
  const split = asObject(usage.cache_creation);
  const oneHour = readCount(split.ephemeral_1h_input_tokens);
  const fiveMinutes = readCount(split.ephemeral_5m_input_tokens);
  const absent = input === null ? null : 0;
  const stated = oneHour === null && fiveMinutes === null ? absent : addCounts(oneHour, fiveMinutes);
  const cacheWrite = firstCount(usage.cache_creation_input_tokens) ?? stated;
  const writes = splitTotal(cacheWrite, [oneHour ?? (cacheWrite === 0 ? 0 : null)]);
  const thinking = readCount(asObject(usage.output_tokens_details).thinking_tokens);
  const outputs = splitTotal(readCount(usage.output_tokens), [thinking]);
  return {
    tokens: {
      promptTokens: input,
      cacheReadTokens: readCount(usage.cache_read_input_tokens) ?? absent,
      cacheWriteTokens: cacheWrite,
      cacheWrite1hTokens: writes.parts[0] ?? null,
      completionTokens: outputs.rest,
      thinkingTokens: outputs.parts[0] ?? null,
    },
    consistent: writes.consistent && outputs.consistent,
  };
}

/** The usage listed in `usage.iterations[]`. */
interface IterationsUsage {
  /** The tokens billed at the rates of the responding model. */
  tokens: TokenCounts;
  extras: Record<string, number>;
  /** The usage of other models, one entry per model: an advisor, or an attempt before a fallback. */
  others: readonly { model: string; tokens: TokenCounts; extras: Record<string, number> }[];
}

interface Call {
  type: string;
  model: string | null;
  tokens: TokenCounts;
}

/**
 * Reads `usage.iterations[]`, which has one entry per model call behind the response. Returns null if there is no list.
 *
 * - `message` and `fallback_message` entries are sampling by the responding model, unless they name another model (an
 *   attempt before a fallback). The totals are their sum. Before 2026, the totals included only the input of the first
 *   entry ("Advisor tool", "Usage and billing"), so the larger figure is used.
 * - `compaction` entries are by the same model and **not** in the totals (`BetaUsage` of the SDK).
 * - `advisor_message` entries are by another model, billed at its rates, and **not** in the totals.
 *
 * The context tier applies to each call, not to their sum. If this can affect the price, the extras state the tokens of the
 * calls above the tier (see `CALL_EXTRAS` in `core/pricing`).
 */
export function readIterations(
  list: unknown,
  model: string | null,
  totals: TokenCounts,
): IterationsUsage | null {
  if (!Array.isArray(list)) return null;
  const calls = list.map((entry): Call => {
    const members = asObject(entry);
    const { type, model: named } = members;
    return {
      type: typeof type === "string" ? type : "",
      model: typeof named === "string" && named !== "" && !isSameModel(named, model) ? named : null,
      tokens: readAnthropicCounts(members).tokens,
    };
  });
  if (calls.length === 0) return null;
  const isOwn = ({ model, type }: Call) => model === null && type !== "advisor_message";
  const own = calls.filter(isOwn);
  const sampling = sumOfCounts(own.filter((call) => call.type !== "compaction"));
  const fellBack = calls.some((call) => call.model !== null && call.type !== "advisor_message");
  const base = fellBack ? { ...sampling, thinkingTokens: null } : largerCounts(totals, sampling);
  const compaction = own.filter((call) => call.type === "compaction");
  const tokens = sumOfCounts([{ tokens: base }, ...compaction]);
  const others = Map.groupBy(
    calls.filter((call) => !isOwn(call)),
    (call) => call.model ?? model ?? "unknown",
  );
  return {
    tokens,
    extras: callExtras(own, tokens),
    others: [...others].map(([name, modelCalls]) => {
      const sum = sumOfCounts(modelCalls);
      return { model: name, tokens: sum, extras: callExtras(modelCalls, sum) };
    }),
  };
}

/** Returns a report for each other model. Its id combines the response id and the model name, so that it is counted once. */
export function reportOtherModels(
  { others }: IterationsUsage,
  answer: { responseId: string | null; serviceTier: string | null; flags: Readonly<Record<string, number>> },
  tokensComplete: boolean,
): UsageReport[] {
  return others.map(({ model, tokens, extras }) => ({
    tokens,
    tokensComplete,
    model,
    responseId: answer.responseId === null ? null : `${answer.responseId}/${model}`,
    serviceTier: answer.serviceTier,
    extras: { ...answer.flags, ...extras },
    providerCostPicoUsd: null,
    unknownUsage: null,
    error: null,
  }));
}

/** Whether two names refer to the same model: an alias is a prefix of the names of its snapshots. */
function isSameModel(one: string, other: string | null): boolean {
  return other === null || one === other || one.startsWith(`${other}-20`) || other.startsWith(`${one}-20`);
}

function sumOfCounts(calls: readonly { tokens: TokenCounts }[]): TokenCounts {
  const sum: TokenCounts = { ...NO_TOKENS };
  for (const name of COUNTS) {
    const counts = calls.map(({ tokens }) => tokens[name]);
    sum[name] = counts.every((count) => count === null) ? null : addCounts(...counts);
  }
  return sum;
}

/**
 * Returns the larger of the totals and the iterations' sum for each input count. Output is compared as a whole, because the
 * iterations do not state thinking separately.
 */
function largerCounts(totals: TokenCounts, sampling: TokenCounts): TokenCounts {
  const larger = (name: keyof TokenCounts) =>
    totals[name] === null && sampling[name] === null
      ? null
      : Math.max(totals[name] ?? 0, sampling[name] ?? 0);
  const output = outputOf(sampling);
  return {
    promptTokens: larger("promptTokens"),
    cacheReadTokens: larger("cacheReadTokens"),
    cacheWriteTokens: larger("cacheWriteTokens"),
    cacheWrite1hTokens: larger("cacheWrite1hTokens"),
    completionTokens:
      output > outputOf(totals) ? output - (totals.thinkingTokens ?? 0) : totals.completionTokens,
    thinkingTokens: totals.thinkingTokens,
  };
}

const COUNTS = Object.keys(NO_TOKENS) as (keyof TokenCounts)[];

const inputOf = ({ promptTokens, cacheReadTokens, cacheWriteTokens }: TokenCounts): number =>
  (promptTokens ?? 0) + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);

const outputOf = ({ completionTokens, thinkingTokens }: TokenCounts): number =>
  (completionTokens ?? 0) + (thinkingTokens ?? 0);

/** Returns the extras that determine the context tier per call, if the input of several calls together exceeds it. */
function callExtras(calls: readonly Call[], sum: TokenCounts): Record<string, number> {
  const extras: Record<string, number> = {};
  if (calls.length < 2 || inputOf(sum) <= CALL_EXTRAS_TIER_TOKENS) return extras;
  const long = calls.filter(({ tokens }) => inputOf(tokens) > CALL_EXTRAS_TIER_TOKENS);
  const above = sumOfCounts(long);
  setExtra(extras, "model_calls", calls.length);
  setExtra(extras, "above_200k_prompt_tokens", above.promptTokens);
  setExtra(extras, "above_200k_cache_read_tokens", above.cacheReadTokens);
  setExtra(extras, "above_200k_cache_write_tokens", above.cacheWriteTokens);
  setExtra(extras, "above_200k_cache_write_1h_tokens", above.cacheWrite1hTokens);
  setExtra(extras, "above_200k_output_tokens", outputOf(above));
  return extras;
}
