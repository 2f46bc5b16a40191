import type { Millis } from "./time.ts";

/** The result of a transition: the next state and the effects to run, in order. Both are JSON-safe values. */
export interface Step<State, Effect> {
  readonly state: State;
  readonly effects: readonly Effect[];
}

/** A pure transition function. An event that changes nothing returns the same state object. */
export type Transition<State, Event, Effect> = (
  state: State,
  event: Event,
  now: Millis,
) => Step<State, Effect>;

/** A log line as an effect, so that tests can check its name and fields. */
export interface LogEffect {
  readonly kind: "log";
  readonly level: "info" | "warn" | "error";
  /** Dotted name. Source: docs/specification.md#log-events. */
  readonly event: string;
  readonly fields: Readonly<Record<string, string | number | boolean | null>>;
}

/** Sets a named timer, replacing a timer of the same name. */
export interface SetTimerEffect<Timer extends string> {
  readonly kind: "set_timer";
  readonly timer: Timer;
  readonly delayMs: number;
}

/** Clears a named timer. Does nothing if it is not set. */
export interface ClearTimerEffect<Timer extends string> {
  readonly kind: "clear_timer";
  readonly timer: Timer;
}

/** One cell of a machine's table: how a state handles an event. */
export interface Cell<State extends { readonly status: string }, Event, Effect> {
  /** Every status that the transition can lead to, with the label of its arrow in `docs/states.md`. */
  readonly to: Readonly<Partial<Record<State["status"], string>>>;
  readonly run: (state: State, event: Event, now: Millis) => Step<State, Effect>;
}

/** A state machine as a table: one row per status, one cell per event. `"ignored"` marks an event that changes nothing. */
export type Table<
  State extends { readonly status: string },
  Event extends { readonly kind: string },
  Effect,
> = {
  readonly [S in State["status"]]: {
    readonly [E in Event["kind"]]: Cell<State, Extract<Event, { readonly kind: E }>, Effect> | "ignored";
  };
};

/** Runs the cell for a state and an event. */
export function runTable<
  State extends { readonly status: string },
  Event extends { readonly kind: string },
  Effect,
>(table: Table<State, Event, Effect>, state: State, event: Event, now: Millis): Step<State, Effect> {
  const row = table[state.status as State["status"]];
  // Each column is typed for its own event kind, which the compiler cannot infer through the lookup.
  const cell = row[event.kind as Event["kind"]] as Cell<State, Event, Effect> | "ignored";
  return cell === "ignored" ? { state, effects: [] } : cell.run(state, event, now);
}
