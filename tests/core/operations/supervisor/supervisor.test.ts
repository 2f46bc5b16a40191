import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createManualClock } from "../../../../adapters/clock/manual-clock.ts";
import { inBackground } from "../../../../adapters/driver/create-driver.ts";
import { createMemoryStateStore } from "../../../../adapters/memory/state-store.ts";
import {
  DEGRADED_RETRY_MS,
  FAST_RESTARTS_MAX,
  FAST_RUN_MS,
  HEALTHY_RUN_MS,
  initialSupervisorState,
  RESTART_DELAY_MAX_MS,
  RESTART_DELAY_MIN_MS,
  type SupervisorEffect,
  type SupervisorEvent,
  type SupervisorState,
  supervisorTable,
  supervisorTransition,
} from "../../../../core/operations/supervisor/supervisor-machine.ts";
import { command, createRig, pass } from "../../crashing.rig.ts";
import { DAY, effectName, machineProperties, replay } from "../../machine.rig.ts";

const machine = { transition: supervisorTransition, table: supervisorTable };
const start: SupervisorEvent = { kind: "started", enabled: true };
const due: SupervisorEvent = { kind: "restart_due" };
const resume: SupervisorEvent = { kind: "resume_requested" };
const shutdown: SupervisorEvent = { kind: "shutdown_requested" };
const proved: SupervisorEvent = { kind: "run_proved" };

function exited(
  runNumber: number,
  ranMs: number,
  cause: "error" | "finished" | "shutdown" = "error",
): SupervisorEvent {
  return { kind: "worker_exited", runNumber, cause, error: cause === "error" ? "boom" : null, ranMs };
}

const spawned = ["clear restart", "spawn_worker", "set proof 60000", "log cloud.supervisor.spawned"];
const waits = (ms: number) => ["clear proof", `set restart ${ms}`, "log cloud.supervisor.worker_exited"];
const ended = ["clear restart", "clear proof"];

function running(changes: Partial<SupervisorState> = {}): SupervisorState {
  return { status: "running", fastRestarts: 0, restarts: 0, runNumber: 1, ...changes };
}

describe("the specification's table: worker exits unexpectedly", () => {
  it("any exit except shutdown cancellation -> respawned, exponential backoff 1 s to 60 s", () => {
    const delays = Array.from({ length: 9 }, (_, restarts) => {
      const { state, effects } = supervisorTransition(running({ restarts }), exited(1, 20_000), DAY);
      assert.equal(state.status, "waiting");
      return effects.map(effectName)[1];
    });
    assert.deepEqual(
      delays,
      [1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => `set restart ${seconds * 1000}`),
    );
    assert.equal(supervisorTransition(running(), exited(1, 0, "finished"), DAY).state.status, "waiting");
  });

  it("shutdown cancellation -> not a failure", () => {
    const before = running({ fastRestarts: 7, restarts: 7 });
    const { state, effects } = supervisorTransition(before, exited(1, 5, "shutdown"), DAY);
    assert.deepEqual(state, { ...initialSupervisorState, runNumber: 1 });
    assert.deepEqual(effects.map(effectName), ended);
  });

  it("after 8 consecutive fast restarts -> the worker degrades, no crash", () => {
    let state = supervisorTransition(initialSupervisorState, start, DAY).state;
    for (let restart = 1; restart <= 8; restart++) {
      state = supervisorTransition(state, exited(restart, FAST_RUN_MS), DAY).state;
      state = supervisorTransition(state, due, DAY).state;
      assert.deepEqual([state.status, state.fastRestarts], ["running", restart]);
    }
    state = supervisorTransition(state, exited(9, FAST_RUN_MS), DAY).state;
    assert.deepEqual(state, { status: "degraded", fastRestarts: 8, restarts: 9, runNumber: 9 });
  });

  it("a healthy run resets the counter; a medium run is neither fast nor healthy", () => {
    const before = running({ fastRestarts: 8, restarts: 8 });
    const rows: readonly [ranMs: number, fastRestarts: number, status: string, timer: string][] = [
      [FAST_RUN_MS, 8, "degraded", "set restart 300000"],
      [FAST_RUN_MS + 1, 8, "waiting", "set restart 60000"],
      [HEALTHY_RUN_MS - 1, 8, "waiting", "set restart 60000"],
      [HEALTHY_RUN_MS, 0, "waiting", "set restart 1000"],
    ];
    for (const [ranMs, fastRestarts, status, timer] of rows) {
      const { state, effects } = supervisorTransition(before, exited(1, ranMs), DAY);
      assert.deepEqual(
        [state.fastRestarts, state.status, effects.map(effectName)[1]],
        [fastRestarts, status, timer],
      );
    }
    assert.deepEqual(supervisorTransition(before, proved, DAY).state, running());
  });
});

describe("replays of core/operations/supervisor", () => {
  it("tries a degraded worker every 300 s and on resume, until it runs for 60 s", () => {
    const degraded: SupervisorState = { status: "degraded", fastRestarts: 8, restarts: 8, runNumber: 8 };
    const state = replay(machine, degraded, [
      [300, due, spawned],
      [300, resume, []],
      [301, exited(9, 900), waits(300_000)],
      [302, resume, spawned],
      [362, proved, []],
      [363, exited(10, 61_000), waits(1_000)],
      [364, due, spawned],
    ]);
    assert.equal(state.status, "running");
    assert.equal(
      supervisorTransition({ ...degraded, status: "retrying" }, exited(8, 5), DAY).state.status,
      "degraded",
    );
  });

  it("stops for good on shutdown, in any state", () => {
    for (const status of ["running", "waiting", "degraded", "retrying"] as const) {
      replay(machine, running({ status }), [
        [0, shutdown, [...ended, "cancel_worker"]],
        [0, shutdown, []],
        [1, exited(1, 5, "shutdown"), []],
        [1, due, []],
        [1, proved, []],
        [1, resume, []],
      ]);
    }
    const retrying = running({ status: "retrying" });
    assert.equal(supervisorTransition(retrying, exited(1, 5, "shutdown"), DAY).state.status, "stopped");
  });

  it("ignores the exit of an earlier run", () => {
    for (const status of ["running", "retrying"] as const) {
      const state = running({ status, runNumber: 2 });
      assert.deepEqual(supervisorTransition(state, exited(1, 5, "shutdown"), DAY), { state, effects: [] });
    }
  });

  it("skips a worker that is not enabled, and starts it once it is", () => {
    replay(machine, initialSupervisorState, [
      [0, { kind: "started", enabled: false }, [...ended, "cancel_worker", "log cloud.supervisor.skip"]],
      [1, start, spawned],
      [2, { kind: "started", enabled: false }, [...ended, "cancel_worker", "log cloud.supervisor.skip"]],
    ]);
  });

  it("restarts a waiting worker at once on resume", () => {
    replay(machine, running({ status: "waiting" }), [[0, resume, spawned]]);
  });
});

describe("the log lines of core/operations/supervisor", () => {
  type Level = Extract<SupervisorEffect, { kind: "log" }>["level"];
  const fields = { cause: "error", error: "boom", ran_ms: 7, fast_restarts: 8 };
  it("contain the error's message if the worker reported it", () => {
    const event = { ...exited(1, 20_000), message: "no such table" } as SupervisorEvent;
    const { effects } = supervisorTransition(running(), event, DAY);
    const logged = effects.find(({ kind }) => kind === "log");
    assert.equal(logged?.kind === "log" ? logged.fields.message : null, "no such table");
  });

  const rows: readonly [string, SupervisorState, SupervisorEvent, Level, object][] = [
    [
      "spawned",
      running({ status: "waiting", restarts: 3, fastRestarts: 2 }),
      due,
      "info",
      { event: "cloud.supervisor.spawned", fields: { restarts: 3 } },
    ],
    [
      "skip",
      running(),
      { kind: "started", enabled: false },
      "info",
      { event: "cloud.supervisor.skip", fields: { reason: "not_enabled" } },
    ],
    [
      "worker_exited, to be started again",
      running({ restarts: 1, fastRestarts: 1 }),
      exited(1, 20_000, "finished"),
      "warn",
      {
        event: "cloud.supervisor.worker_exited",
        fields: {
          cause: "finished",
          error: null,
          ran_ms: 20_000,
          fast_restarts: 1,
          degraded: false,
          restart_in_ms: 2_000,
        },
      },
    ],
    [
      "worker_exited, degraded",
      running({ restarts: 8, fastRestarts: 8 }),
      exited(1, 7),
      "error",
      {
        event: "cloud.supervisor.worker_exited",
        fields: { ...fields, degraded: true, restart_in_ms: 300_000 },
      },
    ],
    [
      "worker_exited, degraded again",
      running({ status: "retrying", restarts: 9, fastRestarts: 8 }),
      exited(1, 7),
      "error",
      {
        event: "cloud.supervisor.worker_exited",
        fields: { ...fields, degraded: true, restart_in_ms: 300_000 },
      },
    ],
  ];
  for (const [name, state, event, level, line] of rows) {
    it(name, () => {
      const { effects } = supervisorTransition(state, event, DAY);
      assert.deepEqual(effects.at(-1), { kind: "log", level, ...line });
    });
  }

  it("count the restarts of a worker on trial", () => {
    const state = running({ status: "retrying", restarts: 9, fastRestarts: 8 });
    assert.equal(supervisorTransition(state, exited(1, 7), DAY).state.restarts, 10);
  });
});

type Move =
  | { exit: number; cause: "error" | "finished" | "shutdown"; late: boolean }
  | { event: SupervisorEvent };

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      exit: fc.constantFrom(0, 5, 10_000, 10_001, 59_999, 60_000, 1e9),
      cause: fc.constantFrom("error", "error", "error", "finished", "shutdown"),
      late: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom(due, due, due, due, due, proved, start, resume, shutdown, {
        kind: "started",
        enabled: false,
      } as SupervisorEvent)
      .map((event) => ({ event })),
  },
);
const moves = fc.array(fc.record({ afterMs: fc.constantFrom(0, 1_000, -5_000), move }), {
  maxLength: 60,
  size: "max",
});
const toEvent = (one: Move, { runNumber }: SupervisorState): SupervisorEvent =>
  "event" in one ? one.event : exited(one.late ? runNumber - 1 : runNumber, one.exit, one.cause);
/** Most walks start close to degrading, so that they reach it. */
const initial = fc
  .tuple(fc.constantFrom("stopped", "running", "degraded"), fc.constantFrom(0, 7, 8))
  .map(
    ([status, count]) => ({ ...running(), status, fastRestarts: count, restarts: count }) as SupervisorState,
  );

describe("properties of core/operations/supervisor", () => {
  // Planted: `state.restarts++` on the frozen state. Planted: `error: undefined` in the log line.
  // Planted: an arrow `stopped resume_requested running` added to the table.
  const holds = machineProperties({
    ...machine,
    initial,
    moves,
    toEvent,
    numRuns: 400,
    walksForArrows: 400,
    delayMs: [RESTART_DELAY_MIN_MS, DEGRADED_RETRY_MS],
  });

  // Planted: exponentialDelay without its cap. Planted: a degraded worker waits like a healthy one.
  it("waits 1 s to 60 s for a restart, and 300 s while degraded", () => {
    holds(() => (_, __, { state, effects }) => {
      for (const effect of effects) {
        if (effect.kind !== "set_timer" || effect.timer !== "restart") continue;
        if (state.status === "degraded") assert.equal(effect.delayMs, DEGRADED_RETRY_MS);
        else assert.ok(effect.delayMs >= RESTART_DELAY_MIN_MS && effect.delayMs <= RESTART_DELAY_MAX_MS);
      }
    });
  });

  // Planted: an end by shutdown counts as a fast one. Planted: a run of 10 to 60 s resets the count.
  it("degrades at the first fast exit after eight fast restarts since the last healthy run, and not before", () => {
    holds(() => {
      let count: number | null = null;
      return (before, happened, { state }) => {
        count ??= before.fastRestarts;
        if (happened.kind === "started" || happened.kind === "shutdown_requested") count = 0;
        if (happened.kind === "run_proved" && ["running", "retrying"].includes(before.status)) count = 0;
        const current = happened.kind === "worker_exited" && happened.runNumber === before.runNumber;
        if (!current || !["running", "retrying"].includes(before.status)) return;
        if (happened.cause === "shutdown") count = 0;
        else if (happened.ranMs >= HEALTHY_RUN_MS && before.status === "running") count = 0;
        else if (happened.ranMs <= FAST_RUN_MS) count++;
        if (happened.cause === "shutdown") assert.equal(state.status, "stopped");
        if (before.status !== "running" || happened.cause === "shutdown") return;
        assert.equal(state.status === "degraded", count > FAST_RESTARTS_MAX, `${count}`);
      };
    }, 1_500);
  });

  // Planted: `spawn_worker` on a resume while running.
  it("runs one worker at a time, each with a new number", () => {
    holds(() => (before, happened, { state, effects }) => {
      for (const effect of effects) {
        if (effect.kind !== "spawn_worker") continue;
        assert.equal(effect.runNumber, before.runNumber + 1);
        assert.equal(state.runNumber, effect.runNumber);
        // Only a start of the daemon may find a worker stored as running: it ended with the process.
        if (before.status === "running" || before.status === "retrying")
          assert.equal(happened.kind, "started");
      }
    });
  });
});

function createWorld() {
  const clock = createManualClock(DAY);
  /** How long the next worker runs before it fails; with `null`, until it is cancelled. */
  const facts = { lifeMs: null as number | null };
  let alive = 0;
  let most = 0;
  let cancel: (() => void) | null = null;
  const rig = createRig<SupervisorState, SupervisorEvent, SupervisorEffect>(
    {
      transition: supervisorTransition,
      initial: initialSupervisorState,
      store: createMemoryStateStore(),
      clock,
      timers: { restart: { kind: "restart_due" }, proof: { kind: "run_proved" } },
      handlers: {
        spawn_worker({ runNumber }) {
          // A worker dies with its process, and a cancelled one has ended before the next starts.
          cancel?.();
          alive++;
          most = Math.max(most, alive);
          const life = facts.lifeMs;
          return inBackground(
            new Promise((resolve) => {
              let over = false;
              const end = (cause: "error" | "shutdown") => {
                if (over) return;
                over = true;
                alive--;
                cancelTimer?.();
                resolve(exited(runNumber, life ?? 0, cause));
              };
              const cancelTimer = life === null ? null : clock.setTimer(life, () => end("error"));
              cancel = () => end("shutdown");
            }),
          );
        },
        cancel_worker() {
          cancel?.();
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
    alive: () => alive,
    check() {
      assert.ok(most <= 1);
    },
  };
}

type World = ReturnType<typeof createWorld>;
const act = command<World>;
const commands = [
  fc.constantFrom(5, 5, 20_000, 90_000, null).map((lifeMs) =>
    act(`life ${lifeMs}`, (world) => {
      world.facts.lifeMs = lifeMs;
    }),
  ),
  fc.constantFrom(1_000, 61_000, 400_000).map((ms) => act(`pass ${ms}`, (world) => pass(world, ms))),
  fc.nat(6).map((operations) => act(`crash ${operations}`, (world) => world.rig.crashAfter(operations))),
  fc
    .constantFrom(resume, shutdown, start)
    .map((event) => act(event.kind, (world) => world.rig.dispatch(event))),
];

describe("core/operations/supervisor in its real driver", () => {
  // Planted: degraded sets no timer. Planted: the end of an earlier run taken for the current one's.
  it("runs at most one worker, and restarts it until it runs well", async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 30, size: "max" }), async (list) => {
        const world = createWorld();
        await fc.asyncModelRun(() => ({ model: {}, real: world }), list);
        world.rig.crashAfter(Number.POSITIVE_INFINITY);
        world.facts.lifeMs = null;
        if (world.rig.state.status === "stopped") world.rig.dispatch(start);
        await pass(world, DEGRADED_RETRY_MS + HEALTHY_RUN_MS + 90_000);
        assert.equal(world.alive(), 1);
        assert.equal(world.rig.state.status, "running");
        world.rig.dispatch(shutdown);
        await world.rig.flush();
        assert.equal(world.alive(), 0);
        assert.equal(world.rig.state.status, "stopped");
        await world.rig.stop();
      }),
      { numRuns: 60 },
    );
  });
});

describe("the numbers of core/operations/supervisor", () => {
  it("are the specification's", () => {
    assert.deepEqual(
      {
        RESTART_DELAY_MIN_MS,
        RESTART_DELAY_MAX_MS,
        FAST_RESTARTS_MAX,
        FAST_RUN_MS,
        HEALTHY_RUN_MS,
        DEGRADED_RETRY_MS,
      },
      {
        RESTART_DELAY_MIN_MS: 1_000,
        RESTART_DELAY_MAX_MS: 60_000,
        FAST_RESTARTS_MAX: 8,
        FAST_RUN_MS: 10_000,
        HEALTHY_RUN_MS: 60_000,
        DEGRADED_RETRY_MS: 300_000,
      },
    );
  });
});
