import { isCrossed } from "../../core/metering/limits/limit-change.ts";
import {
  findLimitEvents,
  isLongWindow,
  type LimitEvent,
  nameExhausted,
} from "../../core/metering/limits/limit-events.ts";
import { type LimitReading, type StatedLimit, windowKey } from "../../core/metering/limits/stated-limit.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { StoreError } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import type { LimitBounds } from "../store/port/limits.ts";
import type { Store } from "../store/port/store.ts";

/** The account whose limits are stated. */
export interface LimitOwner {
  readonly provider: string;
  readonly account: string | null;
}

/** Keeps the limits of accounts: saves new readings and reports events. No method throws. */
export interface LimitTracker {
  /** Takes the limits that a response stated. */
  add(owner: LimitOwner, stated: readonly StatedLimit[]): void;
  /** Saves what is not saved yet. */
  flush(): void;
  /** Saves, and stops the timers. */
  stop(): void;
}

/** The ports of a tracker. */
interface LimitTrackerPorts {
  readonly store: Pick<Store, "limits" | "trouble" | "opened">;
  readonly clock: Clock;
  /** Receives events. Its errors are ignored. */
  onEvent(event: LimitEvent): void;
  /** Called if the tracker's own code fails. */
  onFailure(cause: unknown): void;
}

/**
 * How long changes wait before they are saved, in milliseconds. Readings in between are not in the history: responses of parallel
 * calls would otherwise fill it.
 */
export const SAVE_DELAY_MS = 10_000;

/** How long a reading that changed nothing waits, in milliseconds. Only the time at which it was seen is saved. */
export const SEEN_DELAY_MS = 60_000;

/** How often the history is trimmed, in milliseconds. */
const TRIM_INTERVAL_MS = 3_600_000;

/** How long the history of a window is kept, in milliseconds. */
const HISTORY_MS = 90 * 86_400_000;

const MAX_WINDOWS = 500;
const MAX_POINTS = 100_000;

/** Two resets that differ by less are the same: the provider states it in seconds from now. */
const SAME_RESET_MS = 60_000;

interface TrackedWindow {
  reading: LimitReading;
  /** What has to be saved: nothing, the time at which it was seen, the reading, or the reading and a point of the history. */
  unsaved: "nothing" | "seen" | "reading" | "point";
}

interface TrackerState {
  readonly ports: LimitTrackerPorts;
  /** By account and window; the least recently added first. */
  readonly windows: Map<string, TrackedWindow>;
  cancelSave: () => void;
  saveDueAt: Millis | null;
  trimmedAt: Millis;
  /** Whether the stored windows are still to be read. */
  isLoadDue: boolean;
  stopped: boolean;
}

/** Creates a tracker. It knows the stored windows once the store is open. */
export function createLimitTracker(ports: LimitTrackerPorts): LimitTracker {
  const state: TrackerState = {
    ports,
    windows: new Map(),
    cancelSave() {},
    saveDueAt: null,
    trimmedAt: Number.NEGATIVE_INFINITY,
    isLoadDue: false,
    stopped: false,
  };
  const guarded = (work: () => void) => {
    try {
      work();
    } catch (cause) {
      ports.onFailure(cause);
    }
  };
  void ports.store.opened.then(() => {
    state.isLoadDue = true;
    guarded(() => load(state));
  });
  return {
    add(owner, stated) {
      guarded(() => load(state));
      guarded(() => addLimits(state, owner, stated));
    },
    flush: () => guarded(() => save(state)),
    stop() {
      guarded(() => save(state));
      state.stopped = true;
      state.cancelSave();
    },
  };
}

const ownerKey = ({ provider, account }: LimitOwner) => `${provider}\n${account ?? ""}\n`;

/** Adds the stored windows that no response has stated since the start. What can't be read now is read before the next limit is added. */
function load(state: TrackerState): void {
  const { ports, windows } = state;
  if (!state.isLoadDue || ports.store.trouble !== null) return;
  try {
    for (const { id: _, ...reading } of ports.store.limits.list()) {
      const key = ownerKey(reading) + windowKey(reading);
      if (!windows.has(key)) windows.set(key, { reading, unsaved: "nothing" });
    }
    state.isLoadDue = false;
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
  }
}

function addLimits(state: TrackerState, owner: LimitOwner, stated: readonly StatedLimit[]): void {
  const seenAt = state.ports.clock.now();
  const prefix = ownerKey(owner);
  for (const each of stated) {
    const limit = each.window === "plan" ? nameExhausted(each, windowsOf(state, prefix)) : each;
    addReading(state, prefix + windowKey(limit), { ...limit, ...pickOwner(owner), seenAt });
  }
}

const pickOwner = ({ provider, account }: LimitOwner): LimitOwner => ({ provider, account });

const windowsOf = ({ windows }: TrackerState, prefix: string): LimitReading[] =>
  [...windows].filter(([key]) => key.startsWith(prefix)).map(([, { reading }]) => reading);

function addReading(state: TrackerState, key: string, stated: LimitReading): void {
  const known = state.windows.get(key);
  const before = known?.reading ?? null;
  const reading = before === null ? stated : mergeReading(before, stated);
  const unsaved = describeChange(before, reading);
  state.windows.delete(key);
  state.windows.set(key, { reading, unsaved: moreOf(known?.unsaved ?? "nothing", unsaved) });
  if (state.windows.size > MAX_WINDOWS) state.windows.delete(state.windows.keys().next().value as string);
  scheduleSave(state, unsaved === "seen" ? SEEN_DELAY_MS : SAVE_DELAY_MS);
  for (const event of findLimitEvents(before, reading)) state.ports.onEvent(event);
}

/** Completes a reading from the one before of the same window. If the one before is newer, its use is kept. */
function mergeReading(before: LimitReading, stated: LimitReading): LimitReading {
  const isSameTime =
    before.resetAt !== null &&
    before.resetAt > stated.seenAt &&
    (stated.resetAt === null || Math.abs(stated.resetAt - before.resetAt) < SAME_RESET_MS);
  const reading = {
    ...stated,
    windowMs: stated.windowMs ?? before.windowMs,
    resetAt: isSameTime ? before.resetAt : stated.resetAt,
    usedPpm: stated.usedPpm ?? (isSameTime ? before.usedPpm : null),
  };
  if (!isCrossed(before, reading, reading.windowMs)) return reading;
  return { ...before, seenAt: stated.seenAt };
}

const CHANGES = ["nothing", "seen", "reading", "point"] as const;

const moreOf = (one: TrackedWindow["unsaved"], other: TrackedWindow["unsaved"]) =>
  CHANGES.indexOf(one) > CHANGES.indexOf(other) ? one : other;

function describeChange(before: LimitReading | null, reading: LimitReading): TrackedWindow["unsaved"] {
  const isSame = (name: keyof StatedLimit) => before !== null && before[name] === reading[name];
  if (!isSame("usedPpm") || !isSame("resetAt")) return isLongWindow(reading) ? "point" : "reading";
  return isSame("limit") && isSame("remaining") && isSame("status") && isSame("windowMs")
    ? "seen"
    : "reading";
}

/** Schedules saving after the delay, unless it is due before. */
function scheduleSave(state: TrackerState, delayMs: number): void {
  const { clock } = state.ports;
  const dueAt = clock.now() + delayMs;
  if (state.stopped || (state.saveDueAt !== null && state.saveDueAt <= dueAt)) return;
  state.cancelSave();
  state.saveDueAt = dueAt;
  state.cancelSave = clock.setTimer(delayMs, () => {
    state.saveDueAt = null;
    try {
      save(state);
    } catch (cause) {
      state.ports.onFailure(cause);
    }
  });
}

/** Saves what changed. While the store can't be used, everything stays unsaved and is tried again. */
function save(state: TrackerState): void {
  const { store, clock } = state.ports;
  const changed = [...state.windows.values()].filter(({ unsaved }) => unsaved !== "nothing");
  if (changed.length === 0) return;
  try {
    if (store.trouble !== null) throw store.trouble;
    store.limits.save(changed.map(({ reading, unsaved }) => ({ reading, isPoint: unsaved === "point" })));
    for (const each of changed) each.unsaved = "nothing";
    const now = clock.now();
    if (Math.abs(now - state.trimmedAt) < TRIM_INTERVAL_MS) return;
    state.trimmedAt = now;
    const bounds: LimitBounds = { before: now - HISTORY_MS, maxWindows: MAX_WINDOWS, maxPoints: MAX_POINTS };
    store.limits.trim(bounds);
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    scheduleSave(state, SAVE_DELAY_MS);
  }
}
