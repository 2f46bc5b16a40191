import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { hostname } from "node:os";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import stringWidth from "string-width";
import { NO_TOKENS } from "../../../../core/metering/usage/token-counts.ts";
import type { RequestRecord } from "../../../../core/values/record.ts";
import { noon, sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../run-command.rig.ts";

const day = 86_400_000;
describe("meter report", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    sample = await createSampleHome((store) => {
      store.insertBatch({
        records: [
          sampleRecord({
            requestedAt: noon,
            project: "web",
            costPicoUsd: 1_234_567_890_000_000n,
            ...{ gitBranch: "topic", gitCommit: `${"c0ffee".repeat(6)}0000`, pullRequest: 12 },
            ...{ sessionId: "5e55", clientVersion: "2.1.240" },
          }),
          sampleRecord({
            requestedAt: noon + 1,
            project: "web",
            model: "gpt-5",
            provider: "openai",
            costPicoUsd: 1n,
          }),
          sampleRecord({
            requestedAt: noon + day,
            project: "=cmd|' /C calc'!A0",
            costSource: "provider",
            costPicoUsd: 250_000_000_000n,
            tokens: { ...sampleRecord().tokens, thinkingTokens: 7 },
          }),
          sampleRecord({
            requestedAt: noon + 2 * day,
            project: "日本語-プロジェクト",
            client: null,
            costPicoUsd: null,
            costSource: "unpriced",
            ratesSource: null,
            tokens: NO_TOKENS,
            tokensComplete: false,
          }),
          sampleRecord({
            requestedAt: noon + 2 * day,
            project: "refused",
            costPicoUsd: null,
            costSource: "unpriced",
            ratesSource: null,
            tokens: NO_TOKENS,
            tokensComplete: false,
            errorClass: "rate_limit",
            retryable: true,
            httpStatus: 429,
          }),
        ],
        bodies: [],
        coverage: [
          { at: noon, host: "api.anthropic.com", kind: "metered", count: 4 },
          { at: noon, host: "api.anthropic.com", kind: "unknown_path", count: 1 },
          { at: noon, host: "api.anthropic.com", kind: "without_usage", count: 2 },
          { at: noon, host: "api.anthropic.com", kind: "prompt_not_kept", count: 3 },
          { at: noon, host: "api.anthropic.com", kind: "body_not_kept", count: 1 },
          { at: noon, host: "api.anthropic.com", kind: "free", count: 9 },
        ],
      });
    });
  });
  after(() => sample?.remove());
  const report = (...words: string[]) => runWords(sample.home, ["report", ...words]);

  it("prints a table by project with its total, unpriced requests and coverage", async () => {
    const { code, stdout, stderr } = await report("--utc");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(
      stdout,
      [
        "project              requests  input  cache read  cache write  output  thinking        spent",
        "───────────────────  ────────  ─────  ──────────  ───────────  ──────  ────────  ───────────",
        "web                         2    200       4,000           60     100         –  $1,234.5679",
        "=cmd|' /C calc'!A0          1    100       2,000           30      50         7      $0.2500",
        "refused                     1      –           –            –       –         –            –",
        "日本語-プロジェクト         1      –           –            –       –         –     unpriced",
        "total                       5    300       6,000           90     150         7  $1,234.8179",
        "",
        "1 of 5 requests failed.",
        "1 request has no known price; its cost is not included. See which: meter requests --status unpriced",
        "$0.2500 of the cost was stated by the providers.",
        "Metering coverage: 80 % (4 of 5 calls seen on providers' hosts).",
        "  not metered: 1 request to an unknown path",
        "  See which: meter coverage",
        "  of those metered: 2 responses without usage",
        "  of those metered: 3 without a prompt hash: too many large requests at once",
        "  of those metered: 1 captured body left out: too many large bodies at once",
        "",
      ].join("\n"),
    );
  });

  it("groups by model, provider, day, client or total", async () => {
    const keys = async (by: string) => {
      const { stdout } = await report("--by", by, "--utc", "--json");
      return (JSON.parse(stdout).rows as { key: string | null; requests: number }[]).map(
        ({ key, requests }) => [key, requests],
      );
    };
    assert.deepEqual(await keys("model"), [
      ["claude-sonnet-4-5", 4],
      ["gpt-5", 1],
    ]);
    assert.deepEqual(await keys("provider"), [
      ["anthropic", 4],
      ["openai", 1],
    ]);
    assert.deepEqual(await keys("day"), [
      ["2026-05-12", 2],
      ["2026-05-13", 1],
      ["2026-05-14", 2],
    ]);
    assert.deepEqual(await keys("client"), [
      ["claude", 4],
      [null, 1],
    ]);
    assert.deepEqual(await keys("total"), [[null, 5]]);
  });

  it("applies the period and the filters, and omits the coverage with filters", async () => {
    const requests = async (...words: string[]) => {
      const { stdout } = await report("--by", "total", "--utc", "--json", ...words);
      return JSON.parse(stdout).rows[0]?.requests ?? 0;
    };
    assert.equal(await requests("--from", "2026-05-13"), 3);
    assert.equal(await requests("--from", "2026-05-12", "--to", "2026-05-12"), 2);
    assert.equal(await requests("--to", "2026-05-13"), 3);
    assert.equal(await requests("--since", "1h"), 0);
    assert.equal(await requests("--project", "web"), 2);
    assert.equal(await requests("--model", "gpt-5", "--project", "web"), 1);
    assert.equal(await requests("--provider", "openai", "--project", "other"), 0);
    assert.ok(!(await report("--project", "web")).stdout.includes("coverage"));
    assert.equal(await requests("--branch", "topic"), 1);
    assert.equal(await requests("--commit", "C0FFEEC"), 1);
    assert.equal(await requests("--commit", "c0ffee0"), 0);
    assert.equal(await requests("--pr", "12"), 1);
    assert.equal(await requests("--session", "5e55"), 1);
    assert.equal(await requests("--session", "5e55", "--pr", "13"), 0);
    for (const wrong of [
      ["--commit", "xyz"],
      ["--pr", "0"],
    ]) {
      const { code, stderr } = await report(...wrong);
      assert.deepEqual([code, stderr.includes(`Invalid value for ${wrong[0]}`)], [2, true], stderr);
    }
  });

  it("groups by branch, commit, pull request, session, client version and machine", async () => {
    const keys = async (by: string) =>
      JSON.parse((await report("--json", "--by", by)).stdout).rows.map((row: Record<string, unknown>) => [
        row.key,
        row.requests,
      ]);
    for (const [by, key] of [
      ["branch", "topic"],
      ["commit", `${"c0ffee".repeat(6)}0000`],
      ["pr", "12"],
      ["session", "5e55"],
      ["client-version", "2.1.240"],
    ])
      assert.deepEqual(await keys(by as string), [
        [key, 1],
        [null, 4],
      ]);
    assert.deepEqual(await keys("agent"), [[null, 5]]);
    assert.deepEqual(await keys("machine"), [[hostname(), 5]]);
    assert.match((await report("--by", "machine,billing")).stdout, /^machine +billing +requests /);
  });

  it("reports that there are no requests", async () => {
    assert.deepEqual(await report("--since", "1h"), {
      code: 0,
      stdout: "No requests.\n",
      stderr: "",
    });
  });

  it("counts failures among the calls that were sent, and refused calls apart", async () => {
    const blocked = { blockedBy: "cap", httpStatus: null, costPicoUsd: 0n };
    const home = await createSampleHome((store) => {
      const records = [{ errorClass: "network" } as const, {}, blocked, blocked].map((given) =>
        sampleRecord(given),
      );
      store.insertBatch({ records, bodies: [], coverage: [] });
    });
    try {
      const { stdout } = await runWords(home.home, ["report"]);
      assert.match(stdout, /^1 of 2 requests failed\.$/m);
      assert.match(stdout, /^Budgets refused 2 calls, which were not sent\.$/m);
    } finally {
      home.remove();
    }
  });

  it("prints exact sums as JSON", async () => {
    const { stdout } = await report("--project", "web", "--utc", "--json", "--from", "2026-05-12");
    assert.deepEqual(JSON.parse(stdout), {
      by: "project",
      from: "2026-05-12T00:00:00.000Z",
      to: null,
      rows: [
        {
          key: "web",
          requests: 2,
          errors: 0,
          blocked: 0,
          unpriced: 0,
          incomplete: 0,
          prompt_tokens: "200",
          cache_read_tokens: "4000",
          cache_write_tokens: "60",
          cache_write_1h_tokens: "20",
          completion_tokens: "100",
          thinking_tokens: null,
          cost_pico_usd: "1234567890000001",
          spent_pico_usd: "1234567890000001",
          plan_usage_pico_usd: "0",
          unknown_billing_pico_usd: "0",
          by_billing_mode: {
            metered: { requests: 2, cost_pico_usd: "1234567890000001" },
            plan: { requests: 0, cost_pico_usd: "0" },
            credits: { requests: 0, cost_pico_usd: "0" },
            free: { requests: 0, cost_pico_usd: "0" },
            unknown: { requests: 0, cost_pico_usd: "0" },
          },
          by_cost_source: {
            computed: { requests: 2, cost_pico_usd: "1234567890000001" },
            provider: { requests: 0, cost_pico_usd: "0" },
            estimated: { requests: 0, cost_pico_usd: "0" },
            unpriced: { requests: 0, cost_pico_usd: "0" },
          },
        },
      ],
      streams_without_usage: [],
      from_logs: { requests: 0, cost_pico_usd: "0" },
      coverage: null,
    });
  });

  it("uses local days, and UTC days with --utc", {
    skip: "Deno" in globalThis ? "Deno reads the time zone once, when it starts" : false,
  }, async () => {
    const { TZ } = process.env;
    // 14 hours ahead, where noon UTC is in the next day.
    process.env.TZ = "Pacific/Kiritimati";
    try {
      const firstDay = async (...words: string[]) =>
        JSON.parse((await report("--by", "day", "--json", ...words)).stdout).rows[0].key;
      assert.deepEqual(
        [await firstDay("--utc"), await firstDay()],
        [new Date(noon).toISOString().slice(0, 10), new Date(noon + day).toISOString().slice(0, 10)],
      );
    } finally {
      if (TZ === undefined) delete process.env.TZ;
      else process.env.TZ = TZ;
    }
  });

  it("prints CSV (RFC 4180) without formulas", async () => {
    const { stdout } = await report("--csv", "--utc");
    assert.equal(
      stdout,
      [
        "project,requests,errors,blocked,unpriced,incomplete,prompt_tokens,cache_read_tokens,cache_write_tokens," +
          "cache_write_1h_tokens,completion_tokens,thinking_tokens,cost_usd," +
          "spent_usd,plan_usage_usd,unknown_billing_usd",
        "web,2,0,0,0,0,200,4000,60,20,100,,1234.567890000001,1234.567890000001,0,0",
        "'=cmd|' /C calc'!A0,1,0,0,0,0,100,2000,30,10,50,7,0.25,0.25,0,0",
        "refused,1,1,0,0,1,,,,,,,0,0,0,0",
        "日本語-プロジェクト,1,0,0,1,1,,,,,,,0,0,0,0",
        "",
      ].join("\r\n"),
    );
  });

  it("fits the terminal, truncates no number, and combines counts before it truncates a name", async () => {
    for (const [columns, titles, note] of [
      [
        80,
        /^project +requests +input +output +spent\n/,
        /\nInput includes cache tokens, and output includes thinking tokens\./,
      ],
      [
        56,
        /^project +requests +tokens +spent\n/,
        /\nA wider terminal shows input and output tokens separately\./,
      ],
    ] as const) {
      const { stdout } = await runWords(sample.home, ["report"], { COLUMNS: String(columns) });
      const table = stdout.split("\n\n")[0]!;
      for (const line of table.split("\n")) assert.ok(stringWidth(line) <= columns, line);
      assert.match(table, titles);
      assert.match(table, /\n日本語-プロジェクト /);
      assert.match(stdout, note);
    }
    const { stdout } = await runWords(sample.home, ["report"], { COLUMNS: "56" });
    assert.match(stdout, /\ntotal +5 +6,547 +\$1,234\.8179\n/);
    assert.match((await runWords(sample.home, ["report"], { COLUMNS: "45" })).stdout, /\n日本語-.*…/);
  });

  it("keeps what was spent, plan usage and unknown billing apart", async () => {
    const modes: [RequestRecord["billingMode"], string, bigint][] = [
      ["metered", "anthropic", 1n],
      ["credits", "anthropic", 2n],
      ["plan", "anthropic", 30n],
      // Records of older daemons: Codex is only sold as a plan, while Anthropic's could be either.
      [null, "codex", 400n],
      [null, "anthropic", 5_000n],
    ];
    const mixed = await createSampleHome((store) =>
      store.insertBatch({
        records: modes.map(([billingMode, provider, cents]) =>
          sampleRecord({ billingMode, provider, costPicoUsd: cents * 10_000_000_000n, project: "web" }),
        ),
        bodies: [],
        coverage: [],
      }),
    );
    try {
      const { stdout } = await runWords(mixed.home, ["report", "--by", "provider", "--utc"]);
      const [table, notes] = stdout.split("\n\n") as [string, string];
      const costs = (key: string) =>
        table
          .match(new RegExp(`^${key} .*`, "m"))?.[0]
          .split(/ {2,}/)
          .slice(-3);
      assert.deepEqual(costs("provider"), ["spent", "plan usage", "unknown billing"]);
      assert.deepEqual(costs("anthropic"), ["$0.0300", "$0.3000", "$50.0000"]);
      assert.deepEqual(costs("codex"), ["–", "$4.0000", "–"]);
      assert.deepEqual(costs("total"), ["$0.0300", "$4.3000", "$50.0000"]);
      assert.match(
        notes,
        /^Spent \$0\.0300 · plan usage worth \$4\.3000 at API prices · \$50\.0000 with unknown billing\.$/m,
      );
      const byMode = await runWords(mixed.home, ["report", "--by", "billing", "--json"]);
      assert.deepEqual(
        JSON.parse(byMode.stdout).rows.map((row: Record<string, string>) => [row.key, row.cost_pico_usd]),
        [
          ["unknown", "50000000000000"],
          ["plan", "4300000000000"],
          ["credits", "20000000000"],
          ["metered", "10000000000"],
        ],
      );
    } finally {
      await mixed.remove();
    }
  });

  it("groups by two keys, one of which may be a time", async () => {
    const rowsOf = async (by: string) =>
      JSON.parse((await report("--utc", "--json", "--by", by)).stdout).rows.map(
        (row: Record<string, unknown>) => [row.key, row.second_key, row.requests],
      );
    const pairs = await rowsOf("project,client");
    assert.deepEqual(pairs[0], ["web", "claude", 2]);
    const byMonth = await rowsOf("project,month");
    assert.deepEqual(byMonth[0], ["web", "2026-05", 2]);
    assert.deepEqual((await rowsOf("month,project"))[0], ["2026-05", "web", 2]);
    assert.deepEqual((await rowsOf("week"))[0]?.slice(0, 2), ["2026-W20", undefined]);
    for (const rows of [pairs, byMonth])
      assert.equal(
        rows.reduce((sum: number, [, , requests]: number[]) => sum + (requests ?? 0), 0),
        5,
      );
    assert.match((await report("--utc", "--by", "model,week")).stdout, /^model +week +requests /);
    assert.match((await report("--utc", "--csv", "--by", "week,model")).stdout, /^week,model,requests,/);
    for (const wrong of ["day,week", "total,day", "model,model", "model,day,project", "sideways"]) {
      const { code, stderr } = await report("--by", wrong);
      assert.equal(code, 2, wrong);
      assert.match(stderr, /--by/);
    }
  });

  it("says how to start if nothing was metered yet", async () => {
    const { home, remove } = createEmptyHome();
    const { code, stderr } = await runWords(home, ["report"]);
    remove();
    assert.equal(code, 4);
    assert.match(
      stderr,
      /^meter: Nothing has been metered yet: there is no database in .*\.\nStart metering: meter start\n$/,
    );
  });
});

describe("meter report into a pipe that closes early", {
  skip:
    "Deno" in globalThis || "Bun" in globalThis
      ? "starts Node"
      : process.platform === "win32"
        ? "has no EPIPE"
        : false,
}, () => {
  it("is not a failure", async () => {
    const sample = await createSampleHome((store) => {
      const records = Array.from({ length: 8_000 }, (_, n) =>
        sampleRecord({ client: `client-${"x".repeat(40)}-${n}` }),
      );
      store.insertBatch({ records, bodies: [], coverage: [] });
    });
    try {
      const program = fileURLToPath(new URL("../../../../cli/bin.js", import.meta.url));
      const child = spawn(process.execPath, [program, "report", "--by", "client"], {
        env: { ...process.env, METER_HOME: sample.home },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let stderr = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
      // Like `head`: reads the first lines, then closes the pipe.
      child.stdout.once("data", () => child.stdout.destroy());
      const [code] = await once(child, "close");
      assert.deepEqual([code, stderr], [0, ""]);
    } finally {
      sample.remove();
    }
  });
});
