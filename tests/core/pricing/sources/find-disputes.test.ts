import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_RATES, type RateRow } from "../../../../core/pricing/rates.ts";
import { findDisputes } from "../../../../core/pricing/sources/find-disputes.ts";

const AT = Date.UTC(2026, 10, 23);

const row = (
  source: RateRow["source"],
  name: string | null,
  input: number,
  change: Partial<RateRow> = {},
): RateRow => ({
  ...{ provider: "openai", model: "m", source, match: null, effectiveFrom: null, effectiveTo: null },
  ...{ daily: null, provenanceDate: "2026-11-01" },
  ...(name !== null && { origin: { name, retrievedOn: "2026-11-01" } }),
  rates: { ...NO_RATES, input, output: 5_000_000 },
  ...change,
});

describe("findDisputes()", () => {
  it("lists the rates on which pulled lists and the bundled rates differ", () => {
    const rows = [
      row("bundled", null, 1_000_000),
      row("auto", "litellm", 2_000_000),
      row("auto", "models.dev", 1_000_000),
    ];
    assert.deepEqual(findDisputes(rows, AT), [
      {
        ...{ provider: "openai", model: "m", field: "input" },
        rates: [
          { source: "bundled", rate: 1_000_000 },
          { source: "litellm", rate: 2_000_000 },
          { source: "models.dev", rate: 1_000_000 },
        ],
        reasons: [],
      },
    ]);
  });

  it("names the reason of a known difference", () => {
    const model = "gpt-realtime-2";
    const rows = [row("bundled", null, 4_000_000), row("auto", "litellm", 4_000_000)].map((each) => ({
      ...each,
      model,
      rates: { ...each.rates, output: each.source === "auto" ? 16_000_000 : 24_000_000 },
    }));
    const [dispute] = findDisputes(rows, AT);
    assert.deepEqual(dispute?.reasons, [
      {
        source: "litellm",
        reason: "the list has the text output rate of gpt-realtime",
        page: "https://developers.openai.com/api/docs/models/gpt-realtime-2.1",
      },
    ]);
  });

  it("tolerates what rounding explains", () => {
    const rows = [row("bundled", null, 1_000_000), row("auto", "litellm", 1_020_000)];
    assert.deepEqual(findDisputes(rows, AT), []);
    assert.equal(findDisputes(rows, AT, 0.01).length, 1);
  });

  it("compares what applies on the day, and treats a price beside a free one as a dispute", () => {
    const later = row("auto", "litellm", 3_000_000, { effectiveFrom: "2027-01-01" });
    assert.deepEqual(findDisputes([row("bundled", null, 1_000_000), later], AT), []);
    assert.equal(findDisputes([row("bundled", null, 0), row("auto", null, 1)], AT).length, 1);
  });

  it("compares all models of a source", () => {
    const models = ["m", "n"].flatMap((model) => [
      row("bundled", null, 1_000_000, { model }),
      row("auto", "litellm", 2_000_000, { model }),
    ]);
    assert.deepEqual(
      findDisputes(models, AT).map(({ model }) => model),
      ["m", "n"],
    );
  });

  it("lists nothing for the operator's rates or a single source", () => {
    const rows = [row("operator", null, 9_000_000), row("auto", "litellm", 1_000_000)];
    assert.deepEqual(findDisputes(rows, AT), []);
    assert.deepEqual(findDisputes([row("bundled", null, 1)], AT), []);
  });
});
