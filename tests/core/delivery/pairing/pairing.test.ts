import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createManualClock } from "../../../../adapters/clock/manual-clock.ts";
import { inBackground } from "../../../../adapters/driver/create-driver.ts";
import { createMemoryStateStore } from "../../../../adapters/memory/state-store.ts";
import type {
  PairingEffect,
  PairingEvent,
  PollOutcome,
  PollResult,
  StartResult,
} from "../../../../core/delivery/pairing/pairing-events.ts";
import { pairingTable, pairingTransition } from "../../../../core/delivery/pairing/pairing-machine.ts";
import { initialPairingState, type PairingState } from "../../../../core/delivery/pairing/pairing-state.ts";
import type { Handlers } from "../../../../core/ports/driver.ts";
import { command, createRig, pass } from "../../crashing.rig.ts";
import { DAY, machineProperties, replay } from "../../machine.rig.ts";

const machine = { transition: pairingTransition, table: pairingTable };
const SECRET = "poll-secret";
const TOKEN = "mtr_sync_secret";
const KEY = "c".repeat(64);
const offer = {
  code: "ABCD1234",
  pollToken: SECRET,
  verificationUrl: "https://m/connect",
  expiresInMs: 600_000,
  intervalMs: 2_000,
};

function connect(hasCredentials = false, force = false): PairingEvent {
  return { kind: "connect_requested", hasCredentials, force };
}
function whoami(attempt: number, status: number | null): PairingEvent {
  return {
    kind: "whoami_answered",
    attempt,
    result:
      status === null
        ? { kind: "transport", reason: "timeout" }
        : { kind: "http", status, retryAfterMs: null },
    workspaceName: status === 200 ? "Acme" : null,
  };
}
function begun(
  attempt: number,
  result: StartResult = { kind: "http", status: 201, retryAfterMs: null, ticket: offer },
): PairingEvent {
  return { kind: "start_answered", attempt, result };
}
function said(outcome: PollOutcome | null, status = 200, retryAfterMs: number | null = null): PollResult {
  return { kind: "http", status, retryAfterMs, outcome };
}
function polled(attempt: number, result: PollResult, random = 0.5): PairingEvent {
  return { kind: "poll_answered", attempt, result, random };
}
const pending = said({ status: "pending" });
const approved = said({
  status: "approved",
  syncToken: TOKEN,
  workspace: { id: "w1", name: "Acme" },
  promptHashKey: KEY,
});
const due: PairingEvent = { kind: "poll_due" };
const start: PairingEvent = { kind: "started" };
const cancel: PairingEvent = { kind: "cancel_requested" };
const settled = ["clear poll", "report_pairing"];

/** The state of attempt 1 with a code shown. */
function polling(): PairingState {
  const starting = pairingTransition(initialPairingState, connect(), DAY).state;
  return pairingTransition(starting, begun(1), DAY).state;
}

describe("the specification's table: Pairing handshake", () => {
  it("start: the daemon calls pairing start, and a code is returned", () => {
    replay(machine, initialPairingState, [
      [0, connect(), ["start_pairing"]],
      [0, begun(1), ["show_code", "poll_pairing"]],
    ]);
  });

  it("poll: on approval the token is stored, and then reported with the workspace", () => {
    const state = replay(machine, polling(), [
      [1, polled(1, pending), ["set poll 2000"]],
      [3, due, ["poll_pairing"]],
      [4, polled(1, approved), ["store_credentials"]],
      [4, { kind: "credentials_stored", attempt: 1 }, settled],
    ]);
    assert.deepEqual(
      [state.status, state.workspaceName, state.message],
      ["approved", "Acme", "paired with Acme"],
    );
    const { effects } = pairingTransition(polling(), polled(1, approved), DAY);
    assert.deepEqual(effects, [
      {
        kind: "store_credentials",
        attempt: 1,
        syncToken: TOKEN,
        workspaceId: "w1",
        workspaceName: "Acme",
        promptHashKey: KEY,
      },
    ]);
  });

  for (const status of ["denied", "expired", "failed"] as const) {
    it(`settled failure: ${status}`, () => {
      const state = replay(machine, polling(), [[1, polled(1, said({ status })), settled]]);
      assert.deepEqual([state.status, state.ticket], [status, null]);
    });
  }

  it("a new local connect request cancels the prior handshake before it replaces it", () => {
    for (const status of ["checking", "starting", "polling", "storing"] as const) {
      replay(machine, { ...polling(), status }, [
        [0, connect(), ["clear poll", "cancel_handshake", "start_pairing"]],
      ]);
    }
    for (const status of ["idle", "approved", "connected", "denied", "expired", "failed"] as const) {
      const state = replay(machine, { ...initialPairingState, status }, [[0, connect(), ["start_pairing"]]]);
      assert.equal(state.attempt, 1);
    }
  });

  it("stored credentials that are still valid are reported, and nothing is paired", () => {
    const state = replay(machine, initialPairingState, [
      [0, connect(true), ["request_whoami"]],
      [1, whoami(1, 200), settled],
    ]);
    assert.deepEqual([state.status, state.workspaceName], ["connected", "Acme"]);
    assert.match(String(state.message), /already connected to Acme; use --force/);
    const checking = pairingTransition(initialPairingState, connect(true), DAY).state;
    const unnamed: PairingEvent = { ...(whoami(1, 200) as object), workspaceName: null } as PairingEvent;
    assert.match(String(pairingTransition(checking, unnamed, DAY).state.message), /connected to the cloud/);
  });

  it("--force pairs again without asking", () => {
    replay(machine, initialPairingState, [[0, connect(true, true), ["start_pairing"]]]);
  });
});

describe("replays of core/delivery/pairing", () => {
  it("pairs again if the stored key is refused, and keeps it if its validity is unknown", () => {
    for (const status of [401, 403]) {
      replay(machine, initialPairingState, [
        [0, connect(true), ["request_whoami"]],
        [1, whoami(0, 200), []],
        [1, whoami(1, status), ["start_pairing"]],
      ]);
    }
    for (const status of [null, 500, 429]) {
      const state = replay(machine, initialPairingState, [
        [0, connect(true), ["request_whoami"]],
        [1, whoami(1, status), settled],
      ]);
      assert.equal(state.status, "failed");
      assert.match(
        String(state.message),
        status === null ? /no answer: timeout/ : new RegExp(`HTTP ${status}`),
      );
    }
  });

  it("fails with the real status if pairing does not start", () => {
    const answers: readonly StartResult[] = [
      { kind: "http", status: 503, retryAfterMs: null, ticket: null },
      { kind: "http", status: 201, retryAfterMs: null, ticket: null },
      { kind: "http", status: 200, retryAfterMs: null, ticket: offer },
      { kind: "transport", reason: "dns_failure" },
    ];
    for (const result of answers) {
      const state = replay(machine, initialPairingState, [
        [0, connect(), ["start_pairing"]],
        [0, begun(9, result), []],
        [1, begun(1, result), settled],
      ]);
      assert.equal(state.status, "failed");
    }
  });

  it("continues polling through faults with a growing delay, and honours Retry-After", () => {
    replay(machine, polling(), [
      [
        1,
        polled(1, { kind: "transport", reason: "timeout" }),
        ["log cloud.transport_error", "set poll 2000"],
      ],
      [3, due, ["poll_pairing"]],
      [4, polled(1, said(null, 429, 30_000)), ["log cloud.transport_error", "set poll 30000"]],
      [34, due, ["poll_pairing"]],
      [35, polled(1, said(null, 503), 0.999), ["log cloud.transport_error", "set poll 3996"]],
      [39, due, ["poll_pairing"]],
      [39, polled(1, said(null, 302)), ["log cloud.transport_error", "set poll 4000"]],
      [43, polled(1, said(null, 200)), ["log cloud.transport_error", "set poll 8000"]],
      [51, polled(1, said(null, 408)), ["log cloud.transport_error", "set poll 16000"]],
      [67, polled(1, pending), ["set poll 2000"]],
      [69, polled(1, said(null, 500), 0), ["log cloud.transport_error", "set poll 2000"]],
    ]);
  });

  it("fails if the cloud denies the pairing for good", () => {
    for (const status of [400, 401, 404, 422]) {
      const state = replay(machine, polling(), [[1, polled(1, said(null, status)), settled]]);
      assert.deepEqual([state.status, state.message], ["failed", `pairing failed (HTTP ${status})`]);
    }
  });

  it("continues polling for two minutes after the code expired, because it may have been approved in its last second", () => {
    const state = replay(machine, polling(), [
      [599, polled(1, pending), ["set poll 2000"]],
      [601, due, ["poll_pairing"]],
      [602, polled(1, approved), ["store_credentials"]],
    ]);
    assert.equal(state.status, "storing");
    replay(machine, polling(), [
      [719, due, ["poll_pairing"]],
      [720, due, settled],
    ]);
  });

  it("stops polling when the code has expired, and ignores results of an earlier attempt", () => {
    replay(machine, polling(), [
      [1, polled(0, approved), []],
      [600, due, ["poll_pairing"]],
      [600, polled(1, said({ status: "expired" })), settled],
      [601, polled(1, approved), []],
      [602, cancel, []],
    ]);
    const lost: PairingState = { ...polling(), ticket: null };
    assert.equal(pairingTransition(lost, due, DAY).state.status, "expired");
    assert.deepEqual(pairingTransition(lost, polled(1, pending), DAY).effects, []);
  });

  it("continues polling after a crash, and reports any other state as interrupted", () => {
    replay(machine, polling(), [[1, start, ["poll_pairing"]]]);
    replay(machine, polling(), [[720, start, settled]]);
    for (const status of ["checking", "starting", "storing"] as const) {
      const state: PairingState = replay(machine, { ...polling(), status }, [[1, start, settled]]);
      assert.deepEqual([state.status, state.message?.startsWith("interrupted")], ["failed", true]);
    }
    replay(machine, initialPairingState, [[0, start, []]]);
  });

  it("can be cancelled while in progress, and then forgets its code", () => {
    for (const status of ["checking", "starting", "polling", "storing"] as const) {
      const state: PairingState = replay(machine, { ...polling(), status }, [
        [0, cancel, ["clear poll", "cancel_handshake"]],
        [1, polled(1, approved), []],
      ]);
      assert.deepEqual(state, { ...initialPairingState, attempt: 1 });
    }
  });

  it("ignores stored credentials of an earlier attempt", () => {
    const storing = pairingTransition(polling(), polled(1, approved), DAY).state;
    replay(machine, storing, [[0, { kind: "credentials_stored", attempt: 0 }, []]]);
  });
});

describe("the reports of core/delivery/pairing", () => {
  const starting = pairingTransition(initialPairingState, connect(), DAY).state;
  const refused: StartResult = { kind: "http", status: 503, retryAfterMs: null, ticket: null };
  const again = "run `meter cloud connect` again";
  const rows: readonly [PairingState["status"], PairingState, PairingEvent, message: string][] = [
    ["failed", starting, begun(1, refused), "pairing did not start (HTTP 503)"],
    ["failed", starting, start, `interrupted by a restart: ${again}`],
    ["denied", polling(), polled(1, said({ status: "denied" })), "the request was denied in the dashboard"],
    ["expired", polling(), polled(1, said({ status: "expired" })), `the code expired: ${again}`],
    ["failed", polling(), polled(1, said({ status: "failed" })), `pairing failed: ${again}`],
    ["failed", polling(), polled(1, said(null, 404)), "pairing failed (HTTP 404)"],
  ];
  for (const [status, state, event, message] of rows) {
    it(message, () => {
      assert.deepEqual(pairingTransition(state, event, DAY).effects, [
        { kind: "clear_timer", timer: "poll" },
        { kind: "report_pairing", report: { status, workspaceName: null, message } },
      ]);
    });
  }

  it("name each fault of a poll, even a success that is not a 200", () => {
    const answers: readonly [result: PollResult, error: string][] = [
      [{ kind: "transport", reason: "timeout" }, "no answer: timeout"],
      [{ ...approved, status: 201 } as PollResult, "HTTP 201"],
    ];
    for (const [result, error] of answers) {
      assert.deepEqual(pairingTransition(polling(), polled(1, result), DAY).effects, [
        {
          kind: "log",
          level: "warn",
          event: "cloud.transport_error",
          fields: { error, retry_in_ms: 2_000 },
        },
        { kind: "set_timer", timer: "poll", delayMs: 2_000 },
      ]);
    }
  });
});

type Move =
  | { do: "next" | "late"; status: number; result: PollOutcome; random: number }
  | { do: "event"; event: PairingEvent };

const result = fc.constantFrom<PollOutcome>(
  { status: "pending" },
  { status: "pending" },
  { status: "approved", syncToken: TOKEN, workspace: { id: "w1", name: "Acme" }, promptHashKey: KEY },
  { status: "denied" },
  { status: "expired" },
  { status: "failed" },
);
const move = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("next", "next", "next", "late"),
      status: fc.constantFrom(200, 200, 200, 201, 401, 403, 429, 500, 0),
      result,
      random: fc.constantFrom(0, 0.5, 0.999999),
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(connect(), connect(), connect(true), connect(true, true), due, due, start, cancel)
      .map((event) => ({ do: "event", event })),
  },
) as fc.Arbitrary<Move>;
const moves = fc.array(
  fc.record({ afterMs: fc.constantFrom(0, 2_000, 2_000, 30_000, 600_000, -60_000), move }),
  { maxLength: 40, size: "max" },
);

function toEvent(one: Move, state: PairingState): PairingEvent {
  if (one.do === "event") return one.event;
  const attempt = one.do === "late" ? state.attempt - 1 : state.attempt;
  switch (state.status) {
    case "checking":
      return whoami(attempt, one.status === 0 ? null : one.status);
    case "starting":
      return begun(
        attempt,
        one.status <= 201
          ? undefined
          : { kind: "http", status: one.status, retryAfterMs: null, ticket: null },
      );
    case "storing":
      return { kind: "credentials_stored", attempt };
    default: {
      const transport: PollResult = { kind: "transport", reason: "timeout" };
      const result = one.status === 0 ? transport : said(one.status <= 201 ? one.result : null, one.status);
      return polled(attempt, result, one.random);
    }
  }
}

describe("properties of core/delivery/pairing", () => {
  // Planted: `state.failures++` on the frozen state. Planted: `message: undefined` when settled.
  // Planted: the interval used as a maximum.
  // Planted: an arrow `idle cancel_requested failed` added to the table.
  const holds = machineProperties({
    ...machine,
    initial: fc.constant(initialPairingState),
    moves,
    toEvent,
    numRuns: 400,
    walksForArrows: 2_000,
    // Polls no sooner than the interval.
    delayMs: [2_000, 3_600_000],
  });

  // Planted: the token kept in the state while storing. Planted: the poll token in a report's message.
  it("keeps secrets out of reports and log lines, and the token out of the state", () => {
    holds(() => (_, __, { state, effects }) => {
      assert.ok(!JSON.stringify(state).includes(TOKEN) && !JSON.stringify(state).includes(KEY));
      for (const effect of effects) {
        if (effect.kind === "store_credentials" || effect.kind === "poll_pairing") continue;
        assert.doesNotMatch(JSON.stringify(effect), new RegExp(`${TOKEN}|${SECRET}|${KEY}`));
      }
      if (!["polling"].includes(state.status)) assert.equal(state.ticket, null);
    });
  });

  // Planted: the attempt of an answer ignored.
  it("stores credentials only for the latest attempt, and once for each", () => {
    holds(() => {
      const stored = new Set<number>();
      return (before, happened, { effects }) => {
        for (const effect of effects) {
          if (effect.kind !== "store_credentials") continue;
          assert.ok(happened.kind === "poll_answered" && happened.attempt === before.attempt);
          assert.ok(!stored.has(effect.attempt));
          stored.add(effect.attempt);
        }
      };
    });
  });

  // Planted: connect does not cancel while storing.
  it("cancels a handshake in progress before it starts another", () => {
    holds(() => (before, happened, { effects }) => {
      if (happened.kind !== "connect_requested") return;
      const inProgress = ["checking", "starting", "polling", "storing"].includes(before.status);
      const first = effects.findIndex(({ kind }) => kind === "cancel_handshake");
      assert.equal(first >= 0, inProgress);
      assert.ok(
        first < effects.findIndex(({ kind }) => kind === "start_pairing" || kind === "request_whoami"),
      );
    });
  });
});

function createWorld() {
  const clock = createManualClock(DAY);
  const facts = { mood: "well" as "well" | "down", approves: true };
  /** The cloud's side: each approved code is handed out once. */
  const minted: string[] = [];
  let codes = 0;
  let valid: string | null = null;
  let stored: string | null = null;
  let revoked = false;
  const down = { kind: "transport", reason: "timeout" } as const;
  const later = (event: PairingEvent, delayMs = 200) =>
    inBackground(new Promise<PairingEvent>((resolve) => clock.setTimer(delayMs, () => resolve(event))));
  const claimed = new Set<string>();
  function poll(pollToken: string): PollResult {
    if (facts.mood === "down") return down;
    if (claimed.has(pollToken)) return said({ status: "failed" });
    if (!facts.approves) return pending;
    claimed.add(pollToken);
    valid = `token for ${pollToken}`;
    revoked = false;
    minted.push(valid);
    return said({
      status: "approved",
      syncToken: valid,
      workspace: { id: "w1", name: "Acme" },
      promptHashKey: KEY,
    });
  }
  const handlers: Handlers<PairingEvent, PairingEffect> = {
    cancel_handshake: () => undefined,
    request_whoami: ({ attempt }) =>
      later(whoami(attempt, facts.mood === "down" ? null : stored === valid ? 200 : 401)),
    start_pairing({ attempt }) {
      if (facts.mood === "down") return later(begun(attempt, down));
      const ticket = { ...offer, pollToken: `poll ${codes++}` };
      return later(begun(attempt, { kind: "http", status: 201, retryAfterMs: null, ticket }));
    },
    show_code: () => undefined,
    // A poll is held open, so its answer may arrive when the next attempt is already polling.
    poll_pairing: ({ attempt, pollToken }) => later(polled(attempt, poll(pollToken)), 500),
    store_credentials({ attempt, syncToken }) {
      stored = syncToken;
      return { kind: "credentials_stored", attempt };
    },
    report_pairing: () => undefined,
    log: () => undefined,
  };
  const rig = createRig<PairingState, PairingEvent, PairingEffect>(
    {
      transition: pairingTransition,
      initial: initialPairingState,
      store: createMemoryStateStore(),
      clock,
      timers: { poll: due },
      handlers,
    },
    () => start,
  );
  return {
    clock,
    facts,
    rig,
    connect: (force: boolean) => rig.dispatch(connect(stored !== null, force)),
    minted,
    holdsKey: () => stored !== null && stored === valid,
    revoke() {
      valid = "another machine's";
      revoked = true;
    },
    check() {
      assert.ok(stored === null || minted.includes(stored));
      if (rig.state.status === "connected") assert.ok(stored !== null);
      if (rig.state.status === "approved" && !revoked) assert.equal(stored, valid);
    },
  };
}

type World = ReturnType<typeof createWorld>;
const act = command<World>;
const commands = [
  fc.constantFrom<"well" | "down">("well", "well", "down").map((mood) =>
    act(`cloud ${mood}`, (world) => {
      world.facts.mood = mood;
    }),
  ),
  fc.boolean().map((approves) =>
    act(`approves ${approves}`, (world) => {
      world.facts.approves = approves;
    }),
  ),
  fc.boolean().map((force) => act(`connect ${force}`, (world) => world.connect(force))),
  fc.constant(act("revoke", (world) => world.revoke())),
  fc.constant(act("cancel", (world) => world.rig.dispatch(cancel))),
  fc.constantFrom(100, 300, 300, 3_000, 700_000).map((ms) => act(`pass ${ms}`, (world) => pass(world, ms))),
  fc.nat(5).map((operations) => act(`crash ${operations}`, (world) => world.rig.crashAfter(operations))),
];

describe("core/delivery/pairing in its real driver", () => {
  // Planted: `started` does nothing while polling. Planted: stored credentials not checked. Planted: whoami's 401
  // taken for connected.
  it("ends with a valid key after one connect, after any crashes and cancellations", async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 30, size: "max" }), async (list) => {
        const world = createWorld();
        await fc.asyncModelRun(() => ({ model: {}, real: world }), list);
        world.rig.crashAfter(Number.POSITIVE_INFINITY);
        world.facts.mood = "well";
        world.facts.approves = true;
        await pass(world, 700_000);
        assert.doesNotMatch(world.rig.state.status, /^(checking|starting|polling|storing)$/);
        const [held, mintedBefore] = [world.holdsKey(), world.minted.length];
        world.connect(false);
        await pass(world, 60_000);
        assert.equal(world.minted.length, mintedBefore + (held ? 0 : 1));
        assert.ok(world.holdsKey(), JSON.stringify(world.rig.state));
        assert.match(world.rig.state.status, /^(approved|connected)$/);
        await world.rig.stop();
      }),
      { numRuns: 150 },
    );
  });
});
