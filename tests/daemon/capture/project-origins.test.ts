import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { sha256Hex } from "../../../adapters/crypto/node-crypto.ts";
import { createLog } from "../../../adapters/log/create-log.ts";
import type { ProjectOrigin } from "../../../core/metering/attribution/project-origin.ts";
import { StoreError } from "../../../core/ports/sqlite.ts";
import {
  createProjectOrigins,
  FOLDER_CHECK_TIMEOUT_MS,
  type ProjectOriginPorts,
  STORE_RETRY_MS,
} from "../../../daemon/capture/project-origins.ts";
import type { OriginStore } from "../../../daemon/store/port/origins.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { withStore } from "../store/open-sample-store.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";

const at = (folder: string, remote: string | null = null): ProjectOrigin => ({ remote, folder });
const [work, other, third] = [at("/a/work/api"), at("/a/other/api"), at("/a/third/api")] as const;

/** The origins on a store whose calls are counted and can fail. */
function setUp(store: Store, change: Partial<ProjectOriginPorts> = {}) {
  const calls: string[] = [];
  const failures = new Set<keyof OriginStore>();
  const counted = <Method extends keyof OriginStore>(name: Method) =>
    ((...args: Parameters<OriginStore[Method]>) => {
      calls.push(name);
      if (failures.has(name)) throw new StoreError("disk_full", "no space");
      return (store.origins[name] as (...given: unknown[]) => unknown)(...args);
    }) as OriginStore[Method];
  const clock = createManualClock(noon);
  const lines: string[] = [];
  const state = { trouble: null as StoreError | null };
  const origins = createProjectOrigins({
    clock,
    log: createLog({ write: (line) => lines.push(line) }, "debug"),
    store: {
      origins: {
        list: counted("list"),
        assign: counted("assign"),
        isUsed: counted("isUsed"),
        listMerges: counted("listMerges"),
      },
      get trouble() {
        return state.trouble;
      },
    },
    isFolderGone: async () => false,
    isSecret: (text) => text.includes("secret"),
    isShared: () => false,
    sha256Hex,
    ...change,
  });
  const slugs = () => store.origins.list().map(({ folder, slug }) => `${folder} ${slug}`);
  return { origins, calls, failures, clock, lines, state, slugs };
}

describe("createProjectOrigins()", () => {
  it("keeps folders of the same name apart, even after a restart", () =>
    withStore(async (store) => {
      const { origins } = setUp(store);
      assert.equal(await origins.find("api", work), "api");
      assert.equal(await origins.find("api", other), "api-other");
      const restarted = setUp(store).origins;
      assert.equal(await restarted.find("api", third), "api-third");
      assert.equal(await restarted.find("api", other), "api-other");
      assert.equal(await restarted.find("api", work), "api");
    }));

  it("reads no database for an origin that it knows", () =>
    withStore(async (store) => {
      const { origins, calls } = setUp(store);
      await origins.find("api", work);
      await origins.find("api", other);
      calls.length = 0;
      for (const origin of [work, other, null]) await origins.find("api", origin);
      assert.deepEqual(calls, []);
    }));

  // Seen to fail while the decision made before the check of folders was stored.
  it("gives two first calls at the same time different projects, and calls of one origin the same", () =>
    withStore(async (store) => {
      const { origins, slugs } = setUp(store);
      await origins.find("api", work);
      const [b, c, alsoB] = await Promise.all(
        [other, at("/b/other/api"), other].map((each) => origins.find("api", each)),
      );
      assert.deepEqual([b, alsoB], ["api-other", "api-other"]);
      assert.match(c as string, /^api-other-[0-9a-f]{6}$/);
      assert.equal(slugs().length, 3);
    }));

  it("does not give an origin the project of earlier requests, except for the name itself", () =>
    withStore(async (store) => {
      store.records.insert(["api", "api-other"].map((project) => sampleRecord({ project })));
      const { origins } = setUp(store);
      assert.equal(await origins.find("api", work), "api");
      assert.match(await origins.find("api", other), /^api-other-[0-9a-f]{6}$/);
    }));

  it("lets a moved folder keep its project, and gives a new one in its place another", () =>
    withStore(async (store) => {
      const gone = new Set<string>();
      const { origins, slugs } = setUp(store, { isFolderGone: async (folder) => gone.has(folder) });
      await origins.find("api", work);
      gone.add(work.folder);
      assert.equal(await origins.find("api", third), "api");
      gone.clear();
      assert.equal(await origins.find("api", work), "api-work");
      assert.deepEqual(slugs(), ["/a/third/api api", "/a/work/api api-work"]);
    }));

  for (const [why, isFolderGone] of [
    ["does not answer", () => new Promise<boolean>(() => {})],
    ["fails", () => Promise.reject(new Error("no"))],
  ] as const)
    it(`takes a folder for existing if its file system ${why}`, () =>
      withStore(async (store) => {
        const { origins, clock } = setUp(store, { isFolderGone });
        await origins.find("api", work);
        const project = origins.find("api", other);
        clock.advance(FOLDER_CHECK_TIMEOUT_MS);
        assert.equal(await project, "api-other");
      }));

  it("applies a merge to later calls once it is reloaded", () =>
    withStore(async (store) => {
      const { origins } = setUp(store);
      await origins.find("api", work);
      await origins.find("api", other);
      const period = { from: null, to: null };
      const move = { fromProject: "api-other", toProject: "api", period, includesLaterCalls: true };
      store.reassignments.move(move, noon);
      assert.equal(await origins.find("api", other), "api-other");
      origins.reload();
      assert.equal(await origins.find("api", other), "api");
      assert.equal(await origins.find("api-other", null), "api");
      store.reassignments.undo();
      origins.reload();
      assert.equal(await origins.find("api", other), "api-other");
    }));

  it("keeps all folders of a name in one project if its records stay on this machine", () =>
    withStore(async (store) => {
      let isShared = false;
      const { origins, slugs } = setUp(store, { isShared: (name) => isShared && name === "api" });
      await origins.find("api", work);
      assert.equal(await origins.find("api", other), "api-other");
      isShared = true;
      assert.equal(await origins.find("api", third), "api");
      assert.equal(await origins.find("api", at(other.folder, "h/acme/api")), "api-other");
      isShared = false;
      assert.equal(await origins.find("api", third), "api-third");
      assert.equal(slugs().length, 4);
    }));

  it("stores no origin that contains a secret", () =>
    withStore(async (store) => {
      const { origins, slugs } = setUp(store);
      assert.equal(await origins.find("api", at("/secret/api")), "api");
      assert.deepEqual(slugs(), []);
      assert.equal(await origins.find("api", at("/a/api", "h/secret/api")), "api");
      assert.deepEqual(store.origins.list()[0]?.origin, "/a/api");
    }));

  it("uses the name while the store fails to write, and tries again later", () =>
    withStore(async (store) => {
      const { origins, failures, clock, calls, lines } = setUp(store);
      await origins.find("api", work);
      failures.add("assign");
      calls.length = 0;
      for (let call = 0; call < 3; call += 1) assert.equal(await origins.find("api", other), "api");
      assert.deepEqual(calls.filter((name) => name === "assign").length, 1);
      assert.equal(await origins.find("api", work), "api");
      assert.equal(lines.length, 1);
      assert.match(lines[0] as string, /attribution\.failed/);
      assert.ok(!lines.join().includes("/a/"));
      failures.clear();
      clock.advance(STORE_RETRY_MS);
      assert.equal(await origins.find("api", other), "api-other");
    }));

  it("uses the name while the store can't be read, and tries again later", () =>
    withStore(async (store) => {
      const { origins, failures, clock, calls } = setUp(store);
      await setUp(store).origins.find("api", work);
      failures.add("list");
      for (let call = 0; call < 3; call += 1) assert.equal(await origins.find("api", other), "api");
      assert.deepEqual(calls, ["list"]);
      failures.clear();
      clock.advance(STORE_RETRY_MS);
      assert.equal(await origins.find("api", other), "api-other");
    }));

  it("uses what it knows while there is no database, and remembers nothing else", () =>
    withStore(async (store) => {
      const { origins, state, calls } = setUp(store);
      await origins.find("api", work);
      await origins.find("api", other);
      calls.length = 0;
      state.trouble = new StoreError("missing", "gone");
      origins.reload();
      assert.equal(await origins.find("api", other), "api-other");
      assert.equal(await origins.find("api", third), "api");
      assert.equal(await origins.find("api", work), "api");
      assert.deepEqual(calls, ["isUsed"]);
      state.trouble = null;
      origins.reload();
      assert.equal(await origins.find("api", third), "api-third");
    }));

  it("stores at most 5,000 origins, and limits those in memory", () =>
    withStore(async (store) => {
      const { origins, calls } = setUp(store);
      for (let n = 0; n < 5_000; n += 1) await origins.find(`p${n}`, at(`/a/p${n}`));
      assert.equal(await origins.find("p0", at("/b/p0")), "p0");
      assert.equal(await origins.find("more", at("/a/more")), "more");
      assert.equal(store.origins.list().length, 5_000);
      assert.equal(await origins.find("p1", at("/a/p1")), "p1");
      assert.equal(calls.filter((name) => name === "list").length, 1);
    }));
});
