import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import stringWidth from "string-width";
import type { RequestRecord } from "../../../../core/values/record.ts";
import { noon, sampleRecord } from "../../../daemon/store/sample-records.rig.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../run-command.rig.ts";

const minute = 60_000;
const SESSION = "5e550001-0000-4000-8000-000000000000";

const call = (sessionId: string, minutes: number, more: Partial<RequestRecord> = {}) =>
  sampleRecord({
    sessionId,
    sessionSource: "stated",
    requestedAt: noon + minutes * minute,
    client: "claude",
    clientVersion: "2.1.240",
    latencyMs: 12_000,
    ttfbMs: 900,
    gitBranch: "feature/pay",
    ...more,
  });

const context = (promptTokens: number, cacheReadTokens = 0) => ({
  tokens: {
    promptTokens,
    cacheReadTokens,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
    completionTokens: 50,
    thinkingTokens: null,
  },
});

const records = [
  call(SESSION, 0, context(20_000)),
  call(SESSION, 1, context(10_000, 90_000)),
  call(SESSION, 2, { ...context(1_000, 3_000), agentId: "a1", agentKind: "Explore", billingMode: "plan" }),
  call(SESSION, 3, {
    ...context(2_000),
    agentId: "a2",
    parentAgentId: "a1",
    costPicoUsd: null,
    costSource: "unpriced",
  }),
  call(SESSION, 4, context(20_000)),
  call(SESSION, 5, { ...context(21_000), errorClass: "rate_limit", httpStatus: 429 }),
  call("019e1c00-0000-7a00-8000-000000000001", 90, {
    sessionSource: "inferred",
    client: "\u001b[31mevil",
    clientVersion: null,
    gitBranch: null,
    project: "api",
  }),
];

describe("meter sessions", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    sample = await createSampleHome((store) => store.records.insert(records));
  });
  after(() => sample?.remove());
  const run = (words: readonly string[], columns = "140") =>
    runWords(sample.home, [...words], { COLUMNS: columns });

  it("lists sessions with time, agents, cache and cost by who pays", async () => {
    const { stdout, code } = await run(["sessions", "--utc"]);
    assert.equal(code, 0);
    const lines = stdout.split("\n");
    assert.match(
      lines[0] ?? "",
      /^session +started \(UTC\) +time +client +project +branch +calls +agents +cached +spent +plan usage$/,
    );
    assert.match(
      lines[2] ?? "",
      /^~019e1c00-0000 +05-12 13:30 +12 s +\S*31mevil +api +– +1 +0 +93\.8% +\$0\.0012 +–$/,
    );
    assert.match(
      lines[3] ?? "",
      /^5e550001-0000 +05-12 12:00 +5 min +claude +acme-web +feature\/pay +6 +2 +55\.6% +\$0\.0049 +\$0\.0012$/,
    );
    assert.match(stdout, /^~ The program names no session; these are the calls of one process\.$/m);
    assert.match(stdout, /^1 call has no known price; its cost is not included\.$/m);
    assert.ok(!stdout.includes("\u001b"));
  });

  it("lists those that filters and a cost select", async () => {
    const api = "019e1c00-0000";
    const own = SESSION.slice(0, 13);
    for (const [words, ids] of [
      [["--filter", "project=api"], [api]],
      [["--filter=project.not=api"], [own]],
      [["--filter", "branch=feature/pay", "--filter", "status=failed"], [own]],
      [
        ["--project", "api", "--filter", "project=acme-web"],
        [api, own],
      ],
      [["--filter", "branch="], [api]],
      [["--min-cost", "0.0049"], [own]],
      [["--min-cost", "5"], []],
    ] as const) {
      const { stdout, code } = await run(["sessions", ...words]);
      assert.equal(code, 0, stdout);
      const shown = [...stdout.matchAll(/^~?([0-9a-f]{8}-[0-9a-f]{4}) /gm)].map(([, id]) => id);
      assert.deepEqual(shown, ids, words.join(" "));
    }
    const unknown = "1 session may cost more: a call has no known price. It is left out.\n";
    assert.ok((await run(["sessions", "--min-cost", "5"])).stdout.endsWith(`No sessions.\n${unknown}`));
    assert.ok(!(await run(["sessions", "--min-cost", "0.0049"])).stdout.includes("left out"));
    const json = await run(["sessions", "--min-cost", "5", "--json"]);
    assert.deepEqual(JSON.parse(json.stdout), { items: [], unknown_cost_sessions: 1 });
    const csv = await run(["sessions", "--min-cost", "5", "--csv"]);
    assert.equal(csv.stdout.trim().split("\r\n").length, 1);
    assert.equal(csv.stderr, `meter: ${unknown}`);
    assert.equal((await run(["sessions", "--csv"])).stderr, "");
    for (const [words, message] of [
      [["--filter", "branch"], /Invalid value for --filter: branch\. Expected: <key>=<value>/],
      [["--filter", "colour=red"], /Invalid value for --filter: colour=red/],
      [["--filter", "status=broken"], /Invalid value for --filter status\./],
      [["--filter", "person=ann"], /all calls on this machine have the same person/],
      [["--min-cost", "much"], /Invalid value for --min-cost\. Expected an amount in USD/],
      [["--sort", "name"], /Invalid value for --sort\. Expected latest, cost, calls, length/],
    ] as const) {
      const { stderr, stdout, code } = await run(["sessions", ...words]);
      assert.equal(code, 2);
      assert.match(stderr + stdout, message);
    }
  });

  it("shows a session whose id begins with a hyphen with the command of its page", async () => {
    const hyphen = await createSampleHome((store) => store.records.insert([call("-1", 0)]));
    try {
      const { code, stdout } = await runWords(hyphen.home, ["session", "--", "-1"]);
      assert.equal(code, 0);
      assert.match(stdout, /-1/);
    } finally {
      hyphen.remove();
    }
  });

  it("fits into a narrow terminal", async () => {
    const { stdout } = await run(["sessions", "--utc", "--project", "api"], "100");
    for (const line of stdout.split("\n")) assert.ok(stringWidth(line) <= 100, line);
  });

  it("prints JSON and CSV with exact sums", async () => {
    const { items } = JSON.parse((await run(["sessions", "--json"])).stdout);
    assert.deepEqual(
      [items.length, items[1].session_id, items[1].agents, items[1].duration_ms, items[1].cache_permille],
      [2, SESSION, 2, 5 * minute + 12_000, 556],
    );
    assert.deepEqual(
      [items[1].cost_pico_usd, items[1].spent_pico_usd, items[1].plan_usage_pico_usd],
      ["6172839450", "4938271560", "1234567890"],
    );
    const csv = (await run(["sessions", "--csv"])).stdout.split("\r\n");
    assert.match(
      csv[0] ?? "",
      /^session_id,session_source,project,.*,cost_usd,spent_usd,plan_usage_usd,unknown_billing_usd$/,
    );
    assert.ok(
      csv[2]?.startsWith(`${SESSION},stated,acme-web,claude,2.1.240,feature/pay,2026-05-12T12:00:00.000Z,`),
    );
    assert.equal(csv.length, 4);
  });

  it("selects by period, project and limit, and refuses invalid options", async () => {
    const ids = async (...words: string[]) =>
      JSON.parse((await run(["sessions", "--utc", "--json", ...words])).stdout).items.map(
        (item: { session_id: string }) => item.session_id.slice(0, 4),
      );
    assert.deepEqual(await ids("--limit", "1"), ["019e"]);
    assert.deepEqual(await ids("--sort", "cost", "--limit", "1"), ["5e55"]);
    assert.deepEqual(await ids("--project", "acme-web"), ["5e55"]);
    assert.deepEqual(await ids("--to", "2026-05-12T13:00:00Z"), ["5e55"]);
    assert.deepEqual(await ids("--from", "2026-05-13"), []);
    assert.match((await run(["sessions", "--from", "2026-05-13"])).stdout, /^No sessions\.$/m);
    for (const words of [
      ["--limit", "0"],
      ["--sort", "name"],
      ["--json", "--csv"],
      ["--since", "x"],
    ])
      assert.equal((await run(["sessions", ...words])).code, 2);
  });
});

describe("meter session", () => {
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    sample = await createSampleHome((store) => store.records.insert(records));
  });
  after(() => sample?.remove());
  const run = (...words: string[]) => runWords(sample.home, ["session", ...words], { COLUMNS: "110" });

  it("shows the tree of agents with each call", async () => {
    const { stdout, code } = await run("5e55", "--utc");
    assert.equal(code, 0);
    const [head = "", main = "", first = "", second = ""] = stdout.split("\n\n");
    assert.equal(
      head,
      [
        `session   ${SESSION}`,
        "client    claude 2.1.240",
        "project   acme-web, branch feature/pay",
        "time      2026-05-12 12:00:00 to 2026-05-12 12:05:12 UTC, 5 min",
        "cost      Spent $0.0049 · plan usage worth $0.0012 at API prices",
        "calls     6 calls, 1 failed, 2 sub-agents, 1 compaction, 55.6% of the input read from a cache",
        "          1 call without a known price; the cost excludes it.",
      ].join("\n"),
    );
    assert.match(main, /^Main agent · 4 calls · Spent \$0\.0049 · context up to 100K · 1 compaction\n/);
    assert.match(main, /^time +model +input +cached +output +cost +wait +stream +note$/m);
    assert.match(main, /^12:01:00 +claude-sonnet-4-5 +100K +90% +50 +\$0\.0012 +900 ms +11\.1 s$/m);
    assert.match(main, /^12:04:00 .* compacted$/m);
    assert.match(main, /^12:05:00 .* rate_limit$/m);
    assert.match(first, /^ {2}Agent a1 \(Explore\) · 1 call · Spent \$0\.0000 · plan usage worth \$0\.0012/);
    assert.match(first, /^ {2}12:02:00 +claude-sonnet-4-5 +4K +75% +50 +plan \$0\.0012/m);
    assert.match(second, /^ {4}Agent a2 · 1 call/);
    assert.match(second, /unpriced/);
  });

  it("shows only the agents with --agents", async () => {
    const { stdout } = await run("5e55", "--utc", "--agents");
    assert.match(stdout, /Main agent · 4 calls/);
    assert.ok(!stdout.includes("12:01:00"));
  });

  it("shows the latest session, and says that it is inferred", async () => {
    const { stdout } = await run("last");
    assert.match(
      stdout,
      /^session {3}019e1c00\S+ \(the calls of one process; the program names no session\)$/m,
    );
    assert.match(stdout, /^project {3}api$/m);
    assert.ok(!stdout.includes("\u001b"));
  });

  it("prints JSON with the tree, and CSV with a line for each call", async () => {
    const json = JSON.parse((await run("5e55", "--json")).stdout);
    assert.equal(json.requests, 6);
    assert.equal(json.tree.agent_id, null);
    assert.deepEqual(json.tree.calls[1].cache_permille, 900);
    assert.deepEqual([json.tree.calls[2].follows_compaction, json.tree.compactions], [true, 1]);
    const [a1] = json.tree.agents;
    assert.deepEqual([a1.agent_id, a1.agent_kind, a1.agents[0].agent_id], ["a1", "Explore", "a2"]);
    assert.equal(a1.agents[0].calls[0].cost_pico_usd, null);
    const csv = (await run("5e55", "--csv")).stdout.split("\r\n");
    assert.equal(csv.length, 8);
    assert.match(
      csv[0] ?? "",
      /^request_id,requested_at,agent_id,parent_agent_id,.*,follows_compaction,record_source$/,
    );
  });

  it("labels calls that were imported from logs, as the list does", async () => {
    const { home, remove } = await createSampleHome((store) =>
      store.records.insert([
        call("wire", 0),
        call("logs", 1, { recordSource: "logs" }),
        call("both", 2, { recordSource: "logs" }),
        call("both", 3),
      ]),
    );
    const show = async (...words: string[]) =>
      (await runWords(home, [...words, "--utc"], { COLUMNS: "140" })).stdout;
    assert.match(await show("sessions"), /^From logs: 2 of 4 calls\. The others are from the wire\.$/m);
    assert.doesNotMatch(await show("session", "wire"), /logs/);
    assert.match(await show("session", "logs"), /^ +From logs: the call\.$/m);
    const both = await show("session", "both");
    assert.match(both, /^ +From logs: 1 of 2 calls\. The others are from the wire\.$/m);
    assert.match(both, /^12:02:00 .* from logs$/m);
    assert.match(both, /^12:03:00 .*s$/m);
    const { items } = JSON.parse((await runWords(home, ["sessions", "--json"])).stdout);
    assert.deepEqual(
      items.map((item: { requests_from_logs: number }) => item.requests_from_logs),
      [1, 1, 0],
    );
    remove();
  });

  it("fails for an unknown or ambiguous id", async () => {
    const unknown = await run("nope");
    assert.deepEqual(
      [unknown.code, unknown.stderr],
      [4, "meter: No session begins with nope.\nList the sessions: meter sessions\n"],
    );
    const other = await createSampleHome((store) => store.records.insert([call("s1", 0), call("s2", 1)]));
    const both = await runWords(other.home, ["session", "s"]);
    assert.equal(both.code, 4);
    assert.match(both.stderr, /Several sessions begin with s\. Use a longer prefix:\n {2}s1\n {2}s2\n/);
    other.remove();
    const empty = createEmptyHome();
    assert.equal((await runWords(empty.home, ["session", "last"])).code, 4);
    empty.remove();
    const unused = await createSampleHome();
    const last = await runWords(unused.home, ["session", "last"]);
    assert.deepEqual(
      [last.code, last.stderr],
      [4, "meter: There are no sessions yet.\nMeter a program: meter run -- <command>\n"],
    );
    const compared = await runWords(unused.home, ["reconcile", "logs", "--session", "s"], {
      HOME: unused.home,
    });
    assert.deepEqual(
      [compared.code, compared.stderr],
      [4, "meter: No session of this period begins with s.\nList the sessions: meter sessions\n"],
    );
    unused.remove();
    assert.equal((await run("5e55", "--json", "--csv")).code, 2);
  });

  it("names the command that meters a program if the database has no requests", async () => {
    const unused = await createSampleHome();
    for (const [command, fact] of [
      ["sessions", "No sessions."],
      ["requests", "No requests."],
      ["report", "No requests."],
    ] as const)
      assert.deepEqual(await runWords(unused.home, [command]), {
        code: 0,
        stdout: `${fact}\nMeter a program: meter run -- <command>\n`,
        stderr: "",
      });
    unused.remove();
  });
});
