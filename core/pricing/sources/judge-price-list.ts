import type { CalendarDate, Millis } from "../../values/time.ts";
import type { PublishedRate } from "../../wire/pricing-rates.ts";
import { judgeMove } from "../guard.ts";
import { normaliseModelName, withoutSnapshot } from "../model-match.ts";
import type { PriceBook } from "../price-book.ts";
import { priceListOf } from "../provider-names.ts";
import { type RateProblem, readPublishedRate } from "../published-rates.ts";
import type { RateRow, Rates, TokenRates } from "../rates.ts";
import { type FindKnownDifference, formatReason, indexKnownDifferences } from "./known-differences.ts";
import { changedFields, type RateChange } from "./rate-changes.ts";

/** Above this share of known models with a held price, the whole list is rejected. It is in another unit, or damaged. */
const MAX_HELD_SHARE = 0.25;

/** The smallest number of held models for which the share counts. */
const MIN_HELD = 10;

/** What a price list would change. */
export interface PriceListVerdict {
  /** The rates that the guard accepts, also those that change nothing. Their `effectiveFrom` is what the list states. */
  readonly rows: readonly RateRow[];
  /** The models without a price until now, as rows. */
  readonly added: readonly RateRow[];
  /** The changes of known models that the guard accepts. */
  readonly changes: readonly RateChange[];
  /** The number of known models whose price is the same. */
  readonly unchanged: number;
  /** Rates that the guard holds back. They are not applied, and the known ones stay. */
  readonly held: readonly RateProblem[];
  /** Why the whole list is rejected; null if it is not. */
  readonly rejected: string | null;
}

/** The list and the day it was retrieved. */
interface ListToJudge {
  /** The name of the source. */
  readonly name: string;
  readonly rates: readonly PublishedRate[];
  /** Problems that the parser found. They are held. */
  readonly problems: readonly RateProblem[];
  readonly today: CalendarDate;
  readonly now: Millis;
}

/**
 * Judges each rate of a public price list against the rate that applies without the operator's rates. A rate that moves by
 * more than the guard allows, or between free and paid, is held back with all other rates of that model. What the list does
 * not state of a known model stays as it is. A rate that the list is known to have wrong is held back too.
 *
 * Decision: a public list is judged by model, not as a whole as the cloud's is. It has thousands of rates from many
 * contributors, and would never pass as a whole.
 */
export function judgePriceList(
  { name, rates, problems, today, now }: ListToJudge,
  book: PriceBook,
): PriceListVerdict {
  const rows: RateRow[] = [];
  const added: RateRow[] = [];
  const changes: RateChange[] = [];
  const held: RateProblem[] = [...problems];
  const differenceOf = indexKnownDifferences();
  let unchanged = 0;
  let heldModels = 0;
  for (const item of rates) {
    const read = readPublishedRate(item, "auto", today);
    if (!read.ok) {
      held.push(...read.problems);
      continue;
    }
    const offered: RateRow = { ...read.row, origin: { name, retrievedOn: today } };
    const known = findWrongRates(offered, name, differenceOf);
    if (known.length > 0) {
      held.push(...known);
      continue;
    }
    const current = findCurrent(offered, book, now);
    const row =
      current === null ? offered : { ...offered, rates: fillUnstated(offered.rates, current.rates) };
    const against = judgeRates(row, current);
    if (against.length > 0) {
      held.push(...against);
      heldModels += 1;
      continue;
    }
    rows.push(row);
    if (current === null) added.push(row);
    else {
      const changed = changedFields(current, row);
      if (changed.length === 0) unchanged += 1;
      changes.push(...changed);
    }
  }
  const known = rows.length - added.length + heldModels;
  const rejected =
    heldModels >= MIN_HELD && heldModels > known * MAX_HELD_SHARE
      ? `${heldModels} of ${known} known models have a price that the guard does not accept`
      : null;
  return { rows, added, changes, unchanged, held, rejected };
}

/**
 * Returns the row of the same model. A price book also finds the row of another model whose rule matches the name, such as
 * a family by its prefix; that row says little about this model.
 */
function findCurrent(row: RateRow, book: PriceBook, now: Millis): RateRow | null {
  const { provider, model, effectiveFrom, daily } = row;
  const from = effectiveFrom === null ? now : Math.max(now, Date.parse(`${effectiveFrom}T00:00:00Z`));
  // A moment in the period of a price that applies at certain hours.
  const at = daily === null ? from : from - (from % 86_400_000) + daily.fromSecond * 1_000;
  const found = book.findPublished({ provider, model, requestedModel: null, at });
  if (found === null || priceListOf(found.provider) !== priceListOf(provider)) return null;
  return bareName(found.model) === bareName(model) ? found : null;
}

/** Returns the rates of the row that the list is known to have wrong. They say nothing about the rest of the list. */
function findWrongRates(row: RateRow, name: string, differenceOf: FindKnownDifference): RateProblem[] {
  const { provider, model, rates } = row;
  return TOKEN_FIELDS.flatMap((field) => {
    const rate = rates[field];
    const known = rate === null ? null : differenceOf(name, provider, model, field, rate);
    if (known === null || !known.hold) return [];
    return [{ provider, model, field, problem: `is known to be wrong: ${formatReason(known)}` }];
  });
}

const TOKEN_FIELDS = ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h"] as const;

const bareName = (model: string) => withoutSnapshot(normaliseModelName(model));

function fillUnstated(offered: Rates, known: Rates): Rates {
  const { serviceTiers: knownTiers } = known;
  const serviceTiers = offered.serviceTiers ?? knownTiers;
  return {
    ...fillTokenRates(offered, known),
    tiers: offered.tiers.length === 0 ? known.tiers : offered.tiers,
    extras: { ...known.extras, ...offered.extras },
    thinking: offered.thinking ?? known.thinking,
    perRequest: offered.perRequest ?? known.perRequest,
    ...(serviceTiers !== undefined && { serviceTiers }),
  };
}

function fillTokenRates(offered: TokenRates, known: TokenRates): TokenRates {
  return {
    input: offered.input ?? known.input,
    output: offered.output ?? known.output,
    cacheRead: offered.cacheRead ?? known.cacheRead,
    cacheWrite: offered.cacheWrite ?? known.cacheWrite,
    cacheWrite1h: offered.cacheWrite1h ?? known.cacheWrite1h,
  };
}

/** Returns the problems of the row's rates. The rate of a cached token that had none is compared with the input rate. */
function judgeRates(row: RateRow, current: RateRow | null): RateProblem[] {
  const { provider, model, rates } = row;
  const problems: RateProblem[] = [];
  const judge = (field: string, offered: number | null, known: number | null, isFee = false): void => {
    if (offered === null) return;
    const problem = judgeMove(offered, known, isFee);
    if (problem !== null) problems.push({ provider, model, field, problem });
  };
  const judgeTokens = (where: string, offered: TokenRates, known: TokenRates | null): void => {
    judge(`${where}input`, offered.input, known?.input ?? null);
    judge(`${where}output`, offered.output, known?.output ?? null);
    for (const name of ["cacheRead", "cacheWrite", "cacheWrite1h"] as const)
      judge(`${where}${name}`, offered[name], known?.[name] ?? known?.input ?? null);
  };
  const known = current?.rates ?? null;
  judgeTokens("", rates, known);
  for (const tier of rates.tiers) {
    const same = known?.tiers.find(({ aboveTokens }) => aboveTokens === tier.aboveTokens);
    judgeTokens(`above ${tier.aboveTokens} tokens: `, tier, same ?? known);
  }
  for (const [name, service] of Object.entries(rates.serviceTiers ?? {}))
    judgeTokens(`${name}: `, service, known?.serviceTiers?.[name] ?? known);
  for (const [name, rate] of Object.entries(rates.extras))
    judge(name, rate, known?.extras[name as keyof Rates["extras"]] ?? null, true);
  judge("thinking", rates.thinking, known?.thinking ?? known?.output ?? null);
  judge("perRequest", rates.perRequest, known?.perRequest ?? null, true);
  return problems;
}
