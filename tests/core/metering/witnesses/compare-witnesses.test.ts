import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { compareWitnesses } from "../../../../core/metering/witnesses/compare-witnesses.ts";
import { DIFFERENCE_REASONS, type Evidence } from "../../../../core/metering/witnesses/evidence.ts";
import { counts, evidence, logged, NOON, reported, wire } from "./evidence.rig.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

/** Each difference as `witness kind reason calls`. */
const differences = (members: Partial<Evidence>): string[] =>
  compareWitnesses(evidence(members)).days.flatMap((day) =>
    day.differences.map(
      ({ witness, kind, reason, calls }) => `${witness} ${kind} ${reason} ${calls ?? "sum"}`,
    ),
  );

const aborted = { errorClass: "network", retryable: false, httpStatus: 200 } as const;
const throttled = {
  model: "claude-sonnet-4-5",
  errorClass: "rate_limit",
  retryable: true,
  httpStatus: 429,
  responseId: null,
} as const;
const noUsage = {
  tokens: { ...counts(0, 0), promptTokens: null, cacheReadTokens: null, completionTokens: null },
};

/** A call of the same session that all three saw, so that each of them could have seen the others. */
const seen = { wire: [wire("a")], log: [logged("a")], client: [reported("a")] };

describe("compareWitnesses()", () => {
  it("finds no difference where all three agree", () => {
    const { days, ...sums } = compareWitnesses(evidence(seen));
    assert.deepEqual(sums, { calls: 1, agreed: 1, unexplained: 0 });
    const totals = { calls: 1, input: 10, cacheRead: 100, cacheWrite: 0, output: 7, costPicoUsd: 5_000n };
    assert.deepEqual(days, [
      {
        day: "2026-11-20",
        session: "s",
        agent: "claude",
        totals: { wire: totals, log: totals, client: totals },
        calls: 1,
        agreed: 1,
        unexplained: 0,
        differences: [],
      },
    ]);
  });

  const table: readonly [name: string, members: Partial<Evidence>, expected: readonly string[]][] = [
    ["nothing", {}, []],
    ["a program without a log", { wire: [wire("a", { agent: null, session: null })] }, []],
    [
      "a call before the first metered one",
      { log: [logged("a", { at: NOON - DAY })], firstWireAt: NOON },
      ["wire missing before_install 1"],
    ],
    [
      "a call where nothing was ever metered",
      { log: [logged("a")], firstWireAt: null },
      ["wire missing before_install 1"],
    ],
    [
      "a session that bypassed the proxy while it metered others",
      { log: [logged("b", { session: "other" })], wire: [wire("a", { agent: null, session: null })] },
      ["wire missing bypass 1"],
    ],
    [
      "a session while nothing shows that the proxy was running",
      {
        log: [logged("b", { session: "other" })],
        wire: [wire("a", { agent: null, session: null, startedAt: NOON - 45 * MINUTE })],
      },
      ["wire missing unknown 1"],
    ],
    [
      "a call that the proxy missed in a session that it saw",
      { ...seen, log: [logged("a"), logged("b")] },
      ["wire missing unknown 1", "client missing unknown 1"],
    ],
    [
      "a helper call, which the client says it is",
      {
        ...seen,
        wire: [wire("a"), wire("b", { tokens: counts(99) })],
        client: [reported("a"), reported("b", { tokens: counts(99), querySource: "generate_session_title" })],
      },
      ["log missing helper_call 1"],
    ],
    [
      "a call that is no chat",
      { wire: [wire("a"), wire("b", { requestKind: "other" })], log: [logged("a")] },
      ["log missing helper_call 1"],
    ],
    [
      "a call that only the proxy saw",
      { wire: [wire("a"), wire("b")], log: [logged("a")] },
      ["log missing unknown 1"],
    ],
    ["a session without a log", { wire: [wire("a")] }, ["log missing no_log 1"]],
    [
      "a throttled call that was repeated",
      {
        wire: [wire("f", { ...throttled, ...noUsage, startedAt: NOON - MINUTE }), wire("a")],
        log: [logged("a")],
      },
      ["log missing retry 1"],
    ],
    [
      "a throttled call that was repeated, where neither states a requested model",
      {
        wire: [
          wire("f", { ...throttled, ...noUsage, requestedModel: null, startedAt: NOON - MINUTE }),
          wire("a", { requestedModel: null, model: "claude-sonnet-4-5" }),
        ],
        log: [logged("a")],
      },
      ["log missing retry 1"],
    ],
    [
      "a throttled call that was not",
      {
        wire: [wire("a"), wire("f", { ...throttled, ...noUsage, startedAt: NOON + MINUTE })],
        log: [logged("a")],
      },
      ["log missing failed 1"],
    ],
    [
      "an aborted call",
      { wire: [wire("a"), wire("b", aborted)], log: [logged("a")] },
      ["log missing aborted 1"],
    ],
    [
      "an aborted call that the log knows with more",
      { wire: [wire("a", { ...aborted, tokens: counts(10, 1) })], log: [logged("a")] },
      ["wire differs aborted 1"],
    ],
    [
      "an aborted call that the client knows with more",
      {
        wire: [wire("a"), wire("b", { ...aborted, tokens: counts(50, 1) })],
        log: [logged("a"), logged("b", { tokens: counts(50, 1) })],
        client: [reported("a"), reported("b", { tokens: counts(50) })],
      },
      ["wire differs aborted 1"],
    ],
    [
      "an aborted call that both others know with more",
      {
        wire: [wire("a", { ...aborted, tokens: counts(10, 1) })],
        log: [logged("a")],
        client: [reported("a")],
      },
      ["wire differs aborted 1"],
    ],
    [
      "entries whose log is gone",
      {
        wire: [wire("a")],
        log: [logged("b", { tokens: null, responseId: null, providerRequestId: null })],
        client: [reported("c", { providerRequestId: null, tokens: counts(99) })],
      },
      ["log", "client", "wire", "client", "wire", "log"].map((witness) => `${witness} missing unknown 1`),
    ],
    [
      "counts that the log states as incomplete",
      { wire: [wire("a")], log: [logged("a", { tokens: counts(10, 1), isComplete: false })] },
      ["log differs log_fault 1"],
    ],
    [
      "counts from before the response ended",
      {
        wire: [wire("a")],
        log: [logged("a", { tokens: counts(10, 1) })],
        faults: new Map([["s", new Map([["placeholder", 1]])]]),
      },
      ["log differs log_fault 1"],
    ],
    [
      "other counts without a reason",
      { wire: [wire("a")], log: [logged("a", { tokens: counts(11) })] },
      ["log differs unknown 1"],
    ],
    [
      "more lost calls than faults",
      {
        wire: [wire("a"), wire("b"), wire("c")],
        log: [logged("a")],
        faults: new Map([
          [
            "s",
            new Map([
              ["unreadable", 1],
              ["repeated", 9],
            ]),
          ],
        ]),
      },
      ["log missing log_fault 1", "log missing unknown 1"],
    ],
    [
      "counts that only the client states otherwise",
      { ...seen, client: [reported("a", { tokens: counts(20) })] },
      ["client differs unknown 1"],
    ],
    [
      "a session that exports nothing, beside one that does",
      {
        ...seen,
        wire: [wire("a"), wire("b", { session: "t" })],
        log: [logged("a"), logged("b", { session: "t" })],
      },
      ["client missing not_exported 1"],
    ],
    [
      "calls before and after those that were exported",
      {
        wire: [-2, -1, 0, 1, 2].map((n) =>
          wire(`${n}`, { startedAt: NOON + n * MINUTE, tokens: counts(50 + n) }),
        ),
        log: [-2, -1, 0, 1, 2].map((n) =>
          logged(`${n}`, { at: NOON + n * MINUTE + 1_000, tokens: counts(50 + n) }),
        ),
        client: [-1, 1].map((n) =>
          reported(`${n}`, { at: NOON + n * MINUTE + 1_000, tokens: counts(50 + n) }),
        ),
      },
      ["client missing not_exported 2", "client missing unknown 1"],
    ],
    [
      "a report that only the client knows",
      { ...seen, client: [reported("a"), reported("z", { tokens: counts(1) })] },
      ["wire missing unknown 1", "log missing unknown 1"],
    ],
  ];
  for (const [name, members, expected] of table)
    it(`explains ${name}`, () => assert.deepEqual(differences(members), expected));

  it("joins by id although counts and session differ, and by counts where no id is stated", () => {
    const other = logged("a", { session: "x", tokens: counts(11) });
    assert.deepEqual(differences({ wire: [wire("a")], log: [other] }), ["log differs unknown 1"]);
    const plain = { responseId: null, providerRequestId: null };
    assert.deepEqual(
      differences({ wire: [wire("a")], log: [logged("a", plain)], client: [reported("a")] }),
      [],
    );
    const imported = logged("a", { ...plain, tokens: null, requestId: "r-a" });
    assert.deepEqual(differences({ wire: [wire("a")], log: [imported] }), []);
  });

  it("uses the name that the log states for an inferred session", () => {
    const inferred = { isSessionInferred: true, session: "pid-1", agent: null };
    const { days } = compareWitnesses(
      evidence({ wire: [wire("a", inferred), wire("b", { ...inferred, ...aborted })], log: [logged("a")] }),
    );
    assert.deepEqual(
      days.map(({ session, calls }) => [session, calls]),
      [["s", 2]],
    );
  });

  it("joins a call with one entry and one report only", () => {
    const other = { tokens: counts(77), responseId: null };
    const entries = [logged("a", { requestId: "r-a" }), logged("b", { ...other, requestId: "r-a" })];
    assert.deepEqual(differences({ wire: [wire("a")], log: entries }), ["wire missing unknown 1"]);
    const reports = [reported("a"), reported("b", { ...other, providerRequestId: "req_a" })];
    assert.deepEqual(differences({ ...seen, client: reports }), [
      "wire missing unknown 1",
      "log missing unknown 1",
    ]);
  });

  it("states tokens and costs of the calls that differ, and none where they are unknown", () => {
    const failing = {
      ...throttled,
      ...noUsage,
      tokens: { ...noUsage.tokens, cacheWriteTokens: null },
      costPicoUsd: null,
    };
    const { days } = compareWitnesses(
      evidence({ wire: [wire("a"), wire("b"), wire("c"), wire("f", failing)], log: [logged("a")] }),
    );
    assert.deepEqual(
      days[0]?.differences.map(({ reason, calls, tokens, costPicoUsd }) => [
        reason,
        calls,
        tokens,
        costPicoUsd,
      ]),
      [
        ["unknown", 2, 234, 10_000n],
        ["retry", 1, null, null],
      ],
    );
  });

  it("states how many more tokens the others know of an aborted call", () => {
    const tokensOf = (members: Partial<Evidence>) =>
      compareWitnesses(evidence(members)).days.flatMap((day) => day.differences.map(({ tokens }) => tokens));
    const cut = [wire("a", { ...aborted, tokens: counts(10, 1) })];
    const log = [logged("a", { tokens: counts(10, 1) })];
    assert.deepEqual(tokensOf({ wire: cut, log, client: [reported("a")] }), [6]);
    assert.deepEqual(tokensOf({ wire: cut, log: [logged("a")], client: [reported("a")] }), [6]);
  });

  it("reports no cost for a witness that states none, and no tokens for an entry whose log is gone", () => {
    const unpriced = { wire: [wire("a", { costPicoUsd: null })], log: [logged("a", { costPicoUsd: null })] };
    const [day] = compareWitnesses(evidence(unpriced)).days;
    assert.deepEqual([day?.totals.wire?.costPicoUsd, day?.totals.log?.costPicoUsd], [null, null]);
    const [gone] = compareWitnesses(evidence({ log: [logged("a", { tokens: null })] })).days;
    assert.deepEqual(
      gone?.differences.map(({ tokens }) => tokens),
      [null],
    );
  });

  it("counts the report of a sub-agent for the session that started it", () =>
    assert.deepEqual(
      differences({
        wire: [wire("a", { agentId: "t" })],
        log: [logged("a")],
        client: [reported("a", { session: "t" })],
      }),
      [],
    ));

  describe("sums", () => {
    const interval = (id: string, members = {}) =>
      reported(id, { scope: "interval", providerRequestId: null, startedAt: NOON, ...members });
    const total = (at: number, input: number, startedAt = NOON) =>
      interval(`${at}`, { scope: "running_total", at, startedAt, tokens: counts(input) });
    const onWire = [wire("a"), wire("b")];
    const onLog = [logged("a"), logged("b")];
    const both = { ...counts(20, 14), cacheReadTokens: 200 };

    it("compares the metrics of a session that reports no requests", () => {
      assert.deepEqual(differences({ wire: onWire, log: onLog, client: [interval("1"), interval("2")] }), []);
      assert.deepEqual(differences({ wire: onWire, log: onLog, client: [interval("1")] }), [
        "client differs unknown sum",
      ]);
    });

    it("leaves metrics out where the same session reports its requests", () =>
      assert.deepEqual(differences({ ...seen, client: [reported("a"), interval("1")] }), []));

    it("subtracts the running total of the day before", () => {
      const members = {
        wire: [wire("a", { tokens: { ...counts(10), cacheReadTokens: null }, startedAt: NOON + DAY })],
      };
      const log = [logged("a", { tokens: members.wire[0]!.tokens, at: NOON + DAY })];
      const client = [total(NOON + 1, 90), total(NOON + DAY, 100)];
      const ended = client.map((report, index) => ({
        ...report,
        tokens: { ...report.tokens, completionTokens: 7 * (index + 1) },
      }));
      assert.deepEqual(differences({ ...members, log, client: ended }), ["wire missing unknown sum"]);
    });

    it("does not divide a counter that began on an earlier day", () =>
      assert.deepEqual(
        differences({ wire: onWire, log: onLog, client: [total(NOON, 500, NOON - 3 * DAY)] }),
        ["client differs cumulative_counter sum"],
      ));

    it("divides it by the days after its first one", () => {
      const later = [NOON, NOON + DAY].map((at) => total(at, 500, NOON - 3 * DAY));
      const call = {
        wire: [wire("a", { startedAt: NOON + DAY })],
        log: [logged("a", { at: NOON + DAY + 1 })],
      };
      assert.deepEqual(differences({ ...call, client: later }), [
        "client differs unknown sum",
        "wire missing unknown sum",
      ]);
    });

    it("compares a log that states only the session", () => {
      const calls = onWire.map((each) => ({ ...each, agent: "goose" as const }));
      const session = (members = {}) =>
        logged("g", { agent: "goose", scope: "session", responseId: null, ...members });
      assert.deepEqual(differences({ wire: calls, log: [session({ tokens: both })] }), []);
      assert.deepEqual(differences({ wire: calls, log: [session()] }), [
        "log differs cumulative_counter sum",
      ]);
      assert.deepEqual(differences({ log: [session()], firstWireAt: NOON + DAY }), [
        "wire missing before_install sum",
      ]);
    });
  });

  describe("for any evidence", () => {
    const small = fc.integer({ min: 0, max: 3 });
    const time = fc.integer({ min: 0, max: 4 }).map((n) => NOON + n * 20 * MINUTE);
    const tokens = fc.tuple(small, small).map(([input, output]) => counts(input, output));
    const session = fc.constantFrom("s", "t", null);
    const id = fc.constantFrom("a", "b", "c", "d");
    const wires = fc.uniqueArray(
      fc.record({ id, at: time, tokens, session, fails: fc.constantFrom({}, aborted, throttled) }),
      {
        maxLength: 4,
        selector: (each) => each.id,
      },
    );
    const logs = fc.uniqueArray(fc.record({ id, at: time, tokens, session, isComplete: fc.boolean() }), {
      maxLength: 4,
      selector: (each) => each.id,
    });
    const reports = fc.uniqueArray(
      fc.record({
        id,
        at: time,
        tokens,
        session,
        scope: fc.constantFrom("request" as const, "interval" as const, "running_total" as const),
      }),
      { maxLength: 4, selector: (each) => each.id },
    );
    const anything = fc
      .record({ wires, logs, reports, firstWireAt: fc.constantFrom(null, 0, NOON + 30 * MINUTE) })
      .map((found) =>
        evidence({
          wire: found.wires.map(({ id: name, at, fails, ...each }) =>
            wire(name, { ...each, ...fails, startedAt: at }),
          ),
          log: found.logs.map(({ id: name, ...each }) => logged(name, each)),
          client: found.reports.map(({ id: name, ...each }) => reported(name, each)),
          firstWireAt: found.firstWireAt,
        }),
      );

    it("counts each call of each witness exactly once", () => {
      fc.assert(
        fc.property(anything, (given) => {
          const { days } = compareWitnesses(given);
          const sum = (read: (day: (typeof days)[number]) => number | null | undefined) =>
            days.reduce((total, day) => total + (read(day) ?? 0), 0);
          assert.equal(
            sum(({ totals }) => totals.wire?.calls),
            given.wire.length,
          );
          assert.equal(
            sum(({ totals }) => totals.log?.calls),
            given.log.length,
          );
        }),
      );
    });

    it("gives every difference a known reason, and agrees or differs for each compared call", () => {
      fc.assert(
        fc.property(anything, (given) => {
          for (const { calls, agreed, differences: found } of compareWitnesses(given).days) {
            assert.ok(agreed <= calls);
            assert.ok(found.some((each) => each.calls !== null) === agreed < calls);
            for (const { reason, tokens: affected } of found)
              assert.ok(DIFFERENCE_REASONS.includes(reason) && (affected ?? 0) >= 0);
          }
        }),
      );
    });

    it("does not depend on the order of the evidence", () => {
      const key = (given: Evidence) =>
        compareWitnesses(given).days.map(({ day, session: name, calls, agreed, totals }) =>
          JSON.stringify([
            day,
            name,
            calls,
            agreed,
            totals.wire?.input,
            totals.log?.input,
            totals.client?.input,
          ]),
        );
      fc.assert(
        fc.property(anything, (given) => {
          // Calls with equal counts at the same time may be joined either way, so only distinct ones are compared.
          const vectors = given.wire.map((each) => JSON.stringify(each.tokens));
          fc.pre(new Set(vectors).size === vectors.length);
          assert.deepEqual(key({ ...given, wire: given.wire.toReversed() }), key(given));
        }),
      );
    });

    it("agrees with itself", () => {
      fc.assert(
        fc.property(wires, (calls) => {
          const good = calls.map(({ id: name, at, tokens: some, session: own }) => ({
            name,
            at,
            some,
            own: own ?? "s",
          }));
          const { calls: compared, agreed } = compareWitnesses(
            evidence({
              wire: good.map(({ name, at, some, own }) =>
                wire(name, { startedAt: at, tokens: some, session: own }),
              ),
              log: good.map(({ name, at, some, own }) =>
                logged(name, { at: at + 1_000, tokens: some, session: own }),
              ),
              client: good.map(({ name, at, some, own }) =>
                reported(name, { at: at + 1_000, tokens: some, session: own }),
              ),
            }),
          );
          assert.equal(agreed, compared);
        }),
      );
    });
  });
});
