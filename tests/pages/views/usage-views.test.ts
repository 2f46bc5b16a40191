import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseDecimalToPico } from "../../../core/pricing/decimal.ts";
import { answerUsage, type UsageGroup } from "../../../core/pricing/view/usage-answer.ts";
import { planUsage } from "../../../core/pricing/view/usage-plan.ts";
import {
  DEFAULT_USAGE_QUERY,
  printUsageQuery,
  type UsageQuery,
} from "../../../core/pricing/view/usage-query.ts";
import type { UsageSeries } from "../../../core/pricing/view/usage-reports.ts";
import { emptySums, type UsageSums } from "../../../core/pricing/view/usage-sums.ts";
import { findZone } from "../../../core/values/zone.ts";
import type { UsageAnswer, UsageForecast } from "../../../core/wire/usage.ts";
import { readUsageView, renderNoUsage, type UsageViewSpec, usageHref } from "../../../pages/usage-view.ts";
import { renderExplore } from "../../../pages/views/explore.ts";
import { EXPLORE_VIEW, exploreQuery } from "../../../pages/views/explore-view.ts";
import {
  OVERVIEW_VIEW,
  renderBreakdown,
  renderOverview,
  renderUsageBars,
} from "../../../pages/views/overview.ts";

const now = Date.UTC(2026, 10, 23, 12);

const names = fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h", "i", `<b>"'&`, "\u202Eevil", null);

const groups = fc.array(
  fc.record({
    by: names,
    thenBy: names,
    bucket: fc.nat(29),
    cost: fc.bigInt({ min: 0n, max: 10n ** 15n }),
  }),
  { maxLength: 40 },
);

const sums = (cost: bigint, unpriced = 0): UsageSums => ({
  ...emptySums(),
  requests: 1,
  spentPicoUsd: cost,
  unpriced,
});

/** Answers a query from groups, as a host does. */
function answer(
  query: UsageQuery,
  given: readonly {
    by: string | null;
    thenBy: string | null;
    bucket: number;
    cost: bigint;
    unpriced?: number;
  }[],
): UsageAnswer {
  const zone = findZone("Europe/Berlin");
  assert.ok(zone !== null);
  const planned = planUsage(query, { now, zone });
  assert.ok(planned.ok);
  const last = Math.max(0, planned.plan.buckets.length - 1);
  return answerUsage(planned.plan, {
    groups: given.map(
      ({ by, thenBy, cost, unpriced }): UsageGroup => ({
        by,
        thenBy: query.thenBy === null ? null : thenBy,
        sums: sums(cost, unpriced),
      }),
    ),
    buckets: given.map(({ by, bucket, cost, unpriced }) => ({
      by,
      bucket: Math.min(bucket, last),
      sums: sums(cost, unpriced),
    })),
    compared: [],
    comparedBuckets: [],
    coverage: null,
  });
}

/** The exact amounts of a row's cells. */
const amounts = (row: string): bigint[] =>
  [...row.matchAll(/<data value="([\d.]+)">/g)].map(([, value]) => parseDecimalToPico(value ?? "") ?? -1n);

const total = (values: readonly bigint[]) => values.reduce((sum, value) => sum + value, 0n);

const viewOf = (spec: UsageViewSpec, query = "") => readUsageView(spec, new URLSearchParams(query));

const links = {
  requests: (query: string) => `/requests?${query}`,
  coverage: "/coverage",
  list: () => "/requests",
};

describe("renderExplore()", () => {
  it("shows rows, columns and Other that add up to the total", () => {
    const view = viewOf(EXPLORE_VIEW, "top=3");
    fc.assert(
      fc.property(groups, (given) => {
        const usage = answer({ ...view.query, bucket: "none" }, given);
        const page = String(renderExplore({ usage, dimensions: ["project", "model"], links }, view));
        assert.doesNotMatch(page, /<b>|NaN|undefined/);
        const whole = total(given.map(({ cost }) => cost));
        const body = page.slice(page.indexOf("<tbody>"), page.indexOf("</tbody>"));
        const rows = body.split("</tr>").slice(0, -1).map(amounts);
        const foot = amounts(page.slice(page.indexOf("<tfoot>")));
        if (given.length === 0) return;
        assert.equal(foot.at(-1), whole);
        assert.equal(total(foot.slice(0, -1)), whole);
        assert.equal(total(rows.map((row) => row.at(-1) ?? 0n)), whole);
        for (const row of rows) assert.equal(total(row.slice(0, -1)), row.at(-1) ?? 0n);
      }),
    );
  });

  it("shows a known 0 as 0, and no amount for requests without a price, in cells and totals", () => {
    const view = viewOf(EXPLORE_VIEW);
    const usage = answer({ ...view.query, bucket: "none" }, [
      { by: "on a plan", thenBy: "opus", bucket: 0, cost: 0n },
      { by: "local", thenBy: "qwen", bucket: 0, cost: 0n, unpriced: 1 },
    ]);
    const page = String(renderExplore({ usage, dimensions: ["project", "model"], links }, view));
    const cells = (row: string) =>
      [...row.matchAll(/<td[^>]*>(.*?)<\/td>/g)].map(([, cell = ""]) => cell.replaceAll(/<[^>]*>/g, ""));
    const [plan = "", local = ""] = page
      .slice(page.indexOf("<tbody>"), page.indexOf("</tbody>"))
      .split("</tr>")
      .toSorted((one, other) => Number(one.includes("local")) - Number(other.includes("local")))
      .filter((row) => row.includes("<td"));
    assert.deepEqual(cells(plan).filter(Boolean).slice(0, 2), ["$0.00", "$0.00"]);
    assert.deepEqual(cells(local).filter(Boolean).slice(0, 2), ["unpriced", "unpriced"]);
    assert.deepEqual(cells(page.slice(page.indexOf("<tfoot>"))).toSorted(), [
      "",
      "$0.00",
      "unpriced",
      "unpriced",
    ]);
  });
});

describe("renderExplore() by time", () => {
  const times = (text: string, given: Parameters<typeof answer>[1]) => {
    const view = viewOf(EXPLORE_VIEW, text);
    const usage = answer({ ...exploreQuery(view), compare: "none" }, given);
    return String(renderExplore({ usage, dimensions: ["project", "model"], links }, view));
  };
  const rowsOf = (page: string, part: string) =>
    page
      .slice(page.indexOf(`<${part}>`), page.indexOf(`</${part}>`))
      .split("</tr>")
      .slice(0, -1);

  it("has a row for each bucket; they add up to the total, and the cumulative ones end with it", () => {
    fc.assert(
      fc.property(groups, (given) => {
        if (given.length === 0) return;
        const whole = total(given.map(({ cost }) => cost));
        const each = times("bucket=day&top=3", given);
        assert.doesNotMatch(each, /NaN|undefined|<b>/);
        const rows = rowsOf(each, "tbody").map(amounts);
        assert.equal(rows.length, 30);
        for (const row of [...rows, ...rowsOf(each, "tfoot").map(amounts)])
          assert.equal(total(row.slice(0, -1)), row.at(-1));
        assert.equal(total(rows.map((row) => row.at(-1) ?? 0n)), whole);
        const [latest = "", ...earlier] = rowsOf(times("cumulative=yes&top=3", given), "tbody");
        assert.equal(amounts(latest).at(-1), whole);
        assert.deepEqual(amounts(latest), rowsOf(each, "tfoot").map(amounts)[0]);
        // The latest is first, so sums fall from row to row.
        const sums = [latest, ...earlier].map((row) => amounts(row).at(-1) ?? 0n);
        assert.deepEqual(
          sums.toSorted((one, other) => (one < other ? 1 : one > other ? -1 : 0)),
          sums,
        );
      }),
    );
  });

  it("leads from a cell to its requests: those of the bucket, or all since the period began", () => {
    const linked = { ...links, list: (query: UsageQuery) => `/requests?${printUsageQuery(query)}` };
    const show = (text: string) => {
      const view = viewOf(EXPLORE_VIEW, text);
      const usage = answer({ ...exploreQuery(view), compare: "none" }, [
        { by: "a", thenBy: null, bucket: 28, cost: 5n },
        { by: "b", thenBy: null, bucket: 1, cost: 0n, unpriced: 1 },
      ]);
      return String(renderExplore({ usage, dimensions: ["project"], links: linked }, view));
    };
    const day = "from=2026-11-21T23%3A00%3A00.000Z&amp;to=2026-11-22T23%3A00%3A00.000Z";
    assert.match(show("bucket=day"), new RegExp(`href="/requests\\?${day}[^"]*&amp;project=a"`));
    assert.match(
      show("cumulative=yes"),
      /href="\/requests\?from=2026-10-24T22%3A00%3A00.000Z&amp;to=2026-11-22T23%3A00%3A00.000Z[^"]*&amp;project=a"/,
    );
    assert.match(show("bucket=day"), /<th scope="col">Time \(Europe\/Berlin\)<\/th>/);
    assert.match(show("bucket=day"), /href="\/explore\?bucket=day&amp;cumulative=yes">Cumulative</);
    assert.match(show("view=chart&cumulative=yes"), /aria-label="Spent by project, cumulative"/);
    // A table of the whole period has no cumulative form to switch to.
    assert.doesNotMatch(show(""), />Cumulative</);
  });

  it("has no second dimension, and says when the meter did not run", () => {
    const view = viewOf(EXPLORE_VIEW, "bucket=week&by=project&then=model");
    const usage = answer({ ...exploreQuery(view), compare: "none" }, [
      { by: "a", thenBy: null, bucket: 0, cost: 1n },
    ]);
    const buckets = usage.buckets.map((bucket, at) => ({ ...bucket, stopped_ms: at === 1 ? 7_200_000 : 0 }));
    const page = String(
      renderExplore({ usage: { ...usage, buckets }, dimensions: ["project", "model"], links }, view),
    );
    assert.doesNotMatch(page, /<select id="menu-then"/);
    assert.match(page, /\(not metering for 2 h\)<\/th>/);
    assert.match(page, /<option value="week" selected>week<\/option>/);
  });

  it("shows no amount where it is not known whether requests have a price", () => {
    const page = times("bucket=day", [{ by: "local", thenBy: null, bucket: 3, cost: 0n, unpriced: 1 }]);
    const unpriced = rowsOf(page, "tbody").filter((row) => row.includes("unpriced"));
    assert.equal(unpriced.length, 1);
    assert.match(unpriced[0] ?? "", /<td class="num quiet">–<\/td>/);
  });

  // Planted: a project without requests in a bucket had an unknown number of them if others there had no price.
  it("shows a count of 0 as 0, even if requests have no price", () => {
    const given = [3, 4].map((bucket) => ({ by: `p${bucket}`, thenBy: null, bucket, cost: 0n, unpriced: 1 }));
    for (const form of ["", "&cumulative=yes"])
      assert.doesNotMatch(times(`bucket=day&metric=requests${form}`, given), />–</);
  });
});

describe("renderUsageBars()", () => {
  it("shows bars that add up to the total, in the drawing's table", () => {
    const view = viewOf(OVERVIEW_VIEW);
    fc.assert(
      fc.property(groups, (given) => {
        const page = String(renderUsageBars(answer(view.query, given), view));
        const body = page.slice(page.indexOf("<tbody>"), page.indexOf("</tbody>"));
        const rows = body.split("</tr>").slice(0, -1);
        assert.equal(rows.length, 30);
        // With one series, its only column is the total. The compared period has no requests.
        const sumsOfRows = rows.map((row) => amounts(row.slice(0, row.lastIndexOf("<td"))).at(-1) ?? 0n);
        assert.equal(total(sumsOfRows), total(given.map(({ cost }) => cost)));
        assert.doesNotMatch(page, /<b>|NaN|Infinity/);
      }),
    );
  });
});

describe("renderNoUsage()", () => {
  const show = (query: string) => String(renderNoUsage(viewOf(EXPLORE_VIEW, query)));

  it("leads to a longer period without filters, and names no filter that there is not", () => {
    assert.match(show(""), /No metered calls in this period[\s\S]*href="\/explore\?period=12m"/);
    assert.doesNotMatch(show("period=12m"), /longer period|href/);
    assert.doesNotMatch(show(""), /filter/);
  });

  it("names each filter, with the address without it", () => {
    const page = show("project=apollo&model.not=opus&model.not=haiku&period=7d");
    assert.match(page, /model\.not=opus">Without project <bdi>apollo<\/bdi><\/a>/);
    assert.match(
      page,
      /href="\/explore\?period=7d&amp;project=apollo">Without model not <bdi>haiku<\/bdi> or <bdi>opus<\/bdi><\/a>/,
    );
    assert.match(page, /Remove one of them/);
    assert.match(show("project=apollo"), /Remove the filter/);
  });
});

describe("renderOverview()", () => {
  const show = (
    text: string,
    {
      forecast = steady,
      hours = null,
      planPicoUsd = 0n,
    }: { forecast?: UsageForecast | null; hours?: UsageSeries | null; planPicoUsd?: bigint } = {},
  ) => {
    const view = viewOf(OVERVIEW_VIEW, text);
    const given = [{ by: "a", thenBy: null, bucket: 29, cost: planPicoUsd === 0n ? 10n ** 12n : 0n }];
    const answered = answer(view.query, given);
    const totals = { ...answered.totals, plan_usage_pico_usd: `${planPicoUsd}` };
    const usage = { ...answered, totals };
    const shown = { usage, forecast, dimensions: ["model"] as const, links };
    const others = {
      breakdowns: [],
      branches: null,
      year: null,
      hours,
      priceFixes: [],
      firstSteps: [],
      failed: [],
    };
    return String(renderOverview({ ...shown, ...others }, view));
  };
  /** One dollar a day, of which half is still to come today. */
  const steady: UsageForecast = {
    ...{ tz: "Europe/Berlin", month: "2026-11", metric: "spent", days: 28, to_date: "22500000000000" },
    estimate: { expected: "30000000000000", low: "29000000000000", high: "31000000000000" },
    today: "500000000000",
    remaining: Array.from({ length: 8 }, (_, at) => ({
      date: `2026-11-${23 + at}`,
      value: at === 0 ? "500000000000" : "1000000000000",
    })),
  };

  it("outlines the estimate of this month to its end, and of a period that ends now the rest of today", () => {
    const month = show("period=mtd");
    assert.match(month, /; outlined: estimate until 2026-11-30</);
    assert.match(month, /data-tip="2026-11-30: estimate \$1.00"/);
    assert.equal(month.match(/<rect class="ahead" x="[\d.]+%/g)?.length, 8);
    const days = show("");
    assert.match(days, /; outlined: estimate of the rest of today</);
    assert.equal(days.match(/<rect class="ahead" x="[\d.]+%/g)?.length, 1);
    assert.match(days, /data-tip="2026-11-23: \$1.00[^"]*still to come, estimate: \$0.5000"/);
  });

  it("leads to the usage of a plan where nothing was spent", () => {
    const hint = /Nothing was spent: a plan covered the calls\. <a href="\/\?metric=plan_usage">/;
    assert.match(show("", { planPicoUsd: 1n }), hint);
    assert.doesNotMatch(show(""), /Nothing was spent/);
    assert.doesNotMatch(show("metric=plan_usage", { planPicoUsd: 1n }), /Nothing was spent/);
  });

  it("hatches an hour of the week in which the meter never ran, and no other one", () => {
    const HOUR_MS = 3_600_000;
    const series = (stopped: (day: number, hour: number) => number | null): UsageSeries => ({
      ...{ tz: "UTC", metric: "spent" },
      buckets: Array.from({ length: 14 * 24 }, (_, at) => {
        const from = Date.UTC(2026, 10, 2) + at * HOUR_MS;
        const label = new Date(from).toISOString().slice(0, 16).replace("T", " ");
        const isUsed = at === 30;
        const stoppedMs = stopped(Math.floor(at / 24), at % 24);
        return {
          from,
          to: from + HOUR_MS,
          label,
          requests: isUsed ? 1 : 0,
          value: isUsed ? 5n : 0n,
          stoppedMs,
        };
      }),
    });
    const tips = (hours: UsageSeries) =>
      [...show("", { hours }).matchAll(/class="stopped" data-tip="([^"]+)"/g)].map(([, tip]) => tip);
    // Every Monday at 3, one of two Tuesdays at 6 while the other had a call, and a few minutes of Wednesdays.
    const hours = series((day, hour) => {
      if (day % 7 === 0 && hour === 3) return HOUR_MS;
      if (day === 8 && hour === 6) return HOUR_MS;
      return day % 7 === 2 && hour === 9 ? 60_000 : 0;
    });
    assert.deepEqual(tips(hours), ["Mon 03:00: not metering"]);
    assert.deepEqual(tips(series((day) => (day < 7 ? null : HOUR_MS))), []);
  });

  it("outlines nothing without an estimate, of another metric or period, or of hours", () => {
    for (const text of ["metric=requests", "from=2026-10-01&to=2026-10-20", "period=7d", "bucket=week"])
      assert.doesNotMatch(show(text), /outlined|class="ahead"/, text);
    const none = { forecast: { ...steady, estimate: null, remaining: [] } };
    assert.doesNotMatch(show("period=mtd", none), /outlined|class="ahead"/);
    assert.doesNotMatch(show("period=mtd", { forecast: null }), /outlined|class="ahead"/);
  });
});

describe("renderBreakdown()", () => {
  it("adds up to the total, and a value filters by itself", () => {
    const view = viewOf(OVERVIEW_VIEW, "project=x&period=7d");
    fc.assert(
      fc.property(groups, (given) => {
        const query = { ...view.query, by: "client", thenBy: null, bucket: "none", compare: "none" } as const;
        const page = String(renderBreakdown(answer(query, given), view));
        assert.equal(total(amounts(page)), total(given.map(({ cost }) => cost)));
        if (given.some(({ by, cost }) => by === "a" && cost > 10n ** 14n) && given.length < 6)
          assert.match(page, /href="\/\?period=7d&amp;project=x&amp;client=a"/);
      }),
    );
  });
});

describe("readUsageView()", () => {
  it("omits defaults of its page, keeps its own keys, and reports the rest", () => {
    assert.equal(usageHref(viewOf(OVERVIEW_VIEW, "by=model&period=30d")), "/");
    assert.equal(
      usageHref(viewOf(EXPLORE_VIEW, "view=chart&metric=tokens")),
      "/explore?metric=tokens&view=chart",
    );
    assert.equal(viewOf(EXPLORE_VIEW, "view=chart").query.by, EXPLORE_VIEW.defaults?.by);
    assert.deepEqual(viewOf(OVERVIEW_VIEW, "colour=red").notices, [
      "“colour” is left out. There is no such parameter.",
    ]);
    assert.deepEqual(viewOf(EXPLORE_VIEW, "view=pie&cumulative=no").notices, [
      "“view” is left out. Expected table, chart.",
    ]);
    assert.equal(DEFAULT_USAGE_QUERY.by, null);
  });

  it("reads an empty field of a form as no filter, and an empty value of a link as the unknown value", () => {
    assert.deepEqual(
      viewOf(OVERVIEW_VIEW, "form=1&project=&client=claude").query.filters.map(({ dimension }) => dimension),
      ["client"],
    );
    assert.deepEqual(viewOf(OVERVIEW_VIEW, "project=").query.filters, [
      { dimension: "project", not: false, values: [""] },
    ]);
  });
});
