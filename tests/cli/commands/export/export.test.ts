import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { parquetReadObjects } from "hyparquet";
import type { RequestRecord } from "../../../../core/values/record.ts";
import { requestJson } from "../../../../daemon/api/request-json.ts";
import { noon, sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createSampleHome, runWords } from "../../run-command.rig.ts";

const DAY_MS = 86_400_000;
const tokens = (promptTokens: number | null): RequestRecord["tokens"] => ({
  promptTokens,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  cacheWrite1hTokens: null,
  completionTokens: null,
  thinkingTokens: null,
});
/** More than one page of records. */
const many = Array.from({ length: 1_100 }, (_, index) =>
  sampleRecord({
    requestedAt: noon - 30 * DAY_MS + index,
    project: "old",
    tokens: tokens(3),
    costPicoUsd: 7n,
  }),
);
const records = [
  ...many,
  sampleRecord({ requestedAt: noon, project: "=web", model: "m,1", costPicoUsd: 1_500_000_000_000n }),
  sampleRecord({ requestedAt: noon, project: "a", billingMode: "plan", costPicoUsd: 10n, tokens: tokens(5) }),
  sampleRecord({
    requestedAt: noon,
    project: "a",
    billingMode: "unknown",
    costPicoUsd: 20n,
    tokens: tokens(5),
  }),
  sampleRecord({
    ...{ requestedAt: noon, project: "a", costPicoUsd: null, costSource: "unpriced", ratesSource: null },
    ...{ tokens: tokens(null), tokensComplete: true, usageExtras: null },
  }),
];

describe("meter export", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    sample = await createSampleHome((store) => store.records.insert(records));
  });
  after(() => sample?.remove());

  const run = (...words: string[]) => runWords(sample.home, ["export", ...words]);
  const linesOf = (text: string) => text.split(/\r?\n/).slice(0, -1);

  it("writes every request with all fields as lines of JSON, in order of arrival", async () => {
    const { code, stdout } = await run();
    assert.equal(code, 0);
    assert.deepEqual(
      linesOf(stdout).map((line) => JSON.parse(line)),
      records.map((record) => JSON.parse(JSON.stringify(requestJson(record)))),
    );
  });

  it("applies the period and the filters", async () => {
    const count = async (...words: string[]) => linesOf((await run(...words)).stdout).length;
    assert.equal(await count("--utc", "--from", "2026-05-12"), 4);
    assert.equal(await count("--project", "old"), 1_100);
    assert.equal(await count("--provider", "anthropic", "--model", "m,1"), 1);
    assert.equal(await count("--project", "none"), 0);
  });

  it("writes CSV without formulas, with the columns of the JSON", async () => {
    const lines = linesOf((await run("--format", "csv", "--utc", "--from", "2026-05-12")).stdout);
    const [first] = records.slice(many.length) as [RequestRecord];
    assert.deepEqual(lines[0]?.split(",").toSorted(), Object.keys(requestJson(first)).toSorted());
    assert.equal(lines.length, 5);
    assert.match(lines[1] ?? "", /,'=web,/);
    assert.match(lines[1] ?? "", /,"m,1",/);
    assert.match(lines[1] ?? "", /,"{""web_search_requests"":2}",/);
  });

  it("writes Parquet that another reader reads, to a file of this user", async () => {
    const output = join(sample.home, "requests.parquet");
    assert.equal((await run("--format", "parquet", "-o", output)).code, 0);
    if (process.platform !== "win32") assert.equal(statSync(output).mode & 0o777, 0o600);
    const bytes = readFileSync(output);
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
    const rows = await parquetReadObjects({ file });
    assert.equal(rows.length, records.length);
    const record = records[many.length] as RequestRecord;
    assert.partialDeepStrictEqual(rows[many.length], {
      request_id: record.requestId,
      requested_at: new Date(noon),
      project: "=web",
      cost_pico_usd: 1_500_000_000_000n,
      prompt_tokens: 100n,
      thinking_tokens: null,
      streaming: true,
      usage_extras: { web_search_requests: 2 },
    });
    assert.equal(rows.at(-1)?.cost_pico_usd, null);
  });

  it("writes an empty Parquet file without requests", async () => {
    const output = join(sample.home, "empty.parquet");
    assert.equal((await run("--format", "parquet", "--project", "none", "-o", output)).code, 0);
    const { buffer, byteOffset, length } = readFileSync(output);
    const file = buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;
    assert.deepEqual(await parquetReadObjects({ file }), []);
  });

  it("writes FOCUS rows by day, which keep plan usage and unknown costs apart", async () => {
    const [head, ...lines] = linesOf((await run("--format", "focus")).stdout);
    const names = head?.split(",") ?? [];
    for (const required of [
      "BilledCost",
      "BillingPeriodStart",
      "ChargeCategory",
      "ListCost",
      "ServiceCategory",
    ])
      assert.ok(names.includes(required), required);
    const rows = lines.map((line) => {
      const cells = line.match(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g) ?? [];
      return Object.fromEntries(names.map((name, index) => [name, cells[index]?.replace(/,$/, "")]));
    });
    const row = (project: string, mode: string, cost?: string) =>
      rows.find(
        (each) =>
          each.x_Project === project &&
          each.x_BillingMode === mode &&
          (cost === undefined || each.ListCost === cost),
      );
    assert.partialDeepStrictEqual(row("old", "metered"), {
      BilledCost: "0.0000000077",
      EffectiveCost: "0.0000000077",
      ListCost: "0.0000000077",
      ConsumedQuantity: "3300",
      ConsumedUnit: "Tokens",
      BillingPeriodStart: "2026-04-01T00:00:00Z",
      BillingPeriodEnd: "2026-05-01T00:00:00Z",
      ChargePeriodStart: "2026-04-12T00:00:00Z",
      ChargePeriodEnd: "2026-04-13T00:00:00Z",
      x_Requests: "1100",
    });
    assert.partialDeepStrictEqual(row("a", "plan"), { BilledCost: "0", ListCost: "0.00000000001" });
    assert.partialDeepStrictEqual(row("a", "unknown"), { BilledCost: "", ListCost: "0.00000000002" });
    assert.partialDeepStrictEqual(row("a", "metered"), {
      BilledCost: "",
      ListCost: "",
      ConsumedQuantity: "",
    });
    assert.equal(rows.length, 5);
  });

  it("writes to standard output if no file or - is named", async () => {
    const [bare, dash] = [await run("--project", "a"), await run("--project", "a", "--output", "-")];
    assert.notEqual(bare.stdout, "");
    assert.equal(dash.stdout, bare.stdout);
  });

  it("deletes a file that it could not finish, and says why", async () => {
    const output = join(sample.home, "missing", "out.jsonl");
    const { code, stderr } = await run("-o", output);
    assert.equal(code, 1);
    assert.equal(stderr, `meter: Could not write ${output}: no such file or directory.\n`);
    const folder = join(sample.home, "taken");
    assert.ok(!existsSync(folder));
    assert.deepEqual(
      readdirSync(sample.home).filter((name) => name.endsWith(".partial")),
      [],
    );
  });

  it("writes a file of this user also if a part of an earlier one is left", async () => {
    const output = join(sample.home, "again.jsonl");
    writeFileSync(`${output}.partial`, "left");
    assert.equal((await run("--project", "a", "-o", output)).code, 0);
    if (process.platform !== "win32") assert.equal(statSync(output).mode & 0o777, 0o600);
    assert.equal(linesOf(readFileSync(output, "utf8")).length, 3);
  });

  it("writes to a device without replacing it", { skip: process.platform === "win32" }, async () => {
    const device = join(sample.home, "device");
    symlinkSync("/dev/null", device);
    assert.equal((await run("--project", "a", "-o", device)).code, 0);
    assert.ok(lstatSync(device).isSymbolicLink());
  });

  it("names the formats", async () => {
    const { code, stderr } = await run("--format", "xml");
    assert.equal(code, 2);
    assert.match(stderr, /Invalid value for --format: xml\. Expected one of: jsonl, csv, parquet, focus\./);
  });
});
