import assert from "node:assert/strict";
import fc from "fast-check";
import { parseDecimalToPico } from "../../core/pricing/decimal.ts";
import type { UsageAnswer } from "../../core/wire/usage.ts";
import { propertyRuns } from "../core/property-runs.rig.ts";

/** The exact values of a table of a page: of each row, the first amount in each cell. 0 where a cell has none. */
function readTable(page: string, label: string): { heads: string[]; rows: bigint[][]; foot: bigint[] } {
  const table = page.split("<table ").find((each) => each.includes(`aria-label="${label}"`));
  assert.ok(table !== undefined, `no table ${label}`);
  const cellsOf = (row: string) =>
    row
      .split(/<t[hd][ >]/)
      .slice(1)
      .map((cell) => {
        const [, value] =
          /<data value="(-?[\d.]+)"/.exec(cell.replaceAll(/<span class="sub[^>]*>[\s\S]*?<\/span>/g, "")) ??
          [];
        return value === undefined ? 0n : (parseDecimalToPico(value) ?? 0n);
      });
  const rowsOf = (part: string) =>
    (new RegExp(`<${part}>([\\s\\S]*?)</${part}>`).exec(table)?.[1] ?? "").split("<tr").slice(1);
  const heads = (rowsOf("thead")[0] ?? "")
    .split(/<th[ >]/)
    .slice(1)
    .map((cell) =>
      cell
        .replace(/^[^>]*>/, "")
        .replaceAll(/<[^>]*>/g, "")
        .trim(),
    );
  return { heads, rows: rowsOf("tbody").map(cellsOf), foot: cellsOf(rowsOf("tfoot")[0] ?? "") };
}

const add = (values: readonly bigint[]): bigint => values.reduce((sum, value) => sum + value, 0n);

/** Returns the sum of a column of a table. */
function sumColumn(page: string, label: string, head: string): bigint {
  const { heads, rows } = readTable(page, label);
  const at = heads.indexOf(head);
  assert.ok(at >= 0, `no column ${head} in ${heads}`);
  return add(rows.map((row) => row[at] ?? 0n));
}

/** The sum of a column of a CSV file whose texts have no commas. */
function sumCsv(text: string, name: string): bigint {
  const [head = "", ...lines] = text.trim().split("\r\n");
  const at = head.split(",").indexOf(name);
  assert.ok(at >= 0, head);
  return add(lines.map((line) => parseDecimalToPico(line.split(",")[at] || "0") ?? 0n));
}

/** Random filters and periods around the records of a host, as query strings. */
export const someFilters = (own: readonly string[]): fc.Arbitrary<string> =>
  fc
    .record({
      period: fc.constantFrom("", "period=7d", "period=today", "period=mtd"),
      filters: fc.uniqueArray(fc.constantFrom(...own), { maxLength: 2 }),
    })
    .map(({ period, filters }) => [period, ...filters].filter((part) => part !== "").join("&"));

/** A host's answers. */
export interface AskedHost {
  /** The text of a page or file below the base of the host. */
  page(path: string): Promise<string>;
  /** The answer of `usage` of its API. */
  usage(query: string): Promise<UsageAnswer>;
  readonly dimensions: readonly string[];
  /** The headings of the overview's tables. */
  readonly breakdowns: readonly string[];
}

/** Checks that each page and file adds up to what the API answers for the same filters. */
export async function checkSums(
  host: AskedHost,
  filters: string,
  by: string,
  then: string,
  top: number,
): Promise<void> {
  const { totals } = await host.usage(filters);
  const spent = BigInt(totals.spent_pico_usd);
  const all = spent + BigInt(totals.plan_usage_pico_usd) + BigInt(totals.unknown_billing_pico_usd);
  const query = (more: string) => [filters, more].filter((part) => part !== "").join("&");
  const pivot = `/explore?${query(`by=${by}&then=${then}&top=${top}`)}`;
  const explore = await host.page(pivot);
  if (totals.requests > 0) {
    const label = /<table class="pivot" aria-label="([^"]+)"/.exec(explore)?.[1] ?? "";
    const { rows, foot } = readTable(explore, label);
    for (const row of [...rows, foot]) assert.equal(add(row.slice(1, -2)), row.at(-2), pivot);
    assert.equal(add(rows.map((row) => row.at(-2) ?? 0n)), spent, pivot);
    assert.equal(foot.at(-2), spent, pivot);
    const times = `/explore?${query(`by=${by}&top=${top}&bucket=day`)}`;
    const byTime = readTable(await host.page(times), label.replace(/ and .*/, ""));
    assert.equal(add(byTime.rows.map((row) => row.at(-1) ?? 0n)), spent, times);
    for (const row of [...byTime.rows, byTime.foot]) assert.equal(add(row.slice(1, -1)), row.at(-1), times);
    assert.equal(sumCsv(await host.page(`${times}&format=csv`), "spent_usd"), spent, times);
    const cumulative = readTable(
      await host.page(`${times}&cumulative=yes`),
      `${label.replace(/ and .*/, "")}, cumulative`,
    );
    assert.deepEqual(cumulative.rows[0]?.slice(1), byTime.foot.slice(1), times);
    const overview = await host.page(`/?${filters}`);
    for (const table of host.breakdowns)
      assert.equal(sumColumn(overview, table, "Spent"), spent, `${table} ${filters}`);
    const branches = `/?${query("tab=branch")}`;
    assert.equal(sumColumn(await host.page(branches), "Branches", "Spent"), spent, branches);
    assert.equal(sumColumn(await host.page(`/models?${filters}`), "Models", "Spent"), spent, filters);
    assert.equal(sumColumn(await host.page(`/projects?${filters}`), "Projects", "Spent"), spent, filters);
  }
  for (const path of [pivot, `/?${query("by=model")}`, `/projects?${filters}`]) {
    const format = (as: string) => host.page(`${path}${path.includes("?") ? "&" : "?"}format=${as}`);
    // Sums by hour do not tell an unknown count of tokens from 0.
    const { requests, failed_requests, spent_pico_usd, plan_usage_pico_usd } = JSON.parse(
      await format("json"),
    ).totals;
    assert.deepEqual(
      { ...totals, requests, failed_requests, spent_pico_usd, plan_usage_pico_usd },
      totals,
      path,
    );
    assert.equal(sumCsv(await format("csv"), "spent_usd"), spent, path);
  }
  const list = `/requests?${query("format=csv")}`;
  assert.equal(sumCsv(await host.page(list), "cost_usd"), all, list);
  const counted = /data-summary>(\d+) of ([\d,]+) requests/.exec(await host.page(`/requests?${filters}`));
  if (counted !== null) assert.equal(Number(counted[2]?.replaceAll(",", "")), totals.requests, list);
}

/** Checks random queries. */
export const checkRandomSums = (host: AskedHost, own: readonly string[], numRuns: number): Promise<void> =>
  fc.assert(
    fc.asyncProperty(
      someFilters(own),
      fc.constantFrom(...host.dimensions),
      fc.constantFrom(...host.dimensions),
      fc.constantFrom(1, 2, 6, 100),
      (filters, by, other, top) => {
        // Explore has two dimensions, and they differ.
        const [first = "", second = ""] = host.dimensions;
        const then = other !== by ? other : by === first ? second : first;
        return checkSums(host, filters, by, then, top);
      },
    ),
    { numRuns: propertyRuns(numRuns) },
  );
