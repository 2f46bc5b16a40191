import type { ClearTimerEffect, SetTimerEffect, Transition } from "../machine.ts";
import type { Clock } from "./clock.ts";
import type { StateStore } from "./state-store.ts";

/** Work that goes on while the machine takes further events; the event that it ends with is fed back. */
export interface Background<Event> {
  readonly background: Promise<Event | undefined>;
}

/**
 * What a handler gives back: nothing, the answer as an event, a promise of either (the driver waits for it before it
 * goes on), or work in the background.
 */
export type Handled<Event> = undefined | Event | Promise<Event | undefined> | Background<Event>;

/** A handler for each effect but the timers, which the driver keeps itself. Each must be safe to run twice. */
export type Handlers<Event, Effect extends { readonly kind: string }> = {
  readonly [K in Exclude<Effect["kind"], "set_timer" | "clear_timer">]: (
    effect: Extract<Effect, { readonly kind: K }>,
  ) => Handled<Event>;
};

/** The names of the timers that a machine sets. */
export type TimerOf<Effect> = Extract<Effect, SetTimerEffect<string> | ClearTimerEffect<string>>["timer"];

/** What a driver is made of. */
export interface DriverParts<State, Event, Effect extends { readonly kind: string }> {
  readonly transition: Transition<State, Event, Effect>;
  /** The state of a machine that was never saved. */
  readonly initial: State;
  readonly store: StateStore<State>;
  readonly clock: Clock;
  readonly handlers: Handlers<Event, Effect>;
  /** The event of each timer that fires. */
  readonly timers: Readonly<Record<TimerOf<Effect>, Event>>;
}

/** Runs one machine: one event at a time, saved before it is acted on. */
export interface Driver<State, Event> {
  /** The present state; `initial` until the saved one is loaded. */
  readonly state: State;
  /**
   * Loads the state, takes `first` (the machine's `started`) and then whatever comes. Resolves after `stop()`; rejects
   * with what a handler or the store threw: then nothing further is done, and a new driver starts from the store.
   */
  run(first: Event): Promise<void>;
  /** Takes the event after those before it. Does nothing once the driver has ended. */
  dispatch(event: Event): void;
  /** Ends the run after the event at hand; clears the timers. Answers that come later are dropped. Safe to call twice. */
  stop(): void;
  /** Resolves when no event is waiting and no effect is under way, those in the background included, or the driver has ended. */
  idle(): Promise<void>;
}

/** Makes a driver; `adapters/driver` has one. */
export type CreateDriver = <State, Event, Effect extends { readonly kind: string }>(
  parts: DriverParts<State, Event, Effect>,
) => Driver<State, Event>;
