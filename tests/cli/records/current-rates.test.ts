import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { currentRates, newestRateDate } from "../../../cli/records/current-rates.ts";
import { BUNDLED_RATES_DATE } from "../../../core/pricing/bundled-rates.data.ts";
import { NO_RATES, type RateRow } from "../../../core/pricing/rates.ts";
import { createSampleHome } from "../run-command.rig.ts";

const pulled = (model: string, provenanceDate: string, effectiveFrom: string | null = null): RateRow => ({
  ...{ provider: "openai", model, source: "auto", provenanceDate, effectiveFrom, effectiveTo: null },
  ...{ match: null, daily: null, rates: { ...NO_RATES, input: 1, output: 1 } },
});

const OPERATOR = `
[[pricing.operator]]
provider = "openai"
model = "gpt-5"
input = "1"
output = "1"
effective_from = "2026-01-01"
`;

describe("newestRateDate()", () => {
  const cases: readonly [name: string, stored: readonly RateRow[], config: string, date: string | null][] = [
    ["bundled rates alone", [], "", BUNDLED_RATES_DATE],
    ["a newer pull", [pulled("gpt-5", "2026-10-02"), pulled("gpt-4o", "2026-10-01")], "", "2026-10-02"],
    ["an older pull", [pulled("gpt-5", "2025-10-02")], "", BUNDLED_RATES_DATE],
    // Planted: the newest date of all rows.
    ["a pull that applies later", [pulled("gpt-5", "2026-10-02", "9999-01-01")], "", BUNDLED_RATES_DATE],
    ["a rate of the operator's", [pulled("gpt-5", "2026-10-02")], OPERATOR, null],
  ];
  for (const [name, stored, config, date] of cases) {
    it(`is the latest date of the current rates with ${name}`, async () => {
      const { home, remove } = await createSampleHome(
        (store) => store.rates.replace("auto", stored, 0),
        config,
      );
      try {
        const env = { METER_HOME: home };
        const dates = (await currentRates(env)).map(({ provenanceDate }) => provenanceDate).sort();
        assert.equal(await newestRateDate(env), dates.at(-1));
        if (date !== null) assert.equal(dates.at(-1), date);
      } finally {
        remove();
      }
    });
  }
});
