import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { planUsage } from "../../../core/pricing/view/usage-plan.ts";
import { parseUsageQuery } from "../../../core/pricing/view/usage-query.ts";
import { findZone } from "../../../core/values/zone.ts";
import { withStore } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

function planOf(text: string) {
  const { query } = parseUsageQuery(new URLSearchParams(text));
  const planned = planUsage(query, { now: noon + 1_000, zone: findZone("UTC") ?? assert.fail() });
  return planned.ok ? planned.plan : assert.fail(planned.detail);
}

describe("readNewestCalls()", () => {
  it("groups the newest calls of a period, and says after which time they are", async () => {
    await withStore(async (store) => {
      const one = (ago: number, project: string, more: Parameters<typeof sampleRecord>[0] = {}) =>
        sampleRecord({ requestedAt: noon - ago, project, gitBranch: null, sessionId: null, ...more });
      store.records.insert([
        one(1, "apollo", { attributionTier: "git_root", gitBranch: "main", sessionId: "s" }),
        one(2, "apollo", { attributionTier: "git_root", gitBranch: "main", sessionId: "s" }),
        one(3, "hermes", { attributionTier: "environment" }),
        one(4, "apollo", { attributionTier: "header" }),
      ]);
      const read = async (text: string, limit: number) => {
        const { groups, since } = await store.reports.readNewestCalls(planOf(text), limit);
        const lines = groups.map(({ project, branch, tier, session, requests }) =>
          [project, branch, tier, session, requests].join(),
        );
        return [...lines.sort(), since === null ? "all" : noon - since];
      };
      const [main, header, hermes] = [
        "apollo,main,git_root,s,2",
        "apollo,,header,,1",
        "hermes,,environment,,1",
      ];
      assert.deepEqual(await read("period=today", 4), [header, main, hermes, "all"]);
      assert.deepEqual(await read("period=today", 3), [main, hermes, 4]);
      assert.deepEqual(await read("period=today&project=hermes", 2), [3]);
      assert.deepEqual(await read("period=today&project=apollo", 100), [header, main, "all"]);
      assert.deepEqual(await read("from=2020-01-01&to=2020-01-02", 100), ["all"]);
    });
  });
});

describe("findSamePrompt()", () => {
  it("searches the calls before and after a call, and no others", async () => {
    await withStore(async (store) => {
      const [same, other] = ["a".repeat(64), "b".repeat(64)];
      const records = [same, other, same, same, other, same].map((promptHash, n) =>
        sampleRecord({ requestedAt: noon + n, promptHash }),
      );
      store.records.insert(records);
      const find = async (at: number, limit: number) => {
        const found = await store.reports.findSamePrompt({ requestedAt: noon + at, promptHash: same }, limit);
        return found
          .map(({ requestId }) => records.findIndex((record) => record.requestId === requestId))
          .sort();
      };
      assert.deepEqual(await find(2, 10), [0, 2, 3, 5]);
      // The call itself is among those before it.
      assert.deepEqual(await find(2, 2), [2, 3]);
      assert.deepEqual(await find(2, 1), [2, 3]);
      assert.deepEqual(await find(5, 3), [3, 5]);
    });
  });
});
