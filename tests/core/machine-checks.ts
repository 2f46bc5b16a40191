import assert from "node:assert/strict";
import type { Step, Table, Transition } from "../../core/machine.ts";
import type { Millis } from "../../core/time.ts";

/** What every check needs of a machine. */
export interface Machine<
  State extends { readonly status: string },
  Event extends { readonly kind: string },
  Effect extends { readonly kind: string },
> {
  readonly transition: Transition<State, Event, Effect>;
  readonly table: Table<State, Event, Effect>;
}

/** One line of a replay script: seconds since the start, what happened, and the effects by name. */
export type ReplayLine<Event> = readonly [atSeconds: number, event: Event, effects: readonly string[]];

/** The day that all scripts play on. */
export const DAY: Millis = Date.UTC(2026, 10, 21);

/** Freezes a value and all that it holds. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}

/** Names an effect; log lines and timers with what makes them what they are. */
export function effectName(effect: { readonly kind: string }): string {
  const { kind, event, timer, delayMs } = effect as {
    kind: string;
    event?: string;
    timer?: string;
    delayMs?: number;
  };
  if (kind === "log") return `log ${event}`;
  if (kind === "set_timer") return `set ${timer} ${delayMs}`;
  return kind === "clear_timer" ? `clear ${timer}` : kind;
}

/** Plays a script and returns the last state. */
export function replay<
  State extends { readonly status: string },
  Event extends { readonly kind: string },
  Effect extends { readonly kind: string },
>(machine: Machine<State, Event, Effect>, initial: State, script: readonly ReplayLine<Event>[]): State {
  let state = deepFreeze(initial);
  for (const [atSeconds, event, expected] of script) {
    const step = machine.transition(state, deepFreeze(event), DAY + atSeconds * 1000);
    assert.deepEqual(step.effects.map(effectName), expected, `at ${atSeconds} s: ${event.kind}`);
    state = deepFreeze(step.state);
  }
  return state;
}

/** What a property checks after one step. */
export type StepCheck<State, Event, Effect> = (
  before: State,
  event: Event,
  step: Step<State, Effect>,
  now: Millis,
) => void;

/**
 * Takes the moves one after the other, each turned into an event that suits the state, and checks of each step: it is
 * total (does not throw), pure (input frozen; the same twice), plain JSON, goes only where the table says that it
 * can, and an ignored event changes nothing. Returns the last state.
 */
export function walk<
  State extends { readonly status: string },
  Event extends { readonly kind: string },
  Effect extends { readonly kind: string },
  Move,
>(
  machine: Machine<State, Event, Effect>,
  initial: State,
  moves: readonly { readonly afterMs: number; readonly move: Move }[],
  toEvent: (move: Move, state: State) => Event,
  check: StepCheck<State, Event, Effect> = () => {},
): State {
  let state = deepFreeze(initial);
  let now = DAY;
  for (const { afterMs, move } of moves) {
    now += afterMs;
    const event = deepFreeze(toEvent(move, state));
    const step = deepFreeze(machine.transition(state, event, now));
    assert.deepEqual(machine.transition(state, event, now), step, "the same input gives the same step");
    assert.deepEqual(JSON.parse(JSON.stringify(step)), step, "a step survives JSON");
    const cell = machine.table[state.status as State["status"]][event.kind as Event["kind"]];
    if (cell === "ignored") assert.deepEqual(step, { state, effects: [] });
    else
      assert.ok(
        step.state.status in cell.to,
        `${state.status}, ${event.kind}: leads to ${step.state.status}`,
      );
    check(state, event, step, now);
    state = step.state;
  }
  return state;
}

/** Every arrow that the table declares, as `from event to`. */
export function declaredArrows(table: object): string[] {
  return Object.entries(table).flatMap(([from, row]) =>
    Object.entries(row as Record<string, unknown>).flatMap(([event, cell]) =>
      cell === "ignored"
        ? []
        : Object.keys((cell as { to: object }).to).map((to) => `${from} ${event} ${to}`),
    ),
  );
}
