import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import type { AsyncCommand } from "fast-check";
import type { ManualClock } from "../../adapters/clock/manual-clock.ts";
import { createDriver } from "../../adapters/driver/create-driver.ts";
import type { Driver, DriverParts, Handlers } from "../../core/ports/driver.ts";

/** A machine in its real driver, which crashes on command and restarts from its store. */
interface Rig<State, Event> {
  readonly state: State;
  readonly crashes: number;
  dispatch(event: Event): void;
  /** Crashes at the `operations`-th point from now: before or after a save, or before a handler. */
  crashAfter(operations: number): void;
  /** Runs everything that can happen without time passing. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/** Builds the rig and starts it; `first` creates the first event of each start. */
export function createRig<State, Event, Effect extends { readonly kind: string }>(
  parts: DriverParts<State, Event, Effect>,
  first: () => Event,
): Rig<State, Event> {
  let fuse: number | null = null;
  let crashes = 0;
  let driver: Driver<State, Event>;
  let ended: Promise<void>;
  const unexpected: unknown[] = [];
  const crash = new Error("crash");

  function burn(): void {
    if (fuse === null || fuse-- > 0) return;
    fuse = null;
    throw crash;
  }
  const guarded: DriverParts<State, Event, Effect> = {
    ...parts,
    store: {
      load: () => parts.store.load(),
      async save(state) {
        burn();
        await parts.store.save(state);
        burn();
      },
    },
    handlers: Object.fromEntries(
      Object.entries(parts.handlers).map(([kind, handler]) => [
        kind,
        (effect: never) => {
          burn();
          return (handler as (effect: never) => unknown)(effect);
        },
      ]),
    ) as unknown as Handlers<Event, Effect>,
  };
  function begin(): void {
    driver = createDriver(guarded);
    ended = driver.run(first()).catch((error: unknown) => {
      if (error !== crash) unexpected.push(error);
      else {
        crashes++;
        begin();
      }
    });
  }
  begin();

  return {
    get state() {
      return driver.state;
    },
    get crashes() {
      return crashes;
    },
    dispatch: (event) => driver.dispatch(event),
    crashAfter(operations) {
      fuse = operations;
    },
    async flush() {
      // Stores and handlers answer in microtasks, so a few turns of the loop are enough.
      for (let turn = 0; turn < 3; turn++) await setImmediate();
      assert.deepEqual(unexpected, []);
    },
    async stop() {
      driver.stop();
      await ended;
    },
  };
}

/** A command that may come at any time. */
export function command<W extends { check(): void; readonly rig: { flush(): Promise<void> } }>(
  name: string,
  act: (world: W) => void | Promise<void>,
): AsyncCommand<object, W> {
  return {
    check: () => true,
    async run(_, world) {
      await act(world);
      await world.rig.flush();
      world.check();
    },
    toString: () => name,
  };
}

/** Moves the clock from timer to timer, and runs everything between them. */
export async function pass(
  world: { readonly clock: ManualClock; readonly rig: { flush(): Promise<void> } },
  byMs: number,
): Promise<void> {
  let left = byMs;
  await world.rig.flush();
  for (
    let next = world.clock.nextTimerMs();
    next !== null && next <= left;
    next = world.clock.nextTimerMs()
  ) {
    left -= next;
    world.clock.advance(next);
    await world.rig.flush();
  }
  world.clock.advance(left);
}
