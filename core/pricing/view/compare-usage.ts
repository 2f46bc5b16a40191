import type { UsageAnswer } from "../../wire/usage.ts";
import { emptySums, sumsJson } from "./usage-sums.ts";

type Row = UsageAnswer["rows"][number];

/** A row or a cell. */
type Value = Pick<Row, "key" | "other_values" | "totals" | "compared">;

const NOTHING = sumsJson(emptySums());

/** Returns what distinguishes the values of one dimension. "Other" has the key of the unknown value. */
const nameOf = ({ key, other_values }: Value): string => JSON.stringify([key, other_values !== null]);

/** Returns values with the sums that they have in another period. Values that only the other period has come last. */
function joinValues<V extends Value>(values: readonly V[], before: readonly V[]): V[] {
  const names = new Set(values.map(nameOf));
  const earlier = new Map(before.map((value) => [nameOf(value), value]));
  return [
    ...values.map((value) => ({ ...value, compared: earlier.get(nameOf(value))?.totals ?? NOTHING })),
    ...before
      .filter((value) => !names.has(nameOf(value)))
      .map((value) => ({ ...value, totals: NOTHING, compared: value.totals })),
  ];
}

/**
 * Compares the rows of an answer with those of an answer to the same query for another period. A query itself compares with a period of
 * whole weeks before, which is never a month.
 */
export function compareUsage(answer: UsageAnswer, before: UsageAnswer): UsageAnswer {
  const cellsOf = ({ rows }: UsageAnswer) => new Map(rows.map((row) => [nameOf(row), row.cells]));
  const [cells, earlier] = [cellsOf(answer), cellsOf(before)];
  return {
    ...answer,
    compared_period: before.period,
    compared: before.totals,
    rows: joinValues(answer.rows, before.rows).map((row) => ({
      ...row,
      cells: joinValues(cells.get(nameOf(row)) ?? [], earlier.get(nameOf(row)) ?? []),
      series: cells.has(nameOf(row)) ? row.series : answer.buckets.map(() => "0"),
    })),
  };
}
