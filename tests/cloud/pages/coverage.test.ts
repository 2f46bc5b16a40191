import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { HOUR_MS } from "../../../core/values/time.ts";
import { type CoverageAnswer, coverageSchema } from "../../../core/wire/coverage.ts";
import { parseWire } from "../../../core/wire/parse.ts";
import { batch, json, record, START } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { HOSTILE, openTeamPages, type TeamPages } from "./pages.rig.ts";

const HOUR = Math.floor(START / HOUR_MS) * HOUR_MS;
const at = (hours: number) => new Date(HOUR + hours * HOUR_MS).toISOString();

/** What a machine reports: an hour with these counts, two runs with three hours between them, and a queue. */
const upload = (counts: Readonly<Record<string, number>>, hours = -2) => ({
  ...{ daemon_version: "1", as_of: new Date(START).toISOString(), queued: 7 },
  hours: [
    {
      hour: at(hours),
      metered: counts.metered ?? 0,
      seen: (counts.metered ?? 0) + (counts.unknown_path ?? 0),
      counts: Object.entries(counts).map(([kind, count]) => ({ kind, count })),
    },
  ],
  runs: [
    { from: at(-30), to: at(-6) },
    { from: at(-3), to: at(0) },
  ],
});

describeOnOneEngine("the page of coverage", (engine) => {
  let { rig, app, workspace, member, get, read } = {} as TeamPages;
  before(async () => {
    ({ rig, app, workspace, member, get, read } = await openTeamPages(engine));
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const machine = `/v1/workspaces/${workspace.id}/machines/${workspace.machineId}`;
    assert.equal((await rig.call("PATCH", machine, admin.token, { name: HOSTILE })).status, 204);
    const call = record(rig.uuid(), { requested_at: at(-1), project: "apollo" });
    assert.equal((await rig.call("POST", "/v1/requests/batch", workspace.token, batch(call))).status, 200);
    const stated = upload({
      metered: 990,
      unknown_path: 10,
      without_usage: 3,
      unlisted_openai: 4,
      constructor: 8,
    });
    assert.equal((await rig.call("POST", "/v1/daemon/coverage", workspace.token, stated)).status, 200);
  });
  after(() => rig.close());

  it("shows what was metered and missed, by machine, and when the meter was not running", async () => {
    const page = await read("/coverage?period=7d");
    assert.match(page, /990 of 1,000 calls to providers were metered\. Last 7 days: /);
    assert.match(page, /<dd class="value warn">99%<\/dd><dd>not every call<\/dd>/);
    assert.match(page, /<summary>10 requests to unknown paths<\/summary>/);
    assert.match(page, /<summary>3 responses without usage<\/summary>/);
    assert.match(page, /1 time, 3 h in all/);
    // The chart has the calls by time, and when no machine ran.
    assert.match(page, /data-tip="2026-11-21 10:00: 1K\nMissed: 10\nMetered: 990"/);
    assert.match(page, />2026-11-21 07:00<\/a> \(not metering\)<\/th>/);
    assert.match(await read("?period=7d"), />2026-11-21 07:00<\/a> \(not metering\)<\/th>/);
    assert.match(await read("/savings?period=7d"), />2026-11-21 07:00<\/a> \(not metering\)<\/th>/);
    assert.match(page, /4 calls and connections to hosts that look like language model APIs/);
    assert.match(page, /<span class="warn">99%<\/span>/);
    // A kind that this version does not know is not named.
    assert.doesNotMatch(page, /constructor/);
    assert.ok(page.includes("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.includes(HOSTILE));
    // Another period has neither.
    const other = await read("/coverage?from=2026-10-01&to=2026-10-02");
    assert.match(other, /No calls to providers/);
    assert.doesNotMatch(other, /not running/);
  });

  it("hatches a day and an hour of the week in which no machine ran, and none that had calls", async () => {
    const tipsOf = (html: string) =>
      [...html.matchAll(/class="stopped" data-tip="([^"]+)"/g)].map(([, tip]) => tip);
    const other = await rig.addWorkspace({ plan: "team" });
    const person = await rig.personIn(other, "member");
    const calls = [at(-24 * 32), at(-60), at(-1)].map((requested_at) => record(rig.uuid(), { requested_at }));
    assert.equal((await rig.call("POST", "/v1/requests/batch", other.token, batch(...calls))).status, 200);
    // It is Saturday, 21 November, 12:00. Nothing ran from 22 October at 12:00 until four hours ago. A call on Thursday was imported.
    const runs = [
      { from: at(-24 * 33), to: at(-24 * 30) },
      { from: at(-4), to: at(0) },
    ];
    const stated = { ...upload({ metered: 2 }), runs };
    assert.equal((await rig.call("POST", "/v1/daemon/coverage", other.token, stated)).status, 200);
    for (const metric of ["spent", "requests"]) {
      const tips = tipsOf(await read(`?metric=${metric}`, person, other));
      const days = tips.filter((tip) => tip?.startsWith("20"));
      assert.equal(days.length, 29);
      assert.ok(
        days.includes("2026-10-22: not metering for 12 h") && days.includes("2026-11-20: not metering"),
      );
      assert.ok(!days.some((tip) => tip?.startsWith("2026-11-19") || tip?.startsWith("2026-11-21")));
      const hours = tips.filter((tip) => !tip?.startsWith("20"));
      assert.equal(hours.length, 7 * 24 - 2);
      assert.ok(!hours.some((tip) => tip?.startsWith("Thu 00:00") || tip?.startsWith("Sat 11:00")));
    }
  });

  it("stands beside the totals of the other pages", async () => {
    for (const path of [
      "",
      "/explore",
      "/projects",
      "/models",
      "/people",
      "/requests",
      "/sessions",
      "/savings",
    ]) {
      const page = await read(`${path}?period=7d`);
      assert.match(
        page,
        new RegExp(`<a href="/w/${workspace.id}/coverage\\?period=7d" class="">99%</a>`),
        path,
      );
      if (!["/requests", "/sessions", "/savings"].includes(path))
        assert.match(
          page,
          /10 calls were seen and not metered\. <a href="[^"]+\/coverage\?period=7d">Show<\/a>/,
          path,
        );
    }
    assert.match(await read("/statement/2026-11"), /99%<\/a>: 990 of 1,000 calls/);
    const machines = await read("/machines");
    assert.match(machines, /<span class="warn">99%<\/span><span class="sub">7 waiting<\/span>/);
    assert.match(machines, /not running for 3 h until <time/);
  });

  it("adds up by time, in days of the zone that is asked for", async () => {
    const path = `/v1/workspaces/${workspace.id}/coverage`;
    for (const query of [
      "",
      "?tz=Asia/Kathmandu",
      `?from=${at(-40)}&to=${at(-1)}`,
      `?from=${at(-2)}&to=${at(1)}`,
    ]) {
      const answer = await json(rig.call("GET", path + query, member.token));
      assert.ok(parseWire(coverageSchema, answer).ok, query);
      const { buckets, metered, seen } = answer as CoverageAnswer;
      assert.deepEqual([metered, seen], [990, 1_000], query);
      assert.equal(
        buckets.reduce((sum, each) => sum + each.metered, 0),
        metered,
        query,
      );
      assert.equal(
        buckets.reduce((sum, each) => sum + each.seen, 0),
        seen,
        query,
      );
      for (const [n, { from }] of buckets.entries())
        assert.equal(from, n === 0 ? answer.from : buckets[n - 1]?.to);
      // Three hours between two runs.
      const stopped = query.endsWith(at(1)) ? 0 : 3 * HOUR_MS;
      assert.equal(
        buckets.reduce((sum, each) => sum + (each.stopped_ms ?? 0), 0),
        stopped,
        query,
      );
    }
    assert.equal((await rig.call("GET", `${path}?tz=Mars`, member.token)).status, 422);
  });

  it("never shows an unknown coverage as whole", async () => {
    const other = await rig.addWorkspace({ plan: "team" });
    const person = await rig.personIn(other, "member");
    const call = () => record(rig.uuid(), { requested_at: at(-1), project: "apollo" });
    assert.equal(
      (await json(rig.call("POST", "/v1/requests/batch", other.token, batch(call())))).accepted,
      1,
    );
    const silent = await read("/coverage?period=7d", person, other);
    assert.match(silent, /How many calls were metered is unknown/);
    assert.match(silent, /<dd class="value ">–<\/dd><dd>unknown for 1 machine<\/dd>/);
    assert.match(
      silent,
      /<span class="quiet">unknown<\/span><\/td><td class="num desk">–<\/td><td class="num desk">–<\/td>/,
    );
    assert.match(silent, /Its coverage is unknown\..*meter cloud privacy show/s);
    assert.doesNotMatch(silent, /100%|nothing was missed|all with usage/);
    // Planted: a filter by kind showed no calls, and that nothing was missed.
    for (const query of ["kind=metered", "kind=lost", "kind.not=lost"]) {
      const page = await read(`/coverage?period=7d&${query}`, person, other);
      assert.match(page, /How many calls of these kinds there were is unknown/, query);
      assert.doesNotMatch(page, /0 calls|nothing was missed|<dd class="value">0</, query);
    }
    const overview = await read("?period=7d", person, other);
    assert.match(overview, /<dd>unknown for 1 machine<\/dd>/);
    assert.match(overview, /The coverage of 1 machine is unknown\. <a href/);
    assert.match(
      await read("/machines", person, other),
      /<td class="desk"><span class="quiet">unknown<\/span>/,
    );

    // A second machine with all of its calls makes the sum 100 %, but not whole.
    const second = await rig.addMachine(other, "second");
    const token = await rig.addKey(other, { machineId: second });
    assert.equal((await rig.call("POST", "/v1/daemon/coverage", token, upload({ metered: 5 }))).status, 200);
    const part = await read("/coverage?period=7d", person, other);
    assert.match(part, /<dd class="value warn">100%<\/dd><dd>unknown for 1 machine<\/dd>/);
    assert.match(
      await read("/explore?period=7d", person, other),
      /class="">100%<\/a>, unknown for 1 machine/,
    );
    const { coverage } = await json(
      rig.call("GET", `/v1/workspaces/${other.id}/usage?period=7d`, person.token),
    );
    assert.deepEqual(coverage, { metered: 5, seen: 5, permille: 1000, missing: [], unknown_machines: 1 });
  });

  it("lists the machines that missed calls of a kind last, with the sums of all", async () => {
    const other = await rig.addWorkspace({ plan: "team" });
    const person = await rig.personIn(other, "member");
    for (let n = 1; n <= 12; n += 1) {
      const id = rig.uuid();
      await sql`insert into machines (workspace_id, machine_id, hostname, platform, daemon_version, created_at, user_id, coverage_at, queued_requests)
        values (${other.id}::uuid, ${id}::uuid, ${`host-${n}.`}, 'linux', '1', ${at(-24)}::timestamptz, ${person.userId}, ${at(0)}::timestamptz, 0)`.execute(
        rig.db,
      );
      await sql`insert into coverage_hours (workspace_id, hour, machine_id, as_of, metered, seen, counts)
        values (${other.id}::uuid, ${at(-n)}::timestamptz, ${id}::uuid, ${at(0)}::timestamptz, 5, ${5 + n}::bigint,
          ${JSON.stringify({ unknown_path: n, ...(n > 10 && { unlisted_openai: 1 }) })}::text::jsonb)`.execute(
        rig.db,
      );
    }
    const page = await read("/coverage?period=7d", person, other);
    assert.match(page, /60 of 138 calls to providers were metered/);
    const [, gaps = ""] = page.split("<summary>78 requests to unknown paths</summary>");
    const [listed = ""] = gaps.split("</details>");
    assert.deepEqual(
      [...listed.matchAll(/<bdi>(host-\d+)\.<\/bdi>/g)].map(([, name]) => name),
      Array.from({ length: 10 }, (_, n) => `host-${n + 1}`),
    );
    assert.match(listed, /2 more rows/);
    const [tasks = ""] = page.split('<h2 id="tasks-title">').slice(1);
    for (const host of ["host-11.", "host-12."])
      assert.ok(tasks.includes(`<h3><bdi>${host}</bdi></h3>`), host);
  });

  it("is also a file: the calls by time as CSV, and the answer of the API as JSON", async () => {
    const csv = await get("/coverage?period=7d&format=csv");
    assert.equal(csv.headers.get("content-disposition"), 'attachment; filename="coverage.csv"');
    const lines = (await csv.text()).trim().split("\r\n");
    assert.equal(lines[0], "from,to,metered,missed,seen,stopped_ms,tz");
    assert.ok(
      lines.some((line) => /^2026-11-21T10:00:00\.000Z,[^,]+,990,10,1000,0,UTC$/.test(line)),
      lines.join("\n"),
    );
    const answer = await (await get("/coverage?period=7d&format=json")).json();
    assert.ok(parseWire(coverageSchema, answer).ok);
    assert.equal((answer as CoverageAnswer).seen, 1_000);
    assert.match(await read("/coverage?period=7d"), /coverage\?period=7d&amp;format=csv">CSV</);
  });

  it("counts the machines and kinds of its filters, as the API does", async () => {
    const other = await rig.addWorkspace({ plan: "team" });
    const person = await rig.personIn(other, "member");
    const machineId = await rig.addMachine(other);
    const second = { machineId, token: await rig.addKey(other, { machineId }) };
    const hours = (first: number) =>
      // Whole days, and hours before and after them.
      [-49, -30, -20, -2].map((hour, n) => {
        const counts = { unknown_path: n + first, lost: 2 * n, without_usage: 1, of_a_newer_version: 1 };
        const metered = 10 * first + n;
        return {
          ...{ hour: at(hour), metered, seen: metered + counts.unknown_path + counts.lost },
          counts: Object.entries(counts)
            .filter(([, count]) => count > 0)
            .map(([kind, count]) => ({ kind, count })),
        };
      });
    const stated = new Map([
      [other.machineId, { token: other.token, hours: hours(1) }],
      [second.machineId, { token: second.token, hours: hours(5) }],
    ]);
    for (const { token, hours } of stated.values())
      assert.equal(
        (await rig.call("POST", "/v1/daemon/coverage", token, { ...upload({}), hours })).status,
        200,
      );
    const sumOf = (ids: readonly (string | null)[], isKind: (kind: string) => boolean) => {
      const own = ids.flatMap((id) => stated.get(id ?? "")?.hours ?? []);
      const metered = isKind("metered") ? own.reduce((sum, each) => sum + each.metered, 0) : 0;
      const missed = own
        .flatMap(({ counts }) => counts)
        .filter(({ kind }) => ["unknown_path", "lost"].includes(kind) && isKind(kind))
        .reduce((sum, { count }) => sum + count, 0);
      return [metered, metered + missed];
    };
    const all = [...stated.keys()];
    for (const [query, ids, isKind] of [
      ["", all, () => true],
      [`machine=${second.machineId}`, [second.machineId], () => true],
      [`machine.not=${second.machineId}`, [other.machineId], () => true],
      ["machine=no-id", [], () => true],
      [`machine=%22%7D%2C`, [], () => true],
      ["kind=lost", all, (kind: string) => kind === "lost"],
      ["kind=lost&kind=metered", all, (kind: string) => kind === "lost" || kind === "metered"],
      ["kind.not=lost", all, (kind: string) => kind !== "lost"],
      [
        `kind.not=metered&machine=${other.machineId}`,
        [other.machineId],
        (kind: string) => kind !== "metered",
      ],
      ["kind=without_usage", all, () => false],
    ] as const) {
      const expected = sumOf(ids, isKind);
      const path = `/coverage?period=7d&${query}`;
      const answer = JSON.parse(await read(`${path}&format=json`, person, other)) as CoverageAnswer;
      assert.deepEqual([answer.metered, answer.seen], expected, query);
      assert.equal(answer.permille === null, query.includes("kind") || expected[1] === 0, query);
      for (const rows of [answer.buckets, answer.machines]) {
        const sum = (name: "metered" | "seen") => rows.reduce((count, row) => count + row[name], 0);
        assert.deepEqual([sum("metered"), sum("seen")], expected, query);
      }
      const lines = (await read(`${path}&format=csv`, person, other)).trim().split("\r\n").slice(1);
      const seen = lines.reduce((count, line) => count + Number(line.split(",")[4]), 0);
      assert.equal(seen, expected[1], query);
    }
    const page = await read(`/coverage?period=7d&kind=lost&machine=${second.machineId}`, person, other);
    assert.match(page, /12 calls to providers of these kinds\./);
    assert.match(page, /curl[^<]*kind=lost&amp;machine=[0-9a-f-]+&#39;/);
    assert.doesNotMatch(page, /unknown paths<\/summary>/);
    const refused = await rig.call("GET", `/v1/workspaces/${other.id}/coverage?kind=poem`, person.token);
    assert.equal(refused.status, 422);
    assert.match(await refused.text(), /"field":"kind","problem":"Expected a kind of calls, such as metered/);
    const left = await read("/coverage?period=7d&kind.not=poem", person, other);
    assert.match(left, /“kind” is left out\. Expected a kind of calls, such as metered or unknown_path\./);
    // What a filter leaves out is not 0.
    const figures = async (query: string) =>
      [
        ...(await read(`/coverage?period=7d&${query}`, person, other)).matchAll(
          /<dd class="value ?">([^<]*)<\/dd><dd>([^<]*)</g,
        ),
      ].map(([, value, words]) => [value, words]);
    assert.deepEqual(await figures("kind=metered"), [
      ["–", "only known of all kinds"],
      ["252", ""],
      ["–", ""],
    ]);
    assert.deepEqual(await figures("kind=without_usage"), [
      ["–", "only known of all kinds"],
      ["–", ""],
      ["–", ""],
    ]);
    assert.deepEqual(await figures("kind=dropped"), [
      ["–", "only known of all kinds"],
      ["–", ""],
      ["0", ""],
    ]);
  });

  it("is for members only", async () => {
    assert.equal((await get("/coverage", await rig.personIn(workspace, "stranger"))).status, 404);
    assert.equal((await app.request(`/w/${workspace.id}/coverage`)).status, 303);
  });
});
