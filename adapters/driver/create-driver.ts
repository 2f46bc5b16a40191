import type {
  Background,
  CreateDriver,
  Driver,
  DriverParts,
  Handled,
  TimerOf,
} from "../../core/ports/driver.ts";

type Handler<Event, Effect> = (effect: Effect) => Handled<Event>;
type TimerEffect =
  | { kind: "set_timer"; timer: string; delayMs: number }
  | { kind: "clear_timer"; timer: string };

/**
 * Makes the driver of one machine. Of each event the new state is saved first, then its effects are handled in order;
 * work in the background goes on while further events are taken. Whatever fails ends the run: what the failed step left
 * undone is found again by the machine's `started`.
 */
export const createDriver: CreateDriver = <State, Event, Effect extends { readonly kind: string }>(
  parts: DriverParts<State, Event, Effect>,
): Driver<State, Event> => {
  const { transition, store, clock } = parts;
  // The mapped types tie each kind to its effect; the compiler can't follow that through a lookup by a runtime value.
  const handlers = parts.handlers as unknown as Readonly<Record<string, Handler<Event, Effect>>>;
  const timerEvents = parts.timers as Readonly<Record<string, Event>>;
  const ended = Promise.withResolvers<void>();
  const cancels = new Map<string, () => void>();
  const waiting: Event[] = [];
  const idleWaiters: (() => void)[] = [];
  let phase: "new" | "loading" | "running" | "ended" = "new";
  let state = parts.initial;
  let busy = false;
  let background = 0;

  function end(settle: () => void): void {
    if (phase === "ended") return;
    phase = "ended";
    waiting.length = 0;
    for (const cancel of cancels.values()) cancel();
    cancels.clear();
    settle();
    notifyIdle();
  }

  function fail(error: unknown): void {
    end(() => ended.reject(error));
  }

  function isIdle(): boolean {
    return phase === "ended" || (phase === "running" && !busy && background === 0 && waiting.length === 0);
  }

  /** A call, because the compiler does not see that `stop()` may come while the state is loaded. */
  function isLoading(): boolean {
    return phase === "loading";
  }

  function notifyIdle(): void {
    if (!isIdle()) return;
    for (const resolve of idleWaiters.splice(0)) resolve();
  }

  function dispatch(event: Event): void {
    if (phase === "ended") return;
    waiting.push(event);
    if (phase === "running") void drain();
  }

  async function drain(): Promise<void> {
    if (busy) return;
    busy = true;
    try {
      for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) await take(event);
    } catch (error) {
      fail(error);
    } finally {
      busy = false;
      notifyIdle();
    }
  }

  async function take(event: Event): Promise<void> {
    const step = transition(state, event, clock.now());
    if (step.state !== state) {
      await store.save(step.state);
      state = step.state;
    }
    for (const effect of step.effects) {
      // A stop between two effects is a crash as far as the machine can tell.
      if (phase === "ended") return;
      await perform(effect);
    }
  }

  async function perform(effect: Effect): Promise<void> {
    if (effect.kind === "set_timer" || effect.kind === "clear_timer") {
      changeTimer(effect as unknown as TimerEffect);
      return;
    }
    const handled = (handlers[effect.kind] as Handler<Event, Effect>)(effect);
    if (isBackground(handled)) {
      background++;
      void handled.background.then(answer, fail).finally(() => {
        background--;
        notifyIdle();
      });
      return;
    }
    answer(await handled);
  }

  function answer(event: Event | undefined): void {
    if (event !== undefined) dispatch(event);
  }

  function changeTimer(effect: TimerEffect): void {
    cancels.get(effect.timer)?.();
    cancels.delete(effect.timer);
    if (effect.kind === "clear_timer") return;
    const cancel = clock.setTimer(effect.delayMs, () => {
      cancels.delete(effect.timer);
      dispatch(timerEvents[effect.timer as TimerOf<Effect>] as Event);
    });
    cancels.set(effect.timer, cancel);
  }

  return {
    get state() {
      return state;
    },
    async run(first) {
      if (phase !== "new") throw new TypeError(`a driver runs once: ${phase}`);
      phase = "loading";
      try {
        state = (await store.load()) ?? state;
        if (isLoading()) {
          phase = "running";
          waiting.unshift(first);
          await drain();
        }
      } catch (error) {
        fail(error);
      }
      return ended.promise;
    },
    dispatch,
    stop: () => end(ended.resolve),
    idle() {
      if (isIdle()) return Promise.resolve();
      return new Promise((resolve) => idleWaiters.push(resolve));
    },
  };
};

function isBackground<Event>(handled: Handled<Event>): handled is Background<Event> {
  return typeof handled === "object" && handled !== null && "background" in handled;
}

/** Marks work that goes on while the machine takes further events: a request to the cloud, a worker's whole life. */
export function inBackground<Event>(work: Promise<Event | undefined>): Background<Event> {
  return { background: work };
}
