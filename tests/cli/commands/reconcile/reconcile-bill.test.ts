import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { ByteWriter, parquetWrite } from "hyparquet-writer";
import { loadBundledRates } from "../../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import { priceUsage } from "../../../../core/pricing/price-usage.ts";
import type { RequestRecord } from "../../../../core/values/record.ts";
import { sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../../run-command.rig.ts";

const book = createPriceBook(loadBundledRates());
const at = (day: number, hour = 12) => Date.UTC(2026, 4, day, hour);

/** A call whose cost is computed from its tokens. */
function call(given: Partial<RequestRecord> & { input?: number; output?: number }): RequestRecord {
  const { input = 1_000_000, output = 100_000, ...rest } = given;
  const record = sampleRecord({
    usageExtras: null,
    tokens: {
      promptTokens: input,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      cacheWrite1hTokens: null,
      completionTokens: output,
      thinkingTokens: null,
    },
    ...rest,
  });
  if ("costPicoUsd" in given) return record;
  const { costPicoUsd } = priceUsage({ ...record, at: record.requestedAt, extras: null }, book);
  return { ...record, costPicoUsd };
}

/** claude-haiku-4-5 costs $1 and $5 per million tokens: $1.50 for a call. */
const haiku = "claude-haiku-4-5-20251001";
const records = [
  call({ requestedAt: at(12), model: haiku }),
  call({ requestedAt: at(13), model: haiku }),
  call({ requestedAt: at(13), model: haiku, billingMode: "plan" }),
  call({ requestedAt: at(14), model: haiku }),
  call({ requestedAt: at(15, 23) + 3_599_000, latencyMs: 5_000, model: haiku }),
  call({ requestedAt: at(17), model: haiku, costPicoUsd: null, costSource: "unpriced" }),
  call({ requestedAt: at(18), model: haiku, billingMode: "unknown" }),
  call({
    requestedAt: at(12),
    provider: "bedrock",
    model: "global.anthropic.claude-haiku-4-5-20251001-v1:0",
  }),
  call({
    ...{ requestedAt: at(12), provider: "openrouter", model: "anthropic/claude-haiku-4.5" },
    ...{ costPicoUsd: 4_500_000_000_000n, costSource: "provider" as const },
  }),
  call({ requestedAt: at(12), provider: "openai", model: "gpt-5-2025-08-07" }),
];

type Result = { model?: string | null; context_window?: string } & Record<string, unknown>;
const page = (days: Readonly<Record<number, readonly Result[]>>) =>
  JSON.stringify({
    data: Object.entries(days).map(([day, results]) => ({
      starting_at: `2026-05-${day}T00:00:00Z`,
      ending_at: `2026-05-${Number(day) + 1}T00:00:00Z`,
      results,
    })),
    has_more: false,
    next_page: null,
  });

const cost = (part: string, cents: string, more: Result = {}): Result => ({
  ...{ amount: cents, currency: "USD", cost_type: "tokens", model: haiku, service_tier: "standard" },
  ...{ token_type: part, description: `Usage, ${part}`, workspace_id: null },
  ...more,
});
const costs = (input: string, output: string) => [
  cost("uncached_input_tokens", input),
  cost("output_tokens", output),
];
const usage = (input: number, output: number, more: Result = {}): Result => ({
  ...{ uncached_input_tokens: input, cache_read_input_tokens: 0, output_tokens: output },
  ...{ cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 } },
  ...{ model: haiku, api_key_id: "apikey_1", service_tier: "standard", workspace_id: null },
  ...more,
});

describe("meter reconcile bill", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  let folder: string;
  before(async () => {
    sample = await createSampleHome((store) => store.records.insert(records));
    folder = mkdtempSync(join(tmpdir(), "meter-bill-"));
  });
  after(() => {
    sample?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  let files = 0;
  const write = (content: string | Uint8Array) => {
    const file = join(folder, `statement-${files++}`);
    writeFileSync(file, content);
    return file;
  };
  const run = (...words: string[]) => runWords(sample.home, ["reconcile", "bill", ...words]);
  /** The rows that differ: day, difference, reasons, unknown. */
  async function compare(...words: string[]) {
    const { code, stdout, stderr } = await run(...words, "--json");
    assert.equal(stderr, "");
    const { rows, ...rest } = JSON.parse(stdout);
    return { code, ...rest, rows };
  }
  const summary = (row: {
    date: string;
    difference_pico_usd: string;
    unknown_pico_usd: string;
    reasons: { kind: string; pico_usd: string | null }[];
  }) => [
    row.date.slice(8),
    row.difference_pico_usd,
    row.reasons.map(({ kind, pico_usd }) => `${kind} ${pico_usd}`).join(", "),
    row.unknown_pico_usd,
  ];

  it("finds no difference where there is none", async () => {
    const { code, rows } = await compare(write(page({ 12: costs("100", "50") })));
    assert.equal(code, 0);
    assert.deepEqual(rows.map(summary), [["12", "0", "", "0"]]);
  });

  it("names the reason of each difference", async () => {
    const bill = write(
      page({
        11: costs("1", "0"),
        12: costs("110", "50"),
        13: costs("200", "100"),
        14: [...costs("100", "50"), cost("output_tokens", "25", { service_tier: "batch" })],
        15: costs("0", "0"),
        16: costs("100", "50"),
        17: costs("100", "50"),
        18: costs("100", "50"),
      }),
    );
    const tokens = write(
      page({
        12: [usage(1_000_000, 100_000)],
        13: [usage(2_000_000, 200_000)],
        14: [usage(1_000_000, 100_000), usage(0, 100_000, { service_tier: "batch" })],
        16: [usage(1_000_000, 100_000)],
        17: [usage(1_000_000, 100_000)],
      }),
    );
    const { code, rows, unknown_pico_usd } = await compare(bill, tokens);
    const usd = (amount: number) => String(amount * 1e12);
    assert.deepEqual(rows.map(summary), [
      ["11", usd(0.01), `before_first_record ${usd(0.01)}`, "0"],
      ["12", usd(0.1), `rate ${usd(0.1)}`, "0"],
      ["13", usd(1.5), `calls_not_here ${usd(1)}, calls_not_here ${usd(0.5)}`, "0"],
      ["14", usd(0.25), `tier_not_here ${usd(0.25)}`, "0"],
      ["15", usd(-1.5), `midnight ${usd(-1.5)}`, "0"],
      ["16", usd(1.5), `midnight ${usd(1.5)}`, "0"],
      ["17", usd(1.5), `unpriced ${usd(1.5)}`, "0"],
      ["18", usd(1.5), `unknown_billing ${usd(1.5)}`, "0"],
    ]);
    assert.equal(unknown_pico_usd, "0");
    assert.equal(code, 0);
    assert.deepEqual(
      [rows[1].reasons[0].part, rows[1].reasons[0].statement_rate, rows[1].reasons[0].here_rate],
      ["input", "1100000", "1000000"],
    );
  });

  it("says that a prune deleted records of the period", async () => {
    const { home, remove } = await createSampleHome((store) => store.records.insert(records));
    const reconcile = (...words: string[]) =>
      runWords(home, ["reconcile", "bill", write(page({ 12: costs("100", "50") })), ...words]);
    try {
      assert.doesNotMatch((await reconcile()).stdout, /prune/);
      assert.equal((await runWords(home, ["prune", "--before", "2026-05-13", "--utc", "--yes"])).code, 0);
      assert.match(
        (await reconcile()).stdout.replaceAll(/\s+/g, " "),
        /`meter prune` deleted the records from before 2026-05-13T00:00:00\.000Z\. Earlier calls are missing here\./,
      );
      assert.equal(JSON.parse((await reconcile("--json")).stdout).pruned_before, "2026-05-13T00:00:00.000Z");
    } finally {
      remove();
    }
  });

  it("leaves a difference without a reason unknown, and exits with 1", async () => {
    const { code, rows } = await compare(write(page({ 12: costs("101", "50") })));
    assert.deepEqual(rows.map(summary), [["12", "10000000000", "", "10000000000"]]);
    assert.equal(code, 1);
    const { stdout } = await run(write(page({ 12: costs("101", "50") })));
    assert.match(stdout, /\+\$0\.0100 {2}unknown/);
  });

  it("compares by day where a statement names no models", async () => {
    const ungrouped = { amount: "151", currency: "USD", cost_type: null, model: null, description: null };
    const { rows } = await compare(write(page({ 12: [ungrouped] })));
    assert.deepEqual(rows.map(summary), [["12", "10000000000", "", "10000000000"]]);
  });

  it("reads the Console's exports, with display names of models and rounded cents", async () => {
    const header =
      "usage_date_utc,model,workspace,api_key,usage_type,context_window,token_type,cost_usd,cost_type\n";
    const row = (part: string, usd: string) =>
      `2026-05-12,Claude Haiku 4.5,Default,"acme-web",message,≤ 200k,${part},${usd},token\r\n`;
    const { rows, keys } = await compare(
      write(`\uFEFF${header}${row("input_no_cache", "1.01")}${row("output", "0.50")}`),
    );
    assert.deepEqual(rows.map(summary), [["12", "10000000000", "rounding 10000000000", "0"]]);
    assert.deepEqual(keys, [
      { key: "acme-web", pico_usd: "1510000000000", tokens: "0", project_pico_usd: "1500000000000" },
    ]);
  });

  it("reads OpenAI's costs and usage, from the API and as exports", async () => {
    const start = at(12, 0) / 1_000;
    const bucket = (...results: unknown[]) => ({
      ...{ object: "bucket", start_time: start, end_time: start + 86_400, results },
    });
    const costOf = (line_item: string, value: number) => ({
      ...{ object: "organization.costs.result", amount: { value, currency: "usd" }, line_item },
    });
    const costPage = bucket(
      costOf("gpt-5-2025-08-07, input", 1.25),
      costOf("gpt-5-2025-08-07, output", 1),
      costOf("web search tool calls", 0.01),
    );
    const usagePage = bucket({
      ...{ object: "organization.usage.completions.result", model: "gpt-5-2025-08-07", batch: null },
      ...{ input_tokens: 1_000_000, input_cached_tokens: 0, output_tokens: 100_000, num_model_requests: 1 },
    });
    const { rows } = await compare(
      write(JSON.stringify({ object: "page", data: [costPage], has_more: false })),
      write(`${JSON.stringify({ data: [usagePage] })}\n${JSON.stringify({ data: [bucket()] })}\n`),
    );
    assert.deepEqual(rows.map(summary), [
      ["12", "10000000000", "calls_not_here 10000000000", "0"],
      ["12", "0", "", "0"],
    ]);
    const csv =
      "start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,line_item,project_id\n" +
      `${start},,,,2.2500000000000000,usd,,proj_1\n${start},,,,,,,\n`;
    assert.deepEqual((await compare(write(csv))).rows.map(summary), [["12", "0", "", "0"]]);
  });

  it("reads OpenRouter's activity and generations", async () => {
    const activity = { date: "2026-05-12", model: "anthropic/claude-haiku-4.5", usage: 4.5, requests: 1 };
    const { rows } = await compare(write(JSON.stringify({ data: [activity] })));
    assert.deepEqual(rows.map(summary), [["12", "0", "", "0"]]);
    const csv =
      "generation_id,created_at,cost_total,model_permaslug,api_key_name\n" +
      "gen-1,2026-05-12 10:00:00.123,4.5,anthropic/claude-4.5-haiku-20251001,laptop\n" +
      "gen-2,2026-05-12 11:00:00.123,0.25,anthropic/claude-4.5-haiku-20251001,other\n";
    assert.deepEqual((await compare(write(csv))).rows.map(summary), [
      ["12", "250000000000", "calls_not_here null", "250000000000"],
    ]);
    assert.deepEqual((await compare(write(csv), "--key", "laptop")).rows.map(summary), [
      ["12", "0", "", "0"],
    ]);
  });

  const curRows = [
    ["Usage", "USE1-Claude4.5Haiku-input-tokens", "1000", "1K tokens", 1],
    ["Usage", "USE1-Claude4.5Haiku-output-tokens", "100", "1K tokens", 0.5],
    ["Credit", "USE1-Claude4.5Haiku-output-tokens", "0", "", -1.25],
  ] as const;

  it("reads AWS Cost and Usage Reports as CSV, also compressed, with credits apart", async () => {
    const csv = [
      "lineItem/UsageStartDate,lineItem/ProductCode,lineItem/LineItemType,lineItem/UsageType,lineItem/UsageAmount,pricing/unit,lineItem/UnblendedCost",
      ...curRows.map(
        ([type, usageType, amount, unit, usd]) =>
          `2026-05-12T10:00:00Z,AmazonBedrock,${type},${usageType},${amount},${unit},${usd}`,
      ),
      "2026-05-12T10:00:00Z,AmazonEC2,Usage,USE1-BoxUsage,1,Hrs,99",
    ].join("\n");
    for (const content of [csv, gzipSync(csv)]) {
      const { rows } = await compare(write(content));
      assert.deepEqual(rows.map(summary), [
        ["12", "-1250000000000", "credit -1250000000000", "0"],
        ["12", "0", "", "0"],
      ]);
    }
  });

  it("reads AWS Cost and Usage Reports as Parquet", async () => {
    const writer = new ByteWriter();
    const column = (name: string, data: unknown[], type: "STRING" | "DOUBLE" | "TIMESTAMP") => ({
      ...{ name, data, type },
    });
    parquetWrite({
      writer,
      columnData: [
        column(
          "line_item_usage_start_date",
          curRows.map(() => new Date(at(12))),
          "TIMESTAMP",
        ),
        column(
          "line_item_product_code",
          curRows.map(() => "AmazonBedrock"),
          "STRING",
        ),
        column(
          "line_item_line_item_type",
          curRows.map(([type]) => type),
          "STRING",
        ),
        column(
          "line_item_usage_type",
          curRows.map(([, usageType]) => usageType),
          "STRING",
        ),
        column(
          "line_item_usage_amount",
          curRows.map(([, , amount]) => Number(amount)),
          "DOUBLE",
        ),
        column(
          "pricing_unit",
          curRows.map(([, , , unit]) => unit),
          "STRING",
        ),
        column(
          "line_item_unblended_cost",
          curRows.map((row) => row[4]),
          "DOUBLE",
        ),
        column(
          "resource_tags",
          curRows.map(() => "unused"),
          "STRING",
        ),
      ],
    });
    const { rows } = await compare(write(new Uint8Array(writer.getBuffer())));
    assert.deepEqual(rows.map(summary), [
      ["12", "-1250000000000", "credit -1250000000000", "0"],
      ["12", "0", "", "0"],
    ]);
  });

  it("refuses files that would count a day twice, and files of two providers", async () => {
    const file = write(page({ 12: costs("100", "50") }));
    const copy = write(page({ 12: costs("100", "50") }));
    const twice = await run(file, copy);
    assert.equal(twice.code, 1);
    assert.match(twice.stderr, /both state the cost of 2026-05-12, which would count it twice/);
    const activity = { date: "2026-05-12", model: "m", usage: 4.5, requests: 1 };
    assert.match(
      (await run(file, write(JSON.stringify({ data: [activity] })))).stderr,
      /one provider at a time/,
    );
  });

  it("says what is wrong with a file", async () => {
    const problems: [content: string | Uint8Array, message: RegExp][] = [
      ["", /is empty/],
      ["a,b\n1,2\n", /is not a known statement. Its columns: a, b/],
      ["{", /is not JSON/],
      ['{"data":[{"other":1}]}', /is not a page of a known report/],
      ["[".repeat(100_000), /nests more than 32 levels deep/],
      [page({ 12: [cost("output_tokens", "1e99")] }), /amount is "1e99"/],
      [page({ 12: [cost("output_tokens", "1", { currency: "EUR" })] }), /currency is "EUR"/],
      [page({ 12: [{ ...usage(1, 1), output_tokens: -5 }] }), /output_tokens is "-5"/],
      [`usage_date_utc,model,cost_usd\n2026-02-31,m,1\n`, /row 2: usage_date_utc is "2026-02-31"/],
      [
        `usage_date_utc,model,cost_usd\n2026-02-01,"${"x".repeat(1_100_000)}`,
        /more than a million characters/,
      ],
      [Uint8Array.of(0x1f, 0x8b, 8, 0, 0), /Could not read/],
      ["PAR1 is not enough", /Could not read/],
    ];
    for (const [content, message] of problems) {
      const { code, stderr } = await run(write(content));
      assert.equal(code, 1, String(message));
      assert.match(stderr, message);
    }
    const absent = await run("absent.csv");
    assert.deepEqual(
      [absent.code, absent.stderr],
      [1, "meter: Could not read absent.csv: no such file or directory.\n"],
    );
    assert.equal((await run()).code, 2);
    assert.equal((await run("file", "--api", "openai")).code, 2);
  });

  it("asks for an admin key, which is only in the environment", async () => {
    const { code, stderr } = await run("--api", "anthropic");
    assert.equal(code, 1);
    assert.match(stderr, /Set ANTHROPIC_ADMIN_API_KEY to an admin key of anthropic/);
    assert.match((await run("--api", "mistral")).stderr, /Expected: anthropic, openai, openrouter/);
  });
});
