import type { CalendarDate, Millis } from "../../values/time.ts";
import type { PriceBook } from "../price-book.ts";
import type { RateRow } from "../rates.ts";
import { changedFields } from "./rate-changes.ts";

/**
 * Returns the stored rows after a pull from a public list. The list states only today's prices, so a changed price applies
 * from today, and the row before it stays for the days until then. The first price of a model without any applies to all
 * days: no other is known. A row whose price is the same only gets the new date.
 */
export function mergePulledRows(
  stored: readonly RateRow[],
  accepted: readonly RateRow[],
  book: PriceBook,
  today: CalendarDate,
  now: Millis,
): RateRow[] {
  const latest = new Map<string, RateRow>();
  const byStart = [...stored].sort((one, other) => (startText(one) < startText(other) ? -1 : 1));
  for (const row of byStart) latest.set(keyOf(row), row);
  const replaced = new Set<RateRow>();
  const added: RateRow[] = [];
  for (const row of accepted) {
    const before = latest.get(keyOf(row));
    const effectiveFrom = row.effectiveFrom ?? startOf(row, before, book, today, now);
    if (before !== undefined && before.effectiveFrom === effectiveFrom) replaced.add(before);
    added.push({ ...row, effectiveFrom });
  }
  return [...stored.filter((row) => !replaced.has(row)), ...added];
}

/** Returns the first day of a price if the list does not state it. */
function startOf(
  row: RateRow,
  before: RateRow | undefined,
  book: PriceBook,
  today: CalendarDate,
  now: Millis,
): CalendarDate | null {
  if (before !== undefined) return changedFields(before, row).length === 0 ? before.effectiveFrom : today;
  const { provider, model } = row;
  return book.findPublished({ provider, model, requestedModel: null, at: now }) === null ? null : today;
}

function keyOf({ provider, model, daily, origin }: RateRow): string {
  return JSON.stringify([provider, model.toLowerCase(), daily, origin?.name ?? null]);
}

const startText = ({ effectiveFrom }: RateRow) => effectiveFrom ?? "";
