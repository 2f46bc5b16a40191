import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createManualClock } from "../../../../adapters/clock/manual-clock.ts";
import { inBackground } from "../../../../adapters/driver/create-driver.ts";
import { createMemoryStateStore } from "../../../../adapters/memory/state-store.ts";
import {
  initialWatchdogState,
  PROBE_FAILURES_TO_LOG,
  PROBE_FAILURES_TO_RESTART,
  PROBE_INTERVAL_MS,
  PROXY_RESTARTS_PER_HOUR,
  type WatchdogEffect,
  type WatchdogEvent,
  type WatchdogState,
  watchdogTable,
  watchdogTransition,
} from "../../../../core/operations/watchdog/watchdog-machine.ts";
import { command, createRig, pass } from "../../crashing.rig.ts";
import { DAY, machineProperties, type ReplayLine, replay } from "../../machine.rig.ts";

const machine = { transition: watchdogTransition, table: watchdogTable };
const start: WatchdogEvent = { kind: "started" };
const due: WatchdogEvent = { kind: "probe_due" };
const good: WatchdogEvent = { kind: "probe_answered", ok: true };
const bad: WatchdogEvent = { kind: "probe_answered", ok: false };
const next = "set probe 1500";
const log = "log watchdog.mitm_unhealthy";

/** Five failures in a row that start at this second, and the effects of the fifth. */
function outage(atSeconds: number, fifth: readonly string[]): ReplayLine<WatchdogEvent>[] {
  return [[], [], [log], [], fifth].map((effects, at) => [atSeconds + at, bad, effects]);
}

describe("the specification's table: watchdog", () => {
  it("probes every 1.5 s, regardless of how long a response takes", () => {
    replay(machine, initialWatchdogState, [
      [0, start, [next]],
      [1.5, due, [next, "probe_port"]],
      [1.5, good, []],
      [3, due, [next, "probe_port"]],
      [4, bad, []],
      [4.5, due, [next, "probe_port"]],
    ]);
  });

  it("3 consecutive failures log an error, 5 trigger a restart", () => {
    const state = replay(machine, initialWatchdogState, outage(0, [log, "restart_proxy"]));
    assert.deepEqual(state, { status: "failing", failures: 0, restartedAt: [DAY + 4_000] });
  });

  it("a response in between resets the count", () => {
    const state = replay(machine, initialWatchdogState, [
      [0, bad, []],
      [1, bad, []],
      [2, good, []],
      [3, bad, []],
      [4, bad, []],
      [5, bad, [log]],
    ]);
    assert.deepEqual([state.status, state.failures], ["unhealthy", 3]);
  });

  it("at most 3 restarts per hour, then replacements; the fourth restart waits for the first to be an hour old", () => {
    const state = replay(machine, initialWatchdogState, [
      ...outage(0, [log, "restart_proxy"]),
      ...outage(10, [log, "restart_proxy"]),
      ...outage(20, [log, "restart_proxy"]),
      ...outage(30, [log, "replace_proxy"]),
      [40, due, [next, "probe_port"]],
      [40, good, []],
      ...outage(50, [log, "replace_proxy"]).map(
        ([at, event, effects], n): ReplayLine<WatchdogEvent> =>
          n === 2 ? [at, event, []] : [at, event, effects],
      ),
      [3_603, bad, []],
      [3_604, bad, [log, "restart_proxy"]],
    ]);
    assert.equal(state.restartedAt.length, 3);
  });

  it("a proxy that replaced one is exhausted even if it answers, and is restarted when the hour is over", () => {
    const before: WatchdogState = { status: "exhausted", failures: 2, restartedAt: [DAY, DAY, DAY] };
    const within = replay(machine, before, [[3_599, good, []]]);
    assert.deepEqual(within, { ...before, failures: 0 });
    const after = replay(machine, before, [
      [3_600, good, ["restart_proxy"]],
      [3_602, good, []],
    ]);
    assert.deepEqual([after.status, after.restartedAt], ["healthy", [DAY + 3_600_000]]);
  });

  it("ignores restarts far in the future, because the clock was set back", () => {
    const before: WatchdogState = {
      status: "exhausted",
      failures: 5,
      restartedAt: [DAY + 9e9, DAY + 9e9, DAY + 9e9],
    };
    replay(machine, before, [[0, bad, [log, "restart_proxy"]]]);
  });

  it("starts healthy after a restart of the daemon, and still counts the restarts of the hour", () => {
    for (const status of ["healthy", "failing", "unhealthy", "exhausted"] as const) {
      const state: WatchdogState = replay(machine, { status, failures: 4, restartedAt: [DAY] }, [
        [0, due, [next, "probe_port"]],
        [0, start, [next]],
      ]);
      assert.deepEqual(state, { status: "healthy", failures: 0, restartedAt: [DAY] });
    }
  });
});

describe("the log lines of core/operations/watchdog", () => {
  const unhealthy = (consecutive_failures: number, action: string): WatchdogEffect => ({
    kind: "log",
    level: "error",
    event: "watchdog.mitm_unhealthy",
    fields: { consecutive_failures, action },
  });
  const rows: readonly [name: string, state: WatchdogState, line: WatchdogEffect][] = [
    ["the third failure", { status: "failing", failures: 2, restartedAt: [] }, unhealthy(3, "watch")],
    ["a restart", { status: "unhealthy", failures: 4, restartedAt: [DAY] }, unhealthy(5, "restart")],
    [
      "the end of the hour's restarts",
      { status: "unhealthy", failures: 4, restartedAt: [DAY, DAY, DAY] },
      unhealthy(5, "restarts_exhausted"),
    ],
  ];
  for (const [name, state, line] of rows) {
    it(name, () => {
      assert.deepEqual(watchdogTransition(state, bad, DAY).effects[0], line);
    });
  }

  it("starts with no restart counted", () => {
    assert.deepEqual(initialWatchdogState, { status: "healthy", failures: 0, restartedAt: [] });
  });
});

/** Mostly whole outages, so that walks reach the hour's limit; also anything in between, and occasionally a long wait. */
const moves = fc
  .array(
    fc.record({
      afterMs: fc.constantFrom(0, 1_500, 1_500, 1_500, 600_000, 1_800_000, 3_600_000),
      events: fc.constantFrom<readonly WatchdogEvent[]>(
        [bad, bad, bad, bad, bad],
        [bad, bad, bad, bad, bad],
        [bad],
        [good],
        [due],
        [start],
      ),
    }),
    { maxLength: 30, size: "max" },
  )
  .map((parts) =>
    parts.flatMap(({ afterMs, events }) =>
      events.map((move, at) => ({ afterMs: at === 0 ? afterMs : 1_500, move })),
    ),
  );

describe("properties of core/operations/watchdog", () => {
  // Planted: `restartedAt.push` on the frozen list.
  // Planted: an arrow `healthy probe_answered exhausted` added to the table.
  const holds = machineProperties({
    ...machine,
    initial: fc.constant(initialWatchdogState),
    moves,
    toEvent: (event: WatchdogEvent) => event,
    numRuns: 150,
    walksForArrows: 300,
    delayMs: [1_500, 1_500],
  });

  // Planted: `<=` where restarts are compared with 3. Planted: only restarts of the last half hour are kept.
  it("never restarts more than three times within any hour", () => {
    holds(() => {
      const restarts: number[] = [];
      return (_, __, { effects }, now) => {
        if (!effects.some(({ kind }) => kind === "restart_proxy")) return;
        restarts.push(now);
        assert.ok(restarts.filter((at) => now - at < 3_600_000).length <= PROXY_RESTARTS_PER_HOUR);
      };
    });
  });

  // Planted: 4 failures restart. Planted: an answer does not reset the count. Planted: exhausted at the 4th failure.
  it("restarts and replaces only after five failures in a row, and replaces only after three restarts", () => {
    holds(() => {
      let failures = 0;
      return (before, happened, { state, effects }) => {
        if (happened.kind === "probe_answered") failures = happened.ok ? 0 : failures + 1;
        if (happened.kind === "started") failures = 0;
        const [restarts, replaces] = ["restart_proxy", "replace_proxy"].map((wanted) =>
          effects.some(({ kind }) => kind === wanted),
        );
        const isBack = restarts && before.status === "exhausted";
        if ((restarts && !isBack) || replaces)
          assert.ok(failures >= PROBE_FAILURES_TO_RESTART, `${failures}`);
        if (replaces) assert.equal(state.restartedAt.length, PROXY_RESTARTS_PER_HOUR);
        assert.equal(
          state.status === "exhausted",
          replaces || (before.status === "exhausted" && !restarts && happened.kind !== "started"),
        );
        if (restarts || replaces) failures = 0;
      };
    });
  });

  // Planted: the answer sets the timer too. Planted: a due probe sets none.
  it("sets the timer of the next probe with each probe and at the start, never on a result", () => {
    holds(() => (_, happened, { effects }) => {
      const count = (wanted: string) => effects.filter(({ kind }) => kind === wanted).length;
      assert.equal(count("probe_port"), happened.kind === "probe_due" ? 1 : 0);
      assert.equal(count("set_timer"), happened.kind === "probe_answered" ? 0 : 1);
    });
  });
});

function createWorld() {
  const clock = createManualClock(DAY);
  const facts = { stuck: false, mendable: true };
  const restarts: number[] = [];
  const rig = createRig<WatchdogState, WatchdogEvent, WatchdogEffect>(
    {
      transition: watchdogTransition,
      initial: initialWatchdogState,
      store: createMemoryStateStore(),
      clock,
      timers: { probe: { kind: "probe_due" } },
      handlers: {
        probe_port: () => {
          const ok = !facts.stuck;
          const answer: WatchdogEvent = { kind: "probe_answered", ok };
          return inBackground(new Promise((resolve) => clock.setTimer(50, () => resolve(answer))));
        },
        restart_proxy: () => {
          restarts.push(clock.now());
          if (facts.mendable) facts.stuck = false;
          return undefined;
        },
        replace_proxy: () => {
          if (facts.mendable) facts.stuck = false;
          return undefined;
        },
        log: () => undefined,
      },
    },
    () => start,
  );
  return {
    clock,
    facts,
    rig,
    check() {
      for (const at of restarts) {
        const within = restarts.filter((other) => other >= at && other - at < 3_600_000);
        assert.ok(within.length <= PROXY_RESTARTS_PER_HOUR);
      }
    },
  };
}

type World = ReturnType<typeof createWorld>;
const act = command<World>;
const commands = [
  fc.tuple(fc.boolean(), fc.boolean()).map(([stuck, mendable]) =>
    act(`stuck ${stuck}, mendable ${mendable}`, (world) => {
      world.facts.stuck = stuck;
      world.facts.mendable = mendable;
    }),
  ),
  fc.constantFrom(1_500, 9_000, 60_000).map((ms) => act(`pass ${ms}`, (world) => pass(world, ms))),
  fc.nat(4).map((operations) => act(`crash ${operations}`, (world) => world.rig.crashAfter(operations))),
];

describe("core/operations/watchdog in its real driver", () => {
  // Planted: `started` sets no timer. Planted: `started` forgets the hour's restarts.
  it("repairs a stuck port within the restarts of an hour, through any crashes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 25, size: "max" }), async (list) => {
        const world = createWorld();
        await fc.asyncModelRun(() => ({ model: {}, real: world }), list);
        world.rig.crashAfter(Number.POSITIVE_INFINITY);
        world.facts.stuck = true;
        world.facts.mendable = true;
        world.clock.jump(world.clock.now() + 3_600_000);
        await pass(world, 20_000);
        assert.equal(world.facts.stuck, false);
        assert.equal(world.rig.state.status, "healthy");
        world.check();
        await world.rig.stop();
      }),
      { numRuns: 60 },
    );
  });
});

describe("the numbers of core/operations/watchdog", () => {
  it("are the specification's", () => {
    assert.deepEqual(
      { PROBE_INTERVAL_MS, PROBE_FAILURES_TO_LOG, PROBE_FAILURES_TO_RESTART, PROXY_RESTARTS_PER_HOUR },
      {
        PROBE_INTERVAL_MS: 1_500,
        PROBE_FAILURES_TO_LOG: 3,
        PROBE_FAILURES_TO_RESTART: 5,
        PROXY_RESTARTS_PER_HOUR: 3,
      },
    );
  });
});
