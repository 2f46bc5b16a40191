import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createDriver, inBackground } from "../../../adapters/driver/create-driver.ts";
import { createMemoryStateStore } from "../../../adapters/memory/state-store.ts";
import type { DriverParts, Handled } from "../../../core/ports/driver.ts";
import type { ClearTimerEffect, SetTimerEffect, Step } from "../../../core/values/machine.ts";

/** A machine that counts its events and returns the effects that they name. */
interface State {
  readonly taken: readonly string[];
}
interface Event {
  readonly kind: string;
  readonly effects?: readonly Effect[];
}
type Effect =
  | { readonly kind: "work"; readonly name: string }
  | SetTimerEffect<"bell">
  | ClearTimerEffect<"bell">;

function transition(state: State, event: Event): Step<State, Effect> {
  if (event.kind === "nothing") return { state, effects: [] };
  return { state: { taken: [...state.taken, event.kind] }, effects: event.effects ?? [] };
}

const work = (name: string): Effect => ({ kind: "work", name });
const bell = (delayMs: number): Effect => ({ kind: "set_timer", timer: "bell", delayMs });

/** A driver that records every operation, with a handler of the test. */
function build(handle: (name: string) => Handled<Event> = () => undefined) {
  const log: string[] = [];
  const clock = createManualClock(0);
  const memory = createMemoryStateStore<State>();
  const parts: DriverParts<State, Event, Effect> = {
    transition,
    initial: { taken: [] },
    clock,
    store: {
      async load() {
        log.push("load");
        return memory.load();
      },
      async save(state) {
        log.push(`save ${state.taken.at(-1)}`);
        await memory.save(state);
      },
    },
    timers: { bell: { kind: "rang" } },
    handlers: {
      work({ name }) {
        log.push(`do ${name}`);
        return handle(name);
      },
    },
  };
  return { log, clock, memory, parts, driver: createDriver(parts) };
}

describe("createDriver()", () => {
  it("saves before running effects, and handles one event at a time, in order", async () => {
    const { driver, log } = build();
    const ended = driver.run({ kind: "started", effects: [work("a"), work("b")] });
    driver.dispatch({ kind: "second", effects: [work("c")] });
    driver.dispatch({ kind: "nothing" });
    await driver.idle();
    assert.deepEqual(log, ["load", "save started", "do a", "do b", "save second", "do c"]);
    assert.deepEqual(driver.state.taken, ["started", "second"]);
    driver.stop();
    await ended;
  });

  it("handles the first event before those dispatched earlier", async () => {
    const { driver } = build();
    driver.dispatch({ kind: "early" });
    const ended = driver.run({ kind: "started" });
    await driver.idle();
    assert.deepEqual(driver.state.taken, ["started", "early"]);
    driver.stop();
    await ended;
  });

  it("starts from the saved state", async () => {
    const { parts, memory } = build();
    await memory.save({ taken: ["before"] });
    const driver = createDriver(parts);
    assert.deepEqual(driver.state.taken, []);
    const ended = driver.run({ kind: "started" });
    await driver.idle();
    assert.deepEqual(driver.state.taken, ["before", "started"]);
    driver.stop();
    await ended;
  });

  it("waits for a handler's promise, and dispatches its result", async () => {
    const { driver, log } = build((name) =>
      name === "ask" ? Promise.resolve({ kind: "answered", effects: [work("use")] }) : undefined,
    );
    const ended = driver.run({ kind: "started", effects: [work("ask"), work("next")] });
    await driver.idle();
    assert.deepEqual(log, ["load", "save started", "do ask", "do next", "save answered", "do use"]);
    driver.stop();
    await ended;
  });

  it("dispatches a synchronous result", async () => {
    const { driver } = build((name) => (name === "ask" ? { kind: "answered" } : undefined));
    const ended = driver.run({ kind: "started", effects: [work("ask")] });
    await driver.idle();
    assert.deepEqual(driver.state.taken, ["started", "answered"]);
    driver.stop();
    await ended;
  });

  it("handles events while background work runs, and is idle only after it", async () => {
    const slow = Promise.withResolvers<Event | undefined>();
    const { driver } = build(() => inBackground(slow.promise));
    const ended = driver.run({ kind: "started", effects: [work("slow")] });
    driver.dispatch({ kind: "meanwhile" });
    let idle = false;
    const whenIdle = driver.idle().then(() => {
      idle = true;
    });
    while (driver.state.taken.length < 2) await Promise.resolve();
    assert.deepEqual([driver.state.taken, idle], [["started", "meanwhile"], false]);
    slow.resolve({ kind: "answered" });
    await whenIdle;
    assert.deepEqual(driver.state.taken, ["started", "meanwhile", "answered"]);
    await driver.idle();
    driver.stop();
    await ended;
  });

  it("accepts background work without a resulting event", async () => {
    const { driver } = build(() => inBackground<Event>(Promise.resolve(undefined)));
    const ended = driver.run({ kind: "started", effects: [work("slow")] });
    await driver.idle();
    assert.deepEqual(driver.state.taken, ["started"]);
    driver.stop();
    await ended;
  });

  it("keeps one timer per name: a new one replaces it, and clearing twice does nothing", async () => {
    const { driver, clock } = build();
    const clear: Effect = { kind: "clear_timer", timer: "bell" };
    const ended = driver.run({ kind: "started", effects: [bell(10), bell(20)] });
    await driver.idle();
    clock.advance(19);
    await driver.idle();
    assert.deepEqual(driver.state.taken, ["started"]);
    clock.advance(1);
    await driver.idle();
    assert.deepEqual(driver.state.taken, ["started", "rang"]);
    driver.dispatch({ kind: "again", effects: [bell(5), clear, clear] });
    await driver.idle();
    assert.equal(clock.nextTimerMs(), null);
    driver.stop();
    await ended;
  });

  it("ends when stopped: timers are cleared, events and late results are dropped, and stopping twice is safe", async () => {
    const slow = Promise.withResolvers<Event | undefined>();
    const { driver, clock } = build(() => inBackground(slow.promise));
    const ended = driver.run({ kind: "started", effects: [bell(5), work("slow")] });
    driver.dispatch({ kind: "second" });
    while (driver.state.taken.length < 2) await Promise.resolve();
    driver.stop();
    driver.stop();
    driver.dispatch({ kind: "late" });
    slow.resolve({ kind: "answered" });
    await ended;
    await driver.idle();
    assert.equal(clock.nextTimerMs(), null);
    assert.deepEqual(driver.state.taken, ["started", "second"]);
  });

  it("skips the remaining effects of a step after a stop", async () => {
    const { driver, log } = build(() => {
      driver.stop();
      return undefined;
    });
    await driver.run({ kind: "started", effects: [work("a"), work("b")] });
    assert.deepEqual(log, ["load", "save started", "do a"]);
  });

  it("does nothing if stopped while loading", async () => {
    const { driver, log } = build();
    const ended = driver.run({ kind: "started" });
    driver.stop();
    await ended;
    assert.deepEqual(log, ["load"]);
  });

  it("rejects with the error of a handler, background work or the store, and does nothing further", async () => {
    const boom = new Error("boom");
    const rows: readonly [name: string, handle: () => Handled<Event>][] = [
      ["a handler that throws", () => assert.fail(boom)],
      ["a promise that rejects", () => Promise.reject(boom)],
      ["background work that rejects", () => inBackground(Promise.reject(boom))],
    ];
    for (const [name, handle] of rows) {
      const { driver, clock } = build(handle);
      const ended = driver.run({ kind: "started", effects: [bell(5), work("a")] });
      await assert.rejects(ended, boom, name);
      driver.dispatch({ kind: "late" });
      await driver.idle();
      assert.deepEqual([driver.state.taken, clock.nextTimerMs()], [["started"], null], name);
    }
    for (const broken of ["load", "save"] as const) {
      const { parts, log } = build();
      const store = { ...parts.store, [broken]: () => Promise.reject(boom) };
      const driver = createDriver({ ...parts, store });
      await assert.rejects(driver.run({ kind: "started", effects: [work("a")] }), boom, broken);
      assert.ok(!log.includes("do a"));
      assert.deepEqual(driver.state.taken, []);
    }
  });

  it("runs only once", async () => {
    const { driver } = build();
    const ended = driver.run({ kind: "started" });
    await assert.rejects(driver.run({ kind: "started" }), /a driver runs only once: its phase is loading/);
    driver.stop();
    await ended;
  });
});
