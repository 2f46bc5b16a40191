import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { HOUR_MS, MINUTE_MS } from "../../../core/values/time.ts";
import type { WorkspaceNow } from "../../../core/wire/now.ts";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  START,
  type TestPerson,
  type TestWorkspace,
} from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

const config = { baseUrl: "http://127.0.0.1:8787", rateLimits: { perKey: 1e6, perUser: 1e6 } };
const HOSTILE = `<script>alert(1)</script>"'&`;

describeOnOneEngine("what happens now in a workspace", (engine) => {
  let rig: CloudRig;
  let app: ReturnType<CloudRig["app"]>;
  let workspace: TestWorkspace;
  let member: TestPerson;
  before(async () => {
    rig = await createRig(engine, { config });
    app = rig.app(config);
    workspace = await rig.addWorkspace({ plan: "team" });
    member = await rig.personIn(workspace, "member");
  });
  after(() => rig.close());

  const ago = (ms: number, more: Record<string, unknown> = {}) =>
    record(rig.uuid(), {
      ...{ requested_at: new Date(START - ms).toISOString(), provider: "openai", model: "gpt-4o" },
      ...{ prompt_tokens: 1_000_000, completion_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 },
      ...{ thinking_tokens: 0, tokens_complete: true, billing_mode: "metered", ...more },
    });
  const send = async (of: TestWorkspace, ...calls: Record<string, unknown>[]) => {
    const sent = await json(rig.call("POST", "/v1/requests/batch", of.token, batch(...calls)));
    assert.equal(sent.accepted, calls.length, JSON.stringify(sent.rejected));
  };
  const get = async (of: TestWorkspace, { token }: TestPerson, headers: Record<string, string> = {}) =>
    await app.request(`/w/${of.id}/now`, { headers: { cookie: `session=${token}`, ...headers } });
  const read = async (of: TestWorkspace, { token }: TestPerson): Promise<WorkspaceNow> =>
    await json(rig.call("GET", `/v1/workspaces/${of.id}/now`, token));

  it("sums today and the last hour by minute, plan usage apart, and equals the usage of today", async () => {
    await send(
      workspace,
      ago(0, { project: HOSTILE }),
      ago(90_000),
      ago(90_000, { billing_mode: "plan" }),
      ago(59 * MINUTE_MS),
      ago(HOUR_MS + 1),
      ago(20 * HOUR_MS),
    );
    const now = await read(workspace, member);
    const usage = await json(
      rig.call(
        "GET",
        `/v1/workspaces/${workspace.id}/usage?period=today&compare=none&bucket=none`,
        member.token,
      ),
    );
    const { requests, spent_pico_usd, plan_usage_pico_usd, unknown_billing_pico_usd } = usage.totals;
    assert.deepEqual(now.today, { requests, spent_pico_usd, plan_usage_pico_usd, unknown_billing_pico_usd });
    // The sixth is of yesterday.
    assert.equal(requests, 5);
    const price = BigInt(plan_usage_pico_usd);
    assert.ok(price > 0n);
    assert.deepEqual(now.last_hour, {
      ...{ requests: 4, spent_pico_usd: String(3n * price), plan_usage_pico_usd: String(price) },
      unknown_billing_pico_usd: "0",
    });
    const busy = now.minutes.flatMap(({ at, requests: n }, index) => (n > 0 ? [[index, at, n]] : []));
    const minute = (ms: number) => new Date(Math.floor((START - ms) / MINUTE_MS) * MINUTE_MS).toISOString();
    assert.equal(now.minutes.length, 60);
    assert.deepEqual(busy, [
      [0, minute(59 * MINUTE_MS), 1],
      [57, minute(90_000), 2],
      [59, minute(0), 1],
    ]);
    assert.deepEqual(now.coverage, { metered: 0, seen: 0, permille: null, unknown_machines: 1 });
  });

  it("has a page with the same figures, the latest requests, limits and no calls in flight", async () => {
    const seen = { provider: "anthropic", account: "a".repeat(32), unit: "share" };
    const seen_at = new Date(START - 1_000).toISOString();
    const window = { ...seen, seen_at, window: "5h", window_ms: 5 * HOUR_MS, used_ppm: 620_000 };
    const readings = [
      { ...window, reset_at: new Date(START + HOUR_MS).toISOString() },
      { ...window, window: "1m", window_ms: 60_000, reset_at: new Date(START + 60_000).toISOString() },
    ];
    const limits = { daemon_version: "1", readings };
    assert.equal((await rig.call("POST", "/v1/daemon/limits", workspace.token, limits)).status, 200);
    const other = await rig.addWorkspace();
    await send(other, ago(0, { project: "of-another-workspace" }));
    const page = await (await get(workspace, member)).text();
    const { today, last_hour } = await read(workspace, member);
    for (const [name, sums] of [
      ["Spent today", today],
      ["Last hour", last_hour],
    ] as const) {
      const usd = Number(sums.spent_pico_usd) / 1e12;
      assert.ok(page.includes(`<dt>${name}</dt><dd class="value"><data value="${usd}`), name);
    }
    assert.match(page, /<dt>Coverage today<\/dt>.*?unknown for 1 machine/s);
    assert.match(page, /Calls in flight are known only to their machines/);
    assert.doesNotMatch(page, /<dt>In flight|of-another-workspace/);
    assert.match(page, /62%/);
    assert.doesNotMatch(page, /<bdi>1m<\/bdi>/);
    assert.ok(page.includes("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.includes(HOSTILE));
    assert.match(page, /<p id="live" role="status" data-refresh="15000">/);
    assert.match(page, /<title>\$[\d.]+ today · Now · meter<\/title>/);
  });

  it("takes filters, on the page and in the API, and shows the budgets that bind the visitor", async () => {
    const own = await rig.addWorkspace({ plan: "team" });
    const person = await rig.personIn(own, "member");
    const admin = await rig.personIn(own, "workspaceAdmin");
    const ask = (query: string) => rig.call("GET", `/v1/workspaces/${own.id}/now${query}`, person.token);
    const show = async (query: string) => {
      const headers = { cookie: `session=${person.token}` };
      return await (await app.request(`/w/${own.id}/now${query}`, { headers })).text();
    };
    await send(
      own,
      ago(1_000, { project: "a" }),
      ago(2_000, { project: "a" }),
      ago(3_000, { project: HOSTILE }),
    );
    for (const [query, count] of [
      ["", 3],
      ["?project=a", 2],
      ["?project.not=a", 1],
      ["?project=a&model=other", 0],
    ] as const) {
      const now = (await json(ask(query))) as WorkspaceNow;
      assert.deepEqual([now.today.requests, now.last_hour.requests], [count, count], query);
      assert.equal(
        now.minutes.reduce((sum, each) => sum + each.requests, 0),
        count,
        query,
      );
      const page = await show(query);
      assert.equal(page.match(/<dd>(\d) calls?[<,]/)?.[1], `${count}`, query);
      assert.equal(/those of all requests/.test(page), query !== "", query);
      assert.equal(/No requests match these filters/.test(page), count === 0, query);
    }
    for (const query of ["?period=7d", "?client=x", "?projcet=a"])
      assert.equal((await ask(query)).status, 422, query);
    assert.match(await show("?period=7d&client=x"), /no “period”.*no “client”/s);
    const filtered = await show("?project=a");
    assert.match(filtered, /Remove the filter Project/);
    assert.match(filtered, /\/now\?project=a&#39;/);
    assert.doesNotMatch(filtered, /<h2 id="budgets-title">/);

    for (const [name, budget] of [
      ["all", { subject: "workspace", amount: "500 USD" }],
      ["project a", { subject: "project", target: "a", amount: "1 USD", at_limit: "block" }],
      ["of another person", { subject: "person", target: admin.userId, amount: "1 USD" }],
    ] as const) {
      const body = { name, period: "month", ...budget };
      const set = await rig.call("POST", `/v1/workspaces/${own.id}/budgets`, admin.token, body);
      assert.equal(set.status, 201, await set.clone().text());
    }
    const page = await show("");
    assert.match(page, /<h2 id="budgets-title">Budgets<\/h2><a href="[^"]+\/budgets">All budgets<\/a>/);
    assert.match(page, /<bdi>project a<\/bdi>.*used up, refuses calls.*<bdi>all<\/bdi>/s);
    assert.doesNotMatch(page, /of another person|<form[^>]+budgets/);
  });

  it("is not sent again to a browser or a program that has it", async () => {
    const own = await rig.addWorkspace({ plan: "team" });
    const person = await rig.personIn(own, "member");
    await send(own, ago(60_000));
    const path = `/v1/workspaces/${own.id}/now`;
    const api = (etag: string) =>
      app.request(path, { headers: { authorization: `Bearer ${person.token}`, "if-none-match": etag } });
    for (const ask of [
      (etag: string) => get(own, person, { "if-none-match": etag }),
      (etag: string) => get(own, person, { "if-none-match": etag, "accept-encoding": "gzip" }),
      api,
    ]) {
      const first = await ask('"none"');
      assert.equal(first.status, 200);
      const etag = first.headers.get("etag") ?? "";
      const again = await ask(etag);
      assert.deepEqual([again.status, await again.text()], [304, ""]);
      await send(own, ago(1_000));
      assert.equal((await ask(etag)).status, 200);
    }
  });

  it("leads to the first call, and is for members only", async () => {
    const empty = await rig.addWorkspace();
    const page = await (await get(empty, await rig.personIn(empty, "member"))).text();
    assert.match(page, /meter cloud connect --base-url/);
    assert.equal((await get(workspace, await rig.personIn(workspace, "stranger"))).status, 404);
    assert.equal((await app.request(`/w/${workspace.id}/now`)).status, 303);
  });
});
