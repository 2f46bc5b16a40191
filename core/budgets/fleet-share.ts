import type { Millis } from "../values/time.ts";

/** How long the last known spend of other machines counts, in milliseconds. Source: docs/specification.md#fleet-budgets. */
export const FLEET_HOLD_MS = 86_400_000;

/** What a cloud stated about the spend of a fleet budget, in the unit of its amount, and where the budget is set. */
export interface FleetShare {
  /** The name of the workspace. */
  readonly workspace: string;
  /** The page where its administrators change the budget. */
  readonly address: string;
  /** What the budget is for: workspace, project, person or machine. */
  readonly subject: string;
  /** The start of the period that the amounts are of. */
  readonly from: Millis;
  /** What other machines used. */
  readonly elsewhere: bigint;
  /** What this machine used, as far as the cloud knows. */
  readonly here: bigint;
  /** When this machine received the statement, by its own clock. */
  readonly statedAt: Millis;
}

/**
 * Returns what a budget has used. `own` is the sum of the records on this machine. The records of a machine are either
 * in its own sum or in that of other machines, so none counts twice. The larger of this machine's two sums counts: the
 * cloud still has records that were deleted here, and this machine has records that are not sent yet.
 *
 * A statement about another period, or one that is too old, does not count.
 */
export function totalUsed(
  { fleet }: { readonly fleet?: FleetShare },
  own: bigint,
  from: Millis,
  now: Millis,
): bigint {
  if (fleet === undefined || fleet.from !== from || isOutdated(fleet, now)) return own;
  return fleet.elsewhere + (own > fleet.here ? own : fleet.here);
}

/** Whether a statement is too old to decide by. The clock may have been set back since it was received. */
export const isOutdated = ({ statedAt }: FleetShare, now: Millis): boolean =>
  Math.abs(now - statedAt) > FLEET_HOLD_MS;
