import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { billModelOf } from "../../../../core/pricing/statements/bill-model.ts";
import { addBilledLine, createBilledDays } from "../../../../core/pricing/statements/bill-rows.ts";
import { compareBill } from "../../../../core/pricing/statements/compare-bill.ts";
import { createCsvReader } from "../../../../core/pricing/statements/csv-reader.ts";
import { openaiCosts } from "../../../../core/pricing/statements/openai.ts";
import { columnName } from "../../../../core/pricing/statements/statement-formats.ts";
import { EMPTY_LINE, type StatementLine } from "../../../../core/pricing/statements/statement-line.ts";
import { formatCsvField } from "../../../../core/values/text/format-csv-field.ts";

describe("createCsvReader()", () => {
  const readAll = (chunks: readonly string[]) => {
    const reader = createCsvReader();
    return [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()];
  };

  it("reads quotes, commas and line ends inside fields, and skips empty lines", () => {
    assert.deepEqual(readAll(['a,"b ""c"", d\r\ne"\r\n\r\n1,\n', '"",x']), [
      ["a", 'b "c", d\r\ne'],
      ["1", ""],
      ["", "x"],
    ]);
  });

  // Seen to fail with a reader that forgets at the end of a chunk that the last character was a quote.
  it("reads what was written, wherever the chunks end", () => {
    const field = fc.string({ unit: fc.constantFrom("a", '"', ",", "\n", "é"), size: "small" });
    fc.assert(
      fc.property(fc.array(fc.array(field, { minLength: 2 }), { minLength: 1 }), fc.nat(), (rows, seed) => {
        const text = rows.map((row) => row.map(formatCsvField).join(",")).join("\r\n");
        const cut = text.length === 0 ? 0 : seed % text.length;
        assert.deepEqual(readAll([text.slice(0, cut), text.slice(cut, cut + 1), text.slice(cut + 1)]), rows);
      }),
    );
  });

  it("refuses a row that does not end", () => {
    const reader = createCsvReader();
    const chunk = `"${"x,".repeat(300_000)}`;
    assert.throws(() => [reader.push(chunk), reader.push(chunk)], /more than a million characters/);
    assert.throws(() => createCsvReader().push(",".repeat(1_100_000)), RangeError);
  });
});

describe("billModelOf()", () => {
  const same = [
    ["Claude Sonnet 4.5", "claude-sonnet-4-5-20250929", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"],
    ["Claude4.5Sonnet", "anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"],
    ["Claude 3.5 Sonnet 2024-10-22", "claude-3-5-sonnet-20241022"],
    ["gpt-5-2025-08-07", "openai/gpt-5", "GPT-5"],
    ["NovaPro", "us.amazon.nova-pro-v1:0"],
  ];
  for (const names of same)
    it(`takes ${names.join(", ")} as one model`, () =>
      assert.equal(new Set(names.map(billModelOf)).size, 1, names.map(billModelOf).join(" | ")));

  it("tells models apart", () => {
    const names = ["gpt-5", "gpt-5-mini", "gpt-5.1", "gpt-4.1", "o3", "claude-opus-4-5", "claude-opus-4-1"];
    assert.equal(new Set(names.map(billModelOf)).size, names.length);
  });
});

describe("columnName()", () => {
  it("spells columns as CUR 2.0 does", () => {
    for (const [title, name] of [
      ["lineItem/UnblendedCost", "line_item_unblended_cost"],
      ["\uFEFFusage_date_utc", "usage_date_utc"],
      ["BYOK Usage", "byok_usage"],
    ] as const)
      assert.equal(columnName(title), name);
  });
});

describe("openaiCosts", () => {
  it("reads what a line item bills, and takes an unknown one as a fee", () => {
    const read = (line_item: string) => {
      const results = [{ object: "organization.costs.result", amount: { value: "1.5e-1" }, line_item }];
      const page = openaiCosts.readPage({ data: [{ start_time: "1778544000", results }] });
      assert.ok(page.ok);
      const [{ kind, model, part, tier, costPicoUsd } = assert.fail()] = page.lines;
      assert.equal(costPicoUsd, 150_000_000_000n);
      return [kind, model, part, tier];
    };
    assert.deepEqual(read("gpt-5-2025-08-07, input"), ["usage", "gpt-5-2025-08-07", "input", null]);
    assert.deepEqual(read("gpt-5 cached input"), ["usage", "gpt-5", "cache read", null]);
    assert.deepEqual(read("gpt-5 batch, output"), ["usage", "gpt-5", "output", "batch"]);
    assert.deepEqual(read("web search tool calls"), ["fee", null, null, null]);
  });
});

describe("compareBill()", () => {
  // Seen to fail with a reason whose amount was not taken from the rest.
  it("splits every difference into its reasons and the unknown rest", () => {
    const line = fc.record({
      date: fc.constantFrom("2026-05-11", "2026-05-12", "2026-05-13"),
      kind: fc.constantFrom("usage", "fee", "credit", "tax"),
      model: fc.constantFrom("a-1", "b-2", null),
      tier: fc.constantFrom(null, "batch"),
      part: fc.constantFrom("input", "output", null),
      costPicoUsd: fc.oneof(fc.bigInt({ min: -1_000n, max: 1_000n }), fc.constant(null)),
      tokens: fc.constantFrom({}, { input: 5n }, { output: 7n }),
    });
    const format = {
      ...{ name: "x", provider: "x", states: "cost" as const, keyIs: null, hasFeesApart: true },
      ...{ unitPicoUsd: 1n, omittedTiers: [] },
    };
    fc.assert(
      fc.property(fc.array(line), fc.constantFrom(null, "2026-05-12"), (lines, firstDay) => {
        const days = createBilledDays();
        for (const each of lines) addBilledLine(days, { ...EMPTY_LINE, ...each } as StatementLine, format);
        const { rows, billedPicoUsd } = compareBill(days, new Map(), format, firstDay);
        for (const { differencePicoUsd, reasons, unknownPicoUsd } of rows)
          assert.equal(
            reasons.reduce((sum, { picoUsd }) => sum + (picoUsd ?? 0n), unknownPicoUsd),
            differencePicoUsd,
          );
        assert.equal(
          billedPicoUsd,
          lines.reduce((sum, each) => sum + (each.costPicoUsd ?? 0n), 0n),
        );
      }),
    );
  });
});
