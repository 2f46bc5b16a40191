import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import type { Period, Turn } from "./port/values.ts";
import { SLOT_MS } from "./rollup-definition.ts";
import { inUsageSnapshot, partsOf } from "./usage-parts.ts";
import { findDays, findSeqBounds, type Selection, type Span } from "./usage-sums.ts";

/** A half-open range of `requests.seq`. */
export interface SeqRange {
  readonly from: number;
  readonly to: number;
}

/** How many numbers a range has, and a block: ranges consist of blocks that have a request of the selection. */
export interface RangeSizes {
  readonly sliceRows: number;
  readonly blockRows: number;
}

/**
 * Returns ranges before a `seq` that contain every request of the selection and period, in falling order. Without rollups these are
 * all ranges.
 */
export async function findRanges(
  connection: SqliteConnection,
  { from, to }: Period,
  selection: Selection,
  before: number,
  { sliceRows, blockRows }: RangeSizes,
  turn: Turn,
): Promise<SeqRange[]> {
  const last = Math.floor((before - 1) / blockRows);
  const blocks = new Set<number>();
  const addRange = (first: number, end: number) => {
    for (let block = Math.floor(first / blockRows); block <= Math.floor(end / blockRows); block += 1)
      if (block <= last) blocks.add(block);
  };
  const span: Span = { from: from ?? Number.NEGATIVE_INFINITY, to: to ?? Number.POSITIVE_INFINITY };
  const spans = inUsageSnapshot(connection, (usage) => {
    if (usage.latest === null) return null;
    addRange(usage.latest.afterSeq, last * blockRows);
    return partsOf(usage, span).flatMap((part) =>
      part.kind === "days" ? findDays(connection, part, selection) : [part],
    );
  });
  if (spans === null) addRange(0, before);
  for (const each of spans ?? []) {
    for (const { first, end } of findSeqBounds(connection, wholeSlots(each), selection)) addRange(first, end);
    await turn();
  }
  return mergeBlocks(
    [...blocks].sort((one, other) => other - one),
    before,
    { sliceRows, blockRows },
  );
}

/** The slots that the span touches. */
function wholeSlots({ from, to }: Span): Span {
  const round = (at: Millis, up: (slots: number) => number) =>
    Number.isFinite(at) ? up(at / SLOT_MS) * SLOT_MS : at;
  return { from: round(from, Math.floor), to: round(to, Math.ceil) };
}

/** Joins adjacent blocks. The latest block is first. */
function mergeBlocks(
  blocks: readonly number[],
  before: number,
  { sliceRows, blockRows }: RangeSizes,
): SeqRange[] {
  const ranges: SeqRange[] = [];
  for (const block of blocks) {
    const [from, to] = [block * blockRows, Math.min((block + 1) * blockRows, before)];
    const last = ranges.at(-1);
    if (last?.from === to && last.to - from < sliceRows + blockRows)
      ranges[ranges.length - 1] = { from, to: last.to };
    else ranges.push({ from, to });
  }
  return ranges;
}
