import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClientReport } from "../../../../core/metering/client-reports/client-report.ts";
import type { LogEvidence } from "../../../../core/metering/witnesses/evidence.ts";
import { compareSums, type DaySum, sumsByDay } from "../../../../core/metering/witnesses/sums.ts";
import { counts, evidence, logged, NOON, reported } from "./evidence.rig.ts";

const DAY = 86_400_000;
const [TODAY, TOMORROW] = ["2026-11-20 s", "2026-11-21 s"];
const noTokens = {
  ...{ promptTokens: null, cacheReadTokens: null, cacheWriteTokens: null, cacheWrite1hTokens: null },
  ...{ completionTokens: null, thinkingTokens: null },
};

const sumsOf = (members: {
  readonly log?: readonly LogEvidence[];
  readonly client?: readonly ClientReport[];
}) => sumsByDay(evidence(members), [], (session, day) => `${day} ${session}`);
const turn = (id: string, members: Partial<LogEvidence> = {}) => logged(id, { scope: "turn", ...members });
const running = (at: number, members: Partial<ClientReport> = {}) =>
  reported(`${at}`, { scope: "running_total", startedAt: NOON, at, ...members });

describe("sumsByDay()", () => {
  it("adds up the turns of a session by day, and leaves single calls out", () => {
    const log = [turn("a"), turn("b", { at: NOON + 5 }), turn("c", { at: NOON + DAY }), logged("d")];
    assert.deepEqual(
      [...sumsOf({ log })].map(([key, sums]) => [key, sums.map(({ at, totals }) => [at, totals])]),
      [
        [
          TODAY,
          [
            [
              NOON + 1_000,
              { calls: null, input: 20, cacheRead: 200, cacheWrite: 0, output: 14, costPicoUsd: 10_000n },
            ],
          ],
        ],
        [
          TOMORROW,
          [
            [
              NOON + DAY,
              { calls: null, input: 10, cacheRead: 100, cacheWrite: 0, output: 7, costPicoUsd: 5_000n },
            ],
          ],
        ],
      ],
    );
  });

  it("keeps a count that no part states unknown, and adds to one that some state", () => {
    const [first, second] = [
      turn("a", { tokens: { ...noTokens, promptTokens: 3 }, costPicoUsd: null }),
      turn("b", { tokens: { ...noTokens, completionTokens: 4 }, costPicoUsd: null }),
    ];
    const totals = { calls: null, input: 3, cacheRead: null, cacheWrite: null, output: 4 };
    assert.deepEqual(sumsOf({ log: [first, second] }).get(TODAY)?.[0]?.totals, {
      ...totals,
      costPicoUsd: null,
    });
    const priced = sumsOf({ log: [first, { ...second, costPicoUsd: 9n }] }).get(TODAY);
    assert.equal(priced?.[0]?.totals.costPicoUsd, 9n);
  });

  it("keeps the sums of the two witnesses apart", () => {
    const sums = sumsOf({ log: [turn("a")], client: [running(NOON + 1)] }).get(TODAY);
    assert.deepEqual(
      sums?.map(({ witness }) => witness),
      ["log", "client"],
    );
  });

  it("subtracts the earlier running total, in any order, and nothing that was not stated", () => {
    const earlier = running(NOON + 1, { tokens: counts(10, 7), statedCostPicoUsd: 4_000n });
    const later = running(NOON + DAY, {
      tokens: { ...counts(25, 9), cacheWriteTokens: null },
      statedCostPicoUsd: 9_000n,
    });
    const expected = {
      calls: null,
      input: 15,
      cacheRead: 0,
      cacheWrite: null,
      output: 2,
      costPicoUsd: 5_000n,
    };
    for (const client of [
      [earlier, later],
      [later, earlier],
    ])
      assert.deepEqual(sumsOf({ client }).get(TOMORROW)?.[0]?.totals, expected);
    const unstated = { ...earlier, tokens: noTokens, statedCostPicoUsd: null };
    assert.deepEqual(sumsOf({ client: [unstated, later] }).get(TOMORROW)?.[0]?.totals, {
      ...{ calls: null, input: 25, cacheRead: 100, cacheWrite: null, output: 9, costPicoUsd: 9_000n },
    });
  });

  it("never subtracts below 0, and states no cost where none is stated", () => {
    const client = [
      running(NOON + 1, { tokens: counts(50), statedCostPicoUsd: 9_000n }),
      running(NOON + DAY, { tokens: counts(10), statedCostPicoUsd: 4_000n }),
      running(NOON + 2 * DAY, { tokens: counts(20), statedCostPicoUsd: null }),
    ];
    const sums = sumsOf({ client });
    const found = [TOMORROW, "2026-11-22 s"].map((key) => sums.get(key)?.[0]?.totals);
    assert.deepEqual(
      found.map((totals) => [totals?.input, totals?.costPicoUsd]),
      [
        [0, 0n],
        [10, null],
      ],
    );
  });

  it("says that a counter from an earlier day, or from an unknown time, can't be divided", () => {
    const isCumulative = (startedAt: number | null) =>
      sumsOf({ client: [running(NOON + 1, { startedAt })] }).get(TODAY)?.[0]?.isCumulative;
    assert.deepEqual([NOON, NOON - DAY, null].map(isCumulative), [false, true, true]);
  });
});

describe("compareSums()", () => {
  const totals = { calls: 1, input: 10, cacheRead: 100, cacheWrite: 0, output: 7, costPicoUsd: 5_000n };
  const sum = (members: Partial<DaySum["totals"]> = {}, isCumulative = false): DaySum => ({
    ...{ witness: "client", agent: "claude", at: NOON, isCumulative },
    totals: { ...totals, calls: null, ...members },
  });
  const compare = (one: DaySum, base: Parameters<typeof compareSums>[1], firstWireAt: number | null = 0) =>
    compareSums([one], base, firstWireAt);

  it("compares with the proxy's calls, or with the log's if none passed through the proxy", () => {
    const common = { calls: null, costPicoUsd: 5_000n, witness: "client", kind: "differs", tokens: 4 };
    const differing = sum({ input: 13, output: 8 });
    assert.deepEqual(compare(sum(), { wire: totals, log: null }), []);
    assert.deepEqual(compare(differing, { wire: totals, log: null }), [
      { ...common, reason: "unknown", seenBy: ["wire", "client"] },
    ]);
    assert.deepEqual(compare(differing, { wire: null, log: totals }), [
      { ...common, reason: "unknown", seenBy: ["log", "client"] },
    ]);
    assert.equal(
      compare(sum({ input: 13 }, true), { wire: totals, log: null })[0]?.reason,
      "cumulative_counter",
    );
  });

  it("counts only tokens that both sides state as a difference", () => {
    const base = { wire: { ...totals, cacheRead: null }, log: null };
    assert.equal(compare(sum({ input: 13, cacheWrite: null }), base)[0]?.tokens, 3);
    assert.deepEqual(compare(sum({ cacheWrite: null }), base), []);
  });

  it("says that the proxy lacks calls that nothing else states", () => {
    const none = { wire: null, log: null };
    assert.deepEqual(compare(sum(), none), [
      {
        ...{ calls: null, costPicoUsd: 5_000n, witness: "wire", kind: "missing" },
        ...{ reason: "unknown", seenBy: ["client"], tokens: 117 },
      },
    ]);
    assert.equal(compare(sum(), none, null)[0]?.reason, "before_install");
    assert.equal(compare(sum(), none, NOON + 1)[0]?.reason, "before_install");
  });
});
