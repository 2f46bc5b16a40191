import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_COST } from "../../core/pricing/cost-split.ts";
import { niceCeiling, renderCostChart } from "../../pages/cost-chart.ts";

describe("niceCeiling()", () => {
  it("returns the next of 1, 2 and 5 times a power of ten", () => {
    const values = [0n, 1n, 2n, 3n, 5n, 6n, 10n, 11n, 21n, 51n, 99n, 100n];
    assert.deepEqual(values.map(niceCeiling), [
      1_000_000_000_000n,
      1n,
      2n,
      5n,
      5n,
      10n,
      10n,
      20n,
      50n,
      100n,
      100n,
      100n,
    ]);
  });
});

describe("renderCostChart()", () => {
  const none = { spentPicoUsd: "–", planUsagePicoUsd: "–", unknownBillingPicoUsd: "–" };
  const day = (date: string, spentPicoUsd: bigint, spent: string, requests = 1) => ({
    ...{ date, requests },
    split: { ...NO_COST, spentPicoUsd },
    texts: { ...none, spentPicoUsd: spent },
  });
  const rendered = async () =>
    (
      await renderCostChart(
        [
          day("2026-11-20", 0n, "unpriced", 2),
          day("2026-11-21", 1n, "<$0.0001"),
          day("2026-11-22", 1_500_000_000_000n, "$1.50", 1_200),
          day("2026-11-23", 0n, "$0.00", 0),
        ],
        "Day (UTC)",
      )
    ).toString();

  it("draws a bar for each day, at least 0.8 high if there is a cost", async () => {
    const heights = [
      ...(await rendered()).matchAll(
        /<rect class="spent" x="[\d.]+" y="[\d.]+" width="7" height="([\d.]+)"/g,
      ),
    ];
    assert.deepEqual(
      heights.map(([, height]) => height),
      ["0.00", "0.80", "75.00", "0.00"],
    );
  });

  it("titles each bar with its date, cost and requests, and shows an unknown cost as unpriced", async () => {
    const titles = [...(await rendered()).matchAll(/<title>([^<]*)<\/title>/g)].map(([, title]) => title);
    assert.deepEqual(titles, [
      "2026-11-20: unpriced, 2 requests",
      "2026-11-21: &lt;$0.0001, 1 request",
      "2026-11-22: $1.50, 1,200 requests",
      "2026-11-23: $0.00, 0 requests",
    ]);
  });

  it("lists the days with requests in a table, the latest first", async () => {
    const text = await rendered();
    const rows = [...text.matchAll(/<th scope="row">([^<]*)<\/th>/g)].map(([, date]) => date);
    assert.deepEqual(rows, ["2026-11-22", "2026-11-21", "2026-11-20"]);
    assert.match(text, /<th scope="col">Day \(UTC\)<\/th>/);
  });

  it("stacks plan usage and unknown billing on what was spent, with a legend and a column for each", async () => {
    const split = { spentPicoUsd: 10n, planUsagePicoUsd: 60n, unknownBillingPicoUsd: 30n };
    const texts = { spentPicoUsd: "$1", planUsagePicoUsd: "$6", unknownBillingPicoUsd: "$3" };
    const text = (await renderCostChart([{ date: "2026-11-20", requests: 3, split, texts }])).toString();
    assert.deepEqual(
      [...text.matchAll(/<rect class="(\w+)" x="1.5" y="([\d.]+)" width="7" height="([\d.]+)"/g)].map(
        ([, ...bar]) => bar,
      ),
      [
        ["spent", "90.00", "10.00"],
        ["plan", "30.00", "60.00"],
        ["unknown", "0.00", "30.00"],
      ],
    );
    assert.match(text, /<title>2026-11-20: Spent \$1, Plan usage \$6, Unknown billing \$3, 3 requests</);
    assert.match(text, /<li class="plan">Plan usage, at API prices<\/li>/);
    assert.match(
      text,
      /<td class="number">\$1<\/td><td class="number">\$6<\/td><td class="number">\$3<\/td>/,
    );
  });

  it("names the highest day, and renders a period without days", async () => {
    assert.match(await rendered(), /role="img" aria-label="Cost per day; the highest day is \$1\.50"/);
    assert.match((await renderCostChart([])).toString(), /the highest day is \$0\.00/);
  });
});
