import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPriceBook } from "../../../core/pricing/price-book.ts";
import { NO_RATES, type RateRow } from "../../../core/pricing/rates.ts";
import { answerUsage } from "../../../core/pricing/view/usage-answer.ts";
import { usageCsv } from "../../../core/pricing/view/usage-export.ts";
import { planUsage } from "../../../core/pricing/view/usage-plan.ts";
import { emptySums, type UsageSums } from "../../../core/pricing/view/usage-sums.ts";
import { findZone } from "../../../core/values/zone.ts";
import { modelsFile } from "../../../pages/models-file.ts";
import { readUsageView } from "../../../pages/usage-view.ts";
import { MODELS_VIEW } from "../../../pages/views/model-lines.ts";
import { renderModels } from "../../../pages/views/models.ts";

const now = Date.UTC(2026, 10, 21, 12);

const rowOf = (name: string, rates: Partial<RateRow["rates"]>, change: Partial<RateRow> = {}): RateRow => {
  const [provider = "", model = ""] = name.split("/");
  return {
    ...{ provider, model, source: "bundled", match: null },
    ...{ effectiveFrom: null, effectiveTo: null, daily: null, provenanceDate: "2026-09-23" },
    ...change,
    rates: { ...NO_RATES, ...rates },
  };
};

const BOOK = createPriceBook([
  rowOf("anthropic/opus", { input: 5_000_000, output: 25_000_000, cacheRead: 500_000 }),
  rowOf("openai/gpt", {
    input: 1_000_000,
    output: 10_000_000,
    tiers: [{ ...NO_RATES, aboveTokens: 200_000 }],
  }),
  rowOf("openai/old", { input: 1_000_000, output: 1_000_000 }, { effectiveTo: "2026-10-01" }),
  rowOf(
    "openai/old",
    { input: 2_000_000, output: 2_000_000 },
    {
      ...{ effectiveFrom: "2026-10-01", effectiveTo: "2027-01-01" },
      daily: { fromSecond: 0, toSecond: 86_400, weekdaysOnly: true },
    },
  ),
  rowOf("openai/old", { input: 3_000_000, output: 3_000_000 }, { source: "operator" }),
  rowOf(
    "openai/pulled",
    { input: 1 },
    { source: "auto", origin: { name: "litellm", retrievedOn: "2026-11-01" } },
  ),
]);

const sumsOf = (cost: bigint, more: Partial<UsageSums> = {}): UsageSums => ({
  ...emptySums(),
  requests: 2,
  spentPicoUsd: cost,
  ...more,
  tokens: { ...emptySums().tokens, prompt: 1_000_000n, cacheRead: 2_000_000n, completion: 100_000n },
});

const GROUPS = [
  {
    by: "opus",
    thenBy: "anthropic",
    sums: sumsOf(8_500_000_000_000n, { planUsagePicoUsd: 1_000_000_000_000n }),
  },
  { by: "qwen<b>", thenBy: "ollama", sums: sumsOf(0n, { unpriced: 2 }) },
];

function show(text: string, groups = GROUPS) {
  const view = readUsageView(MODELS_VIEW, new URLSearchParams(text));
  const planned = planUsage(view.query, { now, zone: findZone("UTC") ?? assert.fail() });
  assert.ok(planned.ok);
  const none = { buckets: [], compared: [], comparedBuckets: [], coverage: null };
  const usage = answerUsage(planned.plan, { ...none, groups });
  const links = { requests: () => "/requests", coverage: "/coverage", list: () => "/requests" };
  const page = String(renderModels({ usage, book: BOOK, now, links }, view));
  assert.doesNotMatch(page, /NaN|undefined|\[object/);
  return { page, usage, view };
}

/** The texts of the cells of each row of a table. */
function rowsOf(page: string, label: string): string[][] {
  const table = page.split("<table ").find((each) => each.startsWith(`aria-label="${label}"`)) ?? "";
  return table
    .slice(0, table.indexOf("</table>"))
    .split("<tr>")
    .slice(2)
    .map((row) => row.split(/<t[hd][ >]/).slice(1))
    .map((cells) =>
      cells.map((cell) =>
        cell
          .replace(/^[^>]*>/, "")
          .replaceAll(/<[^>]*>/g, " ")
          .replaceAll(/\s+/g, " ")
          .trim(),
      ),
    );
}

describe("renderModels()", () => {
  it("estimates what each model would have cost on another one, and leaves out what cannot be told", () => {
    const { page } = show("as=openai/gpt");
    assert.deepEqual(
      rowsOf(page, "Had this period run on openai/gpt").map((row) => row.slice(2)),
      [
        // 1M + 2M at $1, since there is no price for cache reads, and 0.1M at $10.
        ["$9.50 $1.00 of it plan usage", "$4.00", "− $5.50 −58%"],
        ["unpriced", "$4.00", "–"],
        ["$9.50", "$4.00", "− $5.50"],
      ],
    );
    assert.match(
      page,
      /What cost \$9\.50 at API prices would have cost \$4\.00: \$5\.50 less\. 1 model cannot be compared and is left out\./,
    );
    assert.match(page, /<span class="quiet">estimate<\/span>/);
    assert.match(page, /It has no price for cache reads: they are counted as input\./);
    assert.match(page, /Its prices above 200,000 input tokens are not applied/);
    assert.match(page, /<option value="openai\/gpt" selected>/);
    assert.match(page, /<a href="\/models">Close<\/a>/);
  });

  it("says if a model is more expensive, costs the same, or nothing can be compared", () => {
    const dear = show("as=openai/old", [{ by: "opus", thenBy: "anthropic", sums: sumsOf(1n) }]).page;
    assert.match(dear, /\$9\.30 more\./);
    assert.match(dear, />\+<data/);
    const same = show("as=anthropic/opus", [GROUPS[0]!]).page;
    assert.match(same, /would have cost \$9\.50: the same\./);
    assert.doesNotMatch(same, /left out/);
    assert.match(show("as=openai/gpt", [GROUPS[1]!]).page, /No model can be compared\./);
    const unknown = show("as=openai/none");
    assert.match(unknown.page, /“as” is left out\. There is no price of “openai\/none”\./);
    assert.doesNotMatch(unknown.page, /Had this period run on/);
    assert.match(show("as=opus").page, /There is no price of “opus”/);
  });

  it("lists used models, those without a price, and unused ones, by a part of their name", () => {
    const names = (text: string, label = "Models") => rowsOf(show(text).page, label).map(([name]) => name);
    assert.deepEqual(names(""), ["opus anthropic", "qwen&lt;b&gt; ollama"]);
    assert.deepEqual(names("q=ANTHROPIC/"), ["opus anthropic"]);
    assert.deepEqual(names("models=unpriced"), ["qwen&lt;b&gt; ollama"]);
    assert.match(show("models=unpriced&q=opus").page, /No matching model lacks a price/);
    assert.match(show("q=none").page, /No matching model was used in this period.*href="\/models">Show all/s);
    assert.match(show("", []).page, /Choose a longer period/);
    const unused = names("models=unused", "Models that were not used");
    assert.deepEqual(
      unused.map((name) => name?.split(" ")[0]),
      ["gpt", "old", "pulled"],
    );
    assert.match(
      show("models=unused&q=gpt").page,
      /href="\/models\?models=unused&amp;q=gpt&amp;as=openai%2Fgpt" aria-label="Compare with openai\/gpt"/,
    );
    assert.match(show("models=unused&q=opus").page, /No matching unused model has a price/);
    assert.deepEqual(show("models=free").view.notices, [
      "“models” is left out. Expected used, unused, unpriced.",
    ]);
    assert.match(show(`q=${"x".repeat(257)}`).view.notices.join(), /At most 256 characters/);
  });

  it("says where prices come from, and shows all prices of a model that has several", () => {
    const { page } = show("models=unused&q=old");
    assert.match(
      page,
      /The bundled prices are of 2026-09-23\. 1 price pulled since\. 1 correction set here\./,
    );
    assert.match(page, /<summary>3 prices<\/summary>/);
    assert.match(
      page,
      /since 2026-10-01, until 2027-01-01, 00:00 to 00:00 UTC on weekdays: 2.00 in, 2.00 out, <bdi>bundled<\/bdi><\/li>/,
    );
    assert.match(page, /stated 2026-09-23: 3.00 in, 3.00 out, <bdi>operator<\/bdi> \(in force\)/);
    assert.doesNotMatch(show("models=unused&q=gpt").page, /<summary>\d+ prices/);
  });
});

describe("modelsFile()", () => {
  const fileOf = (text: string) => {
    const { usage, view } = show(text);
    const file = modelsFile({ book: BOOK, now }, view);
    return { usage, csv: file.csv?.(usage), json: file.json?.(usage) as never };
  };

  it("is the usage as it is, without another model", () => {
    assert.deepEqual(modelsFile({ book: BOOK, now }, { own: {} }), {});
    assert.deepEqual(modelsFile({ book: BOOK, now }, { own: { as: "none" } }), {});
  });

  it("has the usage of the models that the page lists, with their sums", () => {
    const all = fileOf("q=e").csv?.trim().split("\r\n");
    assert.deepEqual(
      all?.slice(1).map((line) => line.split(",")[0]),
      ["qwen<b>"],
    );
    for (const [query, models] of [
      ["q=opus", ["opus"]],
      ["models=unpriced", ["qwen<b>"]],
      ["models=unpriced&q=opus", []],
      ["models=unpriced&q=ollama&as=none", ["qwen<b>"]],
    ] as const) {
      const { csv, json, usage } = fileOf(query);
      const { rows, totals, period } = json as typeof usage;
      const shown = usage.rows.filter(({ label }) => models.some((model) => model === label));
      assert.deepEqual(rows, shown, query);
      assert.equal(totals.requests, 2 * shown.length, query);
      assert.deepEqual(
        [totals.spent_pico_usd, period],
        [shown[0]?.totals.spent_pico_usd ?? "0", usage.period],
      );
      assert.equal(csv?.trim().split("\r\n").length, 1 + shown.length, query);
    }
  });

  it("has what each model cost and would have cost, exactly, with the period and the query", () => {
    const { csv, json, usage } = fileOf("as=openai/gpt");
    const [head, opus, qwen] = (csv ?? "").trim().split("\r\n");
    assert.equal(
      head,
      "provider,model,requests,unpriced_requests,prompt_tokens,cache_read_tokens,cache_write_tokens,cache_write_1h_tokens,completion_tokens,thinking_tokens,cost_usd,as,estimate_usd,unknown,from,to,tz,query",
    );
    assert.match(opus ?? "", /^anthropic,opus,2,0,1000000,2000000,,,100000,,9\.5,openai\/gpt,4,,2026/);
    assert.match(qwen ?? "", /^ollama,qwen<b>,2,2,1000000,2000000,,,100000,,,openai\/gpt,4,,2026/);
    const { models, compared, as } = json as {
      models: { estimate_pico_usd: string; difference_pico_usd: string | null }[];
      compared: unknown;
      as: { model: string; input: string };
    };
    assert.deepEqual(
      models.map((model) => [model.estimate_pico_usd, model.difference_pico_usd]),
      [
        ["4000000000000", "-5500000000000"],
        ["4000000000000", null],
      ],
    );
    assert.deepEqual(compared, {
      ...{ models: 1, cost_pico_usd: "9500000000000", estimate_pico_usd: "4000000000000" },
    });
    assert.deepEqual([as.model, as.input], ["gpt", "1"]);
    assert.ok(usageCsv(usage).includes("opus,anthropic"));
  });

  it("has the rates of unused models", () => {
    const { csv, json } = fileOf("models=unused&q=old");
    assert.equal(
      csv,
      "provider,model,input,cache_read,cache_write,cache_write_1h,output,source,stated_on,since\r\n" +
        "openai,old,3,,,,3,operator,2026-09-23,\r\n",
    );
    assert.equal((json as { models: unknown[]; more: boolean }).models.length, 1);
  });
});
