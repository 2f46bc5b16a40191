import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type BarChart, renderBars } from "../../../pages/chart/bars.ts";
import { heatLevel } from "../../../pages/chart/heatmap.ts";
import { renderLane } from "../../../pages/chart/lane.ts";
import { renderLine } from "../../../pages/chart/line.ts";
import { ceilToStep, pickLabels, stackHeights } from "../../../pages/chart/scale.ts";
import { formatShortUsd } from "../../../pages/formats.ts";

const amount = fc.bigInt({ min: 0n, max: 10n ** 19n });

describe("the heights of bars", () => {
  it("add up exactly, and nothing above zero is invisible", () => {
    fc.assert(
      fc.property(fc.array(amount, { maxLength: 8 }), amount, (values, more) => {
        const sum = values.reduce((total, value) => total + value, 0n);
        const heights = stackHeights(values, ceilToStep(sum + more, 1n));
        const total = heights.reduce((all, height) => all + Math.round(height * 100), 0);
        assert.ok(heights.every((height) => Number.isFinite(height) && height >= 0));
        assert.ok(total <= 10_000);
        assert.equal(total > 0, sum > 0n);
      }),
    );
  });

  it("have an even step as their top, so that half of it is exact", () => {
    assert.deepEqual(
      [0n, 1n, 3n, 5n, 9n, 10n, 11n, 101n, 401n, 900n].map((value) => ceilToStep(value, 7n)),
      [7n, 2n, 4n, 6n, 10n, 10n, 20n, 200n, 600n, 1_000n],
    );
  });

  it("are labelled without trailing zeros", () => {
    const chart = {
      id: "c",
      title: "Cost",
      heading: "Day",
      series: [{ name: "Cost", colour: 0 }],
      ceilingIfEmpty: 1n,
    };
    const bars = [{ label: "one", values: [150_000_000_000n] }];
    const page = String(renderBars({ ...chart, bars, format: formatShortUsd, render: formatShortUsd }));
    assert.match(page, /<span>\$0\.20<\/span><span>\$0\.10<\/span><span>\$0\.00<\/span>/);
  });

  it("of a heatmap show anything above zero", () => {
    assert.deepEqual(
      [0n, 1n, 250n, 251n, 1_000n].map((value) => heatLevel(value, 1_000n)),
      [0, 1, 1, 2, 4],
    );
  });
});

describe("pickLabels()", () => {
  it("keeps the first and the last", () => {
    const labels = Array.from({ length: 31 }, (_, n) => `${n}`);
    assert.deepEqual(pickLabels(labels, 4), ["0", "10", "20", "30"]);
    assert.deepEqual(pickLabels(["a"], 4), ["a"]);
    assert.deepEqual(pickLabels([], 4), []);
  });
});

const chart: BarChart = {
  id: "c",
  title: "Cost per day",
  heading: "Day (UTC)",
  series: [
    { name: `"><script>alert(1)</script>`, colour: 0 },
    { name: "Other", colour: 6 },
  ],
  bars: [
    { label: "2026-11-22", values: [5n, 1n], before: 3n, href: "/?from=2026-11-22" },
    {
      label: "2026-11-23",
      values: [0n, 0n],
      gap: { words: "not metering for 20 h", isHatched: true },
    },
    { label: "2026-11-24", values: [2n, 0n], gap: { words: "not metering for 3 h", isHatched: false } },
  ],
  ceilingIfEmpty: 1n,
  format: (value) => `${value} units`,
  render: (value) => `${value}`,
};

describe("renderBars()", () => {
  it("has a table with the values, links and totals of the drawing, which is hidden from screen readers", () => {
    const text = String(renderBars(chart));
    assert.match(text, /<svg aria-hidden="true"/);
    assert.match(text, /<a href="\/\?from=2026-11-22" tabindex="-1">/);
    assert.match(text, /<a href="\/\?from=2026-11-22">2026-11-22<\/a>/);
    assert.match(
      text,
      /<td class="num">5<\/td><td class="num">1<\/td><td class="num">6<\/td><td class="num">3<\/td>/,
    );
    assert.doesNotMatch(text, /<script>|NaN|Infinity|style=/);
  });

  it("hatches a time without the meter, and says so in its table, its tip and its legend", () => {
    const text = String(renderBars(chart));
    assert.equal(text.match(/class="gap" fill="url\(#c-hatch\)"/g)?.length, 1);
    assert.match(text, /<pattern id="c-hatch"/);
    assert.match(text, /data-tip="2026-11-23: not metering for 20 h"/);
    assert.match(text, /data-tip="2026-11-24: 2 units, not metering for 3 h/);
    assert.match(text, />2026-11-23 \(not metering for 20 h\)<\/th>/);
    assert.match(text, />2026-11-24 \(not metering for 3 h\)<\/th>/);
    assert.match(text, /<ul class="legend">.*not metering<\/li>/);
    const whole = { ...chart, series: chart.series.slice(0, 1), bars: chart.bars.slice(0, 1) };
    assert.doesNotMatch(String(renderBars(whole)), /not metering|class="gap"/);
  });

  it("outlines what is expected, and never counts it with the values", () => {
    const bars = [
      ...chart.bars.slice(0, 2),
      { label: "2026-11-24", values: [2n, 0n], estimate: 7n },
      { label: "2026-11-25", values: [0n, 0n], estimate: 9n, isAhead: true as const },
    ];
    const text = String(renderBars({ ...chart, bars }));
    assert.equal(text.match(/<rect class="ahead" x="/g)?.length, 3, "two bars and the legend");
    assert.match(text, /data-tip="2026-11-24: 2 units[^"]*still to come, estimate: 7 units"/);
    assert.match(text, /data-tip="2026-11-25: estimate 9 units"/);
    assert.match(text, /<ul class="legend">.*estimate<\/li>/);
    assert.match(text, />Still to come, estimate<\/th>/);
    const cells = (day: string) =>
      [
        ...(text.split(`class="when">${day}`)[1]?.split("</tr>")[0] ?? "").matchAll(
          /<td class="num">([^<]*)/g,
        ),
      ].map(([, value]) => value);
    assert.deepEqual(cells("2026-11-25<"), ["–", "–", "–", "–", "9"]);
    assert.deepEqual(cells("2026-11-24<"), ["2", "0", "2", "–", "7"]);
    // The highest bar with its estimate fits.
    assert.match(text, /<span>10 units<\/span>/);
    assert.doesNotMatch(String(renderBars(chart)), /estimate|class="ahead"/);
  });

  it("states no total of series that must not be added up, such as what was spent and what a plan covers", () => {
    const text = String(renderBars({ ...chart, hasNoSum: true }));
    assert.match(text, /data-tip="2026-11-22\nOther: 1 units\n/);
    assert.match(text, /data-tip="2026-11-24: not metering for 3 h\n/);
    assert.doesNotMatch(text, />Total<|: 6 units/);
    const single = { ...chart, hasNoSum: true, series: chart.series.slice(0, 1), bars: chart.bars.slice(2) };
    assert.match(String(renderBars(single)), />Total<\/th>/);
    assert.match(String(renderBars(single)), /data-tip="2026-11-24: 2 units, not metering for 3 h"/);
  });

  it("draws an empty period", () => {
    assert.doesNotMatch(String(renderBars({ ...chart, bars: [] })), /NaN|Infinity/);
  });
});

describe("lines and lanes", () => {
  it("draw any values without a gap in the path", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000_000), { maxLength: 50 }), (values) => {
        assert.doesNotMatch(String(renderLine(values, String)), /NaN|Infinity|undefined/);
      }),
    );
    const lane = String(renderLane([{ start: 0.99, length: 0.5, waiting: 2, tip: `"<x>` }]));
    assert.doesNotMatch(lane, /NaN|<x>/);
  });
});
