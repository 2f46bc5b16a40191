import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";
import { openApi } from "./api.rig.ts";

const records = [
  sampleRecord({ requestedAt: noon, sessionId: "s 1", project: "apollo", costPicoUsd: 3n }),
  sampleRecord({ requestedAt: noon + 1, sessionId: "s 1", project: "apollo", costPicoUsd: 4n, agentId: "a" }),
  sampleRecord({ requestedAt: noon + 2, sessionId: "s2", project: "=hermes" }),
];

async function withSessions(run: (ask: Awaited<ReturnType<typeof openApi>>["ask"]) => Promise<void>) {
  const rig = await openApi();
  rig.store.records.insert(records);
  try {
    await run(rig.ask);
  } finally {
    rig.close();
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what an answer has is what the tests are about.
const jsonOf = async (answer: Response): Promise<any> => JSON.parse(await answer.text());

/** The address of the API in the curl command of a page. */
const curlPath = (page: string): string =>
  (/data-copy="curl [^"]*?(\/v1\/[^"]*?)&#39;"/.exec(page)?.[1] ?? "").replaceAll("&amp;", "&");

describe("GET /v1/sessions", () => {
  it("lists sessions and one session, as the page's curl command and files do", () =>
    withSessions(async (ask) => {
      const page = await (await ask("/sessions?project=apollo")).text();
      const { items } = await jsonOf(await ask(curlPath(page)));
      assert.deepEqual(
        items.map(({ session_id, requests, spent_pico_usd }: Record<string, unknown>) => [
          session_id,
          requests,
          spent_pico_usd,
        ]),
        [["s 1", 2, "7"]],
      );
      assert.deepEqual(await (await ask("/sessions?project=apollo&format=json")).json(), {
        items,
        unknown_cost_sessions: 0,
      });
      assert.match(page, /meter sessions --from 2026-04-13T\S+ --to 2026-05-12T\S+ --filter project=apollo/);
      const one = await (await ask("/sessions/s%201")).text();
      const { tree } = await jsonOf(await ask(curlPath(one)));
      assert.deepEqual([tree.calls.length, tree.agents.length], [1, 1]);
      assert.match(one, /meter session &#39;s 1&#39;/);
      assert.deepEqual((await jsonOf(await ask("/sessions/s%201?format=json"))).tree, tree);
    }));

  it("lists sessions by their sums, as the page and its commands do", () =>
    withSessions(async (ask) => {
      const ids = async (path: string) =>
        (await jsonOf(await ask(path))).items.map(({ session_id }: Record<string, unknown>) => session_id);
      assert.deepEqual(await ids("/v1/sessions?from=2026-01-01"), ["s2", "s 1"]);
      assert.deepEqual(await ids("/v1/sessions?from=2026-01-01&sort=calls"), ["s 1", "s2"]);
      assert.deepEqual(await ids("/v1/sessions?from=2026-01-01&sort=calls&limit=1"), ["s 1"]);
      assert.equal((await ask("/v1/sessions?sort=name")).status, 400);
      const page = await (await ask("/sessions?sort=calls")).text();
      assert.deepEqual(await ids(curlPath(page)), ["s 1", "s2"]);
      assert.match(page, /meter sessions --from 2026-04-13T\S+ --to 2026-05-12T\S+ --sort calls/);
      assert.deepEqual(await ids("/sessions?sort=calls&format=json"), ["s 1", "s2"]);
    }));

  it("lists sessions by filters and cost, as the page, its files and its commands do", () =>
    withSessions(async (ask) => {
      const ids = async (path: string) =>
        (await jsonOf(await ask(path))).items.map(({ session_id }: Record<string, unknown>) => session_id);
      for (const [query, expected] of [
        ["project.not=apollo", ["s2"]],
        ["project=apollo&project=%3Dhermes", ["s2", "s 1"]],
        ["status=failed", []],
        ["branch=", ["s2", "s 1"]],
        ["kind=image&client=claude", []],
        ["min_cost=0.000000000007&project=apollo", ["s 1"]],
        ["min_cost=0.000000000008&project=apollo&sort=cost", []],
      ] as const) {
        assert.deepEqual(await ids(`/v1/sessions?from=2026-01-01&${query}`), expected, query);
        const page = await (await ask(`/sessions?${query}`)).text();
        const shown = [...page.matchAll(/<tr id="s-([^"]+)">/g)].map(([, id]) => id);
        assert.deepEqual(shown, expected, query);
        assert.deepEqual(await ids(curlPath(page)), expected, query);
        assert.deepEqual(await ids(`/sessions?${query}&format=json`), expected, query);
      }
      const page = await (await ask("/sessions?model.not=a%20b&min_cost=1.50&status=ok&sort=cost")).text();
      assert.match(
        page,
        /meter sessions --from \S+ --to \S+ --filter &#39;model\.not=a b&#39; --filter status=ok --min-cost 1\.5 --sort cost/,
      );
      assert.match(page, /No session cost \$1\.50 or more/);
      assert.match(await (await ask("/sessions?min_cost=much&person=ann")).text(), /“min_cost” is left out/);
    }));

  it("says how many sessions a minimum cost leaves out because it is not known", async () => {
    const rig = await openApi();
    try {
      rig.store.records.insert([
        ...records,
        sampleRecord({ requestedAt: noon, sessionId: "u", costPicoUsd: null, costSource: "unpriced" }),
      ]);
      const page = await (await rig.ask("/sessions?min_cost=0.000000000007")).text();
      assert.match(page, /<tr id="s-s 1">[\s\S]*1 session may cost more: a call has no known price\./);
      assert.match(page, /left out\. <a href="\/sessions">Show sessions of any cost<\/a>/);
      assert.doesNotMatch(await (await rig.ask("/sessions")).text(), /may cost more/);
      const none = await (await rig.ask("/sessions?min_cost=1000")).text();
      assert.match(none, /No session cost \$1,000\.00 or more[\s\S]*1 session may cost more/);
      for (const path of ["/v1/sessions?from=2026-01-01&", "/sessions?"])
        for (const [query, count] of [
          ["min_cost=0.000000000007", 1],
          ["min_cost=1000", 1],
          ["project=none&min_cost=1", 0],
          ["", 0],
        ] as const) {
          const { unknown_cost_sessions } = await jsonOf(await rig.ask(`${path}${query}&format=json`));
          assert.equal(unknown_cost_sessions, count, query);
          const csv = await rig.ask(`${path}${query}&format=csv`);
          assert.equal(csv.headers.get("x-unknown-cost-sessions"), `${count}`, query);
        }
    } finally {
      rig.close();
    }
  });

  it("counts the calls that budgets refused apart from those that failed", async () => {
    const rig = await openApi();
    try {
      const own = { requestedAt: noon, sessionId: "s", project: "apollo" };
      rig.store.records.insert([
        sampleRecord(own),
        sampleRecord({ ...own, blockedBy: "month", costPicoUsd: 0n }),
      ]);
      const { items } = await jsonOf(await rig.ask("/v1/sessions?from=2026-01-01"));
      assert.deepEqual([items[0].requests, items[0].errors, items[0].blocked], [2, 0, 1]);
      const [head, line] = (await (await rig.ask("/sessions?format=csv")).text())
        .split("\r\n")
        .map((row) => row.split(","));
      assert.equal(line?.[head?.indexOf("blocked") ?? -1], "1");
      assert.match(await (await rig.ask("/sessions")).text(), /<span class="sub">1 refused<\/span>/);
      assert.match(await (await rig.ask("/sessions/s")).text(), /none failed, 1 refused by budgets/);
    } finally {
      rig.close();
    }
  });

  it("sends CSV, with formulas escaped", () =>
    withSessions(async (ask) => {
      for (const path of ["/sessions?format=csv", "/v1/sessions?format=csv&from=2026-01-01"]) {
        const answer = await ask(path);
        assert.match(answer.headers.get("content-type") ?? "", /^text\/csv/);
        const [head = "", ...lines] = (await answer.text()).trim().split("\r\n");
        assert.match(head, /^session_id,session_source,project,client,/);
        assert.deepEqual(
          lines.map((line) => line.split(",")[2]),
          ["'=hermes", "apollo"],
        );
        assert.match(lines[1] ?? "", /,0\.000000000007,0\.000000000007,0,0$/);
      }
      const calls = await ask("/sessions/s%201?format=csv");
      assert.match(calls.headers.get("content-disposition") ?? "", /filename="session\.csv"/);
      const lines = (await calls.text()).trim().split("\r\n");
      assert.deepEqual(
        lines.slice(1).map((line) => line.split(",")[0]),
        records.slice(0, 2).map(({ requestId }) => requestId),
      );
    }));

  it("refuses an invalid limit and period, and finds no other session", () =>
    withSessions(async (ask) => {
      for (const query of [
        ...["limit=0", "limit=201", "from=yesterdayish", "min_cost=much", "status=broken", "person=ann"],
        "machine.not=a",
      ])
        assert.equal((await ask(`/v1/sessions?${query}`)).status, 400, query);
      assert.equal((await ask("/v1/sessions/none")).status, 404);
      assert.equal((await ask("/sessions/none?format=csv")).status, 404);
    }));
});
