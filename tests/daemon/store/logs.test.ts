import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RequestRecord } from "../../../core/values/record.ts";
import type { LogPosition } from "../../../daemon/store/port/logs.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { withStore } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

const fromLog = (given: Partial<RequestRecord> = {}) =>
  sampleRecord({ recordSource: "logs", logFile: "/logs/a.jsonl", logLine: 3, client: "claude", ...given });

const position: LogPosition = {
  path: "/logs/a.jsonl",
  agent: "claude",
  format: "claude",
  readerVersion: 1,
  fileId: "1:2",
  size: 100,
  modifiedAt: noon,
  offset: 90,
  line: 4,
  tailHash: "ab",
  state: "{}",
};

const save = (store: Store, ...records: RequestRecord[]) =>
  store.logs.save({ records, matches: [], position: null }, noon);

const match = (store: Store, entry: RequestRecord, requestId: string) =>
  store.logs.save(
    { records: [], matches: [{ entryId: entry.requestId, requestId, agent: "claude" }], position: null },
    noon,
  );

const sums = async (store: Store) => {
  const [row] = await store.reports.read({ by: "total", from: null, to: null });
  return [row?.requests ?? 0, row?.tokens.completion ?? 0n, row?.costPicoUsd ?? 0n];
};

describe("save()", () => {
  it("stores a record once, however often it is saved", async () => {
    await withStore((store) => {
      const record = fromLog();
      assert.deepEqual(save(store, record), { added: 1, grown: 0 });
      assert.deepEqual(save(store, record), { added: 0, grown: 0 });
      assert.equal(store.records.count({ from: null, to: null }), 1);
      assert.deepEqual([...store.logs.stored([record.requestId, "other"])], [record.requestId]);
    });
  });

  it("replaces the usage of a record by a larger one, and never by a smaller one", async () => {
    await withStore(async (store) => {
      const record = fromLog();
      save(store, record);
      while (store.rollups.buildSome(noon + 86_400_000));
      const larger = { ...record, tokens: { ...record.tokens, completionTokens: 70 }, costPicoUsd: 5n };
      assert.deepEqual(save(store, larger), { added: 0, grown: 1 });
      assert.deepEqual(save(store, record), { added: 0, grown: 0 });
      assert.deepEqual(await sums(store), [1, 70n, 5n]);
    });
  });

  it("marks records as not to be sent, and leaves the number of pending requests as it was", async () => {
    await withStore(async (store) => {
      store.records.insert([sampleRecord(), sampleRecord()]);
      const record = fromLog();
      save(store, record, fromLog());
      assert.equal(store.delivery.countPending(), 2);
      assert.equal((await store.records.get(record.requestId))?.syncSkippedAt, noon);
      store.records.insert([sampleRecord()]);
      assert.equal(store.delivery.countPending(), 3);
      assert.equal(store.delivery.pendingProjects(10, noon).length, 3);
    });
  });

  it("keeps how far each file was read", async () => {
    await withStore((store) => {
      assert.equal(store.logs.position(position.path), null);
      store.logs.save({ records: [], matches: [], position }, noon);
      assert.deepEqual({ ...store.logs.position(position.path) }, position);
      const further = { ...position, offset: 95, fileId: null };
      store.logs.save({ records: [], matches: [], position: further }, noon);
      assert.deepEqual({ ...store.logs.position(position.path) }, further);
    });
  });

  it("deletes the record of an entry that is matched, and no others", async () => {
    await withStore(async (store) => {
      const [wire, record, other] = [sampleRecord(), fromLog(), fromLog()];
      store.records.insert([wire]);
      save(store, record, other);
      while (store.rollups.buildSome(noon + 86_400_000));
      match(store, record, wire.requestId);
      assert.equal(await store.records.get(record.requestId), null);
      assert.equal((await sums(store))[0], 2);
      assert.deepEqual([...store.logs.matched([record.requestId, other.requestId])], [record.requestId]);
      assert.equal(store.delivery.countPending(), 1);
    });
  });
});

describe("the calls of the proxy", () => {
  it("are those without a match, with the time at which the response ended", async () => {
    await withStore((store) => {
      const [one, two] = [sampleRecord({ sessionId: "s" }), sampleRecord({ recordSource: "wire" })];
      store.records.insert([one, two]);
      const record = fromLog();
      save(store, record);
      const ids = () =>
        store.logs.freeWireCalls(0, Number.MAX_SAFE_INTEGER).map(({ requestId }) => requestId);
      assert.deepEqual(ids(), [one.requestId, two.requestId]);
      const [call] = store.logs.freeWireCalls(one.requestedAt, one.requestedAt + 1);
      assert.deepEqual(call, {
        requestId: one.requestId,
        completedAt: one.requestedAt + 1_200,
        model: one.model,
        tokens: one.tokens,
        responseId: one.providerResponseId,
        session: "s",
      });
      match(store, record, one.requestId);
      assert.deepEqual(ids(), [two.requestId]);
    });
  });

  it("have a first one, of all programs or of the given ones", async () => {
    await withStore((store) => {
      save(store, fromLog({ requestedAt: noon - 1_000 }));
      assert.equal(store.logs.firstWireCall(null), null);
      store.records.insert([
        sampleRecord({ requestedAt: noon + 5, client: "goose" }),
        sampleRecord({ requestedAt: noon + 3, client: "claude" }),
      ]);
      assert.equal(store.logs.firstWireCall(null), noon + 3);
      assert.equal(store.logs.firstWireCall(["goosed", "goose"]), noon + 5);
      assert.equal(store.logs.firstWireCall(["droid"]), null);
    });
  });
});

describe("readSince()", () => {
  it("reads records from logs in order, without those of the proxy", async () => {
    await withStore((store) => {
      const records = [3, 1, 2, 2].map((offset) => fromLog({ requestedAt: noon + offset }));
      save(store, ...records);
      store.records.insert([sampleRecord({ requestedAt: noon + 2 })]);
      const [first, ...others] = store.logs.readSince(noon, 0, 2);
      assert.deepEqual([first?.requestedAt, others.length], [noon + 1, 1]);
      const last = others.at(-1);
      const rest = store.logs.readSince(last!.requestedAt, last!.seq, 10);
      assert.deepEqual(
        rest.map(({ requestedAt }) => requestedAt),
        [noon + 2, noon + 3],
      );
    });
  });
});

describe("removal", () => {
  it("deletes the records of one agent or of all, and none of the proxy's", async () => {
    await withStore(async (store) => {
      const wire = sampleRecord();
      store.records.insert([wire]);
      const [one, two] = [fromLog(), fromLog({ client: "codex" })];
      save(store, one, two);
      store.logs.save({ records: [], matches: [], position }, noon);
      store.logs.save(
        { records: [], matches: [], position: { ...position, path: "/b", agent: "codex" } },
        noon,
      );
      match(store, fromLog(), wire.requestId);
      assert.deepEqual([store.logs.count(null), store.logs.count("codex")], [2, 1]);
      assert.deepEqual([store.logs.removeSome("claude"), store.logs.removeSome("claude")], [1, 0]);
      store.logs.forget("claude");
      assert.equal(store.logs.position(position.path), null);
      assert.notEqual(store.logs.position("/b"), null);
      assert.equal(store.logs.freeWireCalls(0, Number.MAX_SAFE_INTEGER).length, 1);
      assert.deepEqual([store.logs.removeSome(null), store.logs.count(null)], [1, 0]);
      assert.equal(store.records.count({ from: null, to: null }), 1);
      assert.equal(store.delivery.countPending(), 1);
    });
  });

  it("of everything forgets how far files were read", async () => {
    await withStore((store) => {
      const wire = sampleRecord();
      store.records.insert([wire]);
      store.logs.save({ records: [], matches: [], position }, noon);
      match(store, fromLog(), wire.requestId);
      store.deletion.finish(noon, false);
      assert.notEqual(store.logs.position(position.path), null);
      store.deletion.finish(null, false);
      assert.equal(store.logs.position(position.path), null);
      assert.equal(store.logs.freeWireCalls(0, Number.MAX_SAFE_INTEGER).length, 1);
    });
  });
});

describe("linkPullRequests()", () => {
  const link = { session: "s-1", at: noon + 5_000, pullRequest: 7, agent: "claude" };
  const on = (given: Partial<RequestRecord>) => sampleRecord({ sessionId: "s-1", gitBranch: "x", ...given });
  const saveLink = (store: Store) =>
    store.logs.save({ records: [], matches: [], position: null, links: [link] }, noon);
  const costOf = async (store: Store, pullRequest: number) =>
    (await store.reports.read({ by: "total", from: null, to: null, pullRequest }))[0]?.requests ?? 0;

  it("gives the calls of the session the pull request, from logs and from the wire, in the rollups too", async () => {
    await withStore(async (store) => {
      const records = [
        on({ requestedAt: noon }),
        on({ requestedAt: noon + 10_000, recordSource: "logs" }),
        on({ requestedAt: noon + 20_000, pullRequest: 3 }),
        on({ requestedAt: noon + 20_000, gitBranch: "main" }),
        on({ requestedAt: noon, sessionId: "s-2" }),
      ];
      store.records.insert(records);
      while (store.rollups.buildSome(noon + 86_400_000));
      saveLink(store);
      assert.equal(store.logs.linkPullRequests(), 2);
      assert.equal(store.logs.linkPullRequests(), 0);
      assert.deepEqual([await costOf(store, 7), await costOf(store, 3)], [2, 1]);
    });
  });

  it("links a call that was stored later, or whose caller became known later, at the next import", async () => {
    await withStore((store) => {
      saveLink(store);
      assert.equal(store.logs.linkPullRequests(), 0);
      const due = on({ requestedAt: noon, attributionDueAt: noon + 30_000 });
      store.records.insert([due]);
      assert.equal(store.logs.linkPullRequests(), 1);
      store.insertBatch({ records: [], bodies: [], coverage: [], attributed: [due] });
      assert.equal(store.logs.linkPullRequests(), 1);
    });
  });

  it("links nothing once what is known about the logs is forgotten", async () => {
    await withStore((store) => {
      saveLink(store);
      store.logs.forget("claude");
      store.records.insert([on({ requestedAt: noon })]);
      assert.equal(store.logs.linkPullRequests(), 0);
    });
  });
});
