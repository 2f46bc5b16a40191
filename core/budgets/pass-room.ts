import type { Millis } from "../values/time.ts";
import {
  type BudgetState,
  type BudgetsState,
  currentBounds,
  inFlightSince,
  MAX_BUDGET_SESSIONS,
  stoppedUntil,
  usedSince,
} from "./budget-state.ts";
import { isBlocking } from "./decide-call.ts";
import { isOutdated, totalUsed } from "./fleet-share.ts";

/** A budget with less than this part of its amount left decides on every call. */
const AMPLE_PART = 10n;

const PICO_IN_MICRO = 1_000_000n;

/** Rounds pico-USD up to millionths of a USD. */
export const toMicroUsd = (picoUsd: bigint): number => Number((picoUsd + PICO_IN_MICRO - 1n) / PICO_IN_MICRO);

/**
 * How many calls may be under way without being counted in flight, so that the sum ends above no amount by more than one of them.
 *
 * A budget without `reserve` admits a call as long as there is any room, so the first uncounted call is right whatever it uses. A further
 * one is right while the others may use less than the room.
 */
export interface PassRoom {
  readonly calls: number;
  /** The room in millionths of a USD, rounded up. */
  readonly microUsd: number;
  readonly tokens: number;
}

/** Each call needs a decision. */
export const NO_PASS_ROOM: PassRoom = { calls: 0, microUsd: 0, tokens: 0 };

/** The value of `PassRoom` where no budget has an amount in that unit. */
export const UNLIMITED_ROOM: number = Number.MAX_SAFE_INTEGER;

/** Returns the least room of all budgets that block. */
export function passRoom(state: BudgetsState, now: Millis): PassRoom {
  let calls = UNLIMITED_ROOM;
  let microUsd = UNLIMITED_ROOM;
  let tokens = UNLIMITED_ROOM;
  for (const each of state.budgets) {
    if (!isBlocking(each, now)) continue;
    const room = roomOf(state, each, now);
    if (room <= 0n) return NO_PASS_ROOM;
    const { unit } = each.active.budget;
    if (unit === "requests") calls = Math.min(calls, Number(room));
    else if (unit === "tokens") tokens = Math.min(tokens, Number(room));
    else microUsd = Math.min(microUsd, toMicroUsd(room));
  }
  return { calls, microUsd, tokens };
}

/** Returns what is left of a budget; 0 if it must decide on each call. */
function roomOf(state: BudgetsState, each: BudgetState, now: Millis): bigint {
  const { budget, fleet } = each.active;
  // These need the call's own facts, count what could not be decided, or end calls that are in flight.
  if (budget.reserve || budget.fail === "closed" || budget.onExceed === "cut" || !each.isKnown) return 0n;
  if (fleet !== undefined && isOutdated(fleet, now)) return 0n;
  const sums = Object.entries(each.sums);
  // The sums of further sessions are not held.
  if (sums.length >= MAX_BUDGET_SESSIONS) return 0n;
  const { from } = currentBounds(each, now);
  let room = budget.limit - totalUsed(each.active, 0n, from, now);
  for (const [key, sum] of sums) {
    if (stoppedUntil(budget, sum, now) !== null) return 0n;
    const used = totalUsed(each.active, usedSince(sum, from, now), from, now);
    const left = budget.limit - used - inFlightSince(state, each, key, sum, from);
    if (left < room) room = left;
  }
  return room * AMPLE_PART < budget.limit ? 0n : room;
}
