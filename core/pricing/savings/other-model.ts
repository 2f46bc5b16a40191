import { sumOfSplit } from "../cost-split.ts";
import { oneHourWrite } from "../price-usage.ts";
import type { RateRow } from "../rates.ts";
import type { UsageSums } from "../view/usage-sums.ts";

/**
 * A kind of tokens that a model has no price for, and what it is counted at instead, as `priceUsage()` does. Cache writes are counted as
 * those for five minutes if it is not known how many were for one hour, as of the cloud's sums.
 */
export interface AssumedRate {
  readonly kind: "cache reads" | "cache writes" | "one-hour cache writes";
  readonly counted: "input" | "cache writes" | "five-minute cache writes";
}

/** What the tokens of some requests cost at the rates of another model. */
export interface OtherModelCost {
  /** Null if it is unknown. */
  readonly costPicoUsd: bigint | null;
  /** The reason why it is unknown, for people. Null if it is known. */
  readonly unknown: string | null;
  readonly assumed: readonly AssumedRate[];
}

const unknownCost = (unknown: string): OtherModelCost => ({ costPicoUsd: null, unknown, assumed: [] });

/**
 * Prices the token sums of some requests at the base rates of a model. It is an estimate: another model counts and writes other
 * tokens, and sums do not say which requests had a long context, a service tier or a fee.
 */
export function priceOnModel(sums: Readonly<UsageSums>, row: RateRow): OtherModelCost {
  const { tokens, requests, failed, blocked, unpriced, incomplete } = sums;
  if (tokens.prompt === null && requests === failed + blocked)
    return { costPicoUsd: 0n, unknown: null, assumed: [] };
  if (tokens.prompt === null) return unknownCost("no token counts");
  // An answered request without token counts is both, so the sums are those of the others. A failed one used nothing.
  if (unpriced > 0 && incomplete > failed + blocked) return unknownCost("incomplete token counts");
  const [read, write] = [tokens.cacheRead ?? 0n, tokens.cacheWrite ?? 0n];
  const ofWrite1h = tokens.cacheWrite1h ?? 0n;
  const write1h = ofWrite1h < write ? ofWrite1h : write;
  const [completion, thinking] = [tokens.completion ?? 0n, tokens.thinking ?? 0n];
  const { input, output } = row.rates;
  if (input === null) return unknownCost("no price for input");
  if (output === null && completion + thinking > 0n) return unknownCost("no price for output");
  const { cacheRead, cacheWrite, thinking: thinkingRate } = row.rates;
  const cacheWrite1h = row.rates.cacheWrite1h ?? oneHourWrite(row, input);
  const assumed: AssumedRate[] = [
    ...(read > 0n && cacheRead === null ? [{ kind: "cache reads", counted: "input" } as const] : []),
    ...(write > write1h && cacheWrite === null ? [{ kind: "cache writes", counted: "input" } as const] : []),
    ...(write1h > 0n && cacheWrite1h === null
      ? [{ kind: "one-hour cache writes", counted: cacheWrite === null ? "input" : "cache writes" } as const]
      : []),
    ...(write > 0n && tokens.cacheWrite1h === null && cacheWrite1h !== null
      ? [{ kind: "cache writes", counted: "five-minute cache writes" } as const]
      : []),
  ];
  const lines: readonly (readonly [bigint, number])[] = [
    [tokens.prompt, input],
    [read, cacheRead ?? input],
    [write - write1h, cacheWrite ?? input],
    [write1h, cacheWrite1h ?? cacheWrite ?? input],
    [completion, output ?? 0],
    [thinking, thinkingRate ?? output ?? 0],
  ];
  const costPicoUsd = lines.reduce((sum, [count, rate]) => sum + count * BigInt(rate), 0n);
  return { costPicoUsd, unknown: null, assumed };
}

/** The usage of one model in a comparison. */
export interface ComparedUsage {
  readonly sums: Readonly<UsageSums>;
  /** Whether it is the usage of the other model itself. */
  readonly isSame: boolean;
}

/** A model's usage at its own prices and at those of the other model. */
export interface ModelComparison {
  /** At API prices, plan usage included. Null if a request has no known price. */
  readonly costPicoUsd: bigint | null;
  readonly other: OtherModelCost;
  /** The cost on the other model minus the actual cost. Null unless both are known. */
  readonly differencePicoUsd: bigint | null;
}

/** Comparisons of several models, with the sums of those of which both costs are known. */
export interface ModelComparisons {
  readonly models: readonly ModelComparison[];
  /** How many have both costs. */
  readonly known: number;
  readonly costPicoUsd: bigint;
  readonly otherPicoUsd: bigint;
}

/** Compares what models cost with what their tokens cost at the rates of another one. Its own usage costs what it did. */
export function compareOnModel(usage: readonly ComparedUsage[], row: RateRow): ModelComparisons {
  const models = usage.map(({ sums, isSame }): ModelComparison => {
    const costPicoUsd = sums.unpriced > 0 ? null : sumOfSplit(sums);
    const other =
      isSame && costPicoUsd !== null ? { costPicoUsd, unknown: null, assumed: [] } : priceOnModel(sums, row);
    const isKnown = costPicoUsd !== null && other.costPicoUsd !== null;
    return { costPicoUsd, other, differencePicoUsd: isKnown ? other.costPicoUsd - costPicoUsd : null };
  });
  const known = models.flatMap(({ costPicoUsd, other }) =>
    costPicoUsd === null || other.costPicoUsd === null ? [] : [[costPicoUsd, other.costPicoUsd] as const],
  );
  return {
    models,
    known: known.length,
    costPicoUsd: known.reduce((sum, [cost]) => sum + cost, 0n),
    otherPicoUsd: known.reduce((sum, [, cost]) => sum + cost, 0n),
  };
}
