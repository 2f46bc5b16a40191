import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import { NO_RATES, type RateRow } from "../../../core/pricing/rates.ts";

const NOW = Date.UTC(2026, 10, 21, 12);

function row(model: string, change: Partial<RateRow> = {}): RateRow {
  return {
    provider: "openai",
    model,
    source: "bundled",
    match: null,
    effectiveFrom: null,
    effectiveTo: null,
    daily: null,
    provenanceDate: "2026-09-23",
    rates: NO_RATES,
    ...change,
  };
}

function find(
  rows: readonly RateRow[],
  model: string,
  change: { provider?: string; requestedModel?: string; at?: number } = {},
) {
  const { provider = "openai", requestedModel = null, at = NOW } = change;
  return createPriceBook(rows).find({ provider, model, requestedModel, at });
}

describe("PriceBook.find() between sources", () => {
  const bundled = row("gpt-5");
  const auto = (provenanceDate: string, change: Partial<RateRow> = {}) =>
    row("gpt-5", { source: "auto", provenanceDate, ...change });
  const operator = row("gpt-5", { source: "operator", provenanceDate: "2020-01-01" });

  const cases: [what: string, rows: RateRow[], winner: RateRow][] = [
    ["bundled alone", [bundled], bundled],
    ["a newer auto over bundled", [bundled, auto("2026-09-24")], auto("2026-09-24")],
    ["auto over bundled on the same date", [auto("2026-09-23"), bundled], auto("2026-09-23")],
    ["bundled over an older auto", [auto("2026-09-22"), bundled], bundled],
    ["the newest auto", [auto("2026-11-02"), auto("2026-11-01"), bundled], auto("2026-11-02")],
    ["operator over everything newer", [auto("2026-11-02"), operator, bundled], operator],
    [
      "an older auto before the newer one takes effect",
      [auto("2026-11-01"), auto("2026-11-10", { effectiveFrom: "2026-12-01" })],
      auto("2026-11-01"),
    ],
    [
      "the later price of one pull once it is in effect",
      [
        auto("2026-11-01", { effectiveFrom: "2026-11-20" }),
        auto("2026-11-01", { effectiveFrom: "2026-11-05" }),
      ],
      auto("2026-11-01", { effectiveFrom: "2026-11-20" }),
    ],
    [
      "bundled while the operator's row is not in effect",
      [row("gpt-5", { ...operator, effectiveFrom: "2026-12-01" }), bundled],
      bundled,
    ],
    [
      "bundled once the operator's row has ended",
      [row("gpt-5", { ...operator, effectiveTo: "2026-11-21" }), bundled],
      bundled,
    ],
  ];
  for (const [what, rows, winner] of cases) {
    it(`takes ${what}`, () => assert.deepEqual(find(rows, "gpt-5"), winner));
  }

  it("uses the operator's row with the later effective date", () => {
    const later = { ...operator, effectiveFrom: "2026-11-01" };
    assert.equal(find([later, operator], "gpt-5"), later);
  });

  it("findPublished() ignores operator rows; findBundled() also ignores pulled rows", () => {
    const pulled = auto("2026-11-01");
    const book = createPriceBook([bundled, pulled, operator]);
    const query = { provider: "openai", model: "gpt-5", requestedModel: null, at: NOW };
    assert.equal(book.findPublished(query), pulled);
    assert.equal(book.findBundled(query), bundled);
  });

  it("applies the precedence for any rows in any order", () => {
    // Seen to fail with pulls sorted newest first, and with bundled before auto on the same date.
    const anyRow = fc.record({
      source: fc.constantFrom("bundled" as const, "auto" as const, "operator" as const),
      provenanceDate: fc.constantFrom("2026-11-01", "2026-11-02", "2026-11-03"),
    });
    const oneBundled = (rows: { source: string }[]) => rows.filter((r) => r.source === "bundled").length <= 1;
    fc.assert(
      fc.property(fc.array(anyRow, { minLength: 1, maxLength: 6 }).filter(oneBundled), (changes) => {
        const winner = find(
          changes.map((change) => row("gpt-5", change)),
          "gpt-5",
        )!;
        const rank = { operator: 2, auto: 1, bundled: 0 };
        const isOperated = changes.some((change) => change.source === "operator");
        assert.equal(winner.source === "operator", isOperated);
        if (isOperated) return;
        for (const other of changes) {
          assert.ok(
            winner.provenanceDate > other.provenanceDate ||
              (winner.provenanceDate === other.provenanceDate && rank[winner.source] >= rank[other.source]),
          );
        }
      }),
    );
  });
});

describe("PriceBook.find() by time", () => {
  it("uses the price of the day, from midnight UTC", () => {
    const old = row("gpt-5");
    const next = row("gpt-5", { effectiveFrom: "2027-01-01" });
    assert.equal(find([old, next], "gpt-5", { at: Date.UTC(2026, 11, 31, 23, 59, 59, 999) }), old);
    assert.equal(find([old, next], "gpt-5", { at: Date.UTC(2027, 0, 1) }), next);
  });

  it("finds nothing before the first price and after the last", () => {
    const only = row("gpt-5", { effectiveFrom: "2026-01-01", effectiveTo: "2026-02-01" });
    assert.equal(find([only], "gpt-5", { at: Date.UTC(2025, 11, 31) }), null);
    assert.equal(find([only], "gpt-5", { at: Date.UTC(2026, 0, 31, 23) }), only);
    assert.equal(find([only], "gpt-5", { at: Date.UTC(2026, 1, 1) }), null);
  });

  const hours: [from: number, to: number, hour: number, isIn: boolean][] = [
    [1, 4, 0, false],
    [1, 4, 1, true],
    [1, 4, 4, false],
    [22, 2, 21, false],
    [22, 2, 23, true],
    [22, 2, 1, true],
    [22, 2, 2, false],
  ];
  for (const [from, to, hour, isIn] of hours) {
    it(`does ${isIn ? "" : "not "}use the price of ${from} to ${to} o'clock at ${hour}`, () => {
      const always = row("gpt-5");
      const daily = row("gpt-5", { daily: { fromSecond: from * 3600, toSecond: to * 3600 } });
      assert.equal(
        find([always, daily], "gpt-5", { at: Date.UTC(2026, 10, 21, hour) }),
        isIn ? daily : always,
      );
      assert.equal(
        find([always, daily], "gpt-5", { at: Date.UTC(1969, 10, 21, hour) }),
        isIn ? daily : always,
      );
    });
  }

  it("rejects an invalid date", () => {
    assert.throws(
      () => createPriceBook([row("a", { effectiveFrom: "soon" })]),
      /effective date must be YYYY-MM-DD/,
    );
  });
});

describe("PriceBook.find() by name", () => {
  const list = loadBundledRates();
  const cases: [provider: string, model: string, found: string | null][] = [
    ["anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
    ["anthropic", "CLAUDE-OPUS-5", "claude-opus-5"],
    ["openai", "gpt-5-2025-08-07", "gpt-5"],
    ["openai", "gpt-4o-2024-05-13", "gpt-4o-2024-05-13"],
    ["openai", "gpt-4o-2024-08-06", "gpt-4o"],
    ["openai", "ft:gpt-4o-2024-08-06:acme::abc", "ft:gpt-4o"],
    ["openai", "text-nothing-1", null],
    ["codex", "gpt-5", "gpt-5"],
    ["gemini", "models/gemini-2.5-pro", "gemini-2.5-pro"],
    ["vertex", "publishers/google/models/gemini-2.5-flash", "gemini-2.5-flash"],
    ["vertex", "publishers/anthropic/models/claude-opus-5@20260724", "claude-opus-5"],
    [
      "bedrock",
      "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
      "regional.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ],
    ["openrouter", "anthropic/claude-opus-5", "anthropic/claude-opus-5"],
    ["xai", "grok-4.3-20260401", "grok-4.3"],
    ["azure", "claude-opus-5", "claude-opus-5"],
    ["nobody", "gpt-5", null],
    ["openai", "x".repeat(300), null],
    ["__proto__", "constructor", null],
    ["openai", "constructor", null],
  ];
  const book = createPriceBook(list);
  for (const [provider, model, found] of cases) {
    it(`finds ${found} for ${provider} ${model.slice(0, 60)}`, () => {
      assert.equal(book.find({ provider, model, requestedModel: null, at: NOW })?.model ?? null, found);
    });
  }

  const requested: [model: string, requestedModel: string, found: string | null][] = [
    ["unknown", "gpt-5", "gpt-5"],
    ["", "gpt-5", "gpt-5"],
    ["gpt-9-turbo", "gpt-5", null],
    ["chatgpt-z", "unheard-of", null],
  ];
  for (const [model, requestedModel, found] of requested) {
    it(`finds ${found} for ${model || "no model"} requested as ${requestedModel}`, () => {
      assert.equal(book.find({ provider: "openai", model, requestedModel, at: NOW })?.model ?? null, found);
    });
  }

  it("prices an unknown snapshot as the requested model", () => {
    const asked = row("nova", { match: "=nova" });
    assert.equal(find([asked], "nova-0725x", { requestedModel: "nova" }), asked);
    assert.equal(find([asked], "novation", { requestedModel: "nova" }), null);
  });

  it("finds a pulled or operator row by the snapshot, its base and the bundled name", () => {
    for (const source of ["auto", "operator"] as const) {
      const own = (model: string) => row(model, { source, provenanceDate: "2026-11-01" });
      assert.equal(find([own("gpt-7")], "gpt-7-2027-01-01")?.source, source);
      assert.equal(find([...list, own("gpt-5")], "gpt-5-2025-08-07")?.source, source);
      assert.equal(
        find(
          [...list, { ...own("claude-3-5-haiku-latest"), provider: "anthropic" }],
          "claude-3-5-haiku-20241022",
          { provider: "anthropic" },
        )?.source,
        source,
      );
    }
  });

  it("does not use the base's price for a snapshot with its own price", () => {
    const pulled = row("gpt-4o", { source: "auto", provenanceDate: "2026-11-01" });
    assert.equal(find([...list, pulled], "gpt-4o-2024-05-13")?.source, "bundled");
    assert.equal(find([...list, pulled], "gpt-4o-2024-08-06")?.source, "auto");
  });

  it("uses the maker's pulled row for a reseller that falls back to its list", () => {
    const claude = row("claude-opus-5", {
      provider: "anthropic",
      source: "auto",
      provenanceDate: "2026-11-01",
    });
    assert.equal(find([...list, claude], "claude-opus-5", { provider: "azure" })?.source, "auto");
  });

  it("uses the operator's exact name first, then the longest pattern", () => {
    const own = (model: string) => row(model, { source: "operator" });
    const rows = [...list, own("gpt-*"), own("gpt-5*"), own("gpt-5-mini"), own("*")];
    assert.equal(find(rows, "gpt-5.1")?.model, "gpt-5*");
    assert.equal(find(rows, "gpt-5-mini")?.model, "gpt-5-mini");
    assert.equal(find(rows, "gpt-4o")?.model, "gpt-*");
    assert.equal(find(rows, "o3")?.model, "*");
  });

  it("uses the model's row for a cross-region profile on Bedrock, but never for Claude", () => {
    const book = createPriceBook([
      row("cohere.embed-v4:0", { provider: "aws" }),
      row("eu.cohere.rerank", { provider: "aws" }),
      row("anthropic.claude-9", { provider: "aws" }),
    ]);
    const at = (model: string) =>
      book.find({ provider: "bedrock", model, requestedModel: null, at: 0 })?.model ?? null;
    assert.equal(at("us.cohere.embed-v4:0"), "cohere.embed-v4:0");
    assert.equal(at("global.cohere.embed-v4:0"), "cohere.embed-v4:0");
    assert.equal(at("eu.cohere.rerank"), "eu.cohere.rerank");
    assert.equal(at("us.cohere.rerank"), null);
    assert.equal(at("us.anthropic.claude-9"), null);
  });

  it("uses the first group that matches, whether by its name or by a rule", () => {
    const named = row("gpt-5", { rates: { ...NO_RATES, input: 1 } });
    const again = row("gpt-5", { origin: { name: "other", retrievedOn: "2026-09-23" } });
    const ruled = row("gpt", { match: "^gpt-" });
    const unrelated = row("o3", { match: "=o3" });
    assert.equal(find([unrelated, named, again, ruled], "gpt-5"), named);
    assert.equal(find([unrelated, ruled, named, again], "gpt-5"), ruled);
    assert.equal(find([unrelated, named, ruled], "gpt-6"), ruled);
  });

  it("keeps rows of two sources with one name apart", () => {
    const origin = { name: "litellm", retrievedOn: "2026-07-24" };
    const book = createPriceBook([
      row("glm", { provider: "fireworks", match: "=accounts/glm" }),
      row("glm", { provider: "fireworks", origin }),
    ]);
    const at = (model: string) =>
      book.find({ provider: "fireworks", model, requestedModel: null, at: 0 })?.origin ?? null;
    assert.equal(at("accounts/glm"), null);
    assert.equal(at("glm"), origin);
  });

  it("stays correct and bounded if a client sends many names", () => {
    const crowd = createPriceBook([row("gpt-5")]);
    for (let index = 0; index < 10_050; index++) {
      crowd.find({ provider: "openai", model: `m${index}`, requestedModel: null, at: NOW });
    }
    assert.equal(
      crowd.find({ provider: "openai", model: "gpt-5", requestedModel: null, at: NOW })?.model,
      "gpt-5",
    );
  });
});

describe("PriceBook.find() with a list that the operator names", () => {
  const rows = [
    row("gpt-5"),
    row("gpt-5", { provider: "corp", source: "operator" }),
    row("grok-9", { provider: "x-ai" }),
  ];
  const book = createPriceBook(rows, { lists: { corp: "openai", gate: "openai", grokgate: "xai" } });
  const query = (provider: string, model: string) => ({ provider, model, requestedModel: null, at: NOW });

  it("uses the provider's own rates first, then the named list", () => {
    assert.equal(book.find(query("gate", "gpt-5"))?.provider, "openai");
    assert.equal(book.find(query("corp", "gpt-5"))?.source, "operator");
    assert.equal(book.find(query("grokgate", "grok-9"))?.provider, "x-ai");
    assert.equal(book.find(query("gate", "grok-9")), null);
    assert.equal(createPriceBook(rows).find(query("gate", "gpt-5")), null);
  });

  it("listOf() names the list whose factors apply", () => {
    assert.equal(book.listOf("gate"), "openai");
    assert.equal(book.listOf("grokgate"), "x-ai");
    assert.equal(book.listOf("gemini"), "google");
  });
});

describe("PriceBook.find() by the names of snapshots", () => {
  const base = row("gpt-5");
  const dated = row("gpt-5-2026-01-02", { provenanceDate: "2026-09-24" });
  const own = (model: string, source: "auto" | "operator" = "operator") =>
    row(model, { source, provenanceDate: "2026-11-01" });

  it("finds the operator's row for the exact name, regardless of bundled rows", () => {
    for (const name of ["gpt-5-2026-01-02", "gpt-5-20260102", "models/gpt-5-20260102"]) {
      assert.deepEqual(find([own("gpt-5-2026-01-02")], name), own("gpt-5-2026-01-02"), name);
    }
  });

  it("does not use the base's price for a snapshot that is bundled separately", () => {
    assert.deepEqual(find([base, dated, own("gpt-5", "auto")], "gpt-5-2026-01-02"), dated);
  });

  it("uses the base's price for an otherwise unknown snapshot", () => {
    for (const rows of [[own("gpt-5", "auto")], [base, own("gpt-5", "auto")]]) {
      assert.deepEqual(find(rows, "gpt-5-2026-01-02"), own("gpt-5", "auto"));
    }
  });

  it("uses the longest pattern in any order, also for a name in a path", () => {
    const rows = [own("g*"), own("gpt-5*"), own("gpt*")];
    assert.equal(find(rows, "gpt-5-mini")?.model, "gpt-5*");
    assert.equal(find(rows, "publishers/x/models/gpt-5-mini")?.model, "gpt-5*");
    assert.equal(find(rows, "o3"), null);
  });
});

describe("PriceBook.find() by the time", () => {
  const hour = (at: number) => Date.UTC(2026, 10, 21, at);
  const night = { fromSecond: 16 * 3_600, toSecond: 3_600 };
  const morning = { fromSecond: 3_600, toSecond: 16 * 3_600 };
  const rows = [row("m", { daily: night, provenanceDate: "2026-09-01" }), row("m", { daily: morning })];

  it("starts a daily window at its first second and ends it before its last", () => {
    for (const [at, daily] of [
      [0, night],
      [1, morning],
      [15, morning],
      [16, night],
      [23, night],
    ] as const) {
      assert.deepEqual(find(rows, "m", { at: hour(at) })?.daily, daily, `${at}`);
    }
    assert.deepEqual(find([row("m", { daily: morning })], "m", { at: hour(16) }), null);
  });

  it("uses the later of two pulled rates of one day, in any order", () => {
    const early = row("m", { source: "auto", effectiveFrom: "2026-01-01" });
    const late = row("m", { source: "auto", effectiveFrom: "2026-06-01" });
    for (const both of [
      [early, late],
      [late, early],
    ]) {
      assert.deepEqual(find(both, "m"), late);
      assert.deepEqual(find(both, "m", { at: Date.UTC(2026, 2, 1) }), early);
    }
  });
});
