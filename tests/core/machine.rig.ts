import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import type { Step, Table, Transition } from "../../core/values/machine.ts";
import type { Millis } from "../../core/values/time.ts";
import { propertyRuns } from "./property-runs.rig.ts";

/** What every check needs from a machine. */
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

/** Freezes a value and everything in it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}

/** Names an effect; log lines and timers with their distinguishing fields. */
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

/** Actions, each some time after the one before it. */
type MovesOf<Move> = readonly { readonly afterMs: number; readonly move: Move }[];

/** What a property checks after one step. */
export type StepCheck<State, Event, Effect> = (
  before: State,
  event: Event,
  step: Step<State, Effect>,
  now: Millis,
) => void;

/** Applies the actions in order, each turned into an event that fits the state. All input is frozen. Returns the last state. */
function follow<
  State extends { readonly status: string },
  Event extends { readonly kind: string },
  Effect extends { readonly kind: string },
  Move,
>(
  { transition }: Machine<State, Event, Effect>,
  initial: State,
  moves: MovesOf<Move>,
  toEvent: (move: Move, state: State) => Event,
  check: StepCheck<State, Event, Effect>,
): State {
  let state = deepFreeze(initial);
  let now = DAY;
  for (const { afterMs, move } of moves) {
    now += afterMs;
    const event = deepFreeze(toEvent(move, state));
    const step = deepFreeze(transition(state, event, now));
    check(state, event, step, now);
    state = step.state;
  }
  return state;
}

/**
 * Applies the actions in order, each turned into an event that fits the state, and checks that each step is
 * total (does not throw), pure (input frozen; same result twice) and plain JSON, follows an arrow of the table, and changes
 * nothing if the event is ignored. Returns the last state.
 */
export function walk<
  State extends { readonly status: string },
  Event extends { readonly kind: string },
  Effect extends { readonly kind: string },
  Move,
>(
  machine: Machine<State, Event, Effect>,
  initial: State,
  moves: MovesOf<Move>,
  toEvent: (move: Move, state: State) => Event,
  check: StepCheck<State, Event, Effect> = () => {},
): State {
  return follow(machine, initial, moves, toEvent, (state, event, step, now) => {
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
  });
}

/** Returns every arrow of the table, as `from event to`. */
export function declaredArrows(table: object): string[] {
  return Object.entries(table).flatMap(([from, row]) =>
    Object.entries(row as Record<string, unknown>).flatMap(([event, cell]) =>
      cell === "ignored"
        ? []
        : Object.keys((cell as { to: object }).to).map((to) => `${from} ${event} ${to}`),
    ),
  );
}

/** A machine, how to walk through it, and the limits that hold on every walk. */
export interface MachineModel<
  State extends { readonly status: string },
  Event extends { readonly kind: string },
  Effect extends { readonly kind: string },
  Move,
> extends Machine<State, Event, Effect> {
  readonly initial: fc.Arbitrary<State>;
  readonly moves: fc.Arbitrary<MovesOf<Move>>;
  readonly toEvent: (move: Move, state: State) => Event;
  readonly numRuns: number;
  /** How many walks reach every arrow of the table. */
  readonly walksForArrows: number;
  /** The shortest and the longest delay of a timer, in milliseconds. */
  readonly delayMs: readonly [min: number, max: number];
  /** Effects that no state whose name starts with `paused` may have. */
  readonly notWhilePaused?: readonly Effect["kind"][];
}

/**
 * Declares the tests of every machine: it is total, pure on frozen input and plain JSON, follows its table and
 * reaches all of it, sets timers within bounds, and does not send while paused. Returns a function that runs another property
 * on the same walks; each walk creates its own check, which may keep state.
 */
export function machineProperties<
  State extends { readonly status: string },
  Event extends { readonly kind: string },
  Effect extends { readonly kind: string },
  Move,
>(model: MachineModel<State, Event, Effect, Move>) {
  const { initial, moves, toEvent, notWhilePaused = [] } = model;
  const [minMs, maxMs] = model.delayMs;
  const onWalks = (check: (state: State, list: MovesOf<Move>) => void, numRuns: number): void =>
    fc.assert(fc.property(initial, moves, check), { numRuns: propertyRuns(numRuns) });
  const holds = (createCheck: () => StepCheck<State, Event, Effect>, numRuns = model.numRuns): void =>
    onWalks((state, list) => void follow(model, state, list, toEvent, createCheck()), numRuns);

  it("is total and pure, its steps are plain JSON, and it follows the table's arrows", () => {
    onWalks((state, list) => void walk(model, state, list, toEvent), model.numRuns);
  });

  it(`sets each timer to whole milliseconds between ${minMs} and ${maxMs}`, () => {
    holds(() => (_, __, { effects }) => {
      for (const effect of effects) {
        if (effect.kind !== "set_timer") continue;
        const { delayMs } = effect as unknown as { delayMs: number };
        assert.ok(Number.isInteger(delayMs) && delayMs >= minMs && delayMs <= maxMs, `${delayMs}`);
      }
    });
  });

  if (notWhilePaused.length > 0) {
    it(`never does while paused: ${notWhilePaused.join(", ")}`, () => {
      holds(() => (_, __, { state, effects }) => {
        if (!state.status.startsWith("paused")) return;
        for (const { kind } of effects) assert.ok(!notWhilePaused.includes(kind), kind);
      });
    });
  }

  it("reaches every arrow that the table declares", () => {
    const seen = new Set<string>();
    const walks = fc.sample(fc.tuple(initial, moves), { numRuns: model.walksForArrows, seed: 7 });
    for (const [state, list] of walks)
      follow(model, state, list, toEvent, (before, happened, step) =>
        seen.add(`${before.status} ${happened.kind} ${step.state.status}`),
      );
    assert.deepEqual(
      declaredArrows(model.table).filter((arrow) => !seen.has(arrow)),
      [],
    );
  });

  return holds;
}
