import type { Millis } from "../../values/time.ts";
import { formatInstant, formatInstantOrNull } from "../../wire/instant.ts";
import type { SavingsAnswer } from "../../wire/savings.ts";
import type { TokenRates } from "../rates.ts";
import type { UsageBucketGroup, UsageData, UsageGroup, UsageKey } from "../view/usage-answer.ts";
import type { UsagePlan } from "../view/usage-plan.ts";
import { DEFAULT_USAGE_QUERY, printUsageQuery, type UsageQuery, withFilter } from "../view/usage-query.ts";
import { emptySums, metricOf, sumOf, sumsJson, type UsageSums } from "../view/usage-sums.ts";
import { findSavings, type ModelUsage, type RepeatedPrompts, type Saving } from "./find-savings.ts";

/**
 * The maximum number of findings in an answer, the largest savings first. Decision: a longer list would not be read.
 */
export const MAX_FINDINGS = 100;

/**
 * How many of a period's newest requests are searched for repeated prompts. Decision: rollups don't have prompts, and the time of a
 * search of all requests would grow with their number.
 */
export const REPEATS_SEARCHED = 10_000;

/** Returns the query that reads the savings: the period, zone, buckets and filters of a query, by model and project. */
export const savingsQuery = ({ period, tz, bucket, filters }: UsageQuery): UsageQuery => ({
  ...DEFAULT_USAGE_QUERY,
  ...{ period, tz, filters, compare: "none", by: "model", thenBy: "project" },
  // What caches saved is computed by bucket.
  bucket: bucket === "none" ? "auto" : bucket,
});

/** The keys of a usage query that savings do not support: the API refuses them, and pages leave them out. */
export const UNSUPPORTED_KEYS: readonly string[] = ["by", "then", "metric", "top", "compare"];

/** Prints the parts of a query that savings use as the query string of a URL. */
export const printSavingsQuery = ({ period, tz, bucket, filters }: UsageQuery): string =>
  printUsageQuery({ ...DEFAULT_USAGE_QUERY, period, tz, bucket, filters });

/** Sums with the provider of their model. */
type OfModel<Group> = Group & { readonly provider: string };

/** What was read of a period. */
export interface SavingsData {
  /** By model and project. */
  readonly groups: readonly OfModel<UsageGroup>[];
  /** By bucket and model. */
  readonly buckets: readonly OfModel<UsageBucketGroup>[];
  readonly repeats: RepeatSearch;
}

/** The result of a search for repeated prompts. */
export interface RepeatSearch {
  readonly repeated: readonly RepeatedPrompts[];
  /** How many requests were searched. */
  readonly searched: number;
  /** When the first of them was made; null if all requests of the period were searched. */
  readonly since: Millis | null;
}

/** The groups and buckets of one read. */
type ReadGroups = Pick<UsageData, "groups" | "buckets">;

/** Returns the models that several providers offer. Their sums by model mix the providers. */
export function sharedModels(byProvider: readonly UsageGroup[]): UsageKey[] {
  const providers = Map.groupBy(byProvider, ({ by }) => by);
  return [...providers].flatMap(([model, own]) =>
    new Set(own.map(({ thenBy }) => thenBy)).size > 1 ? [model] : [],
  );
}

/**
 * Joins reads into sums with providers. `byProject` is by model, then by project. `byProvider` is by model, then by provider. `shared`
 * has a read by provider, then by project, for each model that several providers offer.
 */
export function joinReads(
  byProject: ReadGroups,
  byProvider: readonly UsageGroup[],
  shared: ReadonlyMap<UsageKey, ReadGroups>,
): Omit<SavingsData, "repeats"> {
  const providers = new Map(byProvider.map(({ by, thenBy }) => [by, thenBy ?? ""]));
  const ofOne = <Group extends { readonly by: UsageKey }>(groups: readonly Group[]): OfModel<Group>[] =>
    groups.flatMap((group) =>
      shared.has(group.by) ? [] : [{ ...group, provider: providers.get(group.by) ?? "" }],
    );
  const ofShared = <Group extends { readonly by: UsageKey }>(
    groupsOf: (read: ReadGroups) => readonly Group[],
  ): OfModel<Group>[] =>
    [...shared].flatMap(([model, read]) =>
      groupsOf(read).map((group) => ({ ...group, by: model, provider: group.by ?? "" })),
    );
  return {
    groups: [...ofOne(byProject.groups), ...ofShared(({ groups }) => groups)],
    buckets: [...ofOne(byProject.buckets), ...ofShared(({ buckets }) => buckets)],
  };
}

/** Returns the rates of a model at a time; null if they are not known. */
export type RateLookup = (provider: string, model: string, at: Millis) => TokenRates | null;

/** What caches saved, in pico-USD. */
interface CacheSums {
  readsSaved: bigint;
  writesCost: bigint;
  planSaved: bigint;
  uncounted: number;
}

const noCache = (): CacheSums => ({ readsSaved: 0n, writesCost: 0n, planSaved: 0n, uncounted: 0 });

/** Computes what could cost less in a period, and what prompt caches saved. */
export function answerSavings(plan: UsagePlan, data: SavingsData, rateOf: RateLookup): SavingsAnswer {
  const { query, zone, period, buckets, clampedFrom } = plan;
  const cached = buckets.map(noCache);
  const tokens = buckets.map(emptySums);
  for (const { bucket, by, provider, sums } of data.buckets) {
    const { from, to } = buckets[bucket]!;
    // If a rate changes within a bucket, the rate at its end is used.
    addCache(cached[bucket]!, sums, rateOf(provider, by ?? "", Math.max(from, Math.min(to, period.to) - 1)));
    tokens[bucket] = sumOf([tokens[bucket]!, sums]);
  }
  const whole = noCache();
  for (const each of cached) {
    whole.readsSaved += each.readsSaved;
    whole.writesCost += each.writesCost;
    whole.planSaved += each.planSaved;
    whole.uncounted += each.uncounted;
  }
  const total = sumsJson(sumOf(data.groups.map(({ sums }) => sums)));
  const findings = findSavings(toModelUsage(plan, data, rateOf), data.repeats.repeated);
  return {
    query: printSavingsQuery(query),
    tz: zone.name,
    period: { from: formatInstant(period.from), to: formatInstant(period.to), label: period.label },
    clamped_from: formatInstantOrNull(clampedFrom),
    requests: total.requests,
    cache: {
      ...cacheJson(whole),
      read_tokens: total.cache_read_tokens,
      write_tokens: total.cache_write_tokens,
      fresh_tokens: total.prompt_tokens,
      uncounted_requests: whole.uncounted,
    },
    buckets: buckets.map(({ from, to, label }, at) => ({
      ...{ from: formatInstant(from), to: formatInstant(to), label },
      ...cacheJson(cached[at]!),
      read_tokens: sumsJson(tokens[at]!).cache_read_tokens,
      input_tokens: toCount(metricOf(tokens[at]!, "input_tokens")),
      requests: tokens[at]!.requests,
    })),
    findings: findings.slice(0, MAX_FINDINGS).map((saving) => findingJson(plan, data.repeats, saving)),
    more_findings: Math.max(0, findings.length - MAX_FINDINGS),
    repeats: { searched: data.repeats.searched, since: formatInstantOrNull(data.repeats.since) },
  };
}

const toCount = (count: bigint | null): number | null => (count === null ? null : Number(count));

const cacheJson = ({ readsSaved, writesCost, planSaved }: CacheSums) => ({
  reads_saved_pico_usd: readsSaved.toString(),
  writes_cost_pico_usd: writesCost.toString(),
  saved_pico_usd: (readsSaved - writesCost).toString(),
  plan_saved_pico_usd: planSaved.toString(),
});

/**
 * Adds what the cached tokens of some calls saved. Sums don't say which of their calls used the cache, so sums in which a plan covers
 * only some calls are not counted. One-hour writes are counted at the lower rate of short ones, as in findings.
 */
function addCache(cache: CacheSums, sums: Readonly<UsageSums>, rates: TokenRates | null): void {
  const [read, written] = [sums.tokens.cacheRead ?? 0n, sums.tokens.cacheWrite ?? 0n];
  if (read === 0n && written === 0n) return;
  const input = rates?.input ?? null;
  const readRate = read === 0n ? input : (rates?.cacheRead ?? null);
  const writeRate = written === 0n ? input : (rates?.cacheWrite ?? null);
  const isSpent = sums.spentPicoUsd > 0n && sums.planUsagePicoUsd === 0n;
  const isPlan = sums.planUsagePicoUsd > 0n && sums.spentPicoUsd === 0n;
  const isKnown = sums.unknownBillingPicoUsd === 0n && sums.unpriced === 0 && (isSpent || isPlan);
  if (!isKnown || input === null || readRate === null || writeRate === null) {
    cache.uncounted += sums.requests;
    return;
  }
  const saved = read * BigInt(input - readRate);
  const cost = written * BigInt(writeRate - input);
  if (isPlan) {
    cache.planSaved += saved - cost;
    return;
  }
  cache.readsSaved += saved;
  cache.writesCost += cost;
}

/** Returns the usage of each model, except where a plan covers all of it: nothing can be saved there. */
function toModelUsage({ period }: UsagePlan, { groups }: SavingsData, rateOf: RateLookup): ModelUsage[] {
  return groups.flatMap(({ provider, by, thenBy, sums }): ModelUsage[] => {
    const { tokens, spentPicoUsd, planUsagePicoUsd, unknownBillingPicoUsd } = sums;
    if (planUsagePicoUsd > 0n && spentPicoUsd + unknownBillingPicoUsd === 0n) return [];
    return [
      {
        provider,
        model: by ?? "",
        project: thenBy,
        requests: sums.requests,
        promptTokens: Number(tokens.prompt ?? 0n),
        completionTokens: Number(tokens.completion ?? 0n),
        cacheReadTokens: Number(tokens.cacheRead ?? 0n),
        cacheWriteTokens: Number(tokens.cacheWrite ?? 0n),
        thinkingTokens: Number(tokens.thinking ?? 0n),
        ...{ costPicoUsd: spentPicoUsd, planUsagePicoUsd, unknownBillingPicoUsd },
        rates: rateOf(provider, by ?? "", period.to - 1),
      },
    ];
  });
}

function findingJson(
  { query, period }: UsagePlan,
  { since }: RepeatSearch,
  saving: Saving,
): SavingsAnswer["findings"][number] {
  const { kind, provider, model, project, requests, savingPicoUsd, summary } = saving;
  const searched =
    kind === "repeated_prompt" && since !== null
      ? { period: { from: formatInstant(since), to: formatInstant(period.to) } }
      : {};
  const about = {
    ...DEFAULT_USAGE_QUERY,
    period: query.period,
    tz: query.tz,
    filters: query.filters,
    ...searched,
  };
  const rows = withFilter(
    withFilter(withFilter(about, "project", project), "model", model),
    "provider",
    provider,
  );
  return {
    ...{ kind, provider, model, project, requests, summary },
    cost_pico_usd: saving.costPicoUsd.toString(),
    unknown_billing_pico_usd: saving.unknownBillingPicoUsd.toString(),
    saving_pico_usd: savingPicoUsd?.toString() ?? null,
    query: printUsageQuery(rows),
  };
}
