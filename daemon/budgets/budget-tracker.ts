import { bookedCallOf, type StoredCall } from "../../core/budgets/booked-call.ts";
import type { ActiveBudget, Budget, CallFacts, CallUse } from "../../core/budgets/budget.ts";
import type { BudgetEffect, BudgetEvent } from "../../core/budgets/budget-events.ts";
import { budgetTransition } from "../../core/budgets/budget-machine.ts";
import { type BudgetsState, GUARD_TRIPPED, initialBudgetsState } from "../../core/budgets/budget-state.ts";
import {
  type CallDecision,
  type CallToDecide,
  canRefuse,
  decideCall,
} from "../../core/budgets/decide-call.ts";
import { countLetThrough, type LetThrough, type LetThroughCounts } from "../../core/budgets/let-through.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { StoreError } from "../../core/ports/sqlite.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import type { CaptureBatch, Store } from "../store/port/store.ts";
import { type BudgetNotice, noticeOf } from "./budget-notice.ts";
import { type BudgetSources, listBudgets, loadSums } from "./load-budgets.ts";

/**
 * Keeps the state of all budgets: their sums, the calls in flight, and the warnings that were sent. No method throws,
 * except `store()`.
 */
export interface BudgetTracker {
  /** Stores a batch with `insert`, which calls back as `Store.insertBatch()` does, and adds its records to the sums. Throws what it throws. */
  store(batch: CaptureBatch, insert: InsertBatch): void;
  /** Whether any budget blocks, so that calls need a decision. */
  canRefuse(): boolean;
  /** Calls the listener each time `canRefuse()` may have changed. */
  onChange(listener: () => void): void;
  decide(call: CallToDecide): CallDecision;
  /** The call is sent. It counts with its bound until `ended()`. */
  admitted(call: string, facts: CallFacts, bound: CallUse): void;
  /** The budget refused the call. */
  refused(budget: string, facts: CallFacts): void;
  /** The call has its record, or will have none. Repeatable. */
  ended(call: string): void;
  /** The proxy started again: no call is in flight. */
  callsLost(): void;
  /** Reads what other programs changed. */
  refresh(): void;
  /** Reads what the cloud stated about the budgets of the workspace. */
  refreshFleet(): void;
  state(): BudgetsState;
  /** Counts a call that was sent although these budgets could not decide on it. */
  letThrough(budgets: readonly LetThrough[]): void;
  /** Counts a call in flight that the budget ended. */
  cut(budget: string): void;
  /** How many calls each budget has ended since the start. */
  cutCalls(): ReadonlyMap<string, number>;
  /** Returns the calls of `letThrough()` since the start: their number, and the reasons by budget. */
  letThroughSums(): LetThroughSums;
  stop(): void;
}

type InsertBatch = (onExisting: (requestId: string) => void) => void;

/** The calls that were sent although a budget could not decide on them. One call counts for each of its budgets. */
export interface LetThroughSums {
  readonly calls: number;
  readonly byBudget: ReadonlyMap<string, LetThroughCounts>;
}

/** The sums with the calls that were sent before the budgets were read. These are counted in `calls`, but in no budget. */
export interface LetThroughTotals extends LetThroughSums {
  readonly early: number;
}

/** The ports of a tracker. */
export interface BudgetTrackerPorts {
  readonly store: Pick<Store, "budgets" | "notes" | "trouble" | "opened">;
  readonly configured: BudgetSources["configured"];
  readonly place: CallFacts;
  readonly clock: Clock;
  /** Receives warnings. Its errors are passed to `onFailure`. */
  onNotice(notice: BudgetNotice): void;
  /** Called when a budget has ended a call in flight. */
  onCut?(budget: string): void;
  /** Called if the tracker's own code fails. */
  onFailure(cause: unknown): void;
}

/** How often the budgets are checked, in milliseconds: if there are any, and if there are none. */
const TICK_MS = 1_000;
const IDLE_TICK_MS = 30_000;

interface TrackerState {
  readonly ports: BudgetTrackerPorts;
  readonly listeners: (() => void)[];
  current: BudgetsState;
  /** The store's version at the last reading; null if the records must be read again. */
  version: string | null;
  letThroughCalls: number;
  readonly letThrough: Map<string, LetThroughCounts>;
  readonly cutCalls: Map<string, number>;
  cancelTick: () => void;
  stopped: boolean;
}

/** Creates a tracker. It knows the sums once the store is open. */
export function createBudgetTracker(ports: BudgetTrackerPorts): BudgetTracker {
  const state: TrackerState = {
    ports,
    listeners: [],
    current: initialBudgetsState,
    version: null,
    letThroughCalls: 0,
    letThrough: new Map(),
    cutCalls: new Map(),
    cancelTick() {},
    stopped: false,
  };
  const guarded = (work: () => void) => {
    try {
      work();
    } catch (cause) {
      ports.onFailure(cause);
    }
  };
  const send = (event: BudgetEvent) => guarded(() => dispatch(state, event));
  // Budgets that fail closed refuse calls before the store is open.
  const configured = ports.configured.map((budget) => ({ budget, isPaused: false, liftedUntil: null }));
  const set = { kind: "budgets_set", budgets: configured } as const;
  state.current = budgetTransition(state.current, set, ports.clock.now()).state;
  void ports.store.opened.then(() => guarded(() => tick(state, guarded)));
  return {
    store: (batch, insert) => storeBatch(state, batch, insert, guarded),
    canRefuse: () => canRefuse(state.current, ports.clock.now()),
    onChange: (listener) => void state.listeners.push(listener),
    decide(call) {
      send({ kind: "call_asked", facts: call.facts });
      return decideCall(state.current, call, ports.clock.now());
    },
    admitted: (call, facts, bound) => send({ kind: "call_admitted", call, facts, bound }),
    refused: (budget, facts) => send({ kind: "call_refused", budget, facts }),
    ended: (call) => send({ kind: "call_ended", call }),
    callsLost: () => send({ kind: "calls_lost" }),
    refresh: () => guarded(() => refresh(state)),
    refreshFleet: () => guarded(() => refreshFleet(state)),
    state: () => state.current,
    letThrough: (letThrough) => addLetThrough(state, letThrough),
    cut(budget) {
      state.cutCalls.set(budget, (state.cutCalls.get(budget) ?? 0) + 1);
      ports.onCut?.(budget);
    },
    cutCalls: () => state.cutCalls,
    letThroughSums: () => ({ calls: state.letThroughCalls, byBudget: state.letThrough }),
    stop() {
      state.stopped = true;
      state.cancelTick();
    },
  };
}

function tick(state: TrackerState, guarded: (work: () => void) => void): void {
  const { clock } = state.ports;
  guarded(() => refresh(state));
  if (state.current.budgets.length > 0) guarded(() => dispatch(state, { kind: "time_passed" }));
  if (state.stopped) return;
  const delayMs = state.current.budgets.length > 0 ? TICK_MS : IDLE_TICK_MS;
  state.cancelTick = clock.setTimer(delayMs, () => tick(state, guarded));
}

/** Reads budgets and sums again if another program changed them, or if they could not be read. */
function refresh(state: TrackerState): void {
  const { store, clock } = state.ports;
  if (store.trouble !== null) return loseSums(state);
  const version = store.budgets.version();
  if (version === state.version) return;
  const before = state.current;
  const isFirst = state.version === null;
  // First, so that budgets that can't be read now are read at the next refresh.
  const budgets = readBudgets(state);
  state.version = version;
  dispatch(state, { kind: "budgets_set", budgets });
  dispatch(state, { kind: "sums_lost" });
  if (!isFirst) noteLifts(state, before, clock.now());
  for (const listener of state.listeners) listener();
}

/** Applies another statement of the cloud. The sums of this machine's records stay. */
function refreshFleet(state: TrackerState): void {
  const { store, clock } = state.ports;
  // Until the store can be read, the next reading of all budgets includes those of the workspace.
  if (state.version === null || store.trouble !== null) return;
  const before = state.current;
  dispatch(state, { kind: "budgets_set", budgets: readBudgets(state) });
  noteLifts(state, before, clock.now());
  for (const listener of state.listeners) listener();
}

function readBudgets({ ports }: TrackerState): ActiveBudget[] {
  const { budgets, notes } = ports.store;
  return listBudgets({ ...ports, budgets, notes });
}

/** Sends a notice for each lift that began since the previous state. */
function noteLifts({ ports, current }: TrackerState, before: BudgetsState, now: Millis): void {
  for (const { active } of current.budgets) {
    const { budget, liftedUntil } = active;
    const earlier = before.budgets.find((each) => each.active.budget.name === budget.name);
    if (liftedUntil === null || liftedUntil <= now || earlier?.active.liftedUntil === liftedUntil) continue;
    ports.onNotice({ event: "budget.lifted", budget, key: "", until: liftedUntil });
  }
}

/** The records can't be read: until they can, every budget is unknown. */
function loseSums(state: TrackerState): void {
  if (state.version === null) return;
  state.version = null;
  state.current = budgetTransition(state.current, { kind: "sums_lost" }, state.ports.clock.now()).state;
}

/** Applies an event, and performs its effects in order. */
function dispatch(state: TrackerState, event: BudgetEvent): void {
  const { state: next, effects } = budgetTransition(state.current, event, state.ports.clock.now());
  state.current = next;
  for (const effect of effects) perform(state, effect);
}

function perform(state: TrackerState, effect: BudgetEffect): void {
  const { ports, current } = state;
  const budget = current.budgets.find((each) => each.active.budget.name === effect.budget)?.active.budget;
  if (budget === undefined) return;
  const now = ports.clock.now();
  const { budgets } = ports.store;
  if (effect.kind === "load_sums") {
    try {
      return dispatch(state, loadSums({ budgets, place: ports.place }, budget, effect.key, now));
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      return loseSums(state);
    }
  }
  if (effect.kind !== "end_lift") saveWarning(state, budget, effect, now);
  ports.onNotice(noticeOf(budget, effect));
}

/** A warning that can't be saved is sent nevertheless, and may be sent again after a restart. */
function saveWarning(
  { ports }: TrackerState,
  budget: Budget,
  effect: Extract<BudgetEffect, { kind: "warn" | "warn_forecast" | "trip_guard" }>,
  at: Millis,
): void {
  const { key, limit } = effect;
  const due =
    effect.kind === "warn"
      ? budget.thresholds.filter((each) => each <= effect.threshold)
      : [effect.kind === "trip_guard" ? GUARD_TRIPPED : 0];
  try {
    ports.store.budgets.addWarnings(
      due.map((threshold) => ({ budget: budget.name, key, threshold, limit, at })),
    );
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
  }
}

function addLetThrough(state: TrackerState, budgets: readonly LetThrough[]): void {
  state.letThroughCalls += 1;
  for (const { budget, reason } of budgets)
    state.letThrough.set(budget, countLetThrough(state.letThrough.get(budget) ?? {}, reason));
}

function storeBatch(
  state: TrackerState,
  { records, attributed = [] }: CaptureBatch,
  insert: InsertBatch,
  guarded: (work: () => void) => void,
): void {
  if (state.current.budgets.length === 0) return insert(() => {});
  /** Without a part of the batch, the sums would stay wrong, so they are read again. */
  const count = (work: () => void) =>
    guarded(() => {
      try {
        work();
      } catch (cause) {
        loseSums(state);
        throw cause;
      }
    });
  const ids = records.map(({ requestId }) => requestId);
  const isRepeated = new Set(ids).size < ids.length;
  /** The calls that are changed, or may be. All others are new, and are as their records. */
  const changed = new Set(attributed.map(({ requestId }) => requestId));
  if (isRepeated) for (const id of ids) changed.add(id);
  let before: StoredCall[] | null = null;
  count(() => {
    refresh(state);
    before = state.version === null ? null : readCalls(state, [...changed]);
  });
  insert((requestId) =>
    count(() => {
      if (changed.has(requestId)) return;
      changed.add(requestId);
      before?.push(...readCalls(state, [requestId]));
    }),
  );
  count(() => {
    // Budgets that could not be read before are read from all records.
    if (before === null) return;
    const earlier: readonly StoredCall[] = before;
    const after = readCalls(state, [...changed]);
    const isSame = (one: StoredCall, all: readonly StoredCall[]) => all.some((other) => equals(one, other));
    const added = after.filter((each) => !isSame(each, earlier));
    for (const record of records) if (!changed.has(record.requestId)) added.push(...callsOf(state, record));
    const removed = earlier.filter((each) => !isSame(each, after));
    if (added.length + removed.length > 0) dispatch(state, { kind: "calls_booked", added, removed });
  });
}

function readCalls({ ports }: TrackerState, ids: readonly string[]): StoredCall[] {
  const calls = ids.length === 0 ? [] : ports.store.budgets.calls(ids);
  return calls.map((call) => withPlace(call, ports));
}

function callsOf({ ports }: TrackerState, record: RequestRecord): StoredCall[] {
  const call = bookedCallOf(record);
  return call === null ? [] : [withPlace(call, ports)];
}

const withPlace = (call: StoredCall, { place }: Pick<BudgetTrackerPorts, "place">): StoredCall => ({
  ...call,
  facts: { ...place, ...call.facts },
});

function equals(one: StoredCall, other: StoredCall): boolean {
  const { facts, ...rest } = one;
  if (Object.entries(rest).some(([key, value]) => other[key as keyof StoredCall] !== value)) return false;
  return Object.entries(facts).every(([key, value]) => other.facts[key as keyof CallFacts] === value);
}
