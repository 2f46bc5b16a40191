import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DAY_MS, HOUR_MS } from "../../../core/values/time.ts";
import { BROWSER_SUITE_TIMEOUT_MS, withoutChromium } from "../../browser/chromium.rig.ts";
import { batch, type CloudRig, json, record, START } from "../kit/cloud-rig.ts";
import { type CloudBrowser, checkInEachView, startCloudBrowser } from "./cloud-browser.rig.ts";

const SESSION = "a".repeat(32);

describe("the pages of a workspace's calls in Chromium", {
  skip: await withoutChromium(),
  timeout: BROWSER_SUITE_TIMEOUT_MS,
}, () => {
  let cloud: CloudBrowser;
  let rig: CloudRig;
  let baseUrl: string;
  before(async () => {
    cloud = await startCloudBrowser();
    ({ rig, baseUrl } = cloud);
  });
  after(async () => {
    await cloud?.close();
  });

  /** Returns calls of two agents in a session, and others, some of which failed. */
  function sampleCalls(): Record<string, unknown>[] {
    return Array.from({ length: 80 }, (_, n) =>
      record(rig.uuid(), {
        requested_at: new Date(START - (n < 40 ? n * 60_000 : (n % 28) * DAY_MS + n * 1_000)).toISOString(),
        provider: n % 3 === 0 ? "openai" : "anthropic",
        model: n % 3 === 0 ? "gpt-4o" : n % 5 === 0 ? "a-model-without-a-price" : "claude-sonnet-4-5",
        project: ["website", "research/a-rather-long-name-of-a-project-in-a-monorepo"][n % 2],
        billing_mode: n % 4 === 0 ? "plan" : "metered",
        ...{ latency_ms: 900 + 400 * (n % 9), ttfb_ms: 300, tokens_complete: true, cache_write_tokens: 0 },
        ...{ prompt_tokens: 9_000 + 900 * n, completion_tokens: 300, cache_read_tokens: 5_000 * (n % 4) },
        ...{ thinking_tokens: 0, git_branch: "fix-the-login" },
        ...(n % 17 === 0 ? { http_status: 429, error_class: "rate_limit" } : { http_status: 200 }),
        ...(n < 40 ? { session_id: SESSION, session_source: "stated" } : {}),
        ...(n < 40 && n % 3 === 0 ? { agent_id: "b".repeat(32), agent_kind: "Explore" } : {}),
      }),
    );
  }

  /** Returns windows in use, exhausted and over. */
  function sampleReadings(): Record<string, unknown>[] {
    const at = (inHours: number) => new Date(START + inHours * HOUR_MS).toISOString();
    const seen = { provider: "anthropic", account: "c".repeat(32), unit: "share", seen_at: at(-0.1) };
    return [
      { ...seen, window: "5h", window_ms: 5 * HOUR_MS, used_ppm: 620_000, reset_at: at(2) },
      {
        ...seen,
        window: "7d",
        window_ms: 7 * DAY_MS,
        used_ppm: 1_000_000,
        reset_at: at(30),
        status: "exceeded",
      },
      { ...seen, window: "7d", scope: "opus", window_ms: 7 * DAY_MS, used_ppm: 10_000, reset_at: at(-1) },
    ];
  }

  /** Returns two days of coverage with a gap between two runs, and calls that were missed. */
  function sampleCoverage(): Record<string, unknown> {
    const hour = Math.floor(START / HOUR_MS) * HOUR_MS;
    const at = (inHours: number) => new Date(hour + inHours * HOUR_MS).toISOString();
    const hours = Array.from({ length: 48 }, (_, n) => ({
      ...{ hour: at(-n), metered: 40 + n, seen: 40 + n + (n % 5) },
      counts: [
        { kind: "metered", count: 40 + n },
        { kind: n % 2 === 0 ? "tunnelled_http2_only" : "unknown_path", count: n % 5 },
        { kind: "unlisted_tunnel", count: 1 },
      ],
    }));
    const runs = [
      { from: at(-50), to: at(-20) },
      { from: at(-13), to: at(0) },
    ];
    return { daemon_version: "1", as_of: new Date(START).toISOString(), queued: 3, hours, runs };
  }

  it("have no barrier at any width, light or dark, full or empty", async () => {
    const [full, empty] = [await rig.addWorkspace({ plan: "team" }), await rig.addWorkspace()];
    const calls = sampleCalls();
    const sent = await json(rig.call("POST", "/v1/requests/batch", full.token, batch(...calls)));
    assert.equal(sent.accepted, calls.length, JSON.stringify(sent.rejected));
    const limits = { daemon_version: "1", readings: sampleReadings() };
    assert.equal((await rig.call("POST", "/v1/daemon/limits", full.token, limits)).status, 200);
    assert.equal((await rig.call("POST", "/v1/daemon/coverage", full.token, sampleCoverage())).status, 200);
    // The tests of every page open the others with requests.
    const filled = [
      ["coverage", "/coverage"],
      ["requests-filtered", "/requests?status=failed&period=90d"],
      ["limits", "/limits"],
      ["savings-filtered", "/savings?period=7d&project=none"],
      ["request-unpriced", `/requests/${calls[5]?.request_id}`],
    ] as const;
    const names = ["now", "explore", "sessions", "requests", "projects", "models", "machines", "people"];
    names.push("statement/2026-11", "limits", "budgets", "savings", "coverage", "privacy");
    for (const [name, workspace, pages] of [
      ["full", full, filled],
      [
        "empty",
        empty,
        [["overview", ""], ...names.map((each) => [each.replace("/", "-"), `/${each}`] as const)],
      ],
    ] as const) {
      const { context, page, messages } = await cloud.open(await rig.personIn(workspace, "member"));
      for (const [title, path] of pages) {
        const where = `${name}-${title}`;
        const answer = await page.goto(`${baseUrl}/w/${workspace.id}${path}`);
        assert.equal(answer?.status(), 200, where);
        await checkInEachView(page, where);
      }
      assert.deepEqual(messages, [], name);
      await context.close();
    }
  });

  it("refresh Now every 15 s, transfer nothing if it has not changed, and say if they can't connect", async () => {
    const workspace = await rig.addWorkspace({ plan: "team" });
    const person = await rig.personIn(workspace, "member");
    const send = async (project: string) => {
      const call = record(rig.uuid(), { requested_at: new Date(START).toISOString(), project });
      const sent = await json(rig.call("POST", "/v1/requests/batch", workspace.token, batch(call)));
      assert.equal(sent.accepted, 1);
    };
    await send("apollo");
    const { context, page } = await cloud.open(person);
    await page.clock.install();
    const statuses: number[] = [];
    page.on("response", (answer) => {
      if (answer.url().endsWith("/now")) statuses.push(answer.status());
    });
    await page.goto(`${baseUrl}/w/${workspace.id}/now`);
    const poll = async () => {
      const answered = page.waitForResponse((answer) => answer.url().endsWith("/now"));
      await page.clock.fastForward(16_000);
      await answered;
    };
    await poll();
    await page.getByText("Live", { exact: true }).waitFor();
    await poll();
    assert.deepEqual(statuses, [200, 200, 304]);
    assert.equal(await page.getByText("hermes").count(), 0);
    await send("hermes");
    await poll();
    await page.getByText("hermes").first().waitFor();
    assert.match((await page.locator("#figures").textContent()) ?? "", /2 calls/);
    await context.setOffline(true);
    await page.clock.fastForward(16_000);
    await page.getByText("Not connected", { exact: true }).waitFor();
    const stale = page.locator("#stale");
    await stale.getByText("Not connected for less than a minute: these figures may be old.").waitFor();
    await page.clock.fastForward(121_000);
    await stale.getByText("Not connected for 2 min: these figures may be old.").waitFor();
    assert.match((await page.locator("#figures").textContent()) ?? "", /2 calls/);
    await context.setOffline(false);
    await poll();
    await stale.waitFor({ state: "hidden" });
    // A failure of the server does not replace the figures either.
    await page.route("**/now", (route) =>
      route.fulfill({ status: 500, contentType: "text/html", body: "<main id=main>It failed" }),
    );
    await poll();
    await stale.getByText("Not connected for less than a minute").waitFor();
    assert.match((await page.locator("#figures").textContent()) ?? "", /2 calls/);
    await page.unroute("**/now");
    await context.clearCookies();
    await page.clock.fastForward(16_000);
    await page.waitForURL(/\/sign-in/);
    await context.close();
  });
});
