import { formatQuantity } from "../values/text/format-quantity.ts";

/** Why a budget could not decide on a call. Each text completes `2 calls …`. */
const REASONS = {
  late: "without a decision within 5 ms",
  caller: "whose caller was not found within 5 ms",
  request: "whose request did not state in time what the budget counts",
  records: "while its records could not be read",
  bound: "without a bound to reserve for",
  fleet: "while the spend of other machines was not known",
} as const;

/** Why a budget could not decide on a call, which was therefore sent. */
export type LetThroughReason = keyof typeof REASONS;

/** A budget that could not decide on a call. */
export interface LetThrough {
  readonly budget: string;
  readonly reason: LetThroughReason;
}

/** How many calls a budget could not decide on, by reason. */
export type LetThroughCounts = { readonly [Reason in LetThroughReason]?: number };

/** Adds a call to the counts. */
export const countLetThrough = (counts: LetThroughCounts, reason: LetThroughReason): LetThroughCounts => ({
  ...counts,
  [reason]: (counts[reason] ?? 0) + 1,
});

/** Describes counts: `2 calls whose caller was not found within 5 ms, 1 call without a decision within 5 ms`. Empty if all are 0. */
export function describeLetThrough(counts: LetThroughCounts): string {
  const reasons = Object.keys(REASONS) as LetThroughReason[];
  return reasons
    .flatMap((reason) => {
      const count = counts[reason] ?? 0;
      return count === 0 ? [] : [`${formatQuantity(count, "call")} ${REASONS[reason]}`];
    })
    .join(", ");
}

/** Describes the total of all budgets. `early` of the calls were sent before the budgets were read. */
export function describeLetThroughTotal(calls: number, early: number): string {
  const were = calls === 1 ? "was" : "were";
  const before =
    early === 0
      ? ""
      : `, ${early === calls ? "" : `${formatQuantity(early, "call")} of them `}before the budgets were read`;
  return `${formatQuantity(calls, "call")} ${were} sent since the daemon started because a budget could not decide${before}.`;
}
