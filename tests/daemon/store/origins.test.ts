import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { OriginAssignment } from "../../../core/metering/attribution/project-origin.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { opener, withStore } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

const assignment = (name: string, origin: string, slug = name): OriginAssignment => ({
  ...{ name, origin, slug },
  folder: origin.startsWith("/") ? origin : `/clones/${name}`,
});

const ever = { from: null, to: null };

describe("store.origins", () => {
  it("lists assignments in the order of assigning, without those that were replaced", () =>
    withStore((store) => {
      const [first, second, third] = [
        assignment("web", "/a/web"),
        assignment("api", "github.com/acme/api"),
        assignment("api", "/b/api", "api-b"),
      ] as const;
      for (const each of [first, second, third, third]) store.origins.assign(each, []);
      assert.deepEqual(store.origins.list(), [first, second, third]);
      const moved = assignment("web", "/c/web");
      store.origins.assign(moved, [first, third]);
      assert.deepEqual(store.origins.list(), [second, moved]);
    }));

  it("knows which projects requests use", () =>
    withStore((store) => {
      store.records.insert([sampleRecord({ project: "web" })]);
      assert.deepEqual([store.origins.isUsed("web"), store.origins.isUsed("we")], [true, false]);
    }));

  it("knows it from the rollups too, even after requests got another project", async () => {
    const store = await openStore(opener, ":memory:", { rollupTail: { max: 2, keep: 1 } });
    try {
      while (store.rollups.buildSome(noon));
      const hours = [...Array(9).keys()];
      store.records.insert(
        hours.map((hour) => sampleRecord({ project: "web", requestedAt: noon - hour * 3_600_000 })),
      );
      assert.deepEqual([store.origins.isUsed("web"), store.origins.isUsed("shop")], [true, false]);
      const move = { fromProject: "web", toProject: "shop", period: ever, includesLaterCalls: false };
      store.reassignments.move(move, noon);
      assert.deepEqual([store.origins.isUsed("web"), store.origins.isUsed("shop")], [false, true]);
    } finally {
      store.close();
    }
  });

  it("forgets everything when all records are deleted, and nothing with older ones", () =>
    withStore((store) => {
      store.origins.assign(assignment("web", "/a/web"), []);
      merge(store, "web", "shop");
      store.deletion.finish(noon, false);
      assert.deepEqual([store.origins.list().length, store.origins.listMerges().size], [1, 2]);
      store.deletion.finish(null, false);
      assert.deepEqual([store.origins.list().length, store.origins.listMerges().size], [0, 0]);
    }));
});

function merge(store: Store, fromProject: string, toProject: string) {
  const move = { fromProject, toProject, period: ever, includesLaterCalls: true };
  return store.reassignments.move(move, noon);
}

describe("a merge of projects", () => {
  const merges = (store: Store) =>
    [...store.origins.listMerges()].filter(([project, into]) => project !== into);
  const projects = (store: Store) =>
    store.records.read({ ...ever, afterSeq: 0, limit: 9 }).map(({ project }) => project);

  it("moves the requests, applies to later calls, and is undone with them", () =>
    withStore((store) => {
      store.records.insert(["web", "shop", "web"].map((project) => sampleRecord({ project })));
      assert.partialDeepStrictEqual(merge(store, "web", "shop"), { requests: 2, synced: 0 });
      assert.deepEqual(projects(store), ["shop", "shop", "shop"]);
      assert.deepEqual(merges(store), [["web", "shop"]]);
      assert.partialDeepStrictEqual(store.reassignments.last(), { at: noon, requests: 2 });
      assert.equal(store.reassignments.undo(), 2);
      assert.deepEqual([projects(store), merges(store)], [["web", "shop", "web"], []]);
      assert.equal(store.reassignments.last(), null);
    }));

  it("is not part of a plain move", () =>
    withStore((store) => {
      store.records.insert([sampleRecord({ project: "web" })]);
      store.reassignments.move({ fromProject: "web", toProject: "shop", period: ever }, noon);
      assert.deepEqual(merges(store), []);
    }));

  it("can be undone if no request was moved, and ends an earlier merge of the target", () =>
    withStore((store) => {
      merge(store, "web", "shop");
      merge(store, "shop", "web");
      assert.deepEqual(merges(store), [["shop", "web"]]);
      assert.equal(store.reassignments.last()?.requests, 0);
      assert.equal(store.reassignments.undo(), 0);
      assert.deepEqual(merges(store), [["web", "shop"]]);
      assert.equal(store.reassignments.undo(), 0);
      assert.deepEqual([merges(store), store.reassignments.last()], [[], null]);
    }));
});
