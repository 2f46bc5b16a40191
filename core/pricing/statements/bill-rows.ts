import type { CalendarDate } from "../../values/time.ts";
import { emptyUsage, type OwnDays, type OwnUsage, rowKey } from "./own-usage.ts";
import type { PartCounts, StatementFormat, StatementLine, TokenPart } from "./statement-line.ts";

/** What the statement has for one model and one day. */
export interface BilledUsage {
  date: CalendarDate;
  /** The model as the statement names it. Null for fees, credits and taxes, and for a statement without models. */
  model: string | null;
  /** Whether the statement states a cost. */
  hasCost: boolean;
  costPicoUsd: bigint;
  tokens: PartCounts;
  partCosts: Partial<Record<TokenPart, bigint>>;
  /** The cost of lines that name no kind of tokens. */
  otherCost: bigint;
  /** Null if the statement states none. */
  requests: number | null;
  /** The parts of the sums above by service tier, without standard ones. */
  tiers: Map<string, BilledTier>;
  credits: bigint;
  taxes: bigint;
  fees: bigint;
  /** The lines with a cost that is not zero, each of which may be rounded. */
  costLines: number;
}

/** What the statement bills at one service tier. */
export interface BilledTier {
  costPicoUsd: bigint;
  tokens: PartCounts;
  partCosts: Partial<Record<TokenPart, bigint>>;
}

/** What the statement and our records have for one model and one day. Each side may be absent. */
export interface BillRow {
  readonly date: CalendarDate;
  readonly model: string;
  readonly billed: BilledUsage | null;
  readonly own: OwnUsage | null;
  readonly kind: "model" | "day" | "fees";
}

/** A statement's lines, summed by day and model. */
export interface BilledDays {
  readonly rows: Map<string, BilledUsage>;
  /** Days with a cost that names neither a model nor anything else. They are compared as a whole. */
  readonly wholeDays: Set<CalendarDate>;
  /** The unit of the amounts, in pico-USD: the format's, or less if an amount has more decimals. Null: no cost yet. */
  unitPicoUsd: bigint | null;
  readonly keys: Map<string, { costPicoUsd: bigint; tokens: bigint; hasCost: boolean }>;
}

export const createBilledDays = (): BilledDays => ({
  rows: new Map(),
  wholeDays: new Set(),
  unitPicoUsd: null,
  keys: new Map(),
});

const emptyBilled = (date: CalendarDate, model: string | null): BilledUsage => ({
  date,
  model,
  hasCost: false,
  costPicoUsd: 0n,
  tokens: {},
  partCosts: {},
  otherCost: 0n,
  requests: null,
  tiers: new Map(),
  credits: 0n,
  taxes: 0n,
  fees: 0n,
  costLines: 0,
});

/** The most keys that are listed. A hostile statement may have one for each line. */
const MAX_KEYS = 1_000;

/** Adds a line of a statement. */
export function addBilledLine(
  days: BilledDays,
  line: StatementLine,
  format: Pick<StatementFormat, "unitPicoUsd">,
): void {
  const key = rowKey(line.date, line.model);
  const billed = days.rows.get(key) ?? emptyBilled(line.date, line.model);
  days.rows.set(key, billed);
  if (line.kind === "usage" && line.model === null && line.costPicoUsd !== null)
    days.wholeDays.add(line.date);
  addTo(billed, line);
  if (line.costPicoUsd !== null) {
    days.unitPicoUsd ??= format.unitPicoUsd;
    while (line.costPicoUsd % days.unitPicoUsd !== 0n) days.unitPicoUsd /= 10n;
  }
  if (line.key === null || (!days.keys.has(line.key) && days.keys.size >= MAX_KEYS)) return;
  const sums = days.keys.get(line.key) ?? { costPicoUsd: 0n, tokens: 0n, hasCost: false };
  days.keys.set(line.key, sums);
  sums.hasCost ||= line.costPicoUsd !== null;
  sums.costPicoUsd += line.costPicoUsd ?? 0n;
  for (const count of Object.values(line.tokens)) sums.tokens += count;
}

function addTo(billed: BilledUsage, { kind, part, tier, costPicoUsd, tokens, requests }: StatementLine) {
  if (requests !== null) billed.requests = (billed.requests ?? 0) + requests;
  const tierSums = kind === "usage" && tier !== null ? tierOf(billed, tier) : null;
  for (const sums of tierSums === null ? [billed] : [billed, tierSums]) {
    for (const [name, count] of Object.entries(tokens) as [TokenPart, bigint][])
      sums.tokens[name] = (sums.tokens[name] ?? 0n) + count;
    sums.costPicoUsd += costPicoUsd ?? 0n;
    if (kind === "usage" && part !== null && costPicoUsd !== null)
      sums.partCosts[part] = (sums.partCosts[part] ?? 0n) + costPicoUsd;
  }
  if (costPicoUsd === null) return;
  billed.hasCost = true;
  if (costPicoUsd !== 0n) billed.costLines++;
  if (kind === "credit") billed.credits += costPicoUsd;
  else if (kind === "tax") billed.taxes += costPicoUsd;
  else if (kind === "fee") billed.fees += costPicoUsd;
  else if (part === null) billed.otherCost += costPicoUsd;
}

function tierOf({ tiers }: BilledUsage, tier: string): BilledTier {
  const sums = tiers.get(tier) ?? { costPicoUsd: 0n, tokens: {}, partCosts: {} };
  tiers.set(tier, sums);
  return sums;
}

/**
 * Pairs the rows of both sides, in order of day and model. Fees that the statement lists separately are subtracted from
 * our models.
 */
export function pairRows(billed: BilledDays, own: OwnDays, hasFeesApart: boolean): BillRow[] {
  const keys = [...new Set([...billed.rows.keys(), ...own.keys()])].sort();
  const rows: BillRow[] = [];
  const ownFees = new Map<CalendarDate, bigint>();
  for (const key of keys) {
    const [theirs, ours] = [billed.rows.get(key) ?? null, own.get(key) ?? null];
    const date = (theirs ?? ours)!.date;
    if (billed.wholeDays.has(date)) continue;
    if (hasFeesApart && ours !== null) ownFees.set(date, (ownFees.get(date) ?? 0n) + ours.fees);
    if (theirs !== null && theirs.model === null) continue;
    rows.push({
      date,
      kind: "model",
      model: ours?.model ?? theirs!.model!,
      billed: theirs,
      own: ours === null || !hasFeesApart ? ours : { ...ours, costPicoUsd: ours.costPicoUsd - ours.fees },
    });
  }
  for (const date of new Set([...ownFees.keys(), ...[...billed.rows.values()].map((row) => row.date)])) {
    if (billed.wholeDays.has(date)) rows.push(wholeDay(date, billed, own));
    else pushFees(rows, date, billed.rows.get(rowKey(date, null)) ?? null, ownFees.get(date) ?? 0n);
  }
  return rows.sort((a, b) => compareTexts(a.date, b.date) || compareTexts(a.model, b.model));
}

const compareTexts = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1);

function pushFees(rows: BillRow[], date: CalendarDate, billed: BilledUsage | null, fees: bigint): void {
  if (billed === null && fees === 0n) return;
  const own = fees === 0n ? null : sumOwn(date, "(fees)", [], fees);
  rows.push({ date, kind: "fees", model: "(fees)", billed, own });
}

function wholeDay(date: CalendarDate, { rows }: BilledDays, own: OwnDays): BillRow {
  const sum = emptyBilled(date, null);
  for (const row of rows.values()) {
    if (row.date !== date) continue;
    sum.hasCost ||= row.hasCost;
    for (const name of ["costPicoUsd", "credits", "taxes", "fees", "otherCost"] as const)
      sum[name] += row[name];
    sum.costLines += row.costLines;
    for (const [tier, { costPicoUsd }] of row.tiers) tierOf(sum, tier).costPicoUsd += costPicoUsd;
  }
  const ours = [...own.values()].filter((usage) => usage.date === date);
  return {
    date,
    kind: "day",
    model: "(all models)",
    billed: sum,
    own: ours.length === 0 ? null : sumOwn(date, "(all models)", ours, 0n),
  };
}

/** Sums our models of a day as far as a comparison without models needs it. */
function sumOwn(date: CalendarDate, model: string, rows: readonly OwnUsage[], fees: bigint): OwnUsage {
  const total = (name: "requests" | "unpriced" | "estimated" | "incomplete") =>
    rows.reduce((sum, row) => sum + row[name], 0);
  const tiers: OwnUsage["tiers"] = new Map();
  const apart: OwnUsage["apart"] = new Map();
  const add = <Name>(into: Map<Name, { requests: number; costPicoUsd: bigint }>, from: typeof into) => {
    for (const [name, { requests, costPicoUsd }] of from) {
      const before = into.get(name) ?? { requests: 0, costPicoUsd: 0n };
      into.set(name, {
        requests: before.requests + requests,
        costPicoUsd: before.costPicoUsd + costPicoUsd,
      });
    }
  };
  for (const row of rows) {
    add(tiers, row.tiers);
    add(apart, row.apart);
  }
  return {
    ...emptyUsage(date, model),
    ...{ tiers, apart, fees },
    requests: total("requests"),
    costPicoUsd: fees + rows.reduce((sum, row) => sum + row.costPicoUsd, 0n),
    unpriced: total("unpriced"),
    estimated: total("estimated"),
    incomplete: total("incomplete"),
    pastMidnight: rows.reduce(
      (sum, { pastMidnight }) => ({
        requests: sum.requests + pastMidnight.requests,
        costPicoUsd: sum.costPicoUsd + pastMidnight.costPicoUsd,
      }),
      { requests: 0, costPicoUsd: 0n },
    ),
  };
}
