import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_TOKENS } from "../../../core/metering/usage/token-counts.ts";
import type { UsageFilter } from "../../../core/pricing/view/usage-query.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import type { SessionSort } from "../../../core/wire/queries.ts";
import type { UsageDimension } from "../../../core/wire/usage.ts";
import type { SessionQuery } from "../../../daemon/store/port/sessions.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { withStore } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

const minute = 60_000;
const turn = async () => {};
const filter = (dimension: UsageDimension, ...values: string[]): UsageFilter => ({
  dimension,
  not: false,
  values,
});
const ALL = { from: null, to: null, limit: 20 };

const call = (sessionId: string | null, minutes: number, more: Partial<RequestRecord> = {}) =>
  sampleRecord({
    sessionId,
    sessionSource: sessionId === null ? null : "stated",
    requestedAt: noon + minutes * minute,
    latencyMs: 30_000,
    ...more,
  });

const listed = async (store: Store, query: Partial<SessionQuery> = {}) =>
  (await store.sessions.list({ ...ALL, ...query }, turn)).sessions.map(({ sessionId }) => sessionId);

describe("sessions.list()", () => {
  it("sums each session, the latest first", () =>
    withStore(async (store) => {
      store.records.insert([
        call("a", 0, { gitBranch: "old", clientVersion: "1.0.0", agentId: "y", billingMode: "plan" }),
        call("b", 5, { billingMode: "plan", sessionSource: "inferred" }),
        call(null, 6),
        call("a", 10, { agentId: "x", project: "api", gitBranch: "new", client: "codex" }),
        call("a", 9, { agentId: "y", errorClass: "rate_limit", costPicoUsd: null }),
        call("a", 8, { agentId: "x", recordSource: "logs" }),
      ]);
      const [a, b, ...rest] = (await store.sessions.list(ALL, turn)).sessions;
      assert.deepEqual(rest, []);
      assert.deepEqual(
        [a?.sessionId, a?.source, a?.project, a?.client, a?.clientVersion, a?.branch, a?.agents],
        ["a", "stated", "api", "codex", null, "new", 2],
      );
      assert.deepEqual([a?.fromLogs, b?.fromLogs], [1, 0]);
      assert.deepEqual([a?.startedAt, a?.endedAt], [noon, noon + 10.5 * minute]);
      assert.deepEqual(
        [
          a?.usage.requests,
          a?.usage.errors,
          a?.usage.unpriced,
          a?.usage.costPicoUsd,
          a?.usage.tokens.cacheRead,
        ],
        [4, 1, 1, 3n * 1_234_567_890n, 8_000n],
      );
      assert.deepEqual(
        [b?.sessionId, b?.source, b?.usage.split.planUsagePicoUsd, b?.usage.split.spentPicoUsd],
        ["b", "inferred", 1_234_567_890n, 0n],
      );
    }));

  it("selects by a call in the period and of the project, and limits", () =>
    withStore(async (store) => {
      store.records.insert([
        call("a", 0),
        call("a", 20, { project: "api" }),
        call("b", 5),
        call("c", 10, { project: "api" }),
      ]);
      assert.deepEqual(await listed(store), ["a", "c", "b"]);
      assert.deepEqual(await listed(store, { limit: 2 }), ["a", "c"]);
      assert.deepEqual(await listed(store, { filters: [filter("project", "api")] }), ["a", "c"]);
      const at = (minutes: number) => noon + minutes * minute;
      assert.deepEqual(await listed(store, { to: at(20) as never }), ["c", "b", "a"]);
      assert.deepEqual(await listed(store, { from: at(6) as never, to: at(20) as never }), ["c"]);
      assert.deepEqual(await listed(store, { from: at(20) as never }), ["a"]);
      assert.deepEqual(await listed(store, { from: at(21) as never }), []);
    }));

  it("lists the same if there are too many sessions to look at each", () =>
    withStore(async (store) => {
      const many = Array.from({ length: 2_100 }, (_, at) => call(`s${at}`, at / 10));
      store.records.insert([...many, call("s5", 500), call(null, 501), call("s7", 499, { project: "api" })]);
      const to = (noon + 300 * minute) as never;
      assert.deepEqual(await listed(store, { limit: 3 }), ["s5", "s7", "s2099"]);
      assert.deepEqual(await listed(store, { limit: 2, to }), ["s2099", "s2098"]);
      assert.deepEqual(await listed(store, { filters: [filter("project", "api")] }), ["s7"]);
      assert.deepEqual(await listed(store, { from: (noon + 498 * minute) as never }), ["s5", "s7"]);
      // More rows than one slice has.
      store.records.insert(Array.from({ length: 6_000 }, (_, at) => call("busy", 600 + at / 1_000)));
      assert.deepEqual(await listed(store, { limit: 2 }), ["busy", "s5"]);
    }));

  it("sorts all sessions of the period by the sums of their calls in it", () =>
    withStore(async (store) => {
      const long = { latencyMs: 40 * minute };
      store.records.insert([
        call("plan", 0, { billingMode: "plan", costPicoUsd: 900n }),
        call("spent", 1, { billingMode: "metered", costPicoUsd: 5n }),
        call("often", 2, { billingMode: "metered", costPicoUsd: 2n }),
        call("often", 3, { billingMode: "credits", costPicoUsd: 2n }),
        call("often", 4, { costPicoUsd: null }),
        call("long", 5, { ...long, billingMode: "metered", costPicoUsd: 1n }),
        call("long", -60, { billingMode: "metered", costPicoUsd: 1_000n, project: "api" }),
        // More rows than one slice has, and later than all others.
        ...Array.from({ length: 1_500 }, (_, at) => call(`free-${at}`, 10 + at / 1_000, { costPicoUsd: 0n })),
      ]);
      const first = async (sort: SessionSort, limit: number) =>
        await listed(store, { from: noon, sort, limit });
      assert.deepEqual(await first("cost", 4), ["spent", "often", "long", "plan"]);
      assert.deepEqual((await first("calls", 3))[0], "often");
      assert.deepEqual(await first("length", 2), ["long", "often"]);
      assert.equal((await first("latest", 1))[0], "free-1499");
      assert.deepEqual(await listed(store, { sort: "cost", limit: 1 }), ["long"]);
      assert.deepEqual(await listed(store, { sort: "cost", filters: [filter("project", "api")] }), ["long"]);
      assert.equal((await listed(store, { sort: "calls", limit: 9_999 })).length, 1_504);
    }));

  it("lists those with a call that matches all filters, by these calls", () =>
    withStore(async (store) => {
      const ok = { errorClass: null, billingMode: "metered" } as const;
      store.records.insert([
        call("a", 0, { ...ok, model: "m1", gitBranch: "main", costPicoUsd: 5n }),
        call("a", 9, { ...ok, model: "m2", gitBranch: null, costPicoUsd: 100n }),
        call("b", 1, { ...ok, model: "m1", errorClass: "rate_limit", costPicoUsd: null }),
        call("c", 2, { ...ok, model: "m2", gitBranch: "main", requestKind: "embedding", costPicoUsd: 50n }),
        call("d", 3, { ...ok, model: "m1", client: "codex", costPicoUsd: 7n }),
      ]);
      const not = (each: UsageFilter) => ({ ...each, not: true });
      for (const [filters, latest, costliest] of [
        [[filter("model", "m1")], "dba", "dab"],
        [[not(filter("model", "m1"))], "ac", "ac"],
        [[filter("model", "m1", "m2"), filter("branch", "main")], "ca", "ca"],
        [[filter("branch", "")], "adb", "adb"],
        [[filter("status", "failed")], "b", "b"],
        [[not(filter("status", "failed")), filter("model", "m1")], "da", "da"],
        [[filter("kind", "embedding")], "c", "c"],
        [[filter("client", "codex")], "d", "d"],
        [[filter("session", "a", "c")], "ac", "ac"],
        [[filter("session", "a", "c"), filter("model", "m1")], "a", "a"],
        [[filter("model", "m1"), filter("branch", "other")], "", ""],
      ] as const) {
        const name = JSON.stringify(filters);
        assert.equal((await listed(store, { filters })).join(""), latest, name);
        assert.equal((await listed(store, { filters, sort: "cost" })).join(""), costliest, name);
      }
    }));

  it("lists those of which a part of the cost in the period reaches an amount", () =>
    withStore(async (store) => {
      const most = 2n ** 63n - 1n;
      store.records.insert([
        call("spent", 0, { billingMode: "metered", costPicoUsd: 600n }),
        call("spent", 1, { billingMode: "free", costPicoUsd: 400n }),
        call("plan", 2, { billingMode: "plan", costPicoUsd: 1_000n }),
        call("parts", 3, { billingMode: "plan", costPicoUsd: 999n }),
        call("parts", 4, { billingMode: "metered", costPicoUsd: 999n }),
        call("earlier", -60, { billingMode: "metered", costPicoUsd: 5_000n }),
        call("earlier", 5, { billingMode: "metered", costPicoUsd: 1n }),
        call("unpriced", 6, { costPicoUsd: null }),
        call("huge", 7, { billingMode: "metered", costPicoUsd: most }),
        call("huge", 8, { billingMode: "metered", costPicoUsd: most }),
      ]);
      const from = noon;
      assert.deepEqual(await listed(store, { from, minPicoUsd: 1_000n }), ["huge", "plan", "spent"]);
      assert.deepEqual(await listed(store, { from, minPicoUsd: 1_001n }), ["huge"]);
      assert.deepEqual(await listed(store, { from, minPicoUsd: 2n * most }), ["huge"]);
      assert.deepEqual(await listed(store, { from, minPicoUsd: 2n * most + 1n }), []);
      assert.deepEqual(await listed(store, { minPicoUsd: 1_001n, limit: 1 }), ["huge"]);
      assert.deepEqual(await listed(store, { minPicoUsd: 1_001n, to: (noon + 60_000) as never }), [
        "earlier",
      ]);
      // The latest of those with as many calls comes first.
      assert.deepEqual(await listed(store, { from, minPicoUsd: 1_000n, sort: "calls" }), [
        ...["huge", "spent", "plan"],
      ]);
    }));

  it("counts those that an amount leaves out although a call has no known price", () =>
    withStore(async (store) => {
      const unknown = { costPicoUsd: null, costSource: "unpriced" } as const;
      store.records.insert([
        call("priced", 0, { billingMode: "metered", costPicoUsd: 600n }),
        call("unpriced", 1, unknown),
        call("half", 2, unknown),
        call("half", 3, { billingMode: "metered", costPicoUsd: 600n }),
        call("failed", 4, { ...unknown, errorClass: "rate_limit", tokens: NO_TOKENS }),
      ]);
      const counted = async (query: Partial<SessionQuery>) =>
        (await store.sessions.list({ ...ALL, ...query }, turn)).unknownCosts;
      assert.equal(await counted({}), 0);
      assert.equal(await counted({ minPicoUsd: 601n }), 2);
      assert.equal(await counted({ minPicoUsd: 600n }), 1);
      assert.equal(await counted({ minPicoUsd: 601n, from: (noon + 2 * minute) as never, limit: 1 }), 1);
      assert.equal(await counted({ minPicoUsd: 601n, filters: [filter("session", "priced")] }), 0);
    }));

  it("lists the same from the rollups as from all requests", () =>
    withStore(async (store) => {
      const models = ["m1", "m2", "m3", "rare"];
      const records = Array.from({ length: 3_000 }, (_, at) =>
        call(`s${at % 97}`, at * 7, {
          model: at === 40 || at === 2_999 ? "rare" : (models[(at * 31) % 3] ?? ""),
          project: `p${Math.floor(at / 100) % 5}`,
          costPicoUsd: BigInt(at),
          billingMode: "metered",
        }),
      );
      store.records.insert(records.slice(0, 2_500));
      const bounds = { from: noon + 333 * minute, to: noon + 20_500 * minute } as never as SessionQuery;
      const queries = [
        ...[
          filter("model", "rare"),
          filter("project", "p3"),
          { ...filter("project", "p3"), not: true },
        ].flatMap((each) => [{ filters: [each] }, { filters: [each], sort: "cost" as const }]),
        { filters: [filter("model", "rare"), filter("project", "p3")] },
        { filters: [filter("project", "none")] },
      ];
      const readAll = async () => {
        const lists = [];
        for (const query of queries)
          for (const period of [{}, bounds])
            lists.push(await listed(store, { ...query, ...period, limit: 30 }));
        return lists;
      };
      const before = await readAll();
      assert.deepEqual(before[0], ["s40"]);
      while (store.rollups.buildSome(noon + 30_000 * minute)) void 0;
      assert.deepEqual(await readAll(), before);
      // Requests that the rollups do not have yet, one of them earlier than all others.
      store.records.insert([...records.slice(2_500), call("s98", -5, { model: "rare", project: "p3" })]);
      const unsummed = await readAll();
      assert.deepEqual(unsummed[0], ["s89", "s40", "s98"]);
      while (store.rollups.buildSome(noon + 30_000 * minute)) void 0;
      assert.deepEqual(await readAll(), unsummed);
    }));

  it("is empty without sessions", () =>
    withStore(async (store) => {
      store.records.insert([call(null, 0)]);
      assert.deepEqual(await listed(store), []);
      assert.equal(store.sessions.summarise("a"), null);
      assert.deepEqual(store.sessions.find("last"), { kind: "not_found" });
    }));
});

describe("sessions.find()", () => {
  it("takes an id, a unique beginning, or last", () =>
    withStore(async (store) => {
      store.records.insert([call("thr-1", 3), call("thr-12", 1), call("other", 2), call("thr-1", 0)]);
      const find = (text: string) => {
        const found = store.sessions.find(text);
        return found.kind === "found"
          ? found.sessionId
          : found.kind === "ambiguous"
            ? found.sessionIds
            : null;
      };
      assert.equal(find("thr-1"), "thr-1");
      assert.equal(find("thr-12"), "thr-12");
      assert.equal(find("oth"), "other");
      assert.deepEqual(find("thr"), ["thr-1", "thr-12"]);
      assert.equal(find("last"), "thr-1");
      for (const text of ["", "x", "thr-123", "\u{10ffff}", "%"]) assert.equal(find(text), null, text);
    }));

  it("lists at most five ids of an ambiguous beginning", () =>
    withStore(async (store) => {
      store.records.insert(Array.from({ length: 9 }, (_, at) => call(`s${at}`, at)));
      const found = store.sessions.find("s");
      assert.deepEqual(found.kind === "ambiguous" && found.sessionIds, ["s0", "s1", "s2", "s3", "s4"]);
    }));
});

describe("sessions.requests()", () => {
  it("reads a session's requests by time, at most the limit", () =>
    withStore(async (store) => {
      store.records.insert([call("a", 2), call("a", 0), call("b", 1), call("a", 1)]);
      const times = (limit: number) =>
        store.sessions.requests("a", limit).map(({ requestedAt }) => (requestedAt - noon) / minute);
      assert.deepEqual(times(10), [0, 1, 2]);
      assert.deepEqual(times(2), [0, 1]);
    }));
});
