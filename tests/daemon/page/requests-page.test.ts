import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { requestListSchema } from "../../../core/wire/loopback-data.ts";
import { openApi } from "../api/api.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";

type Rig = Awaited<ReturnType<typeof openApi>>;

/** Four requests whose orders by time, cost, tokens and duration all differ. */
const sent = [
  { project: "apollo", model: "opus", costPicoUsd: 2n, latencyMs: 10, gitBranch: "main" },
  { project: "apollo", model: "mini", costPicoUsd: null, costSource: "unpriced" as const, latencyMs: 40 },
  { project: "hermes", model: "opus", costPicoUsd: 3n, latencyMs: 20, requestKind: "image" as const },
  { project: "zeus", model: "gpt", costPicoUsd: 2n, latencyMs: 30, sessionId: "s1", gitBranch: "topic" },
].map((given, at) =>
  sampleRecord({
    ...given,
    requestedAt: noon + at,
    tokens: {
      ...sampleRecord().tokens,
      ...{ promptTokens: [400, 300, 100, 200][at] ?? 0, cacheReadTokens: null, cacheWriteTokens: null },
      ...{ completionTokens: null, thinkingTokens: null },
    },
  }),
);

const names = ["a", "b", "c", "d"];

async function withRequests(run: (rig: Rig, list: (query: string) => Promise<string>) => Promise<void>) {
  const rig = await openApi();
  rig.store.records.insert(sent);
  const nameOf = new Map(sent.map(({ requestId }, at) => [requestId, names[at] ?? ""]));
  const list = async (query: string) => {
    const text = await (await rig.ask(`/requests?${query}`)).text();
    return [...text.matchAll(/<tr id="r-([^"]+)">/g)].map(([, id]) => nameOf.get(id ?? "")).join("");
  };
  try {
    await run(rig, list);
  } finally {
    rig.close();
  }
}

const FILTERS = [
  ["", "dcba"],
  ["project=apollo", "ba"],
  ["project=apollo&project=zeus", "dba"],
  ["project.not=apollo", "dc"],
  ["project.not=apollo&project.not=zeus", "c"],
  ["model=opus&project=hermes", "c"],
  ["branch=", "cb"],
  ["branch.not=", "da"],
  ["kind=image", "c"],
  ["kind.not=image", "dba"],
  ["session=s1", "d"],
  ["session=", "cba"],
  ["cost=unpriced", "b"],
  ["status=unpriced", "b"],
  ["q=APO", "ba"],
  ["q=topic", "d"],
  ["q=opus&project.not=hermes", "a"],
  ["sort=cost", "cdab"],
  ["sort=tokens", "abdc"],
  ["sort=ms", "bdca"],
  ["sort=ms&model=opus", "ca"],
] as const;

describe("the list of requests", () => {
  it("has filters that repeat and exclude, a text, and four orders; its curl command lists the same", () =>
    withRequests(async ({ ask }, list) => {
      for (const [query, expected] of FILTERS) {
        assert.equal(await list(query), expected, query);
        const page = await (await ask(`/requests?${query}`)).text();
        const [, path = ""] = /data-copy="curl [^"]*?(\/v1\/requests\?[^"]*?)&#39;"/.exec(page) ?? [];
        const answer = await (await ask(path.replaceAll("&amp;", "&"))).json();
        const { items } = v.parse(requestListSchema, answer);
        const found = items.map(({ request_id }) => sent.findIndex((each) => each.requestId === request_id));
        assert.equal(found.map((at) => names[at]).join(""), expected, `${query}: ${path}`);
        const csv = await (await ask(`/requests?${query}&format=csv`)).text();
        const ids = csv.trim().split("\r\n").slice(1);
        assert.equal(
          ids.map((line) => names[sent.findIndex((each) => line.startsWith(each.requestId))]).join(""),
          expected,
        );
      }
    }));

  it("counts what the rollups can count, even with several filters", () =>
    withRequests(async ({ ask }) => {
      for (const [query, count] of [
        ["", "4 of 4 requests"],
        ["project=apollo&project=zeus", "3 of 3 requests"],
        ["model.not=opus&cost=unpriced", "1 of 1 requests"],
        ["branch=", "2 of 2 requests"],
        ["q=apollo", "2 requests"],
        ["kind=image", "1 request"],
      ] as const)
        assert.ok((await (await ask(`/requests?${query}`)).text()).includes(`>${count}. `), query);
    }));

  it("pages through each order, each request once, while others arrive", () =>
    withRequests(async ({ ask, store }) => {
      const more = Array.from({ length: 120 }, (_, at) =>
        sampleRecord({ requestedAt: noon, costPicoUsd: BigInt(at % 7), latencyMs: at % 5 }),
      );
      store.records.insert(more);
      for (const sort of ["time", "cost", "tokens", "ms"]) {
        const seen: string[] = [];
        let path: string | undefined = `/requests?sort=${sort}`;
        while (path !== undefined) {
          const text: string = await (await ask(path)).text();
          seen.push(...[...text.matchAll(/<tr id="r-([^"]+)">/g)].map(([, id]) => id ?? ""));
          path = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
          store.records.insert([
            sampleRecord({ requestedAt: noon, costPicoUsd: 10n ** 15n, latencyMs: 1e6 }),
          ]);
        }
        const own = [...sent, ...more].map(({ requestId }) => requestId);
        assert.equal(new Set(seen).size, seen.length, sort);
        assert.ok(
          own.every((id) => seen.includes(id)),
          sort,
        );
      }
      const wrong = await ask("/v1/requests?sort=cost&cursor=12");
      assert.equal(wrong.status, 400);
    }));

  it("shows chosen columns, and leaves the usual ones out of its address", () =>
    withRequests(async ({ ask }) => {
      const headings = async (query: string) => {
        const text = await (await ask(`/requests?${query}`)).text();
        const head = /<thead>[\s\S]*?<\/thead>/.exec(text)?.[0] ?? "";
        return [...head.matchAll(/<th[^>]*>(?:<a[^>]*>)?([^<]+)/g)].map(([, name]) => name).join(" ");
      };
      const usual = "When Project Program Model In Cached Out Cost Duration Status";
      assert.equal(await headings(""), usual);
      assert.equal(await headings("columns=kind,session,branch"), "When Branch Session Kind");
      assert.equal(await headings("columns=kind&columns=branch"), "When Branch Kind");
      assert.equal(await headings("columns=kind&sort=cost"), "When Kind Cost");
      assert.equal(await headings("sort=tokens"), usual.replace("Out", "Out Tokens"));
      const text = await (await ask("/requests?columns=kind,machine")).text();
      assert.match(text, /There is no column “machine”/);
      const same = "columns=project,client,model,in,cached,out,cost,ms,status";
      assert.doesNotMatch(await (await ask(`/requests?${same}`)).text(), /columns=project/);
      assert.match(text, /href="\/requests\?period=7d&amp;columns=kind"/);
    }));

  it("keeps the filters of its address when another one is added without scripts", () =>
    withRequests(async ({ ask }, list) => {
      const text = await (await ask("/requests?project=apollo&branch=&cursor=9")).text();
      const [, form = ""] = /<form([\s\S]*?)<\/form>/.exec(text) ?? [];
      const hidden = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)];
      const kept = new URLSearchParams(
        hidden.map(([, name = "", value = ""]): [string, string] => [name, value]),
      );
      assert.equal(await list(`${kept}&q=&sort=time&project=hermes&model=`), "cb");
      assert.match(text, /Project <a class="turn" href="\/requests\?project\.not=apollo&amp;branch="/);
    }));

  it("names wrong values and unknown filters, and lists the rest", () =>
    withRequests(async ({ ask }, list) => {
      const text = await (await ask("/requests?status=broken&machine=m&sort=name")).text();
      for (const notice of [
        /“status” is left out\. Expected ok, failed/,
        /This page has no “machine”/,
        /“name” is not a value of “sort”/,
      ])
        assert.match(text, notice);
      assert.equal(await list("status=broken"), "dcba");
    }));
});
