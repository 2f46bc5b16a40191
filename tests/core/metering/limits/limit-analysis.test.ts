import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  classifyChange,
  isCrossed,
  isSameReset,
  type LimitChange,
  type LimitPoint,
} from "../../../../core/metering/limits/limit-change.ts";
import { findLimitEvents, limitLevel, nameExhausted } from "../../../../core/metering/limits/limit-events.ts";
import { burnRate, type FullAt, readOutlook } from "../../../../core/metering/limits/limit-outlook.ts";
import { type CreditedCall, divideWindow } from "../../../../core/metering/limits/limit-shares.ts";
import { windowKey } from "../../../../core/metering/limits/stated-limit.ts";
import { DAY, HOUR, limit, MINUTE, now, reading } from "./limits.rig.ts";

const WINDOW = 5 * HOUR;
const point = (
  atMs: number,
  usedPpm: number | null,
  resetAt: number | null = now + 2 * HOUR,
): LimitPoint => ({
  seenAt: now + atMs,
  usedPpm,
  resetAt,
});

describe("classifyChange()", () => {
  const before = point(-HOUR, 500_000, now + 2 * HOUR);
  const table: readonly [text: string, after: LimitPoint, change: LimitChange][] = [
    ["a rise", point(0, 600_000), "same"],
    ["a reset stated a minute later", point(0, 600_000, now + 2 * HOUR + MINUTE), "same"],
    ["a fall within the window", point(0, 400_000), "corrected"],
    ["a later reset after the stated one", point(2 * HOUR, 100_000, now + 7 * HOUR), "reset"],
    ["a later reset and a fall before the stated one", point(0, 0, now + 4 * HOUR), "early_reset"],
    ["a later reset without a fall", point(0, 500_000, now + 4 * HOUR), "moved"],
    ["an earlier reset", point(0, 100_000, now + HOUR), "moved"],
    ["an unknown reset", point(0, 600_000, null), "same"],
    ["an unknown reset and a fall", point(0, 400_000, null), "unknown"],
    ["an unknown use", point(0, null), "same"],
  ];
  for (const [text, after, change] of table)
    it(`classifies ${text} as ${change}`, () => assert.equal(classifyChange(before, after, WINDOW), change));

  it("tolerates a hundredth of a long window, and two minutes without a length", () => {
    const shifted = (byMs: number) => ({ resetAt: now + byMs });
    assert.ok(isSameReset(shifted(0), shifted(100 * MINUTE), 7 * DAY));
    assert.ok(!isSameReset(shifted(0), shifted(102 * MINUTE), 7 * DAY));
    assert.ok(isSameReset(shifted(0), shifted(2 * MINUTE), null));
    assert.ok(!isSameReset(shifted(0), shifted(3 * MINUTE), null));
    assert.ok(isSameReset({ resetAt: null }, { resetAt: null }, null));
    assert.ok(!isSameReset({ resetAt: null }, shifted(0), null));
  });
});

describe("isCrossed()", () => {
  it("is a small fall soon after, as responses of parallel calls state it", () => {
    assert.ok(isCrossed(point(0, 500_000), point(MINUTE, 490_000), WINDOW));
    assert.ok(!isCrossed(point(0, 500_000), point(2 * MINUTE, 490_000), WINDOW));
    assert.ok(!isCrossed(point(0, 500_000), point(MINUTE, 400_000), WINDOW));
    assert.ok(!isCrossed(point(0, 500_000), point(MINUTE, 500_000), WINDOW));
  });
});

describe("burnRate()", () => {
  const table: readonly [text: string, points: readonly LimitPoint[], rate: number | null][] = [
    ["no readings", [], null],
    ["one reading", [point(-HOUR, 100_000)], null],
    ["an unknown use", [point(-HOUR, 100_000), point(0, null)], null],
    ["a rise over half an hour", [point(-30 * MINUTE, 100_000), point(0, 200_000)], 200_000],
    ["a rise that ended half an hour ago", [point(-HOUR, 100_000), point(-30 * MINUTE, 200_000)], 100_000],
    ["readings within too little time", [point(-4 * MINUTE, 100_000), point(0, 200_000)], null],
    [
      "no more than the last fifth of the window",
      [point(-4 * HOUR, 0), point(-2 * HOUR, 400_000), point(-30 * MINUTE, 500_000)],
      100_000,
    ],
    ["nothing for an hour", [point(-3 * HOUR, 100_000), point(-2 * HOUR, 500_000)], null],
    [
      "only readings of the same reset",
      [point(-50 * MINUTE, 0, now - 40 * MINUTE), point(-30 * MINUTE, 10_000), point(0, 20_000)],
      20_000,
    ],
    [
      "only readings after a correction",
      [point(-50 * MINUTE, 900_000), point(-30 * MINUTE, 10_000), point(0, 20_000)],
      20_000,
    ],
    [
      "only known uses",
      [point(-50 * MINUTE, 0), point(-40 * MINUTE, null), point(-30 * MINUTE, 10_000), point(0, 20_000)],
      20_000,
    ],
  ];
  for (const [text, points, rate] of table)
    it(`reads ${text}`, () => assert.equal(burnRate(points, WINDOW, now), rate));

  it("uses a day for a window without a length", () => {
    assert.equal(burnRate([point(-4 * HOUR, 0), point(0, 400_000)], null, now), 100_000);
  });
});

describe("readOutlook()", () => {
  const points = [point(-HOUR, 400_000), point(0, 500_000)];
  const outlook = (members: Parameters<typeof reading>[0], history = points) =>
    readOutlook(reading({ usedPpm: 500_000, resetAt: now + 2 * HOUR, ...members }), history, now);

  it("states how much of the time has passed", () => {
    assert.equal(outlook({}).elapsedPpm, 600_000);
    assert.equal(outlook({ resetAt: now + 6 * HOUR }).elapsedPpm, 0);
    assert.equal(outlook({ windowMs: null }).elapsedPpm, null);
    assert.equal(outlook({ resetAt: null }).elapsedPpm, null);
  });

  it("is unknown for a window that has reset since", () => {
    assert.deepEqual(outlook({ resetAt: now }), {
      isOver: true,
      elapsedPpm: null,
      burnPpmPerHour: null,
      fullAt: { kind: "unknown" },
    });
  });

  const table: readonly [
    text: string,
    members: Parameters<typeof reading>[0],
    history: readonly LimitPoint[],
    full: FullAt,
  ][] = [
    ["after the reset", {}, points, { kind: "lasts" }],
    [
      "before the reset",
      { resetAt: now + 6 * HOUR },
      points.map((each) => ({ ...each, resetAt: now + 6 * HOUR })),
      { kind: "at", at: now + 5 * HOUR },
    ],
    [
      "without a reset",
      { resetAt: null },
      points.map((each) => ({ ...each, resetAt: null })),
      { kind: "at", at: now + 5 * HOUR },
    ],
    ["without use", {}, [point(-HOUR, 500_000), point(0, 500_000)], { kind: "lasts" }],
    ["already", { usedPpm: 1_020_000 }, points, { kind: "full" }],
    ["as the provider says", { status: "exceeded", usedPpm: null }, points, { kind: "full" }],
    ["unknown without a share", { usedPpm: null }, points, { kind: "unknown" }],
    ["unknown without a rate", {}, [point(0, 500_000)], { kind: "unknown" }],
  ];
  for (const [text, members, history, full] of table)
    it(`forecasts when the window is full: ${text}`, () =>
      assert.deepEqual(outlook(members, [...history]).fullAt, full));

  // Found: a forecast in the past, when a share above 100 % gave a negative rest.
  it("forecasts no time in the past, and none after the reset", () => {
    const ppm = fc.integer({ min: 0, max: 2_000_000 });
    const history = fc.array(fc.tuple(fc.integer({ min: -DAY, max: 0 }), ppm), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(history, fc.integer({ min: -HOUR, max: DAY }), (raw, resetIn) => {
        const ordered = raw.toSorted(([one], [other]) => one - other);
        const own = ordered.map(([at, used]) => point(at, used, now + resetIn));
        const last = own.at(-1)!;
        const found = readOutlook(reading({ ...last }), own, now);
        const { fullAt, burnPpmPerHour, elapsedPpm } = found;
        assert.ok(burnPpmPerHour === null || burnPpmPerHour >= 0);
        assert.ok(elapsedPpm === null || (elapsedPpm >= 0 && elapsedPpm <= 1_000_000));
        if (fullAt.kind === "at") assert.ok(fullAt.at >= now && fullAt.at < now + resetIn);
      }),
      { numRuns: 500 },
    );
  });
});

describe("limitLevel()", () => {
  it("is what the provider says or what the share is, whichever is more", () => {
    assert.equal(limitLevel({ status: null, usedPpm: null }), "ok");
    assert.equal(limitLevel({ status: "allowed", usedPpm: 749_999 }), "ok");
    assert.equal(limitLevel({ status: "allowed", usedPpm: 750_000 }), "warning");
    assert.equal(limitLevel({ status: "warning", usedPpm: 10_000 }), "warning");
    assert.equal(limitLevel({ status: "warning", usedPpm: 950_000 }), "critical");
    assert.equal(limitLevel({ status: null, usedPpm: 1_000_000 }), "exceeded");
    assert.equal(limitLevel({ status: "exceeded", usedPpm: 0 }), "exceeded");
  });
});

describe("findLimitEvents()", () => {
  const at = (usedPpm: number, atMs = 0, resetAt = now + 2 * HOUR) =>
    reading({ usedPpm, seenAt: now + atMs, resetAt });
  const events = (...args: Parameters<typeof findLimitEvents>) =>
    findLimitEvents(...args).map(({ name, level, isEarly }) => `${name} ${level}${isEarly ? " early" : ""}`);

  it("warns each time the level rises", () => {
    assert.deepEqual(events(null, at(100_000)), []);
    assert.deepEqual(events(null, at(800_000)), ["limit.warning warning"]);
    assert.deepEqual(events(at(700_000), at(960_000)), ["limit.warning critical"]);
    assert.deepEqual(events(at(960_000), at(970_000)), []);
    assert.deepEqual(events(at(970_000), at(900_000)), []);
  });

  it("reports a reset, and warns again after it", () => {
    const next = now + 7 * HOUR;
    assert.deepEqual(events(at(900_000), at(10_000, 3 * HOUR, next)), ["limit.reset ok"]);
    assert.deepEqual(events(at(900_000), at(800_000, 3 * HOUR, next)), [
      "limit.reset warning",
      "limit.warning warning",
    ]);
    assert.deepEqual(events(at(900_000), at(10_000, 0, next)), ["limit.reset ok early"]);
  });

  it("reports nothing of windows that refill within minutes", () => {
    for (const window of [
      { window: "1m", windowMs: MINUTE },
      { window: "rate", windowMs: null },
    ])
      assert.deepEqual(findLimitEvents(null, reading({ ...window, usedPpm: 1_000_000 })), []);
    assert.equal(
      findLimitEvents(null, reading({ window: "credits", windowMs: null, status: "exceeded" })).length,
      1,
    );
  });
});

describe("nameExhausted()", () => {
  const exhausted = limit({ window: "plan", windowMs: null, resetAt: now + HOUR, status: "exceeded" });
  const known = limit({ scope: "spark", usedPpm: 990_000, resetAt: now + HOUR + MINUTE });

  it("takes the window that resets at the same time", () => {
    assert.deepEqual(nameExhausted(exhausted, [known, limit({ resetAt: null })]), {
      ...known,
      resetAt: now + HOUR,
      status: "exceeded",
    });
  });

  it("names no window if it could be several, or none", () => {
    assert.equal(nameExhausted(exhausted, [known, { ...known, scope: null }]), exhausted);
    assert.equal(nameExhausted(exhausted, [{ ...known, resetAt: now }]), exhausted);
    assert.equal(nameExhausted(exhausted, [{ ...known, unit: "requests" }, exhausted]), exhausted);
    const unnamed = { ...exhausted, resetAt: null };
    assert.equal(nameExhausted(unnamed, [known]), unnamed);
    assert.equal(nameExhausted(known, [known]), known);
  });
});

describe("windowKey()", () => {
  it("distinguishes the window, the scope and the unit", () => {
    const keys = [limit(), limit({ scope: "opus" }), limit({ unit: "tokens" }), limit({ window: "7d" })].map(
      windowKey,
    );
    assert.equal(new Set(keys).size, 4);
  });
});

describe("divideWindow()", () => {
  const call = (key: string, endedAtMs: number, more: Partial<CreditedCall> = {}): CreditedCall => ({
    key,
    endedAt: now + endedAtMs,
    model: "claude-opus-4-5",
    costPicoUsd: 1_000n,
    totalTokens: 10,
    ...more,
  });
  const divide = (
    points: readonly LimitPoint[],
    calls: readonly CreditedCall[],
    scope: string | null = null,
  ) => divideWindow(points, calls, { windowMs: WINDOW, scope });
  const start = point(-2 * HOUR, 100_000);

  it("credits each rise to the calls that ended since the reading before, by their cost", () => {
    const found = divide(
      [start, point(-HOUR, 200_000), point(0, 260_000)],
      [
        call("early", -4 * HOUR),
        call("a", -2 * HOUR + 1, { costPicoUsd: 3_000n }),
        call("b", -HOUR),
        call("a", -1),
        call("a", 1),
      ],
    );
    assert.deepEqual(found, {
      shares: [
        { key: "a", usedPpm: 135_000 },
        { key: "b", usedPpm: 25_000 },
      ].toSorted((one, other) => other.usedPpm - one.usedPpm),
      elsewherePpm: 100_000,
      earlierPpm: 0,
    });
  });

  it("credits the use before the first reading to the calls since the window began", () => {
    assert.deepEqual(divide([start], [call("b", -3 * HOUR), call("a", -2 * HOUR - 1)]), {
      shares: [{ key: "a", usedPpm: 100_000 }],
      elsewherePpm: 0,
      earlierPpm: 0,
    });
  });

  it("leaves the use before the first reading undivided if the window's length is unknown", () => {
    assert.deepEqual(divideWindow([start], [call("a", -2 * HOUR - 1)], { windowMs: null, scope: null }), {
      shares: [],
      elsewherePpm: 0,
      earlierPpm: 100_000,
    });
  });

  it("begins again at a reset, and where a use without a reset falls", () => {
    const earlier = point(-6 * HOUR, 900_000, now - 3 * HOUR);
    assert.deepEqual(divide([earlier, start], [call("a", -2 * HOUR - 1)]).shares, [
      { key: "a", usedPpm: 100_000 },
    ]);
    const [one, other] = [point(-HOUR, 900_000, null), point(0, 10_000, null)];
    assert.deepEqual(divide([one, other], [call("a", -1)]), {
      shares: [{ key: "a", usedPpm: 10_000 }],
      elsewherePpm: 0,
      earlierPpm: 0,
    });
  });

  it("counts a share that fell and rose again once", () => {
    const points = [start, point(-HOUR, 200_000), point(-MINUTE, 150_000), point(0, 210_000)];
    const { shares } = divide(points, [call("a", -HOUR - 1), call("b", -1)]);
    assert.deepEqual(shares, [
      { key: "a", usedPpm: 100_000 },
      { key: "b", usedPpm: 10_000 },
    ]);
  });

  it("credits a window of some models to their calls", () => {
    const calls = [call("a", -1), call("b", -1, { model: "claude-sonnet-4-5" })];
    const [shareOf] = divide([start, point(0, 110_000)], calls, "opus").shares;
    assert.deepEqual(shareOf, { key: "a", usedPpm: 10_000 });
    const all = divide([start, point(0, 110_000)], calls, "overage_included").shares;
    assert.deepEqual(all, [
      { key: "a", usedPpm: 5_000 },
      { key: "b", usedPpm: 5_000 },
    ]);
  });

  it("weighs calls by their tokens if a cost is unknown, and evenly if nothing is known", () => {
    const points = [start, point(0, 110_000)];
    const unpriced = { costPicoUsd: null };
    assert.deepEqual(divide(points, [call("a", -1, { totalTokens: 30 }), call("b", -1, unpriced)]).shares, [
      { key: "a", usedPpm: 7_500 },
      { key: "b", usedPpm: 2_500 },
    ]);
    assert.deepEqual(
      divide(points, [call("a", -1), call("b", -1, { ...unpriced, totalTokens: null })]).shares,
      [
        { key: "a", usedPpm: 5_000 },
        { key: "b", usedPpm: 5_000 },
      ],
    );
  });

  it("divides nothing without readings", () => {
    const nothing = { shares: [], elsewherePpm: 0, earlierPpm: 0 };
    assert.deepEqual(divide([], [call("a", -1)]), nothing);
    assert.deepEqual(divide([point(0, null)], [call("a", -1)]), nothing);
  });

  // Found: a division that lost the rest of each increase, when the parts were rounded down.
  it("divides exactly what the window has risen to", () => {
    const times = fc.integer({ min: -4 * HOUR, max: 0 });
    const rises = fc.array(fc.tuple(times, fc.integer({ min: 0, max: 50_000 })), { maxLength: 20 });
    const calls = fc.array(
      fc.record({
        key: fc.constantFrom("a", "b", "c"),
        at: times,
        cost: fc.option(fc.bigInt({ min: 0n, max: 10n ** 15n })),
        tokens: fc.option(fc.nat()),
      }),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(rises, calls, (raw, made) => {
        let used = 0;
        const points = raw
          .toSorted(([one], [other]) => one - other)
          .map(([at, rise]) => {
            used += rise;
            return point(at, used, now + HOUR);
          });
        const ordered = made
          .toSorted((one, other) => one.at - other.at)
          .map(({ key, at, cost, tokens }) => call(key, at, { costPicoUsd: cost, totalTokens: tokens }));
        const { shares, elsewherePpm, earlierPpm } = divide(points, ordered);
        const credited = shares.reduce((sum, { usedPpm }) => sum + usedPpm, 0);
        assert.equal(credited + elsewherePpm + earlierPpm, used);
      }),
      { numRuns: 500 },
    );
  });
});
