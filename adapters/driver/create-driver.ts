import type {
  Background,
  CreateDriver,
  Driver,
  DriverParts,
  Handled,
  TimerOf,
} from "../../core/ports/driver.ts";

type AnyEffect = { readonly kind: string };
type Handler<Event, Effect> = (effect: Effect) => Handled<Event>;
type TimerEffect =
  | { kind: "set_timer"; timer: string; delayMs: number }
  | { kind: "clear_timer"; timer: string };

/** The state of a driver's run. */
interface Run<State, Event, Effect extends AnyEffect> {
  readonly parts: DriverParts<State, Event, Effect>;
  readonly ended: PromiseWithResolvers<void>;
  /** Functions that cancel the timers that are set, by name. */
  readonly cancelTimers: Map<string, () => void>;
  /** Events that are not handled yet, oldest first. */
  readonly queue: Event[];
  readonly idleWaiters: (() => void)[];
  phase: "new" | "loading" | "running" | "ended";
  state: State;
  isHandling: boolean;
  /** The number of effects that run in the background. */
  backgroundCount: number;
}

/**
 * Creates the driver of one state machine. For each event it saves the new state, then handles the effects in order.
 * Background work continues while further events are handled. Any failure ends the run; the machine's `started` event
 * recovers what was left undone.
 */
export const createDriver: CreateDriver = <State, Event, Effect extends AnyEffect>(
  parts: DriverParts<State, Event, Effect>,
): Driver<State, Event> => {
  const run: Run<State, Event, Effect> = {
    parts,
    ended: Promise.withResolvers<void>(),
    cancelTimers: new Map(),
    queue: [],
    idleWaiters: [],
    phase: "new",
    state: parts.initial,
    isHandling: false,
    backgroundCount: 0,
  };
  return {
    get state() {
      return run.state;
    },
    run: (first) => start(run, first),
    dispatch: (event) => dispatch(run, event),
    stop: () => end(run, run.ended.resolve),
    idle() {
      if (isIdle(run)) return Promise.resolve();
      return new Promise((resolve) => run.idleWaiters.push(resolve));
    },
  };
};

async function start<State, Event, Effect extends AnyEffect>(
  run: Run<State, Event, Effect>,
  first: Event,
): Promise<void> {
  if (run.phase !== "new") throw new TypeError(`a driver runs only once: its phase is ${run.phase}`);
  run.phase = "loading";
  try {
    run.state = (await run.parts.store.load()) ?? run.state;
    if (isLoading(run)) {
      run.phase = "running";
      run.queue.unshift(first);
      await drain(run);
    }
  } catch (error) {
    fail(run, error);
  }
  return run.ended.promise;
}

/** A function, because the compiler does not see that `stop()` may be called while the state is loading. */
function isLoading({ phase }: { readonly phase: string }): boolean {
  return phase === "loading";
}

function dispatch<State, Event, Effect extends AnyEffect>(
  run: Run<State, Event, Effect>,
  event: Event | undefined,
): void {
  if (event === undefined || run.phase === "ended") return;
  run.queue.push(event);
  if (run.phase === "running") void drain(run);
}

/** Handles events until the queue is empty. */
async function drain<State, Event, Effect extends AnyEffect>(run: Run<State, Event, Effect>): Promise<void> {
  if (run.isHandling) return;
  run.isHandling = true;
  try {
    for (let event = run.queue.shift(); event !== undefined; event = run.queue.shift())
      await handleEvent(run, event);
  } catch (error) {
    fail(run, error);
  } finally {
    run.isHandling = false;
    notifyIdle(run);
  }
}

async function handleEvent<State, Event, Effect extends AnyEffect>(
  run: Run<State, Event, Effect>,
  event: Event,
): Promise<void> {
  const { transition, store, clock } = run.parts;
  const step = transition(run.state, event, clock.now());
  if (step.state !== run.state) {
    await store.save(step.state);
    run.state = step.state;
  }
  for (const effect of step.effects) {
    // For the machine, a stop between two effects is the same as a crash.
    if (run.phase === "ended") return;
    await handleEffect(run, effect);
  }
}

async function handleEffect<State, Event, Effect extends AnyEffect>(
  run: Run<State, Event, Effect>,
  effect: Effect,
): Promise<void> {
  if (effect.kind === "set_timer" || effect.kind === "clear_timer") {
    changeTimer(run, effect as unknown as TimerEffect);
    return;
  }
  // The mapped type ties each kind to its effect, but the compiler can't follow a lookup by a runtime value.
  const handlers = run.parts.handlers as unknown as Readonly<Record<string, Handler<Event, Effect>>>;
  const handled = (handlers[effect.kind] as Handler<Event, Effect>)(effect);
  if (!isBackground(handled)) {
    dispatch(run, await handled);
    return;
  }
  run.backgroundCount++;
  void handled.background
    .then(
      (event) => dispatch(run, event),
      (error: unknown) => fail(run, error),
    )
    .finally(() => {
      run.backgroundCount--;
      notifyIdle(run);
    });
}

function changeTimer<State, Event, Effect extends AnyEffect>(
  run: Run<State, Event, Effect>,
  effect: TimerEffect,
): void {
  const { clock, timers } = run.parts;
  run.cancelTimers.get(effect.timer)?.();
  run.cancelTimers.delete(effect.timer);
  if (effect.kind === "clear_timer") return;
  const cancel = clock.setTimer(effect.delayMs, () => {
    run.cancelTimers.delete(effect.timer);
    dispatch(run, (timers as Readonly<Record<string, Event>>)[effect.timer as TimerOf<Effect>]);
  });
  run.cancelTimers.set(effect.timer, cancel);
}

function fail<State, Event, Effect extends AnyEffect>(run: Run<State, Event, Effect>, error: unknown): void {
  end(run, () => run.ended.reject(error));
}

function end<State, Event, Effect extends AnyEffect>(
  run: Run<State, Event, Effect>,
  settle: () => void,
): void {
  if (run.phase === "ended") return;
  run.phase = "ended";
  run.queue.length = 0;
  for (const cancel of run.cancelTimers.values()) cancel();
  run.cancelTimers.clear();
  settle();
  notifyIdle(run);
}

function isIdle<State, Event, Effect extends AnyEffect>(run: Run<State, Event, Effect>): boolean {
  if (run.phase !== "running") return run.phase === "ended";
  return !run.isHandling && run.backgroundCount === 0 && run.queue.length === 0;
}

function notifyIdle<State, Event, Effect extends AnyEffect>(run: Run<State, Event, Effect>): void {
  if (!isIdle(run)) return;
  for (const resolve of run.idleWaiters.splice(0)) resolve();
}

function isBackground<Event>(handled: Handled<Event>): handled is Background<Event> {
  return typeof handled === "object" && handled !== null && "background" in handled;
}

/** Marks work that continues while the machine handles further events, such as a request to the cloud. */
export function inBackground<Event>(work: Promise<Event | undefined>): Background<Event> {
  return { background: work };
}
