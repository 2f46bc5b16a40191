import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  initialWarmState,
  MAX_WARM,
  MAX_WARM_AGE_MS,
  MAX_WARM_HOSTS,
  MAX_WARM_PAUSE_MS,
  MAX_WARM_PER_HOST,
  MIN_WARM_AGE_MS,
  MIN_WARM_PAUSE_MS,
  WARM_FOR_MS,
  type WarmEffect,
  type WarmEvent,
  type WarmState,
  warmTable,
  warmTransition,
} from "../../../../core/operations/warm/warm-machine.ts";
import { DAY, machineProperties, type ReplayLine, replay } from "../../machine.rig.ts";

const machine = { transition: warmTransition, table: warmTable };

const requested = (key = "a"): WarmEvent => ({ kind: "requested", key });
const connected = (key = "a"): WarmEvent => ({ kind: "connected", key });
const opened = (id: number): WarmEvent => ({ kind: "opened", id });
const failed = (id: number, scope: "host" | "network" = "host"): WarmEvent => ({
  kind: "dial_failed",
  id,
  scope,
});
const lost = (id: number): WarmEvent => ({ kind: "lost", id });
const due: WarmEvent = { kind: "timer_due" };
const changed: WarmEvent = { kind: "network_changed" };
const stopped: WarmEvent = { kind: "stopped" };

const ids = (state: WarmState) => state.hosts.flatMap(({ connections }) => connections.map(({ id }) => id));
const first: ReplayLine<WarmEvent>[] = [
  [0, connected(), ["dial", "set check 20000"]],
  [0.1, opened(1), []],
];

describe("warmTransition()", () => {
  it("dials nothing before the first call, and one connection after it", () => {
    const state = replay(machine, initialWarmState, [
      [0, requested(), []],
      [0, due, []],
      [1, connected(), ["dial", "set check 20000"]],
    ]);
    assert.deepEqual(ids(state), [1]);
  });

  it("hands out a ready connection once, and dials another", () => {
    const state = replay(machine, initialWarmState, [
      ...first,
      [1, requested(), ["use", "dial"]],
      [1, requested(), ["dial"]],
    ]);
    assert.deepEqual(ids(state), [2, 3]);
  });

  it("hands out the youngest connection", () => {
    const { effects } = warmTransition(
      replay(machine, initialWarmState, [
        ...first,
        [1, requested(), ["use", "dial"]],
        [1, requested(), ["dial"]],
        [1.1, opened(2), []],
        [1.1, opened(3), []],
      ]),
      requested(),
      DAY + 2_000,
    );
    assert.deepEqual(effects[0], { kind: "use", id: 3 });
  });

  it("keeps one more for each call that finds all still being dialled, up to 8", () => {
    const state = replay(machine, initialWarmState, [
      [0, connected(), ["dial", "set check 20000"]],
      ...Array.from({ length: 7 }, (): ReplayLine<WarmEvent> => [0.01, requested(), ["dial"]]),
      [0.01, requested(), []],
    ]);
    assert.equal(ids(state).length, MAX_WARM_PER_HOST);
  });

  it("keeps 16 in all", () => {
    const fill = (key: string): ReplayLine<WarmEvent>[] =>
      Array.from({ length: 7 }, () => [0, requested(key), ["dial"]]);
    const state = replay(machine, initialWarmState, [
      [0, connected("a"), ["dial", "set check 20000"]],
      ...fill("a"),
      [0, connected("b"), ["dial"]],
      ...fill("b"),
      [0, connected("c"), []],
    ]);
    assert.equal(ids(state).length, MAX_WARM);
  });

  it("replaces a connection at 20 s, and none after two minutes without a call", () => {
    const state = replay(machine, initialWarmState, [
      ...first,
      [20, due, ["close", "dial", "set check 20000"]],
      [40, due, ["close", "dial", "set check 20000"]],
      [60, due, ["close", "dial", "set check 20000"]],
      [80, due, ["close", "dial", "set check 20000"]],
      [100, due, ["close", "dial", "set check 20000"]],
      [120, due, ["close"]],
      [121, requested(), []],
    ]);
    assert.equal(state.status, "idle");
    assert.deepEqual(ids(state), []);
  });

  it("does not hand out a connection that is too old, even if the timer is late", () => {
    replay(machine, initialWarmState, [...first, [20, requested(), ["dial"]]]);
  });

  it("keeps one less for each that was not used", () => {
    const state = replay(machine, initialWarmState, [
      ...first,
      [1, requested(), ["use", "dial"]],
      [1, requested(), ["dial"]],
      [1, requested(), ["dial"]],
      ...[2, 3, 4].map((id): ReplayLine<WarmEvent> => [1.1, opened(id), []]),
      [20, due, ["set check 1000"]],
      [21, due, ["close", "close", "close", "dial", "set check 20000"]],
    ]);
    assert.deepEqual(ids(state), [5]);
  });

  it("does not count a slow dial as unused", () => {
    const state = replay(machine, initialWarmState, [
      [0, connected(), ["dial", "set check 20000"]],
      [0, requested(), ["dial"]],
      [20, due, ["close", "close", "dial", "dial", "set check 20000"]],
    ]);
    assert.deepEqual(ids(state), [3, 4]);
  });

  it("closes a host's other connections after a failed dial, and pauses four times as long each time, up to 10 minutes", () => {
    const state = replay(machine, initialWarmState, [
      ...first,
      [1, requested(), ["use", "dial"]],
      [1, requested(), ["dial"]],
      [1.5, opened(2), []],
      [2, failed(3), ["close"]],
      [2.9, connected(), []],
      [3, connected(), ["dial"]],
      [4, failed(4), []],
      [7.9, connected(), []],
    ]);
    assert.deepEqual(ids(state), []);
    assert.equal(warmTransition(state, connected(), DAY + 8_000).effects.length, 1);
    const [host] = state.hosts;
    assert.ok(host !== undefined);
    const many: WarmState = {
      ...state,
      hosts: [{ ...host, failures: 9, connections: [{ id: 9, dialledAt: DAY, ready: false }] }],
    };
    const [paused] = warmTransition(many, failed(9), DAY).state.hosts;
    assert.equal(paused?.pausedUntil, DAY + MAX_WARM_PAUSE_MS);
  });

  it("keeps one host's connections when another host fails", () => {
    const state = replay(machine, initialWarmState, [
      ...first,
      [1, connected("b"), ["dial"]],
      [2, failed(2), []],
    ]);
    assert.deepEqual(ids(state), [1]);
  });

  it("forgets earlier failures once a connection lived or was used", () => {
    const afterFailure: ReplayLine<WarmEvent>[] = [
      [0, connected(), ["dial", "set check 20000"]],
      [0, failed(1), []],
      [1, connected(), ["dial"]],
      [1, opened(2), []],
    ];
    const used = replay(machine, initialWarmState, [...afterFailure, [2, requested(), ["use", "dial"]]]);
    assert.equal(used.hosts[0]?.failures, 0);
    const lived = replay(machine, initialWarmState, [
      ...afterFailure,
      [20, due, ["set check 1000"]],
      [21, due, ["close", "dial", "set check 20000"]],
    ]);
    assert.equal(lived.hosts[0]?.failures, 0);
  });

  it("keeps connections for half as long as the host allowed", () => {
    const state = replay(machine, initialWarmState, [
      ...first,
      [12, lost(1), []],
      [12.5, requested(), []],
      [13, requested(), ["dial", "set check 6000"]],
    ]);
    assert.equal(state.hosts[0]?.maxAgeMs, 6_000);
  });

  it("sets the timer earlier if the remaining connections have become too old", () => {
    replay(machine, initialWarmState, [
      ...first,
      [1, requested(), ["use", "dial"]],
      [1, requested(), ["dial"]],
      [1.1, opened(2), []],
      [1.1, opened(3), []],
      [13, lost(2), ["set check 1"]],
      [13.001, due, ["close", "set check 107999"]],
    ]);
  });

  it("keeps none for ten minutes at a host that closes them at once, and then tries again", () => {
    replay(machine, initialWarmState, [
      ...first,
      [9.9, lost(1), []],
      [100, connected(), []],
      [609.8, connected(), []],
      [609.9, connected(), ["dial"]],
    ]);
  });

  it("closes all connections when the network changes, and waits for the next call", () => {
    const state = replay(machine, initialWarmState, [
      ...first,
      [1, connected("b"), ["dial"]],
      [2, changed, ["close", "close", "clear check"]],
      [3, requested(), []],
      [3, changed, []],
      [4, connected(), ["dial", "set check 20000"]],
    ]);
    assert.deepEqual(ids(state), [3]);
  });

  it("treats a dial that fails because of this machine's network as a change of the network", () => {
    const state = replay(machine, initialWarmState, [
      ...first,
      [1, connected("b"), ["dial"]],
      [2, failed(2, "network"), ["close", "clear check"]],
    ]);
    assert.equal(state.status, "idle");
  });

  it("closes all connections when the proxy stops, and ignores what follows", () => {
    const state = replay(machine, initialWarmState, [
      ...first,
      [1, stopped, ["close", "clear check"]],
      [1, connected(), []],
      [1, requested(), []],
    ]);
    assert.deepEqual(state, { status: "stopped", hosts: [], lastId: 1, checkAt: null });
    assert.deepEqual(warmTransition(initialWarmState, stopped, DAY).state.status, "stopped");
  });

  it("leaves a cold host alone while another is warm", () => {
    replay(machine, initialWarmState, [
      ...first,
      [100, connected("b"), ["dial"]],
      [120, due, ["close", "close", "dial", "set check 20000"]],
      [121, requested("a"), []],
      [121, requested("unknown"), []],
      [140, due, ["close", "dial", "set check 20000"]],
    ]);
  });

  it("remembers 32 hosts, and forgets the least recently used that is cold", () => {
    let state = initialWarmState;
    const connect = (key: string, at: number) => {
      ({ state } = warmTransition(state, connected(key), DAY + at));
    };
    for (let host = 0; host < MAX_WARM_HOSTS; host += 1) connect(`${host}`, 0);
    connect("one too many", 0);
    assert.equal(state.hosts.length, MAX_WARM_HOSTS);
    assert.ok(state.hosts.every(({ key }) => key !== "one too many"));
    connect("0", 1);
    ({ state } = warmTransition(state, due, DAY + WARM_FOR_MS));
    connect("later", WARM_FOR_MS);
    assert.equal(state.hosts.length, MAX_WARM_HOSTS);
    assert.deepEqual([state.hosts[0]?.key, state.hosts.at(-1)?.key], ["2", "later"]);
  });

  it("ignores events of connections that it does not have", () => {
    replay(machine, initialWarmState, [...first, [1, lost(9), []], [1, failed(9), []], [1, opened(9), []]]);
  });
});

/** An action names a connection by its position among those that exist, so that most events concern one. */
type Move =
  | { readonly event: WarmEvent }
  | { readonly kind: "opened" | "lost" | "dial_failed"; readonly place: number; readonly isNetwork: boolean };

const keys = fc.constantFrom("a", "a", "a", "b", "c", "d");
const ofConnection = fc.record({
  kind: fc.constantFrom("opened", "lost", "dial_failed"),
  place: fc.nat(15),
  isNetwork: fc.constantFrom(true, false, false, false, false, false),
});
const becameReady: Move = { kind: "opened", place: 0, isNetwork: false };
const repeat = (move: Move, times: number) => Array.from({ length: times }, () => move);
/** Mostly bursts of calls and of connections that become ready, so that walks reach the limits. */
const moves = fc
  .array(
    fc.record({
      afterMs: fc.constantFrom(0, 0, 10, 600, 1_000, 6_000, 12_000, 20_000, 120_000),
      events: fc.oneof(
        fc
          .tuple(keys, fc.nat(9))
          .map(([key, times]) => [{ event: connected(key) }, ...repeat({ event: requested(key) }, times)]),
        fc.nat(9).map((times) => repeat(becameReady, times)),
        ofConnection.map((move): Move[] => [move]),
        fc.constant<Move[]>([{ event: due }]),
        fc.constantFrom<Move[]>([{ event: due }], [], [], [{ event: changed }], [{ event: stopped }]),
      ),
    }),
    { maxLength: 30, size: "max" },
  )
  .map((parts) =>
    parts.flatMap(({ afterMs, events }) =>
      events.map((move, at) => ({ afterMs: at === 0 ? afterMs : 0, move })),
    ),
  );

function toEvent(move: Move, state: WarmState): WarmEvent {
  if ("event" in move) return move.event;
  const all = state.hosts.flatMap(({ connections }) => connections);
  const suited = all.filter(({ ready }) => ready === (move.kind === "lost"));
  const id = suited[move.place % Math.max(1, suited.length)]?.id ?? 0;
  if (move.kind === "dial_failed") return failed(id, move.isNetwork ? "network" : "host");
  return move.kind === "lost" ? lost(id) : opened(id);
}

describe("properties of core/operations/warm", () => {
  // Planted: `host.connections.push` in `dialMissing`. Planted: an arrow `idle lost warm` added to the table.
  const holds = machineProperties({
    ...machine,
    initial: fc.constant(initialWarmState),
    moves,
    toEvent,
    numRuns: 300,
    walksForArrows: 300,
    delayMs: [1, WARM_FOR_MS],
  });

  // Planted: the total ignored in `dialMissing`. Planted: `wanted` grows without its bound.
  it("never has more than 8 connections per host and 16 in all", () => {
    holds(() => (_, __, { state }) => {
      for (const { connections } of state.hosts) assert.ok(connections.length <= MAX_WARM_PER_HOST);
      assert.ok(ids(state).length <= MAX_WARM);
      assert.ok(state.hosts.length <= MAX_WARM_HOSTS);
    });
  });

  // Planted: a used connection stays in the list. Planted: `findLast` without `ready`. Planted: without the age.
  it("hands out only a ready connection of the host, younger than its limit, and each once", () => {
    holds(() => {
      const handedOut = new Set<number>();
      return (before, event, { effects }, now) => {
        for (const effect of effects) {
          if (effect.kind !== "use") continue;
          assert.ok(event.kind === "requested");
          const host = before.hosts.find(({ key }) => key === event.key);
          const used = host?.connections.find(({ id }) => id === effect.id);
          assert.ok(host && used?.ready && now - used.dialledAt < host.maxAgeMs);
          assert.ok(host.maxAgeMs <= MAX_WARM_AGE_MS && host.maxAgeMs >= MIN_WARM_AGE_MS);
          assert.ok(!handedOut.has(effect.id));
          handedOut.add(effect.id);
        }
      };
    });
  });

  // Planted: `closeAll` without the connections of one host. Planted: a failed host's others are forgotten, not closed.
  it("ends each dialled connection exactly once: used, closed, failed or lost", () => {
    holds(() => {
      const open = new Set<number>();
      return (before, event, { state, effects }) => {
        if ((event.kind === "lost" || event.kind === "dial_failed") && before.status === "warm")
          open.delete(event.id);
        for (const effect of effects) {
          if (effect.kind === "dial") {
            assert.ok(!open.has(effect.id) && effect.id > before.lastId);
            open.add(effect.id);
          } else if (effect.kind === "close" || effect.kind === "use") assert.ok(open.delete(effect.id));
        }
        assert.deepEqual(new Set(ids(state)), open);
      };
    });
  });

  // Planted: the idle time is not checked. Planted: `network_changed` keeps `usedAt`.
  it("dials only for a host with a call within two minutes and since the network changed", () => {
    holds(() => {
      const calledAt = new Map<string, number>();
      return (_, event, { effects }, now) => {
        if (event.kind === "connected") calledAt.set(event.key, now);
        if (event.kind === "requested" && calledAt.has(event.key)) calledAt.set(event.key, now);
        if (event.kind === "network_changed" || event.kind === "stopped") calledAt.clear();
        for (const effect of effects) {
          if (effect.kind !== "dial") continue;
          const at = calledAt.get(effect.key);
          assert.ok(at !== undefined && (event.kind !== "timer_due" || now - at < WARM_FOR_MS), event.kind);
        }
      };
    });
  });

  // Planted: `withTimer` omitted after `lost`. Planted: a closed connection stays until the next call.
  it("has the timer set for what is due first, and nothing due is left when it fires", () => {
    holds(() => (before, event, { state }, now) => {
      if (state.status !== "warm") return assert.equal(state.checkAt, null);
      const dueAt = state.hosts.flatMap(({ usedAt, maxAgeMs, connections }) =>
        usedAt === null
          ? []
          : [usedAt + WARM_FOR_MS, ...connections.map((each) => each.dialledAt + maxAgeMs)],
      );
      assert.ok(state.checkAt !== null && state.checkAt <= Math.max(Math.min(...dueAt), now + 1));
      if (event.kind === "timer_due" && before.status === "warm") assert.ok(Math.min(...dueAt) > now);
    });
  });

  // Planted: a pause of a host is ignored after `connected`.
  it("dials no host within a second of its failure", () => {
    holds(() => {
      const failedAt = new Map<string, number>();
      return (before, event, { effects }, now) => {
        if (event.kind === "lost" || event.kind === "dial_failed") {
          const host = before.hosts.find(({ connections }) => connections.some(({ id }) => id === event.id));
          if (host && !(event.kind === "dial_failed" && event.scope === "network"))
            failedAt.set(host.key, now);
        }
        for (const effect of effects as WarmEffect[]) {
          if (effect.kind !== "dial") continue;
          assert.ok(now - (failedAt.get(effect.key) ?? Number.NEGATIVE_INFINITY) >= MIN_WARM_PAUSE_MS);
        }
      };
    });
  });
});

describe("the numbers of core/operations/warm", () => {
  it("are the specification's", () => {
    assert.deepEqual(
      { MAX_WARM_PER_HOST, MAX_WARM, MAX_WARM_AGE_MS, MIN_WARM_AGE_MS, WARM_FOR_MS, MAX_WARM_PAUSE_MS },
      {
        MAX_WARM_PER_HOST: 8,
        MAX_WARM: 16,
        MAX_WARM_AGE_MS: 20_000,
        MIN_WARM_AGE_MS: 5_000,
        WARM_FOR_MS: 120_000,
        MAX_WARM_PAUSE_MS: 600_000,
      },
    );
  });
});
