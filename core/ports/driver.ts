import type { ClearTimerEffect, SetTimerEffect, Transition } from "../values/machine.ts";
import type { Clock } from "./clock.ts";
import type { StateStore } from "./state-store.ts";

/** Work that runs while the machine takes further events. Its resulting event is dispatched. */
export interface Background<Event> {
  readonly background: Promise<Event | undefined>;
}

/**
 * The result of a handler: nothing, an event, a promise of either (which the driver awaits before it continues), or work
 * in the background.
 */
export type Handled<Event> = undefined | Event | Promise<Event | undefined> | Background<Event>;

/** A handler for each effect except timers, which the driver runs itself. Each must be idempotent. */
export type Handlers<Event, Effect extends { readonly kind: string }> = {
  readonly [K in Exclude<Effect["kind"], "set_timer" | "clear_timer">]: (
    effect: Extract<Effect, { readonly kind: K }>,
  ) => Handled<Event>;
};

/** The names of the timers that a machine sets. */
export type TimerOf<Effect> = Extract<Effect, SetTimerEffect<string> | ClearTimerEffect<string>>["timer"];

/** The parts of a driver. */
export interface DriverParts<State, Event, Effect extends { readonly kind: string }> {
  readonly transition: Transition<State, Event, Effect>;
  /** The state of a machine that was never saved. */
  readonly initial: State;
  readonly store: StateStore<State>;
  readonly clock: Clock;
  readonly handlers: Handlers<Event, Effect>;
  /** The event to dispatch when a timer fires. */
  readonly timers: Readonly<Record<TimerOf<Effect>, Event>>;
}

/** Runs a state machine: one event at a time, with the state saved before its effects run. */
export interface Driver<State, Event> {
  /** The current state; `initial` until the saved one is loaded. */
  readonly state: State;
  /**
   * Loads the state, then handles `first` (the machine's `started`) and every dispatched event. Resolves after `stop()`.
   * Rejects with the error of a handler or the store; the driver then does nothing further, and a new one can start from the store.
   */
  run(first: Event): Promise<void>;
  /** Queues an event. Does nothing once the driver has ended. */
  dispatch(event: Event): void;
  /** Ends the run after the current event and clears the timers. Later results are dropped. Safe to call twice. */
  stop(): void;
  /** Resolves when no event is queued and no effect is running, background work included, or when the driver has ended. */
  idle(): Promise<void>;
}

/** Creates a driver; `adapters/driver` has the implementation. */
export type CreateDriver = <State, Event, Effect extends { readonly kind: string }>(
  parts: DriverParts<State, Event, Effect>,
) => Driver<State, Event>;
