import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { DAY_MS } from "../../../core/values/time.ts";
import { readView } from "../../../pages/view.ts";
import { renderSession, type SessionAnswer, sessionView } from "../../../pages/views/session.ts";
import { batch, json, record, START } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { HOSTILE, openTeamPages, type TeamPages } from "./pages.rig.ts";

const [LONG, BARE, OLD] = ["5", "6", "7"].map((digit) => digit.repeat(32)) as [string, string, string];
const AGENT = "a".repeat(32);

/** Returns the text of HTML, with one space between words. */
const textOf = (markup: string) => markup.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");

describeOnOneEngine("the sessions of a workspace", (engine) => {
  let { rig, app, workspace, member, get, read } = {} as TeamPages;
  const at = (minutesAgo: number) => ({ requested_at: new Date(START - minutesAgo * 60_000).toISOString() });
  const used = {
    prompt_tokens: 1_000,
    completion_tokens: 100,
    cache_read_tokens: 3_000,
    cache_write_tokens: 0,
    thinking_tokens: 0,
  };
  before(async () => {
    ({ rig, app, workspace, member, get, read } = await openTeamPages(engine));
    const own = {
      session_id: LONG,
      session_source: "stated",
      project: "shop",
    } as const;
    const calls = [
      record(rig.uuid(), { ...own, ...at(30), ...used, billing_mode: "metered", tokens_complete: true }),
      record(rig.uuid(), {
        ...{ ...own, ...at(20), ...used, billing_mode: "plan", tokens_complete: true, latency_ms: 4_000 },
        ...{ agent_id: AGENT, agent_kind: "Explore", ttfb_ms: 1_000 },
      }),
      record(rig.uuid(), {
        ...own,
        ...at(10),
        http_status: 429,
        error_class: "rate_limit",
        latency_ms: 60_000,
      }),
      record(rig.uuid(), { ...at(5), session_id: BARE, project: HOSTILE, model: HOSTILE, prompt_tokens: 5 }),
      record(rig.uuid(), { session_id: OLD, requested_at: new Date(START - 20 * DAY_MS).toISOString() }),
      record(rig.uuid(), at(1)),
    ];
    const sent = await json(rig.call("POST", "/v1/requests/batch", workspace.token, batch(...calls)));
    assert.equal(sent.accepted, calls.length, JSON.stringify(sent));
  });
  after(() => rig.close());

  const api = (path: string) => json(rig.call("GET", `/v1/workspaces/${workspace.id}${path}`, member.token));
  const listed = (page: string) => [...page.matchAll(/<tr id="s-([^"]+)">/g)].map(([, id]) => id);

  it("are listed with the sums of all their requests, the one with the latest request first", async () => {
    const { items, has_more } = await api("/sessions");
    assert.deepEqual(
      items.map(({ session_id }: { session_id: string }) => session_id),
      [BARE, LONG, OLD],
    );
    assert.equal(has_more, false);
    const { user, machine, session_id, spent_pico_usd, plan_usage_pico_usd, ...session } = items[1];
    assert.deepEqual(session, {
      ...{ session_source: "stated", project: "shop", git_branch: null, client_version: null },
      ...{ started_at: "2026-11-21T11:30:00.000Z", ended_at: "2026-11-21T11:51:00.000Z", agents: 1 },
      ...{
        requests: 3,
        failed_requests: 1,
        blocked_requests: 0,
        unpriced_requests: 0,
        incomplete_requests: 0,
      },
      ...{ input_tokens: "8000", cache_read_tokens: "6000", unknown_billing_pico_usd: "0" },
    });
    assert.equal(session_id, LONG);
    assert.equal(spent_pico_usd, plan_usage_pico_usd);
    assert.ok(BigInt(spent_pico_usd) > 0n);
    assert.deepEqual([typeof user.name, machine.id], ["string", workspace.machineId]);
    const first = await api("/sessions?limit=1");
    assert.deepEqual([first.items.length, first.has_more], [1, true]);
  });

  it("are sent as files, also the requests of one", async () => {
    const [head = "", ...lines] = (await read("/sessions?format=csv")).trim().split("\r\n");
    assert.match(head, /^session_id,session_source,project,person,machine,/);
    assert.deepEqual(
      lines.map((line) => line.split(",")[0]),
      [BARE, LONG, OLD],
    );
    const { items } = await api("/sessions");
    assert.deepEqual(JSON.parse(await read("/sessions?format=json")), { items, unknown_cost_sessions: 0 });
    const { requests } = await api(`/sessions/${LONG}`);
    assert.deepEqual(JSON.parse(await read(`/sessions/${LONG}?format=json`)), { items: requests });
    assert.equal((await read(`/sessions/${LONG}?format=csv`)).trim().split("\r\n").length, 4);
    assert.equal((await get(`/sessions/${"8".repeat(32)}?format=csv`)).status, 404);
  });

  it("are filtered by period, project, machine and person", async () => {
    for (const [query, ids] of [
      ["from=2026-11-21", [BARE, LONG]],
      ["project=shop", [LONG]],
      [`machine=${workspace.machineId}`, [BARE, LONG, OLD]],
      [`machine=${rig.uuid()}`, []],
      [`user=${member.userId}`, []],
    ] as const) {
      const { items } = await api(`/sessions?${query}`);
      assert.deepEqual(
        items.map(({ session_id }: { session_id: string }) => session_id),
        ids,
        query,
      );
    }
    assert.deepEqual(listed(await read("/sessions?project=shop")), [LONG]);
    assert.deepEqual(listed(await read("/sessions?period=today")), [BARE, LONG]);
    assert.match(await read("/sessions?machine=no-id"), /No sessions match these filters/);
    assert.deepEqual(listed(await read("/sessions?project.not=shop&project.not=")), [BARE]);
    assert.match(await read(`/sessions?person=${member.userId}`), /No sessions match these filters/);
  });

  it("are filtered by several values, by excluded values, and by cost, in the API as on the page", async () => {
    const { items } = await api("/sessions");
    const [{ spent_pico_usd: spent }] = items.filter(
      (item: { session_id: string }) => item.session_id === LONG,
    );
    const usd = (picoUsd: bigint) => `${picoUsd / 10n ** 12n}.${`${picoUsd % 10n ** 12n}`.padStart(12, "0")}`;
    for (const [query, ids] of [
      ["project=shop&project=", [LONG, OLD]],
      ["project.not=shop", [BARE, OLD]],
      ["status=failed", [LONG]],
      ["status.not=failed&project=shop", [LONG]],
      ["billing=plan", [LONG]],
      ["kind=embedding&project=shop", []],
      [`min_cost=${usd(BigInt(spent))}`, [LONG]],
      [`min_cost=${usd(BigInt(spent) + 1n)}`, []],
      [`min_cost=${usd(BigInt(spent))}&project.not=shop&sort=cost`, []],
      [`min_cost=${usd(BigInt(spent))}&billing=plan&sort=calls`, [LONG]],
      // The costs of requests outside of the period do not count.
      [`min_cost=${usd(BigInt(spent))}&from=2026-11-21T11:45:00Z`, []],
    ] as const) {
      const found = await api(`/sessions?${query}`);
      assert.deepEqual(
        found.items.map(({ session_id }: { session_id: string }) => session_id),
        ids,
        query,
      );
      assert.deepEqual(listed(await read(`/sessions?${query}`)), ids, query);
    }
    for (const query of ["client=claude", "min_cost=much", "kind=poem"]) {
      const refused = await rig.call("GET", `/v1/workspaces/${workspace.id}/sessions?${query}`, member.token);
      assert.equal(refused.status, 422, query);
    }
    const page = await read("/sessions?min_cost=1000.00&project=shop&client=claude");
    assert.match(page, /No session cost \$1,000\.00 or more/);
    assert.match(page, /This page has no “client”\./);
    assert.doesNotMatch(page, /may cost more/);
    const unknown = await read("/sessions?min_cost=1000.00");
    assert.match(unknown, /2 sessions may cost more: calls have no known price\. They are left out\./);
    for (const [query, count] of [
      ["min_cost=1000", 2],
      [`min_cost=${usd(BigInt(spent))}&limit=1`, 2],
      ["min_cost=1000&project=shop", 0],
      ["limit=1", 0],
    ] as const)
      assert.equal((await api(`/sessions?${query}`)).unknown_cost_sessions, count, query);
    const file = JSON.parse(await read("/sessions?format=json&min_cost=1000"));
    assert.deepEqual(file, { items: [], unknown_cost_sessions: 2 });
    assert.match(page, /curl[^<]*limit=100&amp;project=shop&amp;min_cost=1000&#39;/);
    assert.match(
      await read("/sessions?form=1&min_cost=&project=&model=&unknown=project"),
      /Project [\s\S]*none/,
    );
  });

  it("are listed in an order of sums, of which a limit keeps the first", async () => {
    const { items } = await api("/sessions");
    type Item = Record<"session_id" | "started_at" | "ended_at" | "spent_pico_usd", string> & {
      requests: number;
    };
    const sums: Readonly<Record<string, (item: Item) => number>> = {
      cost: (item) => Number(item.spent_pico_usd),
      calls: (item) => item.requests,
      length: (item) => Date.parse(item.ended_at) - Date.parse(item.started_at),
    };
    const ids = (list: readonly Item[]) => list.map(({ session_id }) => session_id);
    for (const [sort, sum] of Object.entries(sums)) {
      const expected = ids((items as Item[]).toSorted((one, other) => sum(other) - sum(one)));
      assert.equal(expected[0], LONG, sort);
      assert.deepEqual(ids((await api(`/sessions?sort=${sort}`)).items), expected, sort);
      assert.deepEqual(ids((await api(`/sessions?sort=${sort}&limit=1`)).items), [LONG], sort);
    }
    // Only what was spent in the period counts.
    const path = "/sessions?sort=cost&limit=1&from=2026-11-21T11:53:00Z";
    assert.deepEqual(ids((await api(path)).items), [BARE]);
    const refused = await rig.call("GET", `/v1/workspaces/${workspace.id}/sessions?sort=name`, member.token);
    assert.equal(refused.status, 422);
  });

  it("are listed on a page in the order that its address names", async () => {
    const page = await read("/sessions");
    assert.deepEqual(listed(page), [BARE, LONG, OLD]);
    assert.match(page, />3 sessions\. Last 30 days: /);
    assert.ok(page.includes("&lt;script&gt;alert(1)") && !page.includes(HOSTILE));
    assert.equal(listed(await read("/sessions?sort=calls"))[0], LONG);
    assert.equal(listed(await read("/sessions?sort=length"))[0], LONG);
  });

  it("are shown with their agents and calls, whose costs add up to that of the session", async () => {
    const { session, requests, has_more } = await api(`/sessions/${LONG}`);
    assert.deepEqual([session.requests, requests.length, has_more], [3, 3, false]);
    const cost = (each: { cost_pico_usd: string | null }) => BigInt(each.cost_pico_usd ?? 0);
    assert.equal(
      requests.map(cost).reduce((sum: bigint, each: bigint) => sum + each, 0n),
      BigInt(session.spent_pico_usd) + BigInt(session.plan_usage_pico_usd),
    );
    const page = await read(`/sessions/${LONG}`);
    for (const { request_id } of requests) assert.ok(page.includes(`<tr id="r-${request_id}">`), request_id);
    assert.match(page, /└ <bdi>Explore<\/bdi>/);
    assert.match(page, /429 rate limit/);
    const bare = await read(`/sessions/${BARE}`);
    assert.ok(bare.includes("&lt;script&gt;alert(1)") && !bare.includes(HOSTILE));
  });

  it("have the text that the local page has for equal data, except who made the calls", async () => {
    const { session, requests } = await api(`/sessions/${LONG}`);
    const local = {
      session: {
        ...{ sessionId: LONG, isInferred: false, project: "shop", branch: null, client: "claude" },
        ...{
          startedAt: START - 30 * 60_000,
          endedAt: START - 9 * 60_000,
          agents: 1,
          calls: 3,
          failed: 1,
          blocked: 0,
          unpriced: 0,
        },
        cached: { read: 6_000n, input: 8_000n },
        split: {
          spentPicoUsd: BigInt(session.spent_pico_usd),
          planUsagePicoUsd: BigInt(session.plan_usage_pico_usd),
          unknownBillingPicoUsd: 0n,
        },
      },
      requests: requests.map((each: Record<string, unknown>) => ({
        ...{ requestId: each.request_id, requestedAt: Date.parse(`${each.requested_at}`), model: each.model },
        ...{ provider: each.provider, latencyMs: each.latency_ms, ttfbMs: each.ttfb_ms },
        ...{ agentId: each.agent_id, agentKind: each.agent_kind, parentAgentId: null },
        ...{ errorClass: each.error_class, httpStatus: each.http_status, billingMode: each.billing_mode },
        ...{ costPicoUsd: each.cost_pico_usd === null ? null : BigInt(`${each.cost_pico_usd}`) },
        ...{ costSource: each.cost_pico_usd === null ? "unpriced" : "computed", recordSource: null },
        tokens: {
          ...{ promptTokens: each.prompt_tokens, completionTokens: each.completion_tokens },
          ...{ cacheReadTokens: each.cache_read_tokens, cacheWriteTokens: each.cache_write_tokens },
          ...{ thinkingTokens: each.thinking_tokens, cacheWrite1hTokens: null },
        },
      })),
    } as SessionAnswer;
    const base = `/w/${workspace.id}`;
    const view = readView(sessionView(`/sessions/${LONG}`), new URLSearchParams(), base);
    const text = textOf(String(renderSession(local, view, { base, zone: "UTC", now: rig.clock.now() })));
    const afterOwner = text.slice(text.indexOf(" in shop")).trimEnd();
    assert.ok(afterOwner.length > 300, text);
    const shown = textOf(await read(`/sessions/${LONG}`));
    assert.ok(shown.includes(afterOwner), `${shown}\nlacks\n${afterOwner}`);
  });

  it("count the calls that budgets refused apart from those that failed", async () => {
    const other = await rig.addWorkspace();
    const person = await rig.personIn(other, "workspaceAdmin");
    const refused = { session_id: LONG, blocked_by: "month", cost_pico_usd: "0", ...at(4) };
    const records = [record(rig.uuid(), refused), record(rig.uuid(), { session_id: LONG, ...at(3) })];
    const sent = await json(rig.call("POST", "/v1/requests/batch", other.token, batch(...records)));
    assert.equal(sent.accepted, 2, JSON.stringify(sent));
    const path = `/v1/workspaces/${other.id}/sessions`;
    const { items } = await json(rig.call("GET", path, person.token));
    assert.deepEqual([items[0].requests, items[0].failed_requests, items[0].blocked_requests], [2, 0, 1]);
    const readPage = async (page: string) => textOf(await (await get(page, person, other)).text());
    assert.match(await readPage("/sessions"), / 2 1 refused /);
    assert.match(await readPage(`/sessions/${LONG}`), / Calls 2 none failed, 1 refused by budgets /);
  });

  it("reach as far back as the requests of the plan", async () => {
    const solo = await rig.addWorkspace({ plan: "solo" });
    const person = await rig.personIn(solo, "workspaceAdmin");
    const day = (days: number) => ({ requested_at: new Date(START - days * DAY_MS).toISOString() });
    const records = [
      record(rig.uuid(), { session_id: OLD, ...day(10) }),
      record(rig.uuid(), { session_id: LONG, ...day(9) }),
      record(rig.uuid(), { session_id: LONG, ...day(2) }),
    ];
    await rig.call("POST", "/v1/requests/batch", solo.token, batch(...records));
    const page = await (await get("/sessions?period=90d", person, solo)).text();
    assert.deepEqual(listed(page), [LONG]);
    assert.match(page, /Earlier sessions are not listed/);
    const path = `/v1/workspaces/${solo.id}/sessions`;
    const { session } = await json(rig.call("GET", `${path}/${LONG}`, person.token));
    assert.equal(session.requests, 1);
    assert.equal((await rig.call("GET", `${path}/${OLD}`, person.token)).status, 404);
    assert.equal((await rig.call("GET", `${path}?from=2026-10-01`, person.token)).status, 400);
    assert.equal((await get(`/sessions/${OLD}`, person, solo)).status, 404);
  });

  it("are for members only, and unknown in other workspaces", async () => {
    const other = await rig.addWorkspace();
    const stranger = await rig.personIn(workspace, "stranger");
    for (const path of ["/sessions", `/sessions/${LONG}`]) {
      assert.equal((await get(path, stranger)).status, 404, path);
      assert.equal((await app.request(`/w/${workspace.id}${path}`)).status, 303, path);
    }
    const outsider = await rig.personIn(other, "member");
    assert.equal((await get(`/sessions/${LONG}`, outsider, other)).status, 404);
    for (const id of ["x", "%00", LONG.slice(1)])
      assert.equal((await get(`/sessions/${id}`)).status, 404, id);
  });
});
