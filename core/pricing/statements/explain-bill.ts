import type { CalendarDate } from "../../values/time.ts";
import { addDays } from "../../values/zone.ts";
import { divideHalfEven } from "../decimal.ts";
import { magnitude } from "../reconcile/variance.ts";
import { billModelOf } from "./bill-model.ts";
import type { BilledTier, BilledUsage, BillRow } from "./bill-rows.ts";
import type { OwnUsage } from "./own-usage.ts";
import { type PartCounts, type StatementFormat, TOKEN_PARTS, type TokenPart } from "./statement-line.ts";

/**
 * Why a statement and our records differ. Each is a fact about this day and model:
 * - `credit`, `tax`: lines that bill no call.
 * - `before_first_record`: the day is before the first call that the meter saw.
 * - `not_on_statement`: our calls of a service tier that the provider leaves out of this statement.
 * - `tier_not_here`: lines of a service tier (batch, priority, flex) of which no call is recorded here.
 * - `unknown_billing`: calls here for which it is unknown who pays; their cost or tokens are the difference.
 * - `unpriced`: calls here without a price, with the same tokens on both sides.
 * - `estimated`, `incomplete`: calls here whose tokens are the meter's own count, or were cut off.
 * - `rate`: the same tokens at another rate.
 * - `calls_not_here`: tokens or a model of which no call is recorded here: of other machines, or not through the meter.
 * - `calls_only_here`: tokens that are recorded here and not on the statement.
 * - `midnight`: calls that began before midnight (UTC) and ended after; the statement has them on the next day.
 * - `rounding`: less than the statement's lines may be rounded by.
 */
export type BillReasonKind =
  | "credit"
  | "tax"
  | "before_first_record"
  | "not_on_statement"
  | "tier_not_here"
  | "unknown_billing"
  | "unpriced"
  | "estimated"
  | "incomplete"
  | "rate"
  | "calls_not_here"
  | "calls_only_here"
  | "midnight"
  | "rounding";

/** One reason of a difference, or a fact that may be one. */
export interface BillReason {
  readonly kind: BillReasonKind;
  /** Its part of the difference. Null for a fact whose part is not known. */
  readonly picoUsd: bigint | null;
  readonly requests?: number;
  readonly tokens?: bigint;
  readonly part?: TokenPart;
  readonly tier?: string;
  /** Rates in micro-USD per million tokens, which is pico-USD per token. */
  readonly billedRate?: bigint;
  readonly ownRate?: bigint;
}

/** A row with its difference and the reasons. `unknownPicoUsd` is the part without a reason. */
export interface ComparedRow extends BillRow {
  /** The statement's cost minus ours. Null if the statement states no cost. */
  readonly differencePicoUsd: bigint | null;
  readonly reasons: readonly BillReason[];
  readonly unknownPicoUsd: bigint;
}

/** What the comparison knows beside the rows. */
export interface BillFacts {
  readonly format: Pick<StatementFormat, "omittedTiers">;
  /** The day of the first call through the meter to this provider; null if there is none. */
  readonly firstDay: CalendarDate | null;
  /** Whether the statement states costs. */
  readonly hasCosts: boolean;
  /** The smallest unit of the statement's amounts, in pico-USD. */
  readonly unitPicoUsd: bigint;
}

/** The reasons so far, the difference that is left, and what of the statement is left to compare. */
interface Explaining {
  readonly reasons: BillReason[];
  left: bigint;
  billed: BilledUsage | null;
  /** Whether nothing else can be said of the row. */
  isDone: boolean;
  /** Whether the statement leaves some of our calls out, so that rates can't be compared. */
  isPartial: boolean;
}

/** Compares the rows and finds the reasons of each difference. */
export function explainRows(rows: readonly BillRow[], facts: BillFacts): ComparedRow[] {
  const states = rows.map((row) => beginRow(row, facts));
  moveOverMidnight(rows, states, facts);
  return rows.map((row, index) => {
    const state = states[index]!;
    if (!state.isDone) explainUsage(row, state, facts);
    return finishRow(row, state, facts);
  });
}

/** Takes what needs no comparison of usage. */
function beginRow({ date, billed, own }: BillRow, facts: BillFacts): Explaining {
  const left = (billed?.costPicoUsd ?? 0n) - (own?.costPicoUsd ?? 0n);
  const state: Explaining = { reasons: [], left, billed, isDone: false, isPartial: false };
  if (billed !== null) {
    if (billed.credits !== 0n) take(state, { kind: "credit", picoUsd: billed.credits });
    if (billed.taxes !== 0n) take(state, { kind: "tax", picoUsd: billed.taxes });
  }
  if (facts.firstDay === null || date < facts.firstDay) {
    if (state.left !== 0n || (!facts.hasCosts && hasTokens(billed)))
      take(state, { kind: "before_first_record", picoUsd: state.left });
    return { ...state, isDone: true };
  }
  takeTiers(state, own, facts);
  if (own !== null) takeUnknownBilling(state, own, facts);
  return state;
}

/** Compares what is left of both sides. */
function explainUsage({ kind, own }: BillRow, state: Explaining, facts: BillFacts): void {
  const { billed } = state;
  if (own === null) {
    if (state.left !== 0n || (!facts.hasCosts && hasTokens(billed)))
      take(state, { kind: "calls_not_here", picoUsd: state.left, ...statedRequests(billed) });
  } else if (billed === null) {
    if (state.left !== 0n)
      take(state, { kind: "calls_only_here", picoUsd: state.left, requests: own.requests });
  } else if (!facts.hasCosts || magnitude(state.left) > roundingOf(billed, facts)) {
    if (kind === "model") takeTokens(state, billed, own, facts);
    else noteDoubts(state, own);
  }
}

function take(state: Explaining, reason: BillReason): void {
  state.reasons.push(reason);
  state.left -= reason.picoUsd ?? 0n;
}

const statedRequests = (billed: BilledUsage | null) =>
  typeof billed?.requests === "number" ? { requests: billed.requests } : {};

const hasTokens = (billed: BilledUsage | null) =>
  Object.values({ ...billed?.tokens }).some((count) => count > 0n);

/** The most by which the statement's rounded lines can differ from exact ones. */
const roundingOf = (billed: BilledUsage | null, { unitPicoUsd }: BillFacts) =>
  (BigInt(billed?.costLines ?? 0) * unitPicoUsd) / 2n;

function takeTiers(state: Explaining, own: OwnUsage | null, { format }: BillFacts): void {
  for (const tier of format.omittedTiers) {
    const share = own?.tiers.get(tier);
    if (share === undefined) continue;
    state.isPartial = true;
    take(state, { kind: "not_on_statement", picoUsd: -share.costPicoUsd, tier, requests: share.requests });
  }
  if (own === null || state.billed === null) return;
  for (const [tier, sums] of state.billed.tiers) {
    if (own.tiers.has(tier) || format.omittedTiers.includes(tier)) continue;
    if (sums.costPicoUsd === 0n && Object.values(sums.tokens).every((count) => count === 0n)) continue;
    take(state, { kind: "tier_not_here", picoUsd: sums.costPicoUsd, tier });
    state.billed = withoutTier(state.billed, sums);
  }
}

function withoutTier(billed: BilledUsage, { tokens, partCosts }: BilledTier): BilledUsage {
  const rest = (from: PartCounts, less: PartCounts): PartCounts =>
    Object.fromEntries(
      Object.entries(from).map(([part, sum]) => [part, sum - (less[part as TokenPart] ?? 0n)]),
    );
  return {
    ...billed,
    tokens: rest(billed.tokens, tokens),
    partCosts: rest(billed.partCosts, partCosts),
  };
}

/** Calls with unknown billing explain a difference that equals their cost. */
function takeUnknownBilling(state: Explaining, own: OwnUsage, facts: BillFacts): void {
  const unknown = own.apart.get("unknown");
  if (unknown === undefined || state.left === 0n) return;
  const isAll =
    unknown.costPicoUsd > 0n &&
    magnitude(state.left - unknown.costPicoUsd) <= roundingOf(state.billed, facts);
  take(state, {
    kind: "unknown_billing",
    picoUsd: isAll ? unknown.costPicoUsd : null,
    requests: unknown.requests,
  });
}

/** Explains a difference by the tokens of both sides, if the statement states them. */
function takeTokens(state: Explaining, billed: BilledUsage, own: OwnUsage, facts: BillFacts): void {
  const parts = TOKEN_PARTS.filter((part) => billed.tokens[part] !== undefined);
  const differing = parts.filter((part) => billed.tokens[part] !== own.tokens[part]);
  if (differing.length === 0 && parts.length > 0) {
    if (!state.isPartial) takePrices(state, billed, own, parts, facts);
    return;
  }
  takeRequests(state, billed, own);
  if (parts.length === 0) return noteDoubts(state, own);
  const isDoubtful = own.estimated > 0 || own.incomplete > 0 || own.unpriced > 0;
  if (isDoubtful) noteDoubts(state, own);
  for (const part of differing) {
    const more = billed.tokens[part]! - own.tokens[part];
    const rate = rateOf(own.partCosts[part], own.tokens[part]);
    const kind = more > 0n ? "calls_not_here" : "calls_only_here";
    // Without doubt about our own counts, tokens that only one side has are of calls that only one side has.
    const picoUsd = isDoubtful || !billed.hasCost ? null : costOfExcess(part, more, rate, billed, own);
    take(state, { kind, picoUsd, part, tokens: magnitude(more) });
  }
}

/** States a difference of requests, whose cost is not known. */
function takeRequests(state: Explaining, billed: BilledUsage, own: OwnUsage): void {
  if (billed.requests === null || billed.requests === own.requests) return;
  const more = billed.requests - own.requests;
  const kind = more > 0 ? "calls_not_here" : "calls_only_here";
  take(state, { kind, picoUsd: null, requests: Math.abs(more) });
}

/** The cost of the tokens by which one side exceeds the other: at our rate, or as billed if we recorded none. */
function costOfExcess(
  part: TokenPart,
  more: bigint,
  rate: bigint | null,
  billed: BilledUsage,
  own: OwnUsage,
): bigint | null {
  if (own.tokens[part] === 0n) return billed.partCosts[part] ?? null;
  return rate === null ? null : more * rate;
}

/** Explains a difference of equal tokens: calls without a price, or other rates. */
function takePrices(
  state: Explaining,
  billed: BilledUsage,
  own: OwnUsage,
  parts: readonly TokenPart[],
  facts: BillFacts,
): void {
  if (!billed.hasCost) return;
  if (own.unpriced > 0) return take(state, { kind: "unpriced", picoUsd: state.left, requests: own.unpriced });
  for (const part of parts) {
    const [cost, ownCost, count] = [billed.partCosts[part], own.partCosts[part], own.tokens[part]];
    if (cost === undefined || ownCost === undefined || count === 0n) continue;
    if (magnitude(cost - ownCost) <= facts.unitPicoUsd) continue;
    take(state, {
      kind: "rate",
      picoUsd: cost - ownCost,
      part,
      billedRate: divideHalfEven(cost, count),
      ownRate: divideHalfEven(ownCost, count),
    });
  }
  if (magnitude(state.left) > roundingOf(billed, facts) && billed.otherCost !== 0n)
    take(state, { kind: "rate", picoUsd: state.left });
}

/** States what makes our own counts uncertain. */
function noteDoubts(state: Explaining, own: OwnUsage): void {
  for (const kind of ["unpriced", "estimated", "incomplete"] as const)
    if (own[kind] > 0) take(state, { kind, picoUsd: null, requests: own[kind] });
}

/** The rate of equal tokens, if it is a whole number of pico-USD per token. */
function rateOf(cost: bigint | undefined, tokens: bigint): bigint | null {
  return cost !== undefined && tokens > 0n && cost % tokens === 0n ? cost / tokens : null;
}

/** Finds calls that one side counts on the day they began and the other on the day they ended. */
function moveOverMidnight(rows: readonly BillRow[], states: readonly Explaining[], facts: BillFacts): void {
  const byDay = new Map(
    rows.map(({ date, kind, model }, index) => [`${date} ${kind} ${billModelOf(model)}`, index]),
  );
  for (const [index, { date, kind, model, own }] of rows.entries()) {
    const share = own?.pastMidnight;
    if (share === undefined || share.costPicoUsd === 0n) continue;
    const next = states[byDay.get(`${addDays(date, 1)} ${kind} ${billModelOf(model)}`) ?? -1];
    const state = states[index]!;
    if (next === undefined || state.isDone) continue;
    const isMoved =
      magnitude(state.left + share.costPicoUsd) <= roundingOf(state.billed, facts) &&
      magnitude(next.left - share.costPicoUsd) <= roundingOf(next.billed, facts);
    if (!isMoved) continue;
    const { costPicoUsd, requests } = share;
    take(state, { kind: "midnight", picoUsd: -costPicoUsd, requests });
    take(next, { kind: "midnight", picoUsd: costPicoUsd, requests });
  }
}

function finishRow(row: BillRow, state: Explaining, facts: BillFacts): ComparedRow {
  if (!facts.hasCosts)
    return { ...row, differencePicoUsd: null, reasons: withoutAmounts(state.reasons), unknownPicoUsd: 0n };
  if (state.left !== 0n && magnitude(state.left) <= roundingOf(row.billed, facts))
    take(state, { kind: "rounding", picoUsd: state.left });
  return {
    ...row,
    differencePicoUsd: (row.billed?.costPicoUsd ?? 0n) - (row.own?.costPicoUsd ?? 0n),
    reasons: state.reasons,
    unknownPicoUsd: state.left,
  };
}

/** A statement of usage has no amounts, so that reasons state tokens only. */
const withoutAmounts = (reasons: readonly BillReason[]) =>
  reasons.map((reason) => ({ ...reason, picoUsd: null }));
