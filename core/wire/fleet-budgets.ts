import * as v from "valibot";
import { costSum, count, identifier, instant, integer, maybe, name, text } from "./fields.ts";

const subject = v.picklist(
  ["workspace", "project", "person", "machine"],
  "must be workspace, project, person or machine",
);

/** The terms of a fleet budget, as `config.toml` states those of a budget. The cloud parses them further. */
const terms = {
  /** With its unit: `25 USD`, `2M tokens`, `500 requests`. */
  amount: name(64),
  /** hour, day, week, month or total. */
  period: v.optional(name(32)),
  /** Of a calendar period. Default: the workspace's zone. */
  zone: maybe(name(64)),
  /** In percent. */
  thresholds: v.optional(v.array(count)),
  at_limit: v.optional(v.picklist(["warn", "block"], "must be warn or block")),
  reserve: v.optional(v.boolean()),
  fail: v.optional(v.picklist(["open", "closed"], "must be open or closed")),
};

/** The request of `POST …/budgets`. */
export const newFleetBudgetSchema = v.object({
  name: name(64),
  subject,
  /** The project, the id of the person or that of the machine; null for the workspace. */
  target: maybe(name(256)),
  ...terms,
});

/** The response of `POST …/budgets`. */
export const fleetBudgetCreatedSchema = v.object({ id: identifier });

/** The request of `PATCH …/budgets/:id`. It replaces all terms. The name and the subject stay. */
export const fleetBudgetTermsSchema = v.object(terms);
export type FleetBudgetTerms = v.InferOutput<typeof fleetBudgetTermsSchema>;

/** The longest lift, in minutes: 31 days. */
const MAX_LIFT_MINUTES = 44_640;

/** The request of `POST …/budgets/:id/lift`. */
export const liftFleetBudgetSchema = v.object({
  minutes: integer(1, MAX_LIFT_MINUTES),
  reason: maybe(text(500)),
});

const stated = {
  name: v.string(),
  subject: v.string(),
  target: maybe(v.string()),
  amount: v.string(),
  period: v.string(),
  zone: maybe(v.string()),
  thresholds: v.array(count),
  at_limit: v.string(),
  reserve: v.boolean(),
  fail: v.string(),
  paused: v.boolean(),
  lifted_until: maybe(instant),
  /** The start of the current period; 1970 for a total. */
  period_from: instant,
};

/** A fleet budget with its sum. Amounts are exact integers: pico-USD, tokens or requests. */
const fleetBudgetSchema = v.object({
  id: identifier,
  ...stated,
  /** The name of the person or machine; null if it is unknown. */
  target_name: maybe(v.string()),
  unit: v.string(),
  limit: costSum,
  spent: costSum,
  /** Rounded down. */
  used_percent: count,
  period_to: maybe(instant),
  calls: count,
  /** Calls without a known price, of a budget in USD. */
  unpriced_calls: count,
});
export type FleetBudget = v.InferOutput<typeof fleetBudgetSchema>;

/** The response of `GET …/budgets`: those that bind the caller; all for administrators. */
export const fleetBudgetsSchema = v.object({ items: v.array(fleetBudgetSchema) });

/**
 * The response of `GET /v1/daemon/budgets`: the budgets that bind the key's machine. Amounts are exact integers. A daemon leaves out a
 * budget whose terms it does not know.
 */
export const machineBudgetsSchema = v.object({
  budgets: v.array(
    v.object({
      ...stated,
      /** What the key's machine used in the period. */
      here: costSum,
      /** What all others used. */
      elsewhere: costSum,
    }),
  ),
});
export type MachineBudgets = v.InferOutput<typeof machineBudgetsSchema>;
