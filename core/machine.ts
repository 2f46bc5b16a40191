import type { Millis } from "./time.ts";

/** What a transition returns: the next state, and what is to be done, in order. Both are plain JSON-safe values. */
export interface Step<State, Effect> {
  readonly state: State;
  readonly effects: readonly Effect[];
}

/** A pure function: the same state, event and time always give the same step. An event that changes nothing returns the state that it got. */
export type Transition<State, Event, Effect> = (
  state: State,
  event: Event,
  now: Millis,
) => Step<State, Effect>;

/** A log line as an effect, so that its name and fields are part of what a test sees. */
export interface LogEffect {
  readonly kind: "log";
  readonly level: "info" | "warn" | "error";
  /** Dotted name, as the contract lists them under "Events". */
  readonly event: string;
  readonly fields: Readonly<Record<string, string | number | boolean | null>>;
}

/** Sets the named timer, in place of the one set before under that name. */
export interface SetTimerEffect<Timer extends string> {
  readonly kind: "set_timer";
  readonly timer: Timer;
  readonly delayMs: number;
}

/** Clears the named timer; does nothing where none is set. */
export interface ClearTimerEffect<Timer extends string> {
  readonly kind: "clear_timer";
  readonly timer: Timer;
}

/** One cell of a machine's table: where the event can lead from that state, and the rule. */
export interface Cell<State extends { readonly status: string }, Event, Effect> {
  /** Each status that the rule can lead to, with the words that stand on its arrow in `docs/states.md`. */
  readonly to: Readonly<Partial<Record<State["status"], string>>>;
  readonly run: (state: State, event: Event, now: Millis) => Step<State, Effect>;
}

/** A machine as a table: a row for each status, in it a cell for each event. `"ignored"` spells out that nothing happens. */
export type Table<
  State extends { readonly status: string },
  Event extends { readonly kind: string },
  Effect,
> = {
  readonly [S in State["status"]]: {
    readonly [E in Event["kind"]]: Cell<State, Extract<Event, { readonly kind: E }>, Effect> | "ignored";
  };
};

/** Looks up the cell of the state and the event, and runs it. */
export function runTable<
  State extends { readonly status: string },
  Event extends { readonly kind: string },
  Effect,
>(table: Table<State, Event, Effect>, state: State, event: Event, now: Millis): Step<State, Effect> {
  const row = table[state.status as State["status"]];
  // The column was typed for this very kind of event; the compiler can't follow that through the lookup.
  const cell = row[event.kind as Event["kind"]] as Cell<State, Event, Effect> | "ignored";
  return cell === "ignored" ? { state, effects: [] } : cell.run(state, event, now);
}
