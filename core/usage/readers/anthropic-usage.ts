import { CALL_EXTRAS_TIER_TOKENS } from "../../pricing/usage-extras.ts";
import type { TokenCounts } from "../../record.ts";
import { addCounts, firstCount, membersOf, NO_TOKENS, readCount, splitTotal } from "../token-counts.ts";
import { setExtra } from "../usage-extras.ts";
import type { UsageReport } from "../usage-report.ts";

/** The counts of one usage object, and whether its parts fit its totals. */
export interface AnthropicCounts {
  tokens: TokenCounts;
  consistent: boolean;
}

/**
 * Reads a usage object, or an entry of `usage.iterations[]`, which has the same members. A cache count that is null or
 * absent beside a stated `input_tokens` is 0. See `anthropicMessages` for what the totals include.
 */
export function readAnthropicCounts(usage: Readonly<Record<string, unknown>>): AnthropicCounts {
  const input = readCount(usage.input_tokens);
  const split = membersOf(usage.cache_creation);
  const oneHour = readCount(split.ephemeral_1h_input_tokens);
  const fiveMinutes = readCount(split.ephemeral_5m_input_tokens);
  const absent = input === null ? null : 0;
  const stated = oneHour === null && fiveMinutes === null ? absent : addCounts(oneHour, fiveMinutes);
  const cacheWrite = firstCount(usage.cache_creation_input_tokens) ?? stated;
  const writes = splitTotal(cacheWrite, [oneHour ?? (cacheWrite === 0 ? 0 : null)]);
  const thinking = readCount(membersOf(usage.output_tokens_details).thinking_tokens);
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

/** What `usage.iterations[]` adds to the totals beside it. */
export interface IterationsReading {
  /** All that is billed at the answering model's rates. */
  tokens: TokenCounts;
  extras: Record<string, number>;
  /** What other models did, one entry for each: an advisor's advice, an attempt before a fallback. */
  others: readonly { model: string; tokens: TokenCounts; extras: Record<string, number> }[];
}

interface Call {
  type: string;
  model: string | null;
  tokens: TokenCounts;
}

/**
 * Reads `usage.iterations[]`: one entry for each call of a model that went into the answer.
 *
 * - `message` and `fallback_message` entries are the answering model's own sampling, unless they name another model (an
 *   attempt that fell back). The totals beside the list are their sum, in input too since 2026; before, they had the first
 *   one's input alone ("Advisor tool", "Usage and billing"), so that the larger figure counts.
 * - `compaction` entries are the same model's, and **not** in the totals (`BetaUsage` of the SDK).
 * - `advisor_message` entries are another model's, billed at its rates, and **not** in the totals.
 *
 * The context tier is decided for each call, not for their sum: where it can matter, the extras tell the tokens of the
 * calls that were above it (see `CALL_EXTRAS` in `core/pricing`). Null where there is no such list.
 */
export function readIterations(
  list: unknown,
  model: string | null,
  totals: TokenCounts,
): IterationsReading | null {
  if (!Array.isArray(list)) return null;
  const calls = list.map((entry): Call => {
    const members = membersOf(entry);
    const { type, model: named } = members;
    return {
      type: typeof type === "string" ? type : "",
      model: typeof named === "string" && !isSameModel(named, model) ? named : null,
      tokens: readAnthropicCounts(members).tokens,
    };
  });
  if (calls.length === 0) return null;
  const own = calls.filter((call) => call.model === null && call.type !== "advisor_message");
  const sampling = sumOfCounts(own.filter((call) => call.type !== "compaction"));
  const passedOn = calls.some((call) => call.model !== null && call.type !== "advisor_message");
  const base = passedOn ? { ...sampling, thinkingTokens: null } : largerCounts(totals, sampling);
  const compaction = own.filter((call) => call.type === "compaction");
  const tokens = sumOfCounts([{ tokens: base }, ...compaction]);
  const others = new Map<string, Call[]>();
  for (const call of calls) {
    if (own.includes(call)) continue;
    const name = call.model ?? model ?? "unknown";
    others.set(name, [...(others.get(name) ?? []), call]);
  }
  return {
    tokens,
    extras: callExtras(own, tokens),
    others: [...others].map(([name, theirs]) => {
      const sum = sumOfCounts(theirs);
      return { model: name, tokens: sum, extras: callExtras(theirs, sum) };
    }),
  };
}

/** What other models did as reports of their own; each has the answer's id and the model's name, and so counts once. */
export function reportsOfOthers(
  { others }: IterationsReading,
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

/** Whether two names are one model: an alias is the beginning of its snapshots' names. */
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
 * The totals, with each input count raised to the iterations' sum where that is larger. Output is compared as a whole: the
 * iterations do not split thinking from it.
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

/** The extras that a context tier is decided on, where the sum of several calls' input is above it. */
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
