import type { CalendarDate } from "../../values/time.ts";
import { magnitude } from "../reconcile/variance.ts";
import { type BilledDays, pairRows } from "./bill-rows.ts";
import { type ComparedRow, explainRows } from "./explain-bill.ts";
import type { OwnDays } from "./own-usage.ts";
import type { StatementFormat } from "./statement-line.ts";

/** A statement compared with our records. Costs are in pico-USD; differences are the statement's cost minus ours. */
export interface BillComparison {
  /** All days and models of either side, in order. */
  readonly rows: readonly ComparedRow[];
  /** Null if the statement states no cost. */
  readonly billedPicoUsd: bigint | null;
  readonly ownPicoUsd: bigint;
  /** The sum of the differences whose reason is known, and of those without a known reason, each without its sign. */
  readonly explainedPicoUsd: bigint;
  readonly unknownPicoUsd: bigint;
  /** Rows that agree exactly, or to the statement's rounding. */
  readonly agreeing: number;
}

/** Compares a statement with our records by day and model. */
export function compareBill(
  billed: BilledDays,
  own: OwnDays,
  format: StatementFormat,
  firstDay: CalendarDate | null,
): BillComparison {
  const hasCosts = format.states !== "usage";
  const facts = { format, firstDay, hasCosts, unitPicoUsd: billed.unitPicoUsd ?? 1n };
  const rows = explainRows(pairRows(billed, own, format.hasFeesApart && hasCosts), facts);
  const sum = (of: (row: ComparedRow) => bigint) => rows.reduce((total, row) => total + of(row), 0n);
  return {
    rows,
    billedPicoUsd: hasCosts ? sum(({ billed }) => billed?.costPicoUsd ?? 0n) : null,
    ownPicoUsd: sum(({ own }) => own?.costPicoUsd ?? 0n),
    explainedPicoUsd: sum(({ reasons }) =>
      reasons.reduce((total, { picoUsd }) => total + magnitude(picoUsd ?? 0n), 0n),
    ),
    unknownPicoUsd: sum(({ unknownPicoUsd }) => magnitude(unknownPicoUsd)),
    agreeing: rows.filter(isAgreeing).length,
  };
}

/** Whether a row differs by nothing but rounding. */
export function isAgreeing({ reasons, unknownPicoUsd }: ComparedRow): boolean {
  return unknownPicoUsd === 0n && reasons.every(({ kind }) => kind === "rounding");
}
