import type { Millis } from "../values/time.ts";
import type { ActiveBudget, BookedCall, CallFacts, CallUse } from "./budget.ts";
import type { PeriodBounds } from "./budget-period.ts";
import type { FiredWarning, SumPart } from "./budget-state.ts";

/** A sum of the stored records, with the warnings that were stored. */
export interface LoadedSum {
  /** The session, or empty. */
  readonly key: string;
  readonly parts: readonly SumPart[];
  readonly fired: readonly FiredWarning[];
  /** When the latest call of the session began. Absent: its parts say it. */
  readonly lastAt?: Millis;
}

/** The events of the machine. */
export type BudgetEvent =
  /** All budgets, after a start and each change. */
  | { readonly kind: "budgets_set"; readonly budgets: readonly ActiveBudget[] }
  /** The answer to `load_sums`: all sums of a budget, or the one of its key. */
  | {
      readonly kind: "sums_loaded";
      readonly budget: string;
      readonly key: string | null;
      readonly sums: readonly LoadedSum[];
    }
  /** The records can't be read, or were changed by another program. */
  | { readonly kind: "sums_lost" }
  /** Records were stored, changed (removed as they were, added as they are) or deleted. */
  | {
      readonly kind: "calls_booked";
      readonly added: readonly BookedCall[];
      readonly removed: readonly BookedCall[];
    }
  /** A call is about to be decided. */
  | { readonly kind: "call_asked"; readonly facts: CallFacts }
  | {
      readonly kind: "call_admitted";
      readonly call: string;
      readonly facts: CallFacts;
      /** The most that it can use. */
      readonly bound: CallUse;
    }
  | { readonly kind: "call_refused"; readonly budget: string; readonly facts: CallFacts }
  /** The call has its record, or will have none. Repeatable. */
  | { readonly kind: "call_ended"; readonly call: string }
  /** The proxy started again, so no call is in flight. */
  | { readonly kind: "calls_lost" }
  /** Some time has passed: at least every minute. */
  | { readonly kind: "time_passed" };

/** The effects that the driver performs. */
export type BudgetEffect =
  /** Read the sums from the records: all of the budget's, or the one of the key. */
  | {
      readonly kind: "load_sums";
      readonly budget: string;
      readonly key: string | null;
      readonly from: Millis;
    }
  /** Store that the warning was given, then give it. `threshold` is in percent. */
  | {
      readonly kind: "warn";
      readonly budget: string;
      readonly key: string;
      readonly threshold: number;
      readonly limit: bigint;
      readonly used: bigint;
      readonly bounds: PeriodBounds;
    }
  /** The same for the forecast: the amount lasts until `goneAt`, which is before the period's end. */
  | {
      readonly kind: "warn_forecast";
      readonly budget: string;
      readonly key: string;
      readonly limit: bigint;
      readonly used: bigint;
      readonly bounds: PeriodBounds;
      readonly goneAt: Millis;
    }
  /** Store that a rate guard stops its calls, then give the warning. */
  | {
      readonly kind: "trip_guard";
      readonly budget: string;
      readonly key: string;
      readonly limit: bigint;
      readonly used: bigint;
      readonly until: Millis;
    }
  | { readonly kind: "end_lift"; readonly budget: string };
