import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  addBilledLine,
  type BilledDays,
  createBilledDays,
} from "../../../../core/pricing/statements/bill-rows.ts";
import { compareBill, isAgreeing } from "../../../../core/pricing/statements/compare-bill.ts";
import type { BillReason } from "../../../../core/pricing/statements/explain-bill.ts";
import {
  EMPTY_LINE,
  type StatementFormat,
  type StatementLine,
} from "../../../../core/pricing/statements/statement-line.ts";
import type { RequestRecord } from "../../../../core/values/record.ts";
import { aDay, aRecord, ownOf } from "./bill.rig.ts";

const USD = 1_000_000_000_000n;
const CENT = USD / 100n;
const model = "claude-haiku-4-5-20251001";

const COSTS: StatementFormat = {
  ...{ name: "x", provider: "anthropic", states: "cost", keyIs: "workspace", hasFeesApart: true },
  ...{ unitPicoUsd: CENT / 100n, omittedTiers: ["priority"] },
};
const USAGE: StatementFormat = { ...COSTS, states: "usage", omittedTiers: [] };

/** A line of the 12th of May. */
const line = (given: Partial<StatementLine>): StatementLine => ({
  ...EMPTY_LINE,
  ...{ date: "2026-05-12", model },
  ...given,
});
const input = (costPicoUsd: bigint | null, given: Partial<StatementLine> = {}) =>
  line({ part: "input", costPicoUsd, ...given });
const output = (costPicoUsd: bigint | null, given: Partial<StatementLine> = {}) =>
  line({ part: "output", costPicoUsd, ...given });
const usage = (inputs: bigint, outputs: bigint, given: Partial<StatementLine> = {}) =>
  line({ tokens: { input: inputs, output: outputs }, ...given });

function billOf(lines: readonly StatementLine[], format: StatementFormat): BilledDays {
  const days = createBilledDays();
  for (const each of lines) addBilledLine(days, each, format);
  return days;
}

function compare(
  lines: readonly StatementLine[],
  records: readonly RequestRecord[],
  { format = COSTS, firstDay = "2026-05-10" as string | null } = {},
) {
  return compareBill(billOf(lines, format), ownOf(records), format, firstDay);
}

/** Returns the rows that do not agree: model, reasons with their part of the difference, unknown rest. */
const differing = (...given: Parameters<typeof compare>) =>
  compare(...given)
    .rows.filter((row) => !isAgreeing(row))
    .map((row) => [
      row.model,
      row.reasons.map(({ kind, picoUsd }: BillReason) => [kind, picoUsd]),
      row.unknownPicoUsd,
    ]);

const agreeing = [input(USD), output(USD / 2n)];
const tokens = usage(1_000_000n, 100_000n);

describe("compareBill()", () => {
  // Seen to fail with a reason whose amount was not subtracted from the rest.
  it("splits every difference into its reasons and the unknown rest", () => {
    const aLine = fc.record({
      date: fc.constantFrom("2026-05-11", "2026-05-12", "2026-05-13"),
      kind: fc.constantFrom("usage", "fee", "credit", "tax"),
      model: fc.constantFrom(model, "b-2", null),
      tier: fc.constantFrom(null, "batch"),
      part: fc.constantFrom("input", "output", null),
      costPicoUsd: fc.oneof(fc.bigInt({ min: -3n * USD, max: 3n * USD }), fc.constant(null)),
      tokens: fc.constantFrom({}, { input: 5n }, { output: 7n }, { input: 1_000_000n, output: 100_000n }),
      requests: fc.constantFrom(null, 1, 5),
    });
    const someRecords = fc.array(
      fc
        .record({
          requestedAt: fc.constantFrom(aDay(11, 9), aDay(12, 9), aDay(13) - 500),
          billingMode: fc.constantFrom("metered", "unknown", "plan"),
          serviceTier: fc.constantFrom(null, "batch", "priority"),
          costSource: fc.constantFrom("computed", "estimated"),
          tokensComplete: fc.boolean(),
        })
        .map((given) => aRecord(given as Partial<RequestRecord>)),
      { maxLength: 3 },
    );
    const formats = fc.constantFrom(COSTS, { ...COSTS, hasFeesApart: false });
    fc.assert(
      fc.property(
        ...[fc.array(aLine), someRecords, formats, fc.constantFrom(null, "2026-05-12", "2026-05-11")],
        (lines, records, format, firstDay) => {
          const all = lines.map((each) => ({ ...EMPTY_LINE, ...each }) as StatementLine);
          const { rows, billedPicoUsd, ownPicoUsd } = compare(all, records, { format, firstDay });
          for (const { differencePicoUsd, reasons, unknownPicoUsd } of rows)
            assert.equal(
              reasons.reduce((sum, { picoUsd }) => sum + (picoUsd ?? 0n), unknownPicoUsd),
              differencePicoUsd,
            );
          assert.equal(
            billedPicoUsd,
            lines.reduce((sum, each) => sum + (each.costPicoUsd ?? 0n), 0n),
          );
          const metered = records.filter(({ billingMode }) => billingMode === "metered");
          assert.equal(
            ownPicoUsd,
            metered.reduce((sum, { costPicoUsd }) => sum + (costPicoUsd ?? 0n), 0n),
          );
        },
      ),
    );
  });

  it("agrees where both sides are the same, or differ by the rounding of each line", () => {
    const exact = compare(agreeing, [aRecord()]);
    assert.deepEqual([exact.agreeing, exact.rows.length, exact.unknownPicoUsd], [1, 1, 0n]);
    const inCents = { ...COSTS, unitPicoUsd: CENT };
    const rounded = compare([input(USD + CENT), output(USD / 2n)], [aRecord()], { format: inCents });
    assert.deepEqual(rounded.rows[0]?.reasons, [{ kind: "rounding", picoUsd: CENT }]);
    assert.deepEqual([rounded.agreeing, rounded.explainedPicoUsd], [1, CENT]);
    // An amount with more decimals than the format's unit shows that it is not rounded to it.
    const finer = [input(USD + CENT), output(USD / 2n), input(1n, { model: "other" })];
    assert.deepEqual(differing(finer, [aRecord()], { format: inCents })[0], [model, [], CENT]);
  });

  it("states credits, taxes and days before the first call, regardless of the model", () => {
    const credit = line({ kind: "credit", model: null, costPicoUsd: -USD });
    const tax = line({ kind: "tax", model: null, costPicoUsd: USD });
    assert.deepEqual(differing([...agreeing, credit, tax, tax], [aRecord()]), [
      [
        "(fees)",
        [
          ["credit", -USD],
          ["tax", 2n * USD],
        ],
        0n,
      ],
    ]);
    for (const firstDay of [null, "2026-05-13"])
      assert.deepEqual(differing(agreeing, [], { firstDay }), [
        [model, [["before_first_record", (3n * USD) / 2n]], 0n],
      ]);
    const logged = aRecord({ recordSource: "logs", costPicoUsd: null });
    const none = compare([], [logged], { format: USAGE, firstDay: "2026-05-13" });
    assert.deepEqual(none.rows[0]?.reasons, []);
    assert.deepEqual(compare([usage(5n, 0n)], [], { format: USAGE, firstDay: null }).rows[0]?.reasons, [
      { kind: "before_first_record", picoUsd: null },
    ]);
  });

  it("states calls of tiers that the statement leaves out, and compares no rates then", () => {
    const records = [aRecord(), aRecord({ serviceTier: "priority", costPicoUsd: USD })];
    assert.deepEqual(differing([input(USD), output(USD / 4n)], records), [
      [model, [["not_on_statement", -USD]], -USD / 4n],
    ]);
    const both = usage(2_000_000n, 200_000n);
    assert.deepEqual(differing([input(USD), output(USD / 4n), both], records), [
      [model, [["not_on_statement", -USD]], -USD / 4n],
    ]);
  });

  it("states a tier without calls here, and compares the rest", () => {
    const batch = { tier: "batch" };
    const lines = [
      ...[input(2n * USD), output(USD / 2n), input(0n, { tier: "flex", tokens: { input: 0n } })],
      ...[output(USD / 4n, { ...batch, tokens: { output: 100_000n } }), tokens],
    ];
    assert.deepEqual(differing(lines, [aRecord()]), [
      [
        model,
        [
          ["tier_not_here", USD / 4n],
          ["rate", USD],
        ],
        0n,
      ],
    ]);
    assert.deepEqual(differing([output(USD / 4n, batch)], [aRecord({ serviceTier: "batch" })])[0]?.[1], []);
  });

  it("states calls with unknown billing as the reason if their cost is the difference, and otherwise as a fact", () => {
    const unknown = aRecord({ billingMode: "unknown" });
    const twice = [input(2n * USD), output(USD)];
    assert.deepEqual(differing(twice, [aRecord(), unknown]), [
      [model, [["unknown_billing", (3n * USD) / 2n]], 0n],
    ]);
    assert.deepEqual(differing([input(2n * USD), output(USD / 2n)], [aRecord(), unknown]), [
      [model, [["unknown_billing", null]], USD],
    ]);
    assert.deepEqual(differing(agreeing, [aRecord(), unknown]), []);
  });

  it("states the cost of tokens that only one side has, at our rate", () => {
    const lines = [input(3n * USD), output(USD / 4n), usage(3_000_000n, 50_000n)];
    const { rows } = compare(lines, [aRecord()]);
    assert.deepEqual(rows[0]?.reasons, [
      { kind: "calls_not_here", picoUsd: 2n * USD, part: "input", tokens: 2_000_000n },
      { kind: "calls_only_here", picoUsd: -USD / 4n, part: "output", tokens: 50_000n },
    ]);
    assert.equal(rows[0]?.unknownPicoUsd, 0n);
  });

  it("treats tokens of a kind that is not recorded here as billed, and lists those without a rate as a fact", () => {
    const cached = { part: "cache read", tokens: { "cache read": 1_000n } } as const;
    assert.deepEqual(differing([...agreeing, line({ ...cached, costPicoUsd: CENT }), tokens], [aRecord()]), [
      [model, [["calls_not_here", CENT]], 0n],
    ]);
    const undivided = line({ costPicoUsd: 2n * USD, tokens: { "cache read": 1_000n } });
    assert.deepEqual(differing([undivided], [aRecord()]), [[model, [["calls_not_here", null]], USD / 2n]]);
    const stated = aRecord({ costPicoUsd: USD, costSource: "provider" });
    assert.deepEqual(differing([line({ costPicoUsd: 2n * USD, tokens: { input: 2_000_000n } })], [stated]), [
      [model, [["calls_not_here", null]], USD],
    ]);
  });

  it("states doubts about our own counts instead of amounts", () => {
    const records = [
      aRecord({ costSource: "estimated" }),
      aRecord({ tokensComplete: false }),
      aRecord({ costPicoUsd: null }),
    ];
    const facts = [
      ["unpriced", null],
      ["estimated", null],
      ["incomplete", null],
    ];
    assert.deepEqual(differing(agreeing, records), [[model, facts, (-3n * USD) / 2n]]);
    assert.deepEqual(differing([...agreeing, usage(9n, 300_000n)], records), [
      [model, [...facts, ["calls_only_here", null]], (-3n * USD) / 2n],
    ]);
  });

  it("states a difference of requests, of which the cost is not known", () => {
    const requests = (count: number) => differing([line({ costPicoUsd: USD, requests: count })], [aRecord()]);
    assert.deepEqual(requests(3), [[model, [["calls_not_here", null]], -USD / 2n]]);
    assert.deepEqual(requests(0), [[model, [["calls_only_here", null]], -USD / 2n]]);
    assert.deepEqual(requests(1), [[model, [], -USD / 2n]]);
  });

  it("states another rate for the same tokens", () => {
    const { rows } = compare([input(USD), output(USD), tokens], [aRecord()]);
    const rates = { billedRate: 10_000_000n, ownRate: 5_000_000n };
    assert.deepEqual(rows[0]?.reasons, [{ kind: "rate", picoUsd: USD / 2n, part: "output", ...rates }]);
    assert.deepEqual(differing([line({ costPicoUsd: USD }), tokens], [aRecord()]), [
      [model, [["rate", -USD / 2n]], 0n],
    ]);
    // A usage file alone bills nothing for this model.
    assert.deepEqual(differing([tokens, input(USD, { model: "other" })], [aRecord()])[0], [
      model,
      [],
      (-3n * USD) / 2n,
    ]);
    assert.deepEqual(differing([...agreeing, tokens], [aRecord({ costPicoUsd: null })]), [
      [model, [["unpriced", (3n * USD) / 2n]], 0n],
    ]);
    const free = line({ part: "cache read", tokens: { "cache read": 0n }, costPicoUsd: USD });
    assert.deepEqual(differing([...agreeing, free, tokens], [aRecord()]), [[model, [], USD]]);
  });

  it("states models that only one side has", () => {
    assert.deepEqual(differing(agreeing, []), [[model, [["calls_not_here", (3n * USD) / 2n]], 0n]]);
    assert.deepEqual(compare([line({ costPicoUsd: USD, requests: 2 })], []).rows[0]?.reasons, [
      { kind: "calls_not_here", picoUsd: USD, requests: 2 },
    ]);
    assert.deepEqual(differing([], [aRecord()]), [[model, [["calls_only_here", (-3n * USD) / 2n]], 0n]]);
    assert.deepEqual(differing([line({ costPicoUsd: 0n })], []), []);
    assert.deepEqual(differing([], [aRecord({ billingMode: "plan" })]), []);
  });

  it("moves calls across midnight to the day that the statement has them on", () => {
    const late = aRecord({ requestedAt: aDay(13) - 1_000, latencyMs: 5_000 });
    const next = { date: "2026-05-13" };
    const moved = [input(USD, next), output(USD / 2n, next)];
    const reasons = (lines: readonly StatementLine[], records: readonly RequestRecord[], firstDay?: string) =>
      compare(lines, records, firstDay === undefined ? {} : { firstDay }).rows.map((row) =>
        row.reasons.map(({ kind, picoUsd }) => [kind, picoUsd]),
      );
    const amount = (3n * USD) / 2n;
    assert.deepEqual(reasons(moved, [late]), [[["midnight", -amount]], [["midnight", amount]]]);
    // Half of it on the next day proves nothing.
    assert.deepEqual(reasons([input(USD, next)], [late]), [
      [["calls_only_here", -amount]],
      [["calls_not_here", USD]],
    ]);
    // A day without a next day, and one before the first call, are not compared.
    assert.deepEqual(reasons([], [late]), [[["calls_only_here", -amount]]]);
    assert.deepEqual(reasons(moved, [late], "2026-05-13"), [
      [["before_first_record", -amount]],
      [["calls_not_here", amount]],
    ]);
  });

  it("compares fees of a day apart from models, if the statement does", () => {
    const search = aRecord({ usageExtras: { web_search_requests: 2 } });
    const fee = line({ kind: "fee", model: null, costPicoUsd: 2n * CENT });
    assert.deepEqual(differing([...agreeing, fee], [search]), []);
    assert.deepEqual(differing(agreeing, [search]), [["(fees)", [["calls_only_here", -2n * CENT]], 0n]]);
    assert.deepEqual(
      differing([...agreeing, { ...fee, costPicoUsd: CENT }], [search, aRecord({ costPicoUsd: 0n })]),
      [["(fees)", [], -CENT]],
    );
    const together = { ...COSTS, hasFeesApart: false };
    assert.deepEqual(
      differing([input(USD + 2n * CENT), output(USD / 2n)], [search], { format: together }),
      [],
    );
  });

  // Seen to fail when such a model had the same key as the fees.
  it("compares a model whose name has no Latin letters, or no letters", () => {
    for (const name of ["通义千问", "–"]) {
      const fee = line({ kind: "fee", model: null, costPicoUsd: CENT });
      assert.deepEqual(differing([fee, line({ model: name, costPicoUsd: USD })], []), [
        ["(fees)", [["calls_not_here", CENT]], 0n],
        [name, [["calls_not_here", USD]], 0n],
      ]);
    }
  });

  it("compares a whole day if the statement names no model", () => {
    const day = (costPicoUsd: bigint, given: Partial<StatementLine> = {}) =>
      line({ model: null, costPicoUsd, ...given });
    const records = [aRecord(), aRecord({ model: "claude-sonnet-4-5", costPicoUsd: USD })];
    assert.deepEqual(differing([day((5n * USD) / 2n)], records), []);
    assert.deepEqual(
      differing([day(USD)], [...records, aRecord({ tokensComplete: false, costPicoUsd: 0n })]),
      [["(all models)", [["incomplete", null]], (-3n * USD) / 2n]],
    );
    assert.deepEqual(differing([day(USD)], []), [["(all models)", [["calls_not_here", USD]], 0n]]);
    const mixed = [
      day(USD / 2n),
      input(USD),
      output(USD),
      day(-USD, { kind: "credit" }),
      day(USD, { tier: "batch" }),
    ];
    const tiered = [
      ...records,
      aRecord({ serviceTier: "priority", costPicoUsd: USD }),
      aRecord({ billingMode: "unknown" }),
    ];
    assert.deepEqual(differing([...mixed, input(USD, { date: "2026-05-14" })], tiered)[0], [
      "(all models)",
      [
        ["credit", -USD],
        ["not_on_statement", -USD],
        ["tier_not_here", USD],
      ],
      0n,
    ]);
  });

  it("states tokens only if the statement has no costs", () => {
    const more = usage(1_000_000n, 300_000n, { requests: 2 });
    const { rows, billedPicoUsd } = compare([more], [aRecord()], { format: USAGE });
    assert.equal(billedPicoUsd, null);
    assert.deepEqual(rows[0]?.differencePicoUsd, null);
    assert.deepEqual(rows[0]?.reasons, [
      { kind: "calls_not_here", picoUsd: null, requests: 1 },
      { kind: "calls_not_here", picoUsd: null, part: "output", tokens: 200_000n },
    ]);
    assert.equal(compare([tokens], [aRecord()], { format: USAGE }).agreeing, 1);
    assert.deepEqual(compare([tokens], [], { format: USAGE }).rows[0]?.reasons, [
      { kind: "calls_not_here", picoUsd: null },
    ]);
    // Calls without a price may be the reason, although no cost differs.
    const unpriced = aRecord({ costPicoUsd: null, tokensComplete: false });
    assert.deepEqual(
      compare([more], [unpriced], { format: USAGE }).rows[0]?.reasons.map(({ kind }) => kind),
      ["calls_not_here", "unpriced", "incomplete", "calls_not_here"],
    );
  });

  it("sums at most a thousand keys of a statement", () => {
    const lines = [
      input(USD, { key: "laptop", tokens: { input: 5n } }),
      usage(1n, 2n, { key: "laptop" }),
      usage(1n, 2n, { key: "phone" }),
      ...Array.from({ length: 1_500 }, (_, at) => input(1n, { key: `k${at}` })),
      input(USD, { key: "laptop" }),
    ];
    const { keys } = billOf(lines, COSTS);
    assert.equal(keys.size, 1_000);
    assert.deepEqual(keys.get("laptop"), { costPicoUsd: 2n * USD, tokens: 8n, hasCost: true });
    assert.deepEqual(keys.get("phone"), { costPicoUsd: 0n, tokens: 3n, hasCost: false });
  });
});
