import type { ActiveBudget, Budget } from "../../core/budgets/budget.ts";
import { forecastBudget } from "../../core/budgets/budget-forecast.ts";
import {
  type BudgetState,
  type BudgetSum,
  type BudgetsState,
  callsSince,
  currentBounds,
  EMPTY_SUM,
  findSum,
  inFlightSince,
  stoppedUntil,
  usedSince,
} from "../../core/budgets/budget-state.ts";
import { formatBudgetAmount, usedPercent } from "../../core/budgets/describe-budget.ts";
import { isOutdated, totalUsed } from "../../core/budgets/fleet-share.ts";
import type { LetThroughCounts } from "../../core/budgets/let-through.ts";
import { type BudgetInput, toBudgetInput } from "../../core/budgets/parse-budget.ts";
import { HOUR_MS, type Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";

/**
 * The states of a budget. `unknown`: its records could not be read. `outdated`: the spend of other machines has not been known for too
 * long.
 */
export const BUDGET_STATUSES = [
  "ok",
  "outdated",
  "warning",
  "exceeded",
  "paused",
  "lifted",
  "tripped",
  "unknown",
] as const;
export type BudgetStatus = (typeof BUDGET_STATUSES)[number];

/**
 * A budget as the loopback API and `meter budget list --json` show it. Times are ISO 8601 in UTC. Amounts are decimal texts: pico-USD,
 * tokens or requests. Null is unknown, or absent.
 */
export interface BudgetView {
  readonly name: string;
  /** Where it is set. */
  readonly source: "config.toml" | "command line" | "workspace";
  /** The budget as it is set. */
  readonly budget: BudgetInput;
  readonly unit: Budget["unit"];
  readonly status: BudgetStatus;
  readonly limit: string;
  readonly spent: string | null;
  readonly in_flight: string;
  readonly calls_in_flight: number;
  readonly used_percent: number | null;
  readonly calls: number | null;
  /** Calls that are not in `spent`, because their price, billing mode or tokens are not known. */
  readonly unknown_calls: number | null;
  readonly period_from: string | null;
  readonly period_to: string | null;
  /** When the amount is used up at the pace of the period, if that is before its end. */
  readonly gone_at: string | null;
  readonly lifted_until: string | null;
  readonly tripped_until: string | null;
  /** How many calls it could not decide on since the daemon's start, by reason. They were sent. */
  readonly let_through: LetThroughCounts;
  /** How many calls it has ended since the daemon's start. */
  readonly cut_calls: number;
  /** Of a budget that a workspace set. */
  readonly fleet: FleetView | null;
  /** The session with the largest sum, of a budget per session; the other members are about it. */
  readonly session: string | null;
}

/** What is known about a budget of a workspace. `spent` of the view is that of all machines. */
export interface FleetView {
  /** The name of the workspace. */
  readonly workspace: string;
  /** The page where its administrators change the budget. */
  readonly address: string;
  /** What the budget is for: workspace, project, person or machine. */
  readonly subject: string;
  /** What other machines used, as it was last stated. */
  readonly elsewhere: string;
  readonly stated_at: string;
}

/** A session that made no call for this time is not shown with its budget, because it may have ended. In milliseconds. */
export const SESSION_SHOWN_MS = HOUR_MS;

/** What `budgetViews()` shows beside the sums. */
export interface BudgetViewOptions {
  /** The budgets of the configuration, which tell where each budget comes from. None by default. */
  readonly configured?: readonly Budget[];
  /** The calls that each budget could not decide on, by its name. */
  readonly letThrough?: ReadonlyMap<string, LetThroughCounts>;
  /** How many calls each budget ended, by its name. */
  readonly cutCalls?: ReadonlyMap<string, number>;
  /** The session whose use of a budget per session is shown. By default, that of the last hour that used most. */
  readonly session?: string | null;
}

/** Returns the views of all budgets. */
export function budgetViews(
  state: BudgetsState,
  now: Millis,
  { configured = [], letThrough, cutCalls, session = null }: BudgetViewOptions = {},
): readonly BudgetView[] {
  return state.budgets.map((each) => ({
    ...toView(state, each, configured, now, session),
    let_through: letThrough?.get(each.active.budget.name) ?? {},
    cut_calls: cutCalls?.get(each.active.budget.name) ?? 0,
  }));
}

function toView(
  state: BudgetsState,
  each: BudgetState,
  configured: readonly Budget[],
  now: Millis,
  session: string | null,
): Omit<BudgetView, "let_through" | "cut_calls"> {
  const { budget, liftedUntil } = each.active;
  const bounds = currentBounds(each, now);
  const [key, sum] = shownSum(each, bounds.from, now, session);
  const spent = totalUsed(each.active, usedSince(sum, bounds.from, now), bounds.from, now);
  const { calls, unknown } = callsSince(sum, bounds.from, now);
  const goneAt = each.isKnown && spent < budget.limit ? forecastBudget(each, sum, now) : null;
  const stopped = stoppedUntil(budget, sum, now);
  const isGone = goneAt !== null && bounds.to !== null && goneAt < bounds.to;
  return {
    name: budget.name,
    source: sourceOf(each.active, configured),
    budget: toBudgetInput(budget),
    unit: budget.unit,
    status: statusOf(each, sum, spent, now),
    limit: `${budget.limit}`,
    spent: each.isKnown ? `${spent}` : null,
    in_flight: `${inFlightSince(state, each, key, sum, bounds.from)}`,
    calls_in_flight: sum.callsInFlight,
    used_percent: each.isKnown ? usedPercent(budget.limit, spent) : null,
    calls: each.isKnown ? calls : null,
    unknown_calls: each.isKnown ? unknown : null,
    period_from: bounds.from === 0 ? null : formatInstant(bounds.from),
    period_to: bounds.to === null ? null : formatInstant(bounds.to),
    gone_at: isGone ? formatInstant(goneAt) : null,
    lifted_until: liftedUntil !== null && liftedUntil > now ? formatInstant(liftedUntil) : null,
    tripped_until: stopped === null ? null : formatInstant(stopped),
    fleet: toFleetView(each.active),
    session: budget.period.kind === "session" && key !== "" ? key : null,
  };
}

function sourceOf({ budget, fleet }: ActiveBudget, configured: readonly Budget[]): BudgetView["source"] {
  if (fleet !== undefined) return "workspace";
  return configured.some(({ name }) => name === budget.name) ? "config.toml" : "command line";
}

function toFleetView({ fleet }: ActiveBudget): FleetView | null {
  if (fleet === undefined) return null;
  const { workspace, address, subject, elsewhere, statedAt } = fleet;
  return { workspace, address, subject, elsewhere: `${elsewhere}`, stated_at: formatInstant(statedAt) };
}

/** Returns the sum that is shown, with its key: of a period `session`, that of one session, or an empty one. */
function shownSum(
  each: BudgetState,
  from: Millis,
  now: Millis,
  session: string | null,
): [key: string, sum: BudgetSum] {
  const own = session === null ? undefined : findSum(each, session);
  if (session !== null && own !== undefined) return [session, own];
  let largest: [string, BudgetSum] = ["", EMPTY_SUM];
  for (const [key, sum] of Object.entries(each.sums)) {
    if (key !== "" && !mayContinue(sum, now)) continue;
    if (largest[1] === EMPTY_SUM || usedSince(sum, from, now) > usedSince(largest[1], from, now))
      largest = [key, sum];
  }
  return largest;
}

/** Whether a session has made a call lately. The clock may have been set back since. */
const mayContinue = ({ touchedAt }: BudgetSum, now: Millis): boolean =>
  Math.abs(now - touchedAt) <= SESSION_SHOWN_MS;

function statusOf(
  { active, isKnown }: BudgetState,
  sum: BudgetSum,
  spent: bigint,
  now: Millis,
): BudgetStatus {
  const { budget, isPaused, liftedUntil } = active;
  if (isPaused) return "paused";
  if (!isKnown) return "unknown";
  if (liftedUntil !== null && liftedUntil > now) return "lifted";
  if (stoppedUntil(budget, sum, now) !== null) return "tripped";
  if (spent >= budget.limit) return "exceeded";
  if (active.fleet !== undefined && isOutdated(active.fleet, now)) return "outdated";
  const [first = 100] = budget.thresholds;
  return spent > 0n && spent * 100n >= budget.limit * BigInt(first) ? "warning" : "ok";
}

/** A budget that a status line shows. */
export type NearBudget = Pick<BudgetView, "name" | "status" | "used_percent" | "lifted_until">;

/** Returns the budgets that need attention: those that reached a threshold, or stop calls. */
export const nearBudgets = (views: readonly BudgetView[]): readonly NearBudget[] =>
  views
    .filter(({ status }) => !["ok", "paused", "unknown", "outdated"].includes(status))
    .map(({ name, status, used_percent, lifted_until }) => ({ name, status, used_percent, lifted_until }));

/** Describes the budgets that are used up, stop calls or can't be read. */
export function describeBudgetTroubles(views: readonly BudgetView[]): string[] {
  return views.flatMap((view) => {
    const { name, status, budget, spent, unit, limit, fleet, session } = view;
    const show = `meter budget show ${/\s/.test(name) ? `'${name}'` : name}`;
    const refuses = budget.at_limit === "block" ? " Its calls are refused." : "";
    if (status === "unknown")
      return [`The records of budget ${name} can't be read, so its sum is not known.`];
    if (status === "outdated" && fleet !== null)
      return [
        `The cloud was last reached on ${fleet.stated_at.slice(0, 16).replace("T", " ")} UTC, so what other machines spent of budget ${name} is not known.${budget.at_limit === "block" && budget.fail === "closed" ? " Its calls are refused." : ""}`,
      ];
    if (status === "tripped") return [`Budget ${name} was used up too quickly.${refuses} ${show}`];
    if (status !== "exceeded" || spent === null) return [];
    const amount = (text: string) => formatBudgetAmount(unit, BigInt(text));
    const used = `${amount(spent)} of ${amount(limit)}`;
    return session === null
      ? [`Budget ${name} is used up: ${used}.${refuses} ${show}`]
      : [`A session has used up its budget ${name}: ${used}.${refuses} ${show}`];
  });
}
