import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import stringWidth from "string-width";
import * as v from "valibot";
import { NO_TOKENS } from "../../../../core/metering/usage/token-counts.ts";
import { requestItemSchema } from "../../../../core/wire/loopback-data.ts";
import { noon, sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../run-command.rig.ts";

const unpriced = { costPicoUsd: null, costSource: "unpriced", ratesSource: null } as const;
const minute = 60_000;

const records = [
  sampleRecord({ requestId: "019e1c00-0000-7a00-8000-000000000001", requestedAt: noon, project: "web" }),
  sampleRecord({
    requestId: "019e1c00-0000-7b00-8000-000000000002",
    requestedAt: noon + minute,
    project: "web",
    model: "gpt-9",
    provider: "openai",
    client: "node",
    ...unpriced,
  }),
  sampleRecord({
    requestId: "019e1c01-1111-7000-8000-000000000003",
    requestedAt: noon + 2 * minute,
    project: "a b",
    billingMode: "plan",
    costPicoUsd: 2_500_000_000_000n,
  }),
  sampleRecord({
    requestId: "019e1c02-2222-7000-8000-000000000004",
    requestedAt: noon + 3 * minute,
    project: "web",
    ...unpriced,
    tokens: NO_TOKENS,
    tokensComplete: false,
    httpStatus: 429,
    errorClass: "rate_limit",
  }),
  sampleRecord({
    requestId: "019e1c03-3333-7000-8000-000000000005",
    requestedAt: noon + 4 * minute,
    project: "web",
    tokensComplete: false,
    billingMode: null,
  }),
];
const ids = records.map(({ requestId }) => requestId);

describe("meter requests", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    sample = await createSampleHome((store) => store.records.insert(records));
  });
  after(() => sample?.remove());
  const list = (words: readonly string[], columns = "120") =>
    runWords(sample.home, ["requests", "--utc", ...words], { COLUMNS: columns });
  /** The numbers of the listed records, from 1. */
  const found = async (...words: string[]) => {
    const { stdout, stderr } = await list([...words, "--json"]);
    assert.equal(stderr, "");
    const { items } = JSON.parse(stdout) as { items: { request_id: string }[] };
    return items.map(({ request_id }) => ids.indexOf(request_id) + 1);
  };

  it("lists the newest first, with ids that are unique, plan usage and unpriced requests named", async () => {
    const { code, stdout, stderr } = await list([]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(
      stdout,
      [
        "id                time (UTC)           project  model              input  output          cost  result",
        "────────────────  ───────────────────  ───────  ─────────────────  ─────  ──────  ────────────  ──────────────",
        "019e1c03-3333-70  2026-05-12 12:04:00  web      claude-sonnet-4-5  2,130      50       $0.0012  200 incomplete",
        "019e1c02-2222-70  2026-05-12 12:03:00  web      claude-sonnet-4-5      –       –             –  429 rate_limit",
        "019e1c01-1111-70  2026-05-12 12:02:00  a b      claude-sonnet-4-5  2,130      50  plan $2.5000  200",
        "019e1c00-0000-7b  2026-05-12 12:01:00  web      gpt-9              2,130      50      unpriced  200",
        "019e1c00-0000-7a  2026-05-12 12:00:00  web      claude-sonnet-4-5  2,130      50       $0.0012  200",
        "",
        "Explain one: meter explain <id>",
        "",
      ].join("\n"),
    );
  });

  it("fits into 80 columns with readable ids, models and results", async () => {
    const { stdout } = await list([], "80");
    const lines = stdout.split("\n");
    assert.ok(
      lines.every((line) => stringWidth(line) <= 80),
      stdout,
    );
    assert.match(lines[0] ?? "", /^id +time \(UTC\) +project +model +in +out +cost +result$/);
    assert.match(lines[2] ?? "", / 2\.13K +50 +\$0\.0012 {2}200\*$/);
    assert.match(lines[3] ?? "", /^019e1c02-2222-70 {2}05-12 12:03 .+ 429$/);
    assert.match(lines[4] ?? "", / \(\$2\.5000\) {2}200$/);
    assert.match(
      stdout,
      /\n\* The token counts are incomplete\.\nCosts in parentheses are covered by a plan, at API prices\.\nExplain one: /,
    );
    for (const columns of ["90", "100", "110"])
      assert.ok(
        (await list([], columns)).stdout.split("\n").every((line) => stringWidth(line) <= Number(columns)),
        columns,
      );
  });

  it("shows ids that meter explain finds", async () => {
    const { stdout } = await list([]);
    const shown = [...stdout.matchAll(/^(019e\S+)/gm)].map(([, id]) => id as string);
    assert.equal(shown.length, records.length);
    for (const [index, id] of shown.entries()) {
      const explained = await runWords(sample.home, ["explain", id]);
      assert.equal(/^request +(\S+)/.exec(explained.stdout)?.[1], ids.toReversed()[index]);
    }
  });

  const filters: [words: string, found: number[]][] = [
    ["--project web", [5, 4, 2, 1]],
    ["--model gpt-9", [2]],
    ["--provider openai", [2]],
    ["--client node", [2]],
    ["--billing plan", [3]],
    ["--billing unknown", [5]],
    ["--status ok", [5, 3, 2, 1]],
    ["--status failed", [4]],
    ["--status unpriced", [2]],
    ["--status incomplete", [5, 4]],
    ["--status 429", [4]],
    ["--status 404", []],
    ["--from 2026-05-12T12:01:00Z --to 2026-05-12T12:03:00Z", [3, 2]],
    ["--to 2026-05-11", []],
    ["--since 2026-05-12 --status ok --project web --limit 2", [5, 2]],
  ];
  for (const [words, expected] of filters)
    it(`filters: ${words}`, async () => assert.deepEqual(await found(...words.split(" ")), expected));

  it("counts as many unpriced, failed and incomplete requests as the report", async () => {
    const { stdout } = await runWords(sample.home, ["report", "--by", "total", "--json"]);
    const [total] = JSON.parse(stdout).rows;
    const counts = [total.unpriced, total.errors, total.incomplete];
    const listed = await Promise.all(
      ["unpriced", "failed", "incomplete"].map(async (status) => (await found("--status", status)).length),
    );
    assert.deepEqual(listed, counts);
  });

  it("prints the command for the next page, which reaches every request", async () => {
    const seen: string[] = [];
    let words = ["--limit", "2"];
    for (let page = 0; page < 3; page++) {
      const { stdout } = await list(words);
      seen.push(...[...stdout.matchAll(/^(019e\S+)/gm)].map(([, id]) => id as string));
      const next = /^More requests: meter requests --limit 2 --utc --before (\d+)$/m.exec(stdout)?.[1];
      assert.equal(next === undefined, page === 2, stdout);
      words = ["--limit", "2", "--before", next ?? ""];
    }
    assert.deepEqual(
      seen.map((id) => ids.findIndex((each) => each.startsWith(id))),
      [4, 3, 2, 1, 0],
    );
  });

  it("quotes the filters in that command", async () => {
    const home = await createSampleHome((store) =>
      store.records.insert([1, 2].map(() => sampleRecord({ client: "it's -x", project: "web" }))),
    );
    const { stdout } = await runWords(home.home, ["requests", "--limit=1", "--client=it's -x"]);
    home.remove();
    assert.match(stdout, /^More requests: meter requests --client 'it'\\''s -x' --limit 1 --before \d+$/m);
  });

  it("prints JSON with the cursor of the next page", async () => {
    const { stdout } = await list(["--json", "--limit", "4"]);
    const { items, next_cursor } = JSON.parse(stdout) as { items: unknown[]; next_cursor: string };
    assert.equal(items.length, 4);
    for (const item of items) v.parse(requestItemSchema, item);
    assert.deepEqual(await found("--before", next_cursor), [1]);
    assert.equal(JSON.parse((await list(["--json"])).stdout).next_cursor, null);
  });

  it("prints CSV, without control characters, and the next page's command on standard error", async () => {
    const home = await createSampleHome((store) =>
      store.records.insert([sampleRecord(), sampleRecord({ model: "a\u001b[31m,b" })]),
    );
    const { stdout, stderr } = await runWords(home.home, ["requests", "--csv", "--limit", "1"]);
    home.remove();
    const [head, line, end] = stdout.split("\r\n");
    assert.match(head ?? "", /^request_id,requested_at,project,provider,model,/);
    assert.match(line ?? "", /,"a\ufffd\[31m,b",/);
    assert.equal(end, "");
    assert.match(stderr, /^meter: More requests: meter requests --limit 1 --csv --before \d+\n$/);
  });

  it("shows local times without --utc", async () => {
    const { stdout } = await runWords(sample.home, ["requests", "--limit", "1"]);
    const at = new Date(noon + 4 * minute);
    const local = `${at.getFullYear()}-05-${String(at.getDate()).padStart(2, "0")} ${String(at.getHours()).padStart(2, "0")}:`;
    assert.match(stdout, /^id +time +project/);
    assert.ok(stdout.includes(`  ${local}`), stdout);
  });

  const invalid: [words: string, message: RegExp][] = [
    [
      "--status broken",
      /Invalid value for --status: broken\. Expected: ok, failed, blocked, unpriced, incomplete or an HTTP/,
    ],
    [
      "--billing monthly",
      /Invalid value for --billing: monthly\. Expected: metered, plan, credits, free, unknown\./,
    ],
    ["--limit 0", /Invalid value for --limit: 0\. Expected: a number from 1 to 10000\./],
    ["--limit 10001", /Invalid value for --limit: 10001\./],
    ["--before x", /Invalid value for --before: x\. Expected: the cursor that the previous page printed\./],
    ["--since 7d --from 2026-05-12", /can't be combined/],
    ["--json --csv", /can't be combined/],
  ];
  for (const [words, message] of invalid)
    it(`refuses ${words}`, async () => {
      const { code, stdout, stderr } = await list(words.split(" "));
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, message);
    });

  it("says that nothing matches, or that nothing was metered yet", async () => {
    assert.equal((await list(["--project", "none"])).stdout, "No requests match.\n");
    const { home, remove } = createEmptyHome();
    const { code, stderr } = await runWords(home, ["requests"]);
    remove();
    assert.equal(code, 4);
    assert.match(stderr, /Nothing has been metered yet/);
  });
});
