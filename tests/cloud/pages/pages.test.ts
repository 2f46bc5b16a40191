import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { FORM_STYLE, KIT_SCRIPT, KIT_STYLE } from "../../../pages/client-files.data.ts";
import { batch, type CloudRig, createRig, record, type TestWorkspace } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

const BASE = "http://127.0.0.1:8787";

/** Every page with a form. */
const POSTED = (workspaceId: string) => [
  "/sign-in",
  "/sign-in/provider",
  "/sign-up",
  "/sign-out",
  "/forgot-password",
  "/reset-password",
  "/invitation",
  "/invitation/accept",
  "/connect",
  `/w/${workspaceId}/subscribe`,
];

const WORDING = ['I agree to the <b>Terms</b> & "more".', "I ask for\n  immediate performance."];
const config = {
  baseUrl: BASE,
  checkoutWording: { strings: WORDING, earlierHashes: [] },
  rateLimits: {
    perKey: 1e6,
    perUser: 1e6,
    pairingPerAddress: 1e6,
    pollPerAddress: 1e6,
    signInPerAddress: 1e6,
  },
};

describeOnOneEngine("the pages", (engine) => {
  let rig: CloudRig;
  let app: ReturnType<CloudRig["app"]>;
  let workspace: TestWorkspace;
  let cookie: string;

  before(async () => {
    rig = await createRig(engine, { config });
    app = rig.app(config);
    workspace = await rig.addWorkspace({ plan: "team" });
    cookie = `session=${await rig.sessionFor(workspace.userId)}`;
  });
  after(() => rig.close());

  const get = async (path: string, headers: Record<string, string> = { cookie }) =>
    await app.request(path, { headers });
  const post = async (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    await app.request(path, {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: { cookie, origin: BASE, ...headers },
    });
  const startPairing = async (hostname: string): Promise<string> => {
    const machine = { hostname, platform: "linux", daemon_version: "0.4.0" };
    const answer = await rig.call("POST", "/v1/pairing/start", null, machine);
    return ((await answer.json()) as { code: string }).code;
  };

  it("send the same strict headers, refusals included", async () => {
    const scriptless =
      "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    const framed =
      "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    for (const path of ["/sign-in", "/connect", `/w/${workspace.id}`, `/w/${rig.uuid()}`, "/w/x"]) {
      const answer = await get(path);
      const policy = path.startsWith("/w/") ? framed : scriptless;
      assert.equal(answer.headers.get("content-security-policy"), policy, path);
      assert.equal(answer.headers.get("referrer-policy"), "same-origin");
      assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
      assert.equal(answer.headers.get("cache-control"), "no-store");
      const text = await answer.text();
      assert.doesNotMatch(text, /<script>|<script(?! src="\/assets\/kit\.)|<style|\sstyle=|\son\w+=/i);
      if (policy === scriptless) assert.doesNotMatch(text, /<script/);
    }
  });

  it("redirect from their address with a trailing slash to the page, and never to another host", async () => {
    const base = `/w/${workspace.id}`;
    for (const [path, expected] of [
      [`${base}/`, base],
      [`${base}/?period=7d`, `${base}?period=7d`],
      [`${base}/explore/?by=model&period=7d`, `${base}/explore?by=model&period=7d`],
      [`${base}/requests/${rig.uuid()}/`, null],
      [`${base}/audit/events/`, `${base}/audit/events`],
      ["/w/%2f%2fevil.test/", "/w/%2f%2fevil.test"],
      ["/sign-in/?next=/connect", "/sign-in?next=/connect"],
      ["/account/", "/account"],
    ] as const) {
      const answer = await get(path);
      assert.equal(answer.status, 308, path);
      assert.equal(answer.headers.get("location"), expected ?? path.slice(0, -1));
      assert.match(answer.headers.get("content-security-policy") ?? "", /default-src 'none'/);
    }
    for (const path of [
      "//",
      "//evil.test/",
      "///evil.test//",
      `${base}//`,
      "/w//evil.test/",
      "/overwiew/",
    ]) {
      const answer = await get(path);
      assert.deepEqual([answer.status, answer.headers.get("location")], [404, null], path);
    }
    assert.equal((await post(`${base}/settings/`, { action: "zone" })).status, 404);
  });

  it("load files whose addresses contain their hash, so that browsers may cache them forever", async () => {
    for (const { path, type, text } of [KIT_STYLE, FORM_STYLE, KIT_SCRIPT]) {
      const answer = await get(path, {});
      assert.equal(answer.headers.get("content-type"), type);
      assert.equal(answer.headers.get("cache-control"), "public, max-age=31536000, immutable");
      assert.equal(await answer.text(), text);
    }
  });

  it("are compressed in a workspace, but not at the sign-in", async () => {
    const zipped = { cookie, "accept-encoding": "gzip" };
    const answer = await get(`/w/${workspace.id}/explore`, zipped);
    assert.equal(answer.headers.get("content-encoding"), "gzip");
    const bytes = gunzipSync(Buffer.from(await answer.arrayBuffer()));
    assert.match(bytes.toString(), /<h1>Explore<\/h1>/);
    assert.equal((await get("/connect", zipped)).headers.get("content-encoding"), null);
  });

  it("show the days of the workspace's zone, and a curl command that answers the same; tz overrides it", async () => {
    const own = await rig.addWorkspace();
    const admin = await rig.personIn(own, "workspaceAdmin");
    const headers = { cookie: `session=${admin.token}` };
    // In Auckland, it is already the next day.
    await rig.call(
      "POST",
      "/v1/requests/batch",
      own.token,
      batch(record(rig.uuid(), { requested_at: "2026-11-20T23:30:00.000Z" })),
    );
    const read = async (query: string) =>
      await (await get(`/w/${own.id}/explore?by=model&bucket=day&from=2026-11-21${query}`, headers)).text();
    assert.doesNotMatch(await read("&format=csv"), /gpt-4o/);
    const settings = `/v1/workspaces/${own.id}/settings`;
    await rig.call("PATCH", settings, admin.token, { reporting_zone: "Pacific/Auckland" });
    const page = await read("");
    assert.match(page, /Times are in Pacific\/Auckland/);
    const [path = ""] = /\/v1\/workspaces\/[^/]+\/usage\?[^'&#]+(?:&amp;[^'&#]+)*/.exec(page) ?? [];
    const answer = await rig.call("GET", path.replaceAll("&amp;", "&"), admin.token);
    const { totals, tz } = (await answer.json()) as { totals: { requests: number }; tz: string };
    assert.deepEqual([answer.status, tz, totals.requests], [200, "Pacific/Auckland", 1]);
    assert.match(await read("&format=csv"), /gpt-4o/);
    assert.doesNotMatch(await read("&format=csv&tz=UTC"), /gpt-4o/);
  });

  it("count as one request of the person each", async () => {
    const strict = rig.app({ ...config, rateLimits: { ...config.rateLimits, perUser: 2 } });
    const own = { headers: { cookie: `session=${await rig.sessionFor(workspace.userId)}` } };
    for (const status of [200, 200, 429])
      assert.equal((await strict.request(`/w/${workspace.id}`, own)).status, status);
  });

  it("redirect visitors without a session to the sign-in, with the page they requested", async () => {
    for (const path of ["/", "/connect?code=ABCD-EFGH", `/w/${workspace.id}?from=2026-11-01`]) {
      const answer = await get(path, {});
      assert.equal(answer.status, 303);
      assert.equal(answer.headers.get("location"), `/sign-in?next=${encodeURIComponent(path)}`);
    }
  });

  it("read a session only from the cookie", async () => {
    const token = await rig.sessionFor(workspace.userId);
    const answer = await get(`/w/${workspace.id}`, { authorization: `Bearer ${token}` });
    assert.equal(answer.status, 303);
  });

  it("redirect to no other site after signing in or out", async () => {
    const answer = await get("/sign-in?next=/\\evil.test");
    assert.equal(answer.headers.get("location"), "/");
  });

  it("offer no form if people sign in elsewhere", async () => {
    for (const path of ["/sign-in", "/sign-up"]) {
      const text = await (await get(path, {})).text();
      assert.match(text, /This page has no sign-in method/);
      assert.doesNotMatch(text, /<form/);
    }
    for (const path of ["/forgot-password", "/reset-password"])
      assert.equal((await get(path, {})).status, 404);
  });

  it("refuse every form that another site's page sends, and one without an origin", async () => {
    for (const path of POSTED(workspace.id)) {
      for (const origin of ["https://evil.test", "null", `${BASE}.evil.test`]) {
        const answer = await post(path, { email: "a@example.com" }, { origin });
        assert.equal(answer.status, 403, `${path} from ${origin}`);
        assert.match(await answer.text(), /another site/);
      }
      for (const site of ["cross-site", "same-site"])
        assert.equal((await post(path, {}, { "sec-fetch-site": site })).status, 403, `${path}, ${site}`);
      const silent = await app.request(path, { method: "POST", headers: { cookie } });
      assert.equal(silent.status, 403, path);
    }
  });

  it("answer an unknown address with a page in a browser, and with a problem for programs", async () => {
    const page = await get("/nowhere", { accept: "text/html,application/xhtml+xml" });
    assert.equal(page.status, 404);
    assert.match(await page.text(), /<h1>Page not found<\/h1>/);
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/);
    for (const accept of ["*/*", "application/json"]) {
      const answer = await get("/v1/nowhere", { accept });
      assert.equal(answer.status, 404);
      assert.equal(answer.headers.get("content-type"), "application/problem+json");
    }
  });

  it("refuse a form that is too large", async () => {
    const answer = await post("/sign-in", { email: "a".repeat(20_000) });
    assert.equal(answer.status, 413);
    assert.equal(answer.headers.get("content-type"), "text/html; charset=utf-8");
  });

  it("open a person's only workspace directly, and list several", async () => {
    assert.equal((await get("/")).headers.get("location"), `/w/${workspace.id}`);
    const userId = await rig.addPerson("Bo");
    const own = { cookie: `session=${await rig.sessionFor(userId)}` };
    assert.match(await (await get("/", own)).text(), /not a member of any workspace yet/);
    await rig.addMember(workspace, userId);
    await rig.addMember(await rig.addWorkspace(), userId);
    const text = await (await get("/", own)).text();
    assert.equal(text.match(/<li>/g)?.length, 2);
  });

  it("show a workspace's usage to its members, and 404 to others", async () => {
    const empty = await (await get(`/w/${workspace.id}`)).text();
    assert.match(empty, /Nothing metered yet/);
    assert.match(empty, /<a id="period-30d"[^>]* aria-current="true">30 days<\/a>/);
    assert.match(empty, /<pre tabindex="0">meter cloud connect --base-url https?:\/\/[^<]+<\/pre>/);
    const used = record(rig.uuid(), {
      prompt_tokens: 1_000_000,
      completion_tokens: 0,
      project: "website",
      billing_mode: "metered",
      http_status: 200,
    });
    const sent = await rig.call("POST", "/v1/requests/batch", workspace.token, batch(used));
    assert.equal(sent.status, 200);
    const text = await (await get(`/w/${workspace.id}`)).text();
    // gpt-4o's input rate is $2.50 per million tokens.
    assert.match(
      text,
      /<dt>Spent<\/dt><dd class="value"><a href="[^"]+billing=metered"><data value="2\.5\d*">\$2\.50<\/data><\/a><\/dd>/,
    );
    assert.match(text, /<bdi>website<\/bdi>/);
    const links = [...text.matchAll(/(?:href|action)="([^"#]*)"/g)].map(([, link]) => link ?? "");
    const outside = links.filter((link) => !link.startsWith(`/w/${workspace.id}`));
    assert.deepEqual(
      new Set(outside.filter((link) => !/^(\/assets\/|data:)/.test(link))),
      new Set(["/account", "/connect", "/sign-out"]),
    );
    assert.doesNotMatch(text, /get a price/);

    const strange = { prompt_tokens: 1, completion_tokens: 1, provider: "acme", model: "<b>one</b>" };
    await rig.call("POST", "/v1/requests/batch", workspace.token, batch(record(rig.uuid(), strange)));
    const unpriced = await (await get(`/w/${workspace.id}`)).text();
    assert.match(unpriced, /1 request has no known price/);
    assert.match(unpriced, /&quot;model&quot;: &quot;&lt;b&gt;one&lt;\/b&gt;&quot;/);
    assert.match(unpriced, /meter-cloud rates publish rates\.json/);

    const stranger = await rig.personIn(workspace, "stranger");
    const refused = await get(`/w/${workspace.id}`, { cookie: `session=${stranger.token}` });
    assert.equal(refused.status, 404);
    assert.doesNotMatch(await refused.text(), /Work/);
    assert.equal((await get(`/w/${workspace.id}?from=tomorrow`)).status, 400);
  });

  it("escape the names of machines and people", async () => {
    const own = await rig.addWorkspace();
    await rig.db
      .updateTable("workspaces")
      .set({ name: `<img src=x onerror="alert('1')">` })
      .where("workspace_id", "=", own.id)
      .execute();
    const mine = { cookie: `session=${await rig.sessionFor(own.userId)}` };
    const code = await startPairing(`<script>alert(1)</script>"'`);
    for (const path of [`/connect?code=${code}`, `/connect?code="><script>`, `/w/${own.id}`]) {
      const text = await (await get(path, mine)).text();
      assert.doesNotMatch(text, /<script(?! src="\/assets\/kit\.)|<img/);
    }
    const typed = await (await get(`/sign-in?next=/"><script>`, {})).text();
    assert.doesNotMatch(typed, /<script/);
  });

  it("show the machine of a code in any spelling, and refuse an unknown one", async () => {
    const code = await startPairing("anns-laptop");
    for (const typed of [code, code.toLowerCase(), code.replace("-", " ")]) {
      const text = await (await get(`/connect?code=${encodeURIComponent(typed)}`)).text();
      assert.match(text, /<dd><bdi>anns-laptop<\/bdi><\/dd>/);
      assert.match(text, /<dd><bdi>linux<\/bdi><\/dd>/);
      assert.match(text, new RegExp(`<option value="${workspace.id}">`));
    }
    for (const typed of ["ZZZZ-ZZZZ", "nonsense"]) {
      const answer = await get(`/connect?code=${typed}`);
      assert.equal(answer.status, 404);
      assert.match(await answer.text(), /unknown, already used or expired/);
    }
  });

  it("count wrong codes with the API's lock", async () => {
    const other = rig.app(config);
    const code = await startPairing("anns-laptop");
    const mine = { cookie: `session=${await rig.sessionFor(workspace.userId)}` };
    const ask = async (path: string) => await other.request(path, { headers: mine });
    for (let wrong = 1; wrong <= 4; wrong += 1)
      assert.equal((await ask(`/connect?code=ZZZZ-ZZZ${wrong}`)).status, 404);
    assert.equal((await ask("/v1/pairing/codes/ZZZZ-ZZZZ")).status, 404);
    const locked = await ask(`/connect?code=${code}`);
    assert.equal(locked.status, 429);
    assert.equal(locked.headers.get("retry-after"), "600");
    assert.match(await locked.text(), /Too many wrong codes/);
    // Another instance has its own lock: the code itself stays valid.
    assert.equal((await get(`/connect?code=${code}`)).status, 200);
  });

  it("approve and deny through the API, for one of the person's workspaces", async () => {
    const approved = await startPairing("one");
    const stranger = await rig.addWorkspace();
    const elsewhere = { code: approved, workspace_id: stranger.id, decision: "approve" };
    assert.equal((await post("/connect", elsewhere)).status, 404);
    const done = await post("/connect", { ...elsewhere, workspace_id: workspace.id });
    assert.equal(done.status, 200);
    assert.match(await done.text(), /Approved/);
    const again = await post("/connect", { ...elsewhere, workspace_id: workspace.id });
    assert.equal(again.status, 404);
    const denied = { code: await startPairing("two"), workspace_id: workspace.id, decision: "deny" };
    assert.match(await (await post("/connect", denied)).text(), /Denied/);
  });

  it("ask an admin who uses the machine, and show every approver who will own its prompts", async () => {
    const home = await rig.addWorkspace();
    const admin = await rig.personIn(home, "workspaceAdmin");
    const member = await rig.personIn(home, "member");
    const as = ({ token }: { token: string }) => ({ cookie: `session=${token}` });
    const code = await startPairing("bens-laptop");
    const asked = await (await get(`/connect?code=${code}`, as(admin))).text();
    assert.match(asked, /Who uses this machine\?/);
    assert.match(asked, new RegExp(`<option value="${member.userId}">member`));
    const told = await (await get(`/connect?code=${code}`, as(member))).text();
    assert.doesNotMatch(told, /Who uses this machine/);
    assert.match(told, /will belong to you, <bdi>member/);
    const decision = { code, workspace_id: home.id, decision: "approve", user_id: member.userId };
    const elsewhere = { ...decision, user_id: (await rig.personIn(home, "stranger")).userId };
    const refused = await post("/connect", elsewhere, as(admin));
    assert.equal(refused.status, 422);
    assert.match(await refused.text(), /not a member of the workspace you chose\. Nothing was approved/);
    const done = await (await post("/connect", decision, as(admin))).text();
    assert.match(done, /belong to <strong><bdi>member/);
  });

  it("show the hashed wording, require both ticks, and record the consent", async () => {
    const path = `/w/${workspace.id}/subscribe`;
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const own = { cookie: `session=${admin.token}` };
    const text = await (await get(path, own)).text();
    assert.match(text, /I agree to the &lt;b&gt;Terms&lt;\/b&gt; &amp; &quot;more&quot;\./);
    assert.ok(text.includes("I ask for\n  immediate performance."));
    const wording = /name="wording_hash" value="([0-9a-f]{64})"/.exec(text)?.[1] ?? "";
    const form = { plan: "team", period: "annual", wording_hash: wording };
    for (const ticks of [{}, { agreed_terms: "yes" }, { agreed_immediate: "yes" }]) {
      const refused = await post(path, { ...form, ...ticks }, own);
      assert.equal(refused.status, 422);
      const again = await refused.text();
      assert.match(again, /Both boxes must be ticked/);
      assert.match(again, /value="annual" required checked/);
    }
    const both = { ...form, agreed_terms: "yes", agreed_immediate: "yes" };
    assert.equal((await post(path, { ...both, wording_hash: "0".repeat(64) }, own)).status, 422);
    const answer = await post(path, both, { ...own, "user-agent": "a browser" });
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /Your agreement is recorded/);
    const rows = await rig.db
      .selectFrom("checkout_consent_records")
      .selectAll()
      .where("user_id", "=", admin.userId)
      .execute();
    assert.equal(rows.length, 1);
    assert.equal(rows[0]?.wording_hash, wording);
    assert.equal(rows[0]?.period, "annual");
    assert.equal(rows[0]?.user_agent, "a browser");
  });

  it("offer plans only to admins", async () => {
    const member = await rig.personIn(workspace, "member");
    const own = { cookie: `session=${member.token}` };
    assert.equal((await get(`/w/${workspace.id}/subscribe`, own)).status, 403);
    assert.equal((await post(`/w/${workspace.id}/subscribe`, {}, own)).status, 403);
    assert.doesNotMatch(await (await get(`/w/${workspace.id}`, own)).text(), /subscribe/);
  });
});
