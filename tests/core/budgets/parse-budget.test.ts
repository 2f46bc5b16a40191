import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type BudgetInput, parseBudget, toBudgetInput } from "../../../core/budgets/parse-budget.ts";
import { budgetOf, USD } from "./budgets.rig.ts";

const parse = (input: BudgetInput) =>
  parseBudget({ name: "b", amount: "1 USD", ...input }, { zone: "Europe/Berlin" });
const parsed = (input: BudgetInput) => {
  const result = parse(input);
  assert.ok(result.ok, result.ok ? "" : `${result.key} ${result.problem}`);
  return result.budget;
};

describe("parseBudget()", () => {
  it("has defaults", () => {
    assert.deepEqual(
      parsed({}),
      budgetOf({ name: "b", limit: USD, atLimit: "warn", period: { kind: "month", zone: "Europe/Berlin" } }),
    );
  });

  const amounts: [text: unknown, unit: string, limit: bigint][] = [
    ["25 USD", "usd", 25n * USD],
    ["$0.50", "usd", USD / 2n],
    ["0.000000000001 usd", "usd", 1n],
    [25, "usd", 25n * USD],
    ["2M tokens", "tokens", 2_000_000n],
    ["1.5k tokens", "tokens", 1_500n],
    ["1 request", "requests", 1n],
    ["0 USD", "usd", 0n],
    ["2.5k usd", "usd", 2_500n * USD],
    [3n, "usd", 3n * USD],
  ];
  for (const [text, unit, limit] of amounts)
    it(`reads the amount ${text}`, () => {
      const budget = parsed({ amount: text });
      assert.deepEqual([budget.unit, budget.limit], [unit, limit]);
    });

  it("reads a rate guard", () => {
    const { period, coolDownMs } = parsed({ amount: "30 requests", period: "1m", cool_down: "10m" });
    assert.deepEqual([period, coolDownMs], [{ kind: "rolling", lengthMs: 60_000 }, 600_000]);
  });

  it("reads a scope of one or more values, and writes projects as they are stored", () => {
    assert.deepEqual(parsed({ project: "My Shop", model: ["a", "b-*"] }).scope, {
      project: ["my-shop"],
      model: ["a", "b-*"],
    });
  });

  it("keeps a project that ends in * or has no slug as it is written, but in lower case", () => {
    assert.deepEqual(parsed({ project: ["Shop-*", "!!!"] }).scope, { project: ["shop-*", "!!!"] });
  });

  it("reads thresholds that a TOML file states as big integers, each once and in order", () => {
    assert.deepEqual(parsed({ thresholds: [90n, 50, 90] }).thresholds, [50, 90]);
  });

  const invalid: [BudgetInput, key: string][] = [
    [{ name: "" }, "name"],
    [{ name: "a\nb" }, "name"],
    [{ name: "$(rm)" }, "name"],
    [{ name: "-rf" }, "name"],
    [{ name: "x".repeat(65) }, "name"],
    [{ name: 7 }, "name"],
    [{ amount: "" }, "amount"],
    [{ amount: "-1 USD" }, "amount"],
    [{ amount: "1 EUR" }, "amount"],
    [{ amount: "$5 tokens" }, "amount"],
    [{ amount: "1.5 requests" }, "amount"],
    [{ amount: "1.0000001 tokens" }, "amount"],
    [{ amount: "1.0000005M tokens" }, "amount"],
    [{ amount: "9999999999 USD" }, "amount"],
    [{ amount: Number.NaN }, "amount"],
    [{ amount: undefined }, "amount"],
    [{ period: "year" }, "period"],
    [{ period: "10s" }, "period"],
    [{ period: "367d" }, "period"],
    [{ period: 60 }, "period"],
    [{ period: "1h", cool_down: "10s" }, "cool_down"],
    [{ zone: "Mars" }, "zone"],
    [{ period: "total", zone: "UTC" }, "zone"],
    [{ cool_down: "10m" }, "cool_down"],
    [{ thresholds: [0] }, "thresholds"],
    [{ thresholds: 80 }, "thresholds"],
    [{ at_limit: "stop" }, "at_limit"],
    [{ on_exceed: "cut" }, "on_exceed"],
    [{ on_exceed: "stop", at_limit: "block" }, "on_exceed"],
    [{ reserve: "yes" }, "reserve"],
    [{ model: [] }, "model"],
    [{ model: "" }, "model"],
    [{ billing: "paid" }, "billing"],
    [{ modle: "x" }, "modle"],
  ];
  for (const [input, key] of invalid)
    it(`rejects ${JSON.stringify(input)}`, () => {
      const result = parse(input);
      assert.equal(result.ok ? null : result.key, key);
    });

  it("reads back what toBudgetInput() writes, even through JSON", () => {
    const scopes = fc.record(
      {
        project: fc.constant(["shop"]),
        model: fc.constantFrom(["m"], ["m", "n*"]),
        billing: fc.constant(["plan"]),
      },
      { requiredKeys: [], noNullPrototype: true },
    );
    const periods = fc.oneof(
      fc.constantFrom({ kind: "total" as const }, { kind: "session" as const }),
      fc
        .constantFrom("hour", "day", "week", "month")
        .map((kind) => ({ kind: kind as "hour", zone: "Asia/Kolkata" })),
      fc
        .integer({ min: 60, max: 366 * 86_400 })
        .map((s) => ({ kind: "rolling" as const, lengthMs: s * 1_000 })),
    );
    const budgets = fc.record({
      scope: scopes,
      unit: fc.constantFrom("usd" as const, "tokens" as const, "requests" as const),
      limit: fc.bigInt({ min: 0n, max: 2n ** 53n }),
      period: periods,
      thresholds: fc
        .uniqueArray(fc.integer({ min: 1, max: 1_000 }), { maxLength: 5 })
        .map((all) => all.sort((a, b) => a - b)),
      atLimit: fc.constantFrom("warn" as const, "block" as const),
      reserve: fc.boolean(),
      fail: fc.constantFrom("open" as const, "closed" as const),
    });
    fc.assert(
      fc.property(budgets, fc.boolean(), fc.boolean(), (details, isGuard, cuts) => {
        const coolDownMs = isGuard && details.period.kind === "rolling" ? 90_000 : null;
        const onExceed = cuts && details.atLimit === "block" ? "cut" : "finish";
        const budget = budgetOf({ ...details, coolDownMs, onExceed });
        const result = parseBudget(JSON.parse(JSON.stringify(toBudgetInput(budget))), { zone: "UTC" });
        assert.deepEqual(result, { ok: true, budget });
      }),
    );
  });

  it("names the choices of a period, and only the bounds of a cool-down", () => {
    const problemOf = (input: BudgetInput) => {
      const result = parse(input);
      return result.ok ? null : result.problem;
    };
    assert.equal(
      problemOf({ period: "year" }),
      "must be hour, day, week, month, session, total, or a duration of 1m to 366d, such as 24h",
    );
    assert.equal(
      problemOf({ period: "1h", cool_down: "1s" }),
      "must be a duration of 1m to 366d, such as 24h",
    );
  });

  it("does not hide an error that is not about the budget", () => {
    const input = {
      get amount(): never {
        throw new TypeError("gone");
      },
    };
    assert.throws(() => parseBudget(input, { zone: "UTC" }), TypeError);
  });

  it("never throws", () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom("name", "amount", "period", "zone", "model", "thresholds"),
          fc.anything(),
        ),
        (input) => {
          parseBudget(input, { zone: "UTC" });
        },
      ),
    );
  });
});
