import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { batch, json, record, START, type TestPerson } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { openTeamPages, PAGES_BASE, type TeamPages, visitPages } from "./pages.rig.ts";

/** Pages with what their files must have: the header of the CSV, and the members of the JSON. */
const PAGES = [
  [
    "/now",
    "at,spent_usd",
    ["tz", "today", "last_hour", "minutes", "coverage", "calls_in_flight", "limits", "latest"],
  ],
  ["/limits", "kind,name,provider", ["limits"]],
  ["/budgets", "budget_id,name,subject", ["items"]],
  ["/keys", "key_id,prefix,scope", ["items"]],
  ["/members", "state,user_id,name", ["items", "invitations"]],
  [
    "/privacy",
    "kind,user_id,name,requests,stored_prompts",
    ["store_prompt_content", "data_retention_days", "holdings", "erasures"],
  ],
] as const;

describeOnOneEngine("the files of pages", (engine) => {
  let { rig, app, workspace } = {} as TeamPages;
  let admin: TestPerson;
  let read: (path: string) => Promise<string>;
  let get: (path: string) => Promise<Response>;
  before(async () => {
    ({ rig, app, workspace } = await openTeamPages(engine));
    admin = await rig.personIn(workspace, "workspaceAdmin");
    const visitor = visitPages(app, workspace, admin, PAGES_BASE);
    ({ read, get } = visitor);
    const priced = { cost_pico_usd: "3500000000", billing_mode: "metered", cost_source: "computed" };
    const tokens = {
      prompt_tokens: 1_000,
      completion_tokens: 100,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
    };
    const whole = { ...tokens, thinking_tokens: 0, tokens_complete: true, http_status: 200 };
    const sent = batch(record(rig.uuid(), { ...priced, ...whole }));
    assert.equal((await rig.call("POST", "/v1/requests/batch", workspace.token, sent)).status, 200);
    const budget = { action: "create", name: "all", for: "workspace", amount: "$25", period: "month" };
    const terms = { thresholds: "50", at_limit: "warn", reserve: "no", fail: "open", zone: "UTC" };
    assert.equal((await visitor.post("/budgets", { ...budget, ...terms })).status, 303);
    const invited = { action: "invite", email: "bob@example.com", role: "member" };
    assert.equal((await visitor.post("/members", invited)).status, 200);
    const used = { provider: "anthropic", account: "a".repeat(32), unit: "share", window: "5h" };
    const times = { window_ms: 18_000_000, used_ppm: 620_000 };
    const at = (inMs: number) => new Date(START + inMs).toISOString();
    const reading = { ...used, ...times, seen_at: at(-60_000), reset_at: at(3_600_000) };
    const answer = await json(
      rig.call("POST", "/v1/daemon/limits", workspace.token, { daemon_version: "1", readings: [reading] }),
    );
    assert.equal(answer.stored, 1);
  });
  after(() => rig.close());

  const fileOf = async (page: string, format: "csv" | "json") => {
    const [, href = ""] = new RegExp(`href="/w/[^/]+(/[^"]*format=${format})"`).exec(await read(page)) ?? [];
    assert.notEqual(href, "", `${page} has no link to its ${format}`);
    const answer = await get(href.replaceAll("&amp;", "&"));
    assert.equal(answer.status, 200, href);
    const name = `${page.slice(1)}.${format}`;
    assert.equal(answer.headers.get("content-disposition"), `attachment; filename="${name}"`);
    return await answer.text();
  };

  for (const [page, header, members] of PAGES)
    it(`has what ${page} shows, and the command behind it`, async () => {
      const csv = await fileOf(page, "csv");
      assert.ok(csv.startsWith(header), csv.slice(0, 200));
      assert.ok(csv.trimEnd().split("\r\n").length >= 2, "no rows");
      assert.deepEqual(Object.keys(JSON.parse(await fileOf(page, "json"))), members);
      assert.match(await read(page), /data-copy="curl -H &quot;Authorization/);
    });

  it("has the comparison of models as the API does, which the page names", async () => {
    const as = "as=anthropic%2Fclaude-sonnet-4-5";
    const path = `/v1/workspaces/${workspace.id}/usage/comparison?${as}`;
    const answer = await json(rig.call("GET", `${path}&tz=UTC`, admin.token));
    assert.deepEqual(await json(get(`/models?${as}&format=json`)), answer);
    assert.ok((await read(`/models?${as}`)).includes(path));
    for (const query of ["", "?as=x/none", `?${as}&by=project`])
      assert.equal((await rig.call("GET", `${path.split("?")[0]}${query}`, admin.token)).status, 422, query);
  });

  it("has the models of a choice and a search as the API does, which the page names", async () => {
    const path = `/v1/workspaces/${workspace.id}/usage/models`;
    for (const query of [
      "models=unpriced",
      "q=claude",
      "models=unpriced&q=none-such",
      "models=unused&q=gpt-5",
    ]) {
      const answer = await json(rig.call("GET", `${path}?${query}&tz=UTC`, admin.token));
      assert.deepEqual(await json(get(`/models?${query}&format=json`)), answer, query);
      assert.ok(
        (await read(`/models?${query}`)).includes(`${path}?${query.replaceAll("&", "&amp;")}`),
        query,
      );
    }
    const used = await json(
      rig.call(
        "GET",
        `/v1/workspaces/${workspace.id}/usage?by=model&then=provider&top=1000&compare=none&bucket=none`,
        admin.token,
      ),
    );
    assert.deepEqual(await json(rig.call("GET", path, admin.token)), used);
    for (const query of ["models=some", "by=project", "bucket=day", "period=8d"])
      assert.equal((await rig.call("GET", `${path}?${query}`, admin.token)).status, 422, query);
  });

  it("has a request as the API does, with the calculation of its cost and without its prompt", async () => {
    const { items } = await json(rig.call("GET", `/v1/workspaces/${workspace.id}/traces`, admin.token));
    const page = `/requests/${(items as { request_id: string }[])[0]?.request_id}`;
    const [, href = "", , id = ""] =
      /href="\/w\/[^/]+(\/(requests)\/([^"?]+)\?format=json)"/.exec(await read(page)) ?? [];
    assert.equal(`/requests/${id}`, page);
    const answer = await get(href);
    assert.equal(answer.headers.get("content-disposition"), `attachment; filename="request-${id}.json"`);
    const { request, ...calculation } = await json(answer);
    const trace = await rig.call("GET", `/v1/workspaces/${workspace.id}/traces/${id}`, admin.token);
    assert.deepEqual(request, await json(trace));
    const members = ["agrees", "computed_pico_usd", "lines", "rate", "unpriced_reason"];
    assert.deepEqual(Object.keys(calculation).sort(), members);
    assert.equal((await get(`/requests/${rig.uuid()}?format=json`)).status, 404);
  });

  it("names people, machines and invitations, keeps amounts exact, and has no token", async () => {
    const keys = await fileOf("/keys", "csv");
    assert.ok(!keys.includes(workspace.token));
    assert.match(keys, /,sync,/);
    assert.match(await fileOf("/members", "csv"), /\r\ninvited,,,bob@example\.com,member,,,20\d\d-/);
    const budgets = await fileOf("/budgets", "csv");
    assert.match(budgets, /,all,workspace,,usd,0\.0035,25,0,1,0,month,/);
    assert.match(await fileOf("/limits", "csv"), /\r\nlimit,5h,anthropic,a{32},,share,,,62,ok,20/);
    const now = JSON.parse(await fileOf("/now", "json"));
    assert.deepEqual([now.today.requests, now.calls_in_flight], [1, null]);
    assert.equal(now.latest[0].cost_pico_usd, "3500000000");
    const minutes = (await fileOf("/now", "csv")).trimEnd().split("\r\n").slice(1);
    assert.equal(minutes.length, 60);
  });
});
