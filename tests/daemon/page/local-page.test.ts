import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createOutbox } from "../../../adapters/outbox/create-outbox.ts";
import { budgetTransition } from "../../../core/budgets/budget-machine.ts";
import { initialBudgetsState } from "../../../core/budgets/budget-state.ts";
import type { LetThroughCounts } from "../../../core/budgets/let-through.ts";
import { parseBudget } from "../../../core/budgets/parse-budget.ts";
import type { BudgetTracker } from "../../../daemon/budgets/budget-tracker.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { CLIENT_FILES } from "../../../pages/frame.ts";
import { reading } from "../../core/metering/limits/limits.rig.ts";
import { openApi } from "../api/api.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";

async function pageOf(
  fill: (store: Awaited<ReturnType<typeof openApi>>["store"]) => void,
  path = "/",
  change: Parameters<typeof openApi>[0] = {},
) {
  const rig = await openApi(change);
  try {
    fill(rig.store);
    const answer = await rig.ask(path);
    return { answer, text: await answer.text() };
  } finally {
    rig.close();
  }
}

/** The pages that show stored names. */
const PAGES = [
  "/",
  "/?by=client&metric=requests",
  "/explore",
  "/explore?view=chart&by=branch",
  "/models",
  "/models?as=anthropic/claude-haiku-4-5",
  "/projects",
  "/savings",
  "/now",
  "/requests",
  "/sessions",
  "/statement/2026-05",
];

describe("the local dashboard", () => {
  it("does not count the last 24 hours for a page", async () => {
    const lastDay = () => {
      throw new Error("not expected");
    };
    for (const path of PAGES.filter((each) => !each.startsWith("/statement")))
      assert.equal((await pageOf(() => {}, path, { lastDay })).answer.status, 200, path);
  });

  it("tells projects apart whose folders share a name", async () => {
    const record = sampleRecord({ project: "api-acme", requestedAt: noon });
    const fill: Parameters<typeof pageOf>[0] = (store) => {
      store.records.insert([record]);
      const assign = (origin: string, slug: string) =>
        store.origins.assign({ name: "api", origin, folder: `/srv/${slug}`, slug }, []);
      assign("github.com/ann/api", "api");
      assign("github.com/acme/api<b>", "api-acme");
    };
    const { text } = await pageOf(fill, `/requests/${record.requestId}`);
    assert.match(text, /github\.com\/acme\/api&lt;b&gt;/);
    assert.doesNotMatch(text, /ann\/api/);
  });

  it("shows how projects were found, the sessions of their branches, and how to move calls without a project", async () => {
    const fill: Parameters<typeof pageOf>[0] = (store) => {
      const own = { project: "apollo", gitBranch: "main", attributionTier: "git_root" };
      store.records.insert([
        ...["a", "a", "b"].map((sessionId) => sampleRecord({ ...own, sessionId })),
        sampleRecord({ ...own, attributionTier: "header", sessionId: "b" }),
        sampleRecord({ project: "misc <i>", attributionTier: "default_project" }),
      ]);
    };
    const { text } = await pageOf(fill, "/projects");
    assert.match(text, /found by: git root 75%, header 25%/);
    assert.match(text, /, <a href="\/sessions\?project=apollo&amp;branch=main">2 sessions<\/a>/);
    assert.match(text, /<bdi>100%<\/bdi> of its calls stated no project/);
    assert.match(text, /meter project reassign &#39;misc &lt;i&gt;&#39; OTHER-PROJECT/);
    const hyphen = sampleRecord({ project: "-x", attributionTier: "default_project" });
    const shown = await pageOf((store) => store.records.insert([hyphen]), "/projects");
    assert.match(shown.text, /meter project reassign -- -x OTHER-PROJECT/);
    assert.doesNotMatch(text, /of the newest 3,000 calls/);
    const csv = (await pageOf(fill, "/projects?format=csv")).text.trimEnd().split("\r\n");
    assert.ok(csv[0]?.endsWith(",query,found_by,sessions"));
    assert.ok(csv[1]?.endsWith(',"git root 75%, header 25%",2'), csv[1]);
    assert.ok(csv[2]?.endsWith(",default project 100%,"), csv[2]);
    const { rows, newest_calls } = JSON.parse((await pageOf(fill, "/projects?format=json")).text);
    assert.deepEqual(rows[0].found_by, [
      { tier: "git_root", requests: 3 },
      { tier: "header", requests: 1 },
    ]);
    assert.deepEqual([rows[0].cells[0].sessions, rows[1].cells[0].sessions], [2, null]);
    assert.deepEqual(newest_calls, { requests: 5, limit: 3_000, since: null });
    const sessions = await pageOf(fill, "/sessions?project=apollo&branch=main");
    assert.equal(sessions.text.match(/href="\/sessions\/[ab]"/g)?.length, 2);
    assert.doesNotMatch((await pageOf(fill, "/projects?project=apollo")).text, /Calls without a project/);
  });

  it("names the calls around a request that had the same prompt", async () => {
    const [same, other] = ["a".repeat(64), "b".repeat(64)];
    const records = [same, other, same].map((promptHash, n) =>
      sampleRecord({ promptHash, requestedAt: noon + n * 60_000 }),
    );
    const unknown = sampleRecord({ promptHash: null });
    const of = (record: { readonly requestId: string } | undefined) =>
      pageOf((store) => store.records.insert([...records, unknown]), `/requests/${record?.requestId}`);
    const { text } = await of(records[0]);
    assert.match(text, /1 other call of the 1,000 calls before and after/);
    assert.ok(text.includes(`href="/requests/${records[2]?.requestId}"`));
    assert.ok(!text.includes(`href="/requests/${records[1]?.requestId}"`));
    assert.match((await of(records[1])).text, /none of the 1,000 calls before and after/);
    assert.doesNotMatch((await of(unknown)).text, /Same prompt/);
  });

  it("shows how to start before anything is metered", async () => {
    const { answer, text } = await pageOf(() => {});
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
    assert.match(text, /Nothing metered yet/);
    assert.match(text, /HTTPS_PROXY=http:\/\/127\.0\.0\.1:8081/);
    assert.match((await pageOf(() => {}, "/coverage")).text, /Not connected to a cloud/);
  });

  it("shows totals, groups, coverage gaps and problems", async () => {
    const { text } = await pageOf((store) => {
      store.insertBatch({
        records: [
          sampleRecord({ costPicoUsd: 2_500_000_000_000n, requestedAt: noon }),
          sampleRecord({
            costPicoUsd: null,
            costSource: "unpriced",
            model: "nobody-knows",
            requestedAt: noon,
          }),
        ],
        bodies: [],
        coverage: [
          { at: noon, host: "h", kind: "metered", count: 2 },
          { at: noon, host: "h", kind: "websocket", count: 2 },
        ],
      });
    });
    assert.match(text, /\$2\.50/);
    assert.match(text, /1 request has no known price; its cost is not included\./);
    assert.match(
      text,
      /The price list litellm covers anthropic\.[^<]*<\/p><pre tabindex="0">meter pricing pull --source litellm\nmeter recompute-costs<\/pre>/,
    );
    assert.match(text, /2 of 4 calls/);
    assert.match(text, /2 calls were seen and not metered\. <a href="\/coverage">/);
    assert.match(text, /<a href="\/requests\?cost=unpriced">/);
    assert.match(text, /2 records have been lost since the daemon started\./);
    assert.doesNotMatch(text, /Nothing metered yet/);
  });

  it("shows the limits of an hour or more, after saving the latest readings", async () => {
    let flushes = 0;
    const save = (window: string, windowMs: number) => ({
      reading: reading({ window, windowMs, usedPpm: 620_000, seenAt: noon, resetAt: noon + 86_400_000 }),
      isPoint: true,
    });
    const { text } = await pageOf(
      (store) => {
        store.records.insert([sampleRecord({ requestedAt: noon })]);
        store.limits.save([save("5h", 18_000_000), save("1m", 60_000)]);
      },
      "/now",
      { limits: { flush: () => void (flushes += 1) } },
    );
    assert.match(text, /<h2 id="limits-title">Limits<\/h2>/);
    assert.match(text, /<bdi>5h<\/bdi>[\s\S]*62%/);
    assert.doesNotMatch(text, /<bdi>1m/);
    assert.equal(flushes, 1);
  });

  it("shows budgets with what they used, their thresholds and the command that lifts one", async () => {
    const parsed = parseBudget(
      { name: "my day", amount: "10 requests", period: "day", at_limit: "block" },
      { zone: "UTC" },
    );
    assert.ok(parsed.ok);
    const { budget } = parsed;
    const active = { budget, isPaused: false, liftedUntil: null };
    const set = budgetTransition(initialBudgetsState, { kind: "budgets_set", budgets: [active] }, noon).state;
    const stateOf = (used: bigint) =>
      budgetTransition(
        set,
        {
          kind: "sums_loaded",
          budget: "my day",
          key: null,
          sums: [{ key: "", parts: [{ at: noon, used, calls: 1, unknown: 0 }], fired: [] }],
        },
        noon,
      ).state;
    const shown = async (used: bigint, letThrough: number) => {
      const tracker = { state: () => stateOf(used), cutCalls: () => new Map() } as unknown as BudgetTracker;
      const sums = new Map<string, LetThroughCounts>([
        ["my day", letThrough === 0 ? {} : { caller: letThrough }],
      ]);
      const budgets = {
        ...{ tracker, configured: [], confirmed: async () => true },
        letThrough: () => ({ calls: letThrough, early: 0, byBudget: sums }),
      };
      return (await pageOf(() => {}, "/limits", { budgets })).text;
    };
    const below = await shown(8n, 0);
    assert.match(below, /<bdi>my day<\/bdi>[\s\S]*80%[\s\S]*8 requests of 10 requests/);
    assert.match(below, /50 ✓ · 80 ✓ · 100</);
    assert.doesNotMatch(below, /budget lift|could not decide/);
    const used = await shown(10n, 2);
    assert.match(used, /used up, refuses calls/);
    assert.match(used, /meter budget lift (?:'|&#39;)my day(?:'|&#39;) --for 1h/);
    assert.match(
      used,
      /2 calls were sent since the daemon started because a budget could not decide\. <bdi>my day<\/bdi>: 2 calls whose caller was not found within 5 ms\./,
    );
    assert.match((await pageOf(() => {}, "/limits")).text, /There are no budgets\. Set one:/);
    const seed = (store: Store) =>
      store.insertBatch({ records: [sampleRecord({ requestedAt: noon })], bodies: [], coverage: [] });
    const tracker = { state: () => stateOf(10n), cutCalls: () => new Map() } as unknown as BudgetTracker;
    const letThrough = () => ({ calls: 0, early: 0, byBudget: new Map() });
    const budgets = { tracker, configured: [], letThrough, confirmed: async () => true };
    const now = (await pageOf(seed, "/now", { budgets })).text;
    assert.match(now, /<div id="budgets" data-live>[\s\S]*used up, refuses calls[\s\S]*meter budget lift/);
  });

  it("names each call that was not metered, and what to do, but at most ten of a kind", async () => {
    const unknown = (path: string, count: number, host = "api.acme.test") =>
      ({ at: noon, host, kind: "unknown_path", count, call: { method: "GET", path } }) as const;
    const { text } = await pageOf(
      (store) =>
        store.coverage.add([
          { at: noon, host: "h", kind: "metered", count: 2 },
          unknown("/mcp-registry/v0/servers", 6),
          unknown("/<b>", 2, "<i>"),
          ...Array.from({ length: 10 }, (_, n) => unknown(`/v${n}/things`, 1)),
          { at: noon, host: "h", kind: "tunnelled_http2_only", count: 3 },
        ]),
      "/coverage",
    );
    assert.match(text, /<summary>18 requests to unknown paths<\/summary>/);
    assert.match(
      text,
      /<bdi>GET \/mcp-registry\/v0\/servers<\/bdi><span class="sub"><bdi>api\.acme\.test<\/bdi><\/span>[\s\S]+?<td class="num">6<\/td><td class="num when desk"><time datetime="2026-05-12T/,
    );
    assert.match(text, /<bdi>GET \/&lt;b&gt;<\/bdi><span class="sub"><bdi>&lt;i&gt;<\/bdi>/);
    assert.match(text, /2 more rows: <code>meter coverage<\/code>/);
    assert.match(text, /<summary>3 connections whose client speaks only HTTP\/2<\/summary>/);
    assert.match(text, /GODEBUG=http2client=0/);
    assert.doesNotMatch(text, /<b>|<i>/);
  });

  it("names the programs that do not trust the certificate, with the fix for each", async () => {
    const rig = await openApi();
    const sample = rig.ports.state();
    rig.close();
    const program = {
      name: "agent.mjs",
      runtime: "node",
      host: "api.openai.com",
      rejected: 2,
      unused: 0,
      last_seen: new Date(noon).toISOString(),
    };
    const status = { ...sample, proxy: { ...sample.proxy, distrusting_programs: [program] } };
    for (const [file, named] of [
      ["/home/ann/.meter/ca/ca.pem", "/home/ann/.meter/ca/ca.pem"],
      [undefined, "&lt;meter_home&gt;/ca/ca.pem"],
    ] as const) {
      const change = { state: () => status, ...(file !== undefined && { authorityFile: file }) };
      const { text } = await pageOf(() => {}, "/coverage", change);
      assert.match(text, /<h3><bdi>agent\.mjs<\/bdi><\/h3>/);
      assert.match(
        text,
        /agent\.mjs \(node\) rejected the meter&#39;s certificate on 2 connections to api\.openai\.com/,
      );
      assert.ok(text.includes(`Set NODE_EXTRA_CA_CERTS to ${named} where it is started.`));
      assert.match(text, /<pre tabindex="0">meter run -- &lt;command&gt;<\/pre>/);
    }
  });

  it("has a statement for each month, and leads to the last one that has ended", async () => {
    const { answer } = await pageOf(() => {}, "/statement");
    assert.deepEqual([answer.status, answer.headers.get("location")], [303, "/statement/2026-04"]);
    const record = sampleRecord({ requestedAt: noon });
    const { text } = await pageOf((store) => store.records.insert([record]), "/statement/2026-05");
    assert.match(text, /Statement for May 2026/);
    assert.match(text, /<code>[0-9a-f]{64}<\/code>/);
    assert.equal((await pageOf(() => {}, "/statement/2026-06")).answer.status, 404);
    const file = await pageOf(() => {}, "/statement/2026-05?format=json");
    assert.equal(JSON.parse(file.text).subject, "this machine");
  });

  it("shows what left this machine, and where its log was changed", async () => {
    const evil = "<script>alert(1)</script>";
    const folder = mkdtempSync(join(tmpdir(), "outbox-"));
    try {
      const outbox = createOutbox(folder);
      const sent = { outbox, localProjects: () => new Set([`local-${evil}`]) };
      assert.match((await pageOf(() => {}, "/privacy", { sent })).text, /nothing has left this machine/);
      const item = {
        kind: "metadata",
        at: noon,
        origin: "https://meter.example.com",
        requestIds: ["1"],
      } as const;
      for (const projects of [["apollo"], [evil]])
        await outbox.append({ ...item, projects, fields: ["model", evil], payload: "{}" });
      const { text } = await pageOf(() => {}, "/privacy", { sent });
      assert.match(text, /2 batches and 0 bodies were sent to <bdi>https:\/\/meter\.example\.com<\/bdi>/);
      assert.match(text, /The log is intact: entries 1 to 2/);
      assert.match(text, /<bdi>model<\/bdi>.*?<td class="num">2<\/td>/s);
      assert.ok(text.includes("local-&lt;script&gt;") && !text.includes(evil));
      assert.match(text, /meter cloud privacy show/);
      const file = join(folder, "outbox", "outbox-000001.jsonl");
      writeFileSync(file, readFileSync(file, "utf8").replace("apollo", "hermes"));
      assert.match((await pageOf(() => {}, "/privacy", { sent })).text, /The log was changed at entry 1/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("says when the meter was not running", async () => {
    const hour = 3_600_000;
    const { text } = await pageOf((store) => {
      store.coverage.add([{ at: noon, host: "h", kind: "metered", count: 2 }]);
      store.coverage.saveRun({ from: noon - 9 * hour, to: noon - 8 * hour });
      store.coverage.saveRun({ from: noon - 6.5 * hour, to: noon });
    }, "/coverage");
    assert.match(
      text,
      />2026-05-12<\/a> \(not metering for 1 h 30 min\)<\/th><td class="num">2<\/td><td class="num">0<\/td>/,
    );
    assert.match(text, /When the meter was not running<\/h2><span class="quiet">1 time, 1 h 30 min in all/);
    assert.match(
      text,
      /<time datetime="2026-05-12T04:00:00.000Z">.+<time datetime="2026-05-12T05:30:00.000Z">/,
    );
  });

  it("has today's spend in the title of the tab, and what is still to come in the chart", async () => {
    const day = 86_400_000;
    const fill: Parameters<typeof pageOf>[0] = (store) =>
      store.records.insert(
        Array.from({ length: 20 }, (_, at) =>
          sampleRecord({
            requestedAt: noon - at * day,
            costPicoUsd: at === 0 ? 10n ** 12n : 3n * 10n ** 12n,
          }),
        ),
      );
    for (const path of ["/now", "/", "/?metric=requests&period=90d"]) {
      const { text } = await pageOf(fill, path);
      assert.match(text, /<title>\$1\.00 today · (Now|Overview) · meter<\/title>/, path);
    }
    const { text } = await pageOf(fill, "/?period=mtd");
    assert.match(text, /still to come, estimate: \$2\.00/);
    assert.match(text, /data-tip="2026-05-31: estimate \$3\.00"/);
  });

  it("has what Now and Limits show as files", async () => {
    const fill: Parameters<typeof pageOf>[0] = (store) => {
      store.records.insert([sampleRecord({ requestedAt: noon, costPicoUsd: 1_234_567_891n })]);
      const read = reading({ window: "5h", windowMs: 18_000_000, usedPpm: 620_000, seenAt: noon });
      store.limits.save([{ reading: { ...read, resetAt: noon + 86_400_000 }, isPoint: true }]);
    };
    for (const [path, header] of [
      ["/now", "at,spent_usd,plan_usage_usd,unknown_billing_usd"],
      [
        "/limits",
        "kind,name,provider,account,scope,unit,used,limit,used_percent,state,resets_at,full_at,seen_at,machine",
      ],
    ] as const) {
      const { text: page } = await pageOf(fill, path);
      assert.match(page, new RegExp(`href="${path}\\?format=csv"[\\s\\S]*href="${path}\\?format=json"`));
      const { text, answer } = await pageOf(fill, `${path}?format=csv`);
      assert.equal(answer.headers.get("content-disposition"), `attachment; filename="${path.slice(1)}.csv"`);
      assert.equal(text.split("\r\n")[0], header);
    }
    const now = JSON.parse((await pageOf(fill, "/now?format=json")).text);
    assert.equal(now.today.spent_pico_usd, "1234567891");
    assert.deepEqual([now.calls_in_flight, now.minutes.length, now.limits.length], [[], 60, 1]);
    const { limits, budgets } = JSON.parse((await pageOf(fill, "/limits?format=json")).text);
    assert.deepEqual([limits[0].window, budgets], ["5h", []]);
    assert.match(
      (await pageOf(fill, "/limits?format=csv")).text,
      /\r\nlimit,5h,.*,62,ok,2026-05-13T12:00:00/,
    );
  });

  it("hatches the days on which the meter was not running, and says so in the table of the chart", async () => {
    const day = 86_400_000;
    const fill: Parameters<typeof pageOf>[0] = (store) => {
      store.records.insert([
        sampleRecord({ requestedAt: noon }),
        sampleRecord({ requestedAt: noon - 6 * day }),
      ]);
      store.coverage.saveRun({ from: noon - 7 * day, to: noon - 5 * day });
      store.coverage.saveRun({ from: noon - day, to: noon });
    };
    for (const path of ["/", "/explore?view=chart", "/coverage", "/savings", "/statement/2026-05"]) {
      const { text } = await pageOf(fill, path);
      assert.ok((text.match(/class="gap" fill="url\(#[\w-]+-hatch\)"/g)?.length ?? 0) >= 3, path);
      assert.match(text, /data-tip="2026-05-09: not metering["\n]/, path);
      assert.match(text, />2026-05-09(<\/a>)? \(not metering\)<\/th>/, path);
      assert.match(text, />2026-05-10(<\/a>)? \(not metering\)<\/th>/, path);
      // The meter ran on this day, and saw no call.
      assert.match(text, />2026-05-06(<\/a>)?<\/th>/, path);
      // Before its first run, it is unknown whether it ran.
      assert.match(text, />2026-05-01(<\/a>)?<\/th>/, path);
    }
  });

  it("shows no table of gaps if everything was metered", async () => {
    const { text } = await pageOf(
      (store) => store.coverage.add([{ at: noon, host: "h", kind: "metered", count: 2 }]),
      "/coverage",
    );
    assert.match(text, /nothing was missed/);
    assert.doesNotMatch(text, /What was not metered/);
  });

  it("escapes every stored value", async () => {
    const evil = `"'><img src=x onerror=alert(1)><script>alert(2)</script>`;
    const record = sampleRecord({
      model: evil,
      project: evil,
      client: evil,
      provider: evil,
      path: evil,
      requestedModel: `${evil}2`,
      sessionId: evil,
      agentKind: evil,
      gitBranch: evil,
      requestedAt: noon,
    });
    for (const path of [...PAGES, `/requests/${record.requestId}`, `/sessions/${encodeURIComponent(evil)}`]) {
      const { answer, text } = await pageOf((store) => store.records.insert([record]), path);
      assert.equal(answer.status, 200, path);
      assert.ok(text.includes("&lt;img src=x"), path);
      assert.doesNotMatch(text, /<img|<script>|onerror=alert\(1\)>/, path);
    }
  });

  it("says what happened on the page of a stream that was cut off", async () => {
    const cut = sampleRecord({
      errorClass: "network",
      retryable: false,
      tokensComplete: false,
      client: "<b>",
    });
    const { text } = await pageOf((store) => store.records.insert([cut]), `/requests/${cut.requestId}`);
    assert.match(
      text,
      /The client \(&lt;b&gt;\) closed the connection after 1\.2 s, before the response was complete\./,
    );
    assert.doesNotMatch(text, /The usage is incomplete/);
  });

  it("allows only its own stylesheet and script by its content security policy", async () => {
    const { answer, text } = await pageOf((store) => store.records.insert([sampleRecord()]));
    const policy = answer.headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'/);
    assert.match(policy, /form-action 'self'; base-uri 'none'; frame-ancestors 'none'/);
    assert.equal(answer.headers.get("cross-origin-opener-policy"), "same-origin");
    assert.doesNotMatch(
      text,
      / style="|<style| on[a-z]+="|https?:\/\/(?!127\.0\.0\.1:8|www\.w3\.org\/2000\/svg)/,
    );
    for (const { path, type } of CLIENT_FILES) {
      assert.ok(text.includes(`"${path}"`));
      const { answer: part } = await pageOf(() => {}, path);
      assert.equal(part.headers.get("content-type"), type);
      assert.match(part.headers.get("cache-control") ?? "", /immutable/);
      assert.equal(part.headers.get("cross-origin-resource-policy"), "same-origin");
    }
  });

  it("shows the cloud banner, and returns 404 for deleted records", async () => {
    const cloud = {
      routes: new (await import("hono")).Hono(),
      banner: async () => ({ banner: "PAUSED", sentence: "The key is invalid." }) as const,
    };
    const { text } = await pageOf(() => {}, "/coverage", { cloud });
    assert.match(text, /Cloud sync is paused[\s\S]*The key is invalid\./);
    const missing = await pageOf(() => {}, `/requests/${crypto.randomUUID()}`);
    assert.equal(missing.answer.status, 404);
    assert.match(missing.text, /There is no request with this ID/);
    assert.equal((await pageOf(() => {}, "/sessions/none")).answer.status, 404);
  });

  it("describes the unknown parts of an address in words, and answers the rest", async () => {
    const fill = (store: Store) => store.records.insert([sampleRecord({ requestedAt: noon })]);
    const { answer, text } = await pageOf(fill, "/?period=2d&colour=red&by=model");
    assert.equal(answer.status, 200);
    assert.match(text, /“period” is left out\. Expected today, 7d/);
    assert.match(text, /“colour” is left out\. There is no such parameter\./);
    const refused = await pageOf(fill, "/explore?by=machine");
    assert.equal(refused.answer.status, 400);
    assert.match(refused.text, /Only a cloud knows this dimension/);
  });

  it("lists the requests behind a caveat and a cell", async () => {
    const fill = (store: Store) =>
      store.records.insert([
        sampleRecord({ requestedAt: noon, costPicoUsd: null, costSource: "unpriced", model: "unknown-one" }),
        sampleRecord({ requestedAt: noon, project: "hermes", model: "m" }),
      ]);
    const unpriced = await pageOf(fill, "/requests?cost=unpriced");
    assert.match(unpriced.text, /1 of 1 requests/);
    assert.match(unpriced.text, /unknown-one/);
    const { text } = await pageOf(fill, "/explore");
    assert.match(text, /<a href="\/requests\?project=hermes&amp;model=m">/);
    const behind = await pageOf(fill, "/requests?project=hermes&model=m");
    assert.match(behind.text, /1 of 1 requests/);
  });

  it("says in words what failed, with a way to try again, and keeps the navigation", async () => {
    const errors: unknown[] = [];
    const rig = await openApi({ onError: (error) => errors.push(error) });
    const failure = new Error("disk I/O error at /home/ann");
    try {
      rig.store.records.list = async () => {
        throw failure;
      };
      const answer = await rig.ask("/requests?q=a%22%3Cb%3E&period=7d");
      const text = await answer.text();
      assert.equal(answer.status, 500);
      assert.match(answer.headers.get("content-security-policy") ?? "", /^default-src 'none'/);
      assert.match(
        text,
        /This page could not be read.*Calls are still metered.*Code: <code>internal<\/code>/s,
      );
      assert.match(text, /<a href="\/requests\?q=a%22%3Cb%3E&amp;period=7d">Try again<\/a>/);
      assert.match(text, /<a href="\/sessions">Sessions<\/a>/);
      assert.doesNotMatch(text, /\/home\/ann/);
      const file = await rig.ask("/requests?format=csv");
      assert.equal(file.status, 500);
      assert.equal(((await file.json()) as { code: string }).code, "internal");
      assert.deepEqual(errors, [failure, failure]);
    } finally {
      rig.close();
    }
  });

  it("prints commands with the period of the page", async () => {
    const bounds = "from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z";
    const options = "--from 2026-11-01T00:00:00.000Z --to 2026-11-02T00:00:00.000Z";
    const coverage = await pageOf(() => {}, `/coverage?${bounds}`);
    assert.ok(coverage.text.includes(`<code>meter coverage ${options}</code>`));
    const sessions = await pageOf(() => {}, `/sessions?${bounds}&project=it's`);
    assert.ok(
      sessions.text.includes(
        `<code>meter sessions ${options} --filter &#39;project=it&#39;\\&#39;&#39;s&#39;</code>`,
      ),
      sessions.text.match(/<code>meter sessions.*?<\/code>/)?.[0],
    );
  });

  it("leads from every count of requests to a list with as many", async () => {
    const rig = await openApi();
    const known = { requestedAt: noon, tokensComplete: true };
    rig.store.records.insert([
      sampleRecord({ ...known, project: "a", model: "claude-sonnet-4-5" }),
      sampleRecord({ ...known, project: "a", model: "claude-sonnet-4-5-20250929", billingMode: "plan" }),
      sampleRecord({
        ...known,
        project: "b",
        model: "claude-haiku-4-5",
        errorClass: "rate_limit",
        httpStatus: 429,
      }),
      sampleRecord({ ...known, project: "b", model: "no-such", costPicoUsd: null, costSource: "unpriced" }),
    ]);
    try {
      const textOf = async (path: string) => (await rig.ask(path)).text();
      const countAt = async (href: string) => {
        const page = await textOf(href.replaceAll("&amp;", "&"));
        return Number(/data-summary>\d+ of (\d+) requests/.exec(page)?.[1] ?? "NaN");
      };
      const links = /<a(?: class="bad")? href="(\/requests[^"]*)">(?:<data value="(\d+)"[^>]*>)?(\d+)/g;
      for (const [path, least] of [
        ["/explore?metric=requests&period=12m", 11],
        ["/projects?period=12m", 2],
        ["/models?period=12m", 4],
        ["/?period=12m", 2],
      ] as const) {
        const found = [...(await textOf(path)).matchAll(links)];
        assert.ok(found.length >= least, `${path}: ${found.length}`);
        for (const [, href = "", exact, shown] of found)
          assert.equal(await countAt(href), Number(exact ?? shown), `${path}: ${href}`);
      }
      const overview = await textOf("/?period=12m");
      assert.match(overview, /<dd class="value"><a href="\/requests\?period=12m&amp;billing=metered"><data/);
      assert.match(overview, /<dd class="value"><a href="\/requests\?period=12m&amp;billing=plan"><data/);
      const own = await textOf("/?period=12m&billing=plan");
      assert.match(
        own,
        /<dd class="value"><a href="\/requests\?period=12m&amp;billing=plan"><data value="0">/,
      );
    } finally {
      rig.close();
    }
  });

  it("compares the cost of a request with that of fresh input, and sends the calculation as a file", async () => {
    const cached = sampleRecord({ requestedAt: noon, usageExtras: null });
    const { tokens } = cached;
    const plain = sampleRecord({
      ...{ requestedAt: noon, usageExtras: null },
      tokens: { ...tokens, cacheReadTokens: null, cacheWriteTokens: null, cacheWrite1hTokens: null },
    });
    const fill: Parameters<typeof pageOf>[0] = (store) => store.records.insert([cached, plain]);
    const { text } = await pageOf(fill, `/requests/${cached.requestId}`);
    // 2,130 tokens of input at $3 and 50 of output at $15 per million.
    assert.match(text, /Without a cache: <data value="0\.00714">\$0\.00714<\/data>; the cache saved/);
    assert.doesNotMatch((await pageOf(fill, `/requests/${plain.requestId}`)).text, /Without a cache/);
    const file = await pageOf(fill, `/requests/${cached.requestId}?format=json`);
    assert.match(file.answer.headers.get("content-disposition") ?? "", /^attachment; filename="request-/);
    assert.equal(JSON.parse(file.text).request.request_id, cached.requestId);
  });

  it("sends the same figures as files, exactly", async () => {
    const fill = (store: Store) =>
      store.records.insert([sampleRecord({ requestedAt: noon, costPicoUsd: 1_234_567_890n })]);
    const csv = await pageOf(fill, "/?format=csv");
    assert.match(csv.answer.headers.get("content-disposition") ?? "", /attachment; filename="usage\.csv"/);
    assert.match(csv.text, /0\.00123456789/);
    const json = await pageOf(fill, "/explore?by=project&format=json");
    assert.equal(JSON.parse(json.text).totals.spent_pico_usd, "1234567890");
    assert.match((await pageOf(fill, "/requests?format=csv")).text, /^request_id,requested_at/);
  });
});
