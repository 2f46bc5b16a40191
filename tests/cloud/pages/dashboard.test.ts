import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { DAY_MS } from "../../../core/values/time.ts";
import { batch, json, record, START } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { HOSTILE, openTeamPages, type TeamPages } from "./pages.rig.ts";

describeOnOneEngine("the pages of a workspace's calls", (engine) => {
  let { rig, app, workspace, member, get, read } = {} as TeamPages;
  let full: string;
  let bare: string;
  let failed: string;
  before(async () => {
    ({ rig, app, workspace, member, get, read } = await openTeamPages(engine));
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const machine = `/v1/workspaces/${workspace.id}/machines/${workspace.machineId}`;
    assert.equal((await rig.call("PATCH", machine, admin.token, { name: "build <1>" })).status, 204);
    [full, bare, failed] = [rig.uuid(), rig.uuid(), rig.uuid()];
    const sent = await json(
      rig.call(
        "POST",
        "/v1/requests/batch",
        workspace.token,
        batch(
          record(full, {
            ...{ project: "shop", billing_mode: "metered", latency_ms: 1_234, http_status: 200 },
            ...{ prompt_tokens: 1_000, completion_tokens: 100, cache_read_tokens: 0, cache_write_tokens: 0 },
            ...{ thinking_tokens: 0, tokens_complete: true, session_id: "5".repeat(32) },
            ...{ cost_pico_usd: "7", cost_source: "computed" },
          }),
          record(bare, { model: HOSTILE, project: HOSTILE, prompt_tokens: 5, completion_tokens: 5 }),
          record(failed, {
            ...{ requested_at: new Date(START - 5 * DAY_MS).toISOString(), http_status: 429 },
            ...{ error_class: "rate_limit", tokens_complete: false },
          }),
        ),
      ),
    );
    assert.equal(sent.accepted, 3, JSON.stringify(sent));
  });
  after(() => rig.close());

  const listed = (page: string) => [...page.matchAll(/<tr id="r-([^"]+)">/g)].map(([, id]) => id);

  it("list the requests, with their senders, as far as the filters and the period go", async () => {
    const page = await read("/requests");
    assert.deepEqual(new Set(listed(page)), new Set([full, bare, failed]));
    assert.match(page, />3 of 3 requests\. Last 30 days: /);
    assert.match(page, /<bdi>build &lt;1&gt;<\/bdi>/);
    assert.ok(page.includes("&lt;script&gt;alert(1)") && !page.includes(HOSTILE));
    for (const [query, ids] of [
      ["project=shop", [full]],
      ["model=gpt-4o", [full, failed]],
      [`machine=${workspace.machineId}`, [full, bare, failed]],
      ["machine=not-a-machine", []],
      [`person=${member.userId}`, []],
      [`session=${"5".repeat(32)}`, [full]],
      ["status=failed", [failed]],
      ["status=ok&period=7d", [full, bare]],
      ["status=unpriced", [bare]],
      ["cost=unpriced", [bare]],
      ["status=incomplete", [failed]],
      ["http=429", [failed]],
      ["http_status=200", [full]],
      ["billing=metered", [full]],
      ["period=today", [full, bare]],
      ["project=shop&status=failed", []],
      ["project.not=shop", [bare, failed]],
      ["model=gpt-4o&project=", [failed]],
      [`session=${"5".repeat(32)}&session=`, [full, bare, failed]],
      ["kind=other&status=ok", [full, bare]],
      ["http_status=200&http_status=429", [full, failed]],
      ["branch=&machine.not=none&person.not=none&kind.not=embedding", [full, bare, failed]],
    ] as const) {
      const found = await read(`/requests?${query}`);
      assert.deepEqual(new Set(listed(found)), new Set(ids), query);
      const count = ids.length === 0 ? "No requests" : `${ids.length} of ${ids.length} requests`;
      assert.match(found, new RegExp(`>${count}`), query);
    }
    assert.match(await read("/requests?project=none"), /No requests match these filters/);
  });

  it("are searched, and sorted by cost, tokens and duration, over at most a month", async () => {
    for (const [query, ids] of [
      ["q=SHOP", [full]],
      ["q=rate_limit", [failed]],
      ["q=%25", []],
      ["sort=cost", [full, bare, failed]],
      ["sort=tokens", [full, bare, failed]],
      ["sort=ms&project.not=shop", [bare, failed]],
    ] as const)
      assert.deepEqual(listed(await read(`/requests?${query}`)), ids, query);
    const business = await rig.addWorkspace({ plan: "business" });
    const person = await rig.personIn(business, "member");
    const long = await (await get("/audit/requests?sort=cost&period=90d", person, business)).text();
    assert.match(long, /Only the last 32 days of the period are listed/);
    const api = `/v1/workspaces/${workspace.id}/traces`;
    const ask = async (query: string) => (await rig.call("GET", `${api}?${query}`, member.token)).status;
    const wide = `/v1/workspaces/${business.id}/audit/requests?sort=cost&from=2026-09-01`;
    assert.equal((await json(rig.call("GET", wide, person.token))).code, "period_too_long");
    assert.equal(await ask("sort=cost&from=2026-11-01"), 200);
    for (const query of ["sort=name", "client=claude", "cost=cheap", "status=1"])
      assert.equal(await ask(query), 422, query);
  });

  it("are sent as files with the page's filters and order", async () => {
    const csv = await read("/requests?format=csv&sort=tokens&model=gpt-4o");
    const [head = "", ...lines] = csv.trim().split("\r\n");
    assert.match(head, /^request_id,requested_at,project,person,machine,provider,model,/);
    assert.deepEqual(
      lines.map((line) => line.split(",")[0]),
      [full, failed],
    );
    assert.match(lines[0] ?? "", /,build <1>,/);
    assert.match(lines[0] ?? "", /,0\.0035,/);
    const { items } = JSON.parse(await read("/requests?format=json&sort=tokens&model=gpt-4o"));
    assert.deepEqual(
      items.map(({ request_id }: { request_id: string }) => request_id),
      [full, failed],
    );
    // A cloud does not receive the names of programs.
    for (const path of ["/requests", "", "/explore", "/explore?view=chart"])
      assert.doesNotMatch(await read(path), /Program<|>program</, path);
    const chips = await read(`/explore?machine=${workspace.machineId}`);
    assert.match(chips, /Machine is <bdi>build &lt;1&gt;<\/bdi>/);
  });

  it("offer a curl command that lists the same requests", async () => {
    const page = await read(`/requests?status=unpriced&machine=${workspace.machineId}`);
    const [path = ""] = /\/v1\/workspaces\/[^/]+\/traces\?[^'&#]+(?:&amp;[^'&#]+)*/.exec(page) ?? [];
    const { items } = await json(rig.call("GET", path.replaceAll("&amp;", "&"), member.token));
    assert.deepEqual(
      items.map(({ request_id, machine }: { request_id: string; machine: { hostname: string } }) => [
        request_id,
        machine.hostname,
      ]),
      [[bare, "build <1>"]],
    );
  });

  it("page through more requests than a page has, each once", async () => {
    const own = await rig.addWorkspace();
    const person = await rig.personIn(own, "member");
    const records = Array.from({ length: 70 }, () => record(rig.uuid()));
    await rig.call("POST", "/v1/requests/batch", own.token, batch(...records));
    const first = await (await get("/requests", person, own)).text();
    assert.match(first, />50 of 70 requests/);
    const [, next = ""] = /href="([^"]+)" rel="next"/.exec(first) ?? [];
    const cookie = { headers: { cookie: `session=${person.token}` } };
    const second = await (await app.request(next.replaceAll("&amp;", "&"), cookie)).text();
    assert.deepEqual(
      [...listed(first), ...listed(second)].sort(),
      records.map(({ request_id }) => request_id).sort(),
    );
    assert.match(second, /No more requests\./);
    for (const sort of ["cost", "tokens", "ms"]) {
      const top = await (await get(`/requests?sort=${sort}`, person, own)).text();
      const [, more = ""] = /href="([^"]+)" rel="next"/.exec(top) ?? [];
      const rest = await (await app.request(more.replaceAll("&amp;", "&"), cookie)).text();
      assert.equal(new Set([...listed(top), ...listed(rest)]).size, records.length, sort);
    }
    assert.equal((await get("/requests?cursor=forged", person, own)).status, 400);
  });

  it("cut the period at the plan's window, as the API refuses it", async () => {
    const solo = await rig.addWorkspace({ plan: "solo" });
    const person = await rig.personIn(solo, "workspaceAdmin");
    const [old, recent] = [rig.uuid(), rig.uuid()];
    const at = (days: number) => ({ requested_at: new Date(START - days * DAY_MS).toISOString() });
    const records = [record(old, at(10)), record(recent, at(2))];
    await rig.call("POST", "/v1/requests/batch", solo.token, batch(...records));
    const page = await (await get("/requests?period=90d", person, solo)).text();
    assert.deepEqual(listed(page), [recent]);
    assert.match(page, /Earlier requests are not listed/);
    assert.equal((await get(`/requests/${old}`, person, solo)).status, 404);
    assert.equal((await get(`/requests/${recent}`, person, solo)).status, 200);
  });

  it("explain a request's cost to the last digit, and name what the machine did not send as unknown", async () => {
    const page = await read(`/requests/${full}`);
    assert.match(page, /value="0\.0035"/);
    assert.match(page, /<dt>Machine<\/dt><dd><bdi>build &lt;1&gt;/);
    assert.match(page, /<dt>Cost by the machine<\/dt><dd><data value="0\.000000000007">/);
    assert.match(page, /<dt>Duration<\/dt><dd>1\.2 s/);
    const other = await read(`/requests/${bare}`);
    assert.match(other, /<dt>Duration<\/dt><dd>–<\/dd>/);
    assert.match(other, /No known price/);
    assert.match(other, /meter-cloud rates publish rates\.json/);
    assert.ok(!other.includes(HOSTILE) && !other.includes("meter recompute-costs"));
    assert.match(await read(`/requests/${failed}`), /The provider answered with HTTP 429: rate limit\./);
  });

  it("name the calls around one that had the same prompt, and how projects were found", async () => {
    const other = await rig.addWorkspace({ plan: "team" });
    const person = await rig.personIn(other, "member");
    const ids = [rig.uuid(), rig.uuid(), rig.uuid()];
    const [same, unlike] = ["a".repeat(64), "b".repeat(64)];
    const calls = ids.map((id, n) =>
      record(id, {
        ...{ requested_at: new Date(START - n * 60_000).toISOString(), project: "shop", git_branch: "main" },
        ...{ prompt_hash: n === 1 ? unlike : same, session_id: `${n % 2}`.repeat(32) },
        ...{ attribution_tier: n === 2 ? "default_project" : "git_root" },
      }),
    );
    const sent = await json(rig.call("POST", "/v1/requests/batch", other.token, batch(...calls)));
    assert.equal(sent.accepted, 3, JSON.stringify(sent));
    const page = await read(`/requests/${ids[0]}`, person, other);
    assert.match(page, /1 other call of the 1,000 calls before and after/);
    assert.ok(page.includes(`href="/w/${other.id}/requests/${ids[2]}"`));
    assert.match(
      await read(`/requests/${ids[1]}`, person, other),
      /none of the 1,000 calls before and after/,
    );
    const projects = await read("/projects", person, other);
    assert.match(projects, /found by: git root 67%, default project 33%/);
    assert.match(
      projects,
      new RegExp(`<a href="/w/${other.id}/sessions\\?project=shop&amp;branch=main">2 sessions</a>`),
    );
    assert.match(projects, /<bdi>33%<\/bdi> of its calls stated no project/);
    const csv = await read("/projects?format=csv", person, other);
    assert.match(
      csv,
      /,query,found_by,sessions\r\nshop,main,3,[^\r]*,"git root 67%, default project 33%",2\r\n$/,
    );
    const { rows, newest_calls } = JSON.parse(await read("/projects?format=json", person, other));
    assert.deepEqual(rows[0].found_by, [
      { tier: "git_root", requests: 2 },
      { tier: "default_project", requests: 1 },
    ]);
    assert.equal(rows[0].cells[0].sessions, 2);
    assert.deepEqual(newest_calls, { requests: 3, limit: 3_000, since: null });
    assert.doesNotMatch(await read("/projects?project=none", person, other), /found by/);
  });

  it("say that an estimate for another model does not know the one-hour cache writes", async () => {
    const other = await rig.addWorkspace({ plan: "team" });
    const person = await rig.personIn(other, "member");
    const call = record(rig.uuid(), {
      ...{ provider: "anthropic", model: "claude-sonnet-4-5", billing_mode: "metered" },
      ...{ prompt_tokens: 1, completion_tokens: 1, cache_write_tokens: 1e5, cache_write_1h_tokens: 1e5 },
    });
    assert.equal((await rig.call("POST", "/v1/requests/batch", other.token, batch(call))).status, 200);
    const page = await read("/models?as=anthropic/claude-opus-4-1", person, other);
    // Per million, a write for one hour costs $6 and $30, one for five minutes $3.75 and $18.75.
    assert.match(page, /What cost \$0\.6000 at API prices would have cost \$1\.88/);
    assert.match(page, /<li>How many cache writes were for one hour is unknown: all are counted as /);
  });

  it("are for members only, and know no request of another workspace", async () => {
    const other = await rig.addWorkspace();
    const stranger = await rig.personIn(workspace, "stranger");
    for (const path of ["/requests", `/requests/${full}`]) {
      assert.equal((await get(path, stranger)).status, 404, path);
      assert.equal((await app.request(`/w/${workspace.id}${path}`)).status, 303, path);
    }
    const outsider = await rig.personIn(other, "member");
    assert.equal((await get(`/requests/${full}`, outsider, other)).status, 404);
    for (const id of [rig.uuid(), "x", "%00"]) assert.equal((await get(`/requests/${id}`)).status, 404, id);
  });
});
