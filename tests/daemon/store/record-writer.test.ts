import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { StoreError, type StoreErrorReason } from "../../../core/ports/sqlite.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { CapturedBody } from "../../../daemon/store/port/bodies.ts";
import type { CaptureBatch, Store } from "../../../daemon/store/port/store.ts";
import {
  type BacklogLimits,
  createRecordWriter,
  type RecordWriterEvent,
} from "../../../daemon/store/record-writer.ts";
import { SLOT_MS } from "../../../daemon/store/rollup-definition.ts";
import { inNewFolder, opener, withStore } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

const host = "api.anthropic.com";

const sampleBody = (requestId: string, size = 10): CapturedBody => ({
  requestId,
  direction: "response",
  capturedAt: noon,
  contentType: "application/json",
  content: new Uint8Array(size),
  originalSizeBytes: size,
  truncated: false,
  redactionApplied: false,
  redactionSummary: [],
});

/** A writer whose turns and timers the test controls, over a store that fails on command. */
function createBench(store: Pick<Store, "insertBatch">, limits?: BacklogLimits) {
  const turns: (() => void)[] = [];
  const timers: { work: () => void; delayMs: number }[] = [];
  const events: RecordWriterEvent[] = [];
  let failure: Error | null = null;
  let at = noon;
  const batches: CaptureBatch[] = [];
  const writer = createRecordWriter(
    {
      store: {
        insertBatch: (batch) => {
          if (failure !== null) throw failure;
          store.insertBatch(batch);
          batches.push({ ...batch, records: [...batch.records] });
        },
      },
      atTurnEnd: (work) => turns.push(work),
      later: (work, delayMs) => timers.push({ work, delayMs }),
      now: () => at,
      onEvent: (event) => events.push(event),
    },
    limits,
  );
  return {
    writer,
    turns,
    timers,
    events,
    batches,
    failWith: (error: Error | StoreErrorReason | null) => {
      failure = typeof error === "string" ? new StoreError(error, `planned ${error}`) : error;
    },
    pass: (ms: number) => {
      at += ms;
    },
    endTurn: () => {
      for (const work of turns.splice(0)) work();
    },
    fireTimer: () => timers.shift()?.work(),
  };
}

const nowhere: Pick<Store, "insertBatch"> = { insertBatch: () => {} };

describe("createRecordWriter()", () => {
  it("stores everything captured in one turn in one transaction", () =>
    withStore((store) => {
      const bench = createBench(store);
      const records = [sampleRecord(), sampleRecord(), sampleRecord()];
      for (const record of records) {
        bench.writer.add(record);
        bench.writer.count("metered", host);
      }
      bench.writer.addBody(sampleBody(records[0]?.requestId ?? ""));
      assert.equal(bench.turns.length, 1);
      assert.equal(store.records.count({ from: null, to: null }), 0);
      bench.endTurn();
      assert.equal(bench.batches.length, 1);
      assert.equal(store.records.count({ from: null, to: null }), 3);
      assert.equal(store.bodies.stats().bodies, 1);
      assert.deepEqual(store.coverage.read({ from: null, to: null }), [{ host, kind: "metered", count: 3 }]);
      assert.deepEqual(bench.writer.health(), {
        capturing: "ok",
        lastError: null,
        pending: 0,
        stored: 3,
        dropped: {},
      });
      assert.equal(bench.turns.length, 0);
    }));

  it("stores attributions after their records, even if the store fails in between or refuses one", () =>
    withStore((store) => {
      const bench = createBench(store);
      const records = Array.from({ length: 600 }, () =>
        sampleRecord({ project: "misc", attributionDueAt: noon }),
      );
      const attributed = records.map((record) => ({ ...record, project: "shop" }));
      const countOf = (project: string) =>
        store.reassignments.count({ fromProject: project, toProject: "x", period: { from: null, to: null } })
          .requests;
      for (const record of records) bench.writer.add(record);
      bench.writer.attribute(attributed);
      bench.endTurn();
      assert.deepEqual([countOf("misc"), countOf("shop")], [500, 0]);
      bench.failWith("disk_full");
      bench.endTurn();
      bench.failWith(null);
      bench.fireTimer();
      assert.deepEqual([countOf("misc"), countOf("shop")], [0, 600]);

      const last = sampleRecord({ project: "misc", attributionDueAt: noon });
      const refused = sampleRecord({ requestedAt: -1 });
      bench.writer.add(refused);
      bench.writer.add(last);
      bench.writer.attribute([{ ...last, project: "shop" }]);
      bench.endTurn();
      assert.equal(countOf("shop"), 601);
      assert.equal(bench.writer.flush(), true);
    }));

  it("drops attributions that exceed the backlog", () => {
    const bench = createBench(nowhere, { records: 2, bodyBytes: 0 });
    const record = sampleRecord();
    bench.writer.attribute([record, record, record]);
    assert.equal(bench.turns.length, 0);
    bench.writer.attribute([record, record]);
    bench.writer.attribute([record]);
    bench.endTurn();
    assert.equal(bench.batches[0]?.attributed?.length, 2);
  });

  it("spreads a large backlog over turns of 500", () => {
    const bench = createBench(nowhere);
    for (let n = 0; n < 1_100; n++) bench.writer.add(sampleRecord());
    bench.endTurn();
    bench.endTurn();
    bench.endTurn();
    assert.deepEqual(
      bench.batches.map(({ records }) => records.length),
      [500, 500, 100],
    );
    assert.equal(bench.turns.length, 0);
  });

  for (const reason of [
    "busy",
    "disk_full",
    "io",
    "out_of_memory",
    "read_only",
    "corrupt",
    "cannot_open",
  ] as const) {
    it(`keeps everything on ${reason}, retries after growing delays, and recovers`, () =>
      withStore((store) => {
        const bench = createBench(store);
        bench.failWith(reason);
        bench.writer.add(sampleRecord());
        bench.endTurn();
        bench.writer.add(sampleRecord());
        assert.equal(bench.turns.length, 0, "no turn is spent while a retry is due");
        for (let n = 0; n < 10; n++) bench.fireTimer();
        const health = bench.writer.health();
        assert.equal(health.capturing, "failing");
        assert.deepEqual(health.lastError, { reason, message: `planned ${reason}`, at: noon });
        assert.equal(health.pending, 2);
        assert.equal(bench.timers[0]?.delayMs, reason === "busy" ? 100 : 2_000);
        bench.failWith(null);
        bench.fireTimer();
        assert.equal(store.records.count({ from: null, to: null }), 2);
        assert.equal(bench.writer.health().capturing, "ok");
        assert.equal(bench.writer.health().lastError?.reason, reason);
        assert.deepEqual(bench.events, [
          { kind: "failing", reason, message: `planned ${reason}` },
          { kind: "recovered", pending: 0, dropped: 0 },
        ]);
        assert.equal(bench.timers.length, 0);
      }));
  }

  it("reports no lock that is released within five attempts", () => {
    const bench = createBench(nowhere);
    bench.failWith("busy");
    bench.writer.add(sampleRecord());
    bench.endTurn();
    for (let n = 0; n < 4; n++) bench.fireTimer();
    assert.equal(bench.writer.health().capturing, "ok");
    bench.failWith(null);
    bench.fireTimer();
    assert.deepEqual(bench.events, []);
    assert.equal(bench.writer.health().lastError?.reason, "busy");
    assert.equal(bench.writer.health().stored, 1);
  });

  it("waits 10, 20, 40 ms between the first attempts", () => {
    const bench = createBench(nowhere);
    bench.failWith("busy");
    bench.writer.add(sampleRecord());
    bench.endTurn();
    const delays: (number | undefined)[] = [];
    for (let n = 0; n < 3; n++) {
      delays.push(bench.timers[0]?.delayMs);
      bench.fireTimer();
    }
    assert.deepEqual(delays, [10, 20, 40]);
  });

  it("drops what exceeds the backlog, and counts it by reason and in the coverage", () =>
    withStore((store) => {
      const bench = createBench(store, { records: 2, bodyBytes: 100 });
      bench.failWith("disk_full");
      const kept = [sampleRecord(), sampleRecord()];
      bench.writer.add(kept[0]!);
      bench.endTurn();
      bench.writer.add(kept[1]!);
      bench.writer.add(sampleRecord());
      bench.writer.addBody(sampleBody(kept[0]!.requestId, 60));
      bench.writer.addBody(sampleBody("b", 60));
      assert.deepEqual(bench.writer.health().dropped, { disk_full: 2 });
      bench.failWith(null);
      bench.fireTimer();
      assert.equal(store.records.count({ from: null, to: null }), 2);
      assert.equal(store.bodies.stats().bodies, 1);
      assert.deepEqual(store.coverage.read({ from: null, to: null }), [{ host, kind: "dropped", count: 1 }]);
      assert.deepEqual(bench.events.at(-1), { kind: "recovered", pending: 0, dropped: 2 });
      bench.writer.addBody(sampleBody(kept[1]!.requestId, 90));
      bench.endTurn();
      assert.equal(store.bodies.stats().bodies, 2, "room again after recovery");
    }));

  it("stores bodies after their records, and none of a record that is refused or was deleted", () =>
    withStore((store) => {
      const bench = createBench(store);
      const records = Array.from({ length: 600 }, () => sampleRecord());
      for (const record of records) bench.writer.add(record);
      bench.writer.addBody(sampleBody(records[599]!.requestId));
      bench.endTurn();
      assert.equal(store.bodies.stats().bodies, 0);
      bench.endTurn();
      assert.equal(store.bodies.stats().bodies, 1);

      const refused = sampleRecord({ requestedAt: -1 });
      const others = Array.from({ length: 500 }, () => sampleRecord());
      for (const record of [refused, ...others]) bench.writer.add(record);
      for (const { requestId } of [refused, others[499]!]) bench.writer.addBody(sampleBody(requestId));
      bench.endTurn();
      bench.endTurn();
      assert.equal(store.bodies.stats().bodies, 2);

      store.deletion.deleteRequests([records[0]!.requestId]);
      bench.writer.addBody(sampleBody(records[0]!.requestId));
      bench.endTurn();
      assert.equal(store.bodies.stats().bodies, 2);
    }));

  it("counts a loss as backlog if the store works and one turn captures too much", () => {
    const bench = createBench(nowhere, { records: 1, bodyBytes: 0 });
    bench.writer.add(sampleRecord());
    bench.writer.add(sampleRecord());
    assert.deepEqual(bench.writer.health().dropped, { backlog: 1 });
  });

  it("drops only the record that the store refuses", () =>
    withStore((store) => {
      const bench = createBench(store);
      const poison = sampleRecord({ providerCostPicoUsd: 2n ** 70n });
      for (const record of [sampleRecord({ requestId: "x" }), poison, sampleRecord({ requestId: "y" })])
        bench.writer.add(record);
      bench.writer.addBody({ ...sampleBody("x"), direction: "sideways" as "request" });
      bench.writer.addBody(sampleBody("y"));
      bench.writer.count("metered", host);
      bench.endTurn();
      assert.equal(store.records.count({ from: null, to: null }), 2);
      assert.equal(store.bodies.stats().bodies, 1);
      assert.deepEqual(store.coverage.read({ from: null, to: null }), [
        { host, kind: "dropped", count: 1 },
        { host, kind: "metered", count: 1 },
      ]);
      const health = bench.writer.health();
      assert.equal(health.capturing, "ok");
      assert.equal(health.stored, 2);
      assert.deepEqual(health.dropped, { invalid_value: 1, constraint: 1 });
      assert.deepEqual(
        bench.events.map((event) => [event.kind, event.kind === "refused" ? event.requestId : null]),
        [
          ["refused", poison.requestId],
          ["refused", "x"],
        ],
      );
      assert.equal(bench.turns.length, 0);
    }));

  it("does not retry counters that the store refuses", () => {
    const bench = createBench(nowhere);
    bench.failWith(new TypeError("planned"));
    bench.writer.count("metered", host);
    bench.endTurn();
    assert.equal(bench.turns.length, 0);
    assert.equal(bench.writer.flush(), true);
  });

  it("keeps the rest if the store fails while it stores row by row", () => {
    let calls = 0;
    const bench = createBench({
      insertBatch: () => {
        calls++;
        if (calls === 1) throw new StoreError("constraint", "planned");
        if (calls === 3) throw new StoreError("disk_full", "planned");
      },
    });
    for (let n = 0; n < 3; n++) bench.writer.add(sampleRecord());
    bench.endTurn();
    assert.equal(bench.writer.health().stored, 1);
    assert.equal(bench.writer.health().pending, 2);
    assert.equal(bench.writer.health().capturing, "failing");
    bench.fireTimer();
    assert.equal(bench.writer.health().stored, 3);
  });

  it("flush() stores everything; close() stores what it can and counts the rest", () => {
    const bench = createBench(nowhere);
    bench.writer.add(sampleRecord());
    assert.equal(bench.writer.flush(), true);
    bench.endTurn();
    assert.equal(bench.batches.length, 1);
    bench.failWith("busy");
    bench.writer.add(sampleRecord());
    bench.writer.addBody(sampleBody("a"));
    assert.equal(bench.writer.flush(), false);
    bench.writer.close();
    bench.writer.close();
    bench.writer.add(sampleRecord());
    assert.deepEqual(bench.writer.health().dropped, { closed: 3 });
    bench.fireTimer();
    bench.endTurn();
    assert.equal(bench.batches.length, 1);
  });

  it("continues if the log throws", () => {
    const turns: (() => void)[] = [];
    const writer = createRecordWriter({
      store: {
        insertBatch: () => {
          throw new StoreError("io", "planned");
        },
      },
      atTurnEnd: (work) => turns.push(work),
      later: () => {},
      now: () => noon,
      onEvent: () => {
        throw new Error("planned");
      },
    });
    writer.add(sampleRecord());
    for (const work of turns) work();
    assert.equal(writer.health().capturing, "failing");
  });

  it("stores everything after another process releases its lock", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const store = await openStore(opener, path);
      const other = await opener.open(path);
      const bench = createBench(store);
      other.execute("BEGIN IMMEDIATE");
      bench.writer.add(sampleRecord());
      bench.endTurn();
      assert.equal(bench.writer.health().lastError?.reason, "busy");
      other.execute("COMMIT");
      bench.fireTimer();
      assert.equal(bench.writer.health().stored, 1);
      other.close();
      store.close();
    }));

  // Planted: `records = []` instead of `records.slice(n)` after a full batch, which lost everything after the 500th.
  it("stores, keeps or drops every record exactly once, in order", () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant("add" as const), n: fc.integer({ min: 1, max: 700 }) }),
      },
      { weight: 3, arbitrary: fc.constant({ kind: "turn" as const }) },
      { weight: 3, arbitrary: fc.constant({ kind: "timer" as const }) },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant("fail" as const),
          reason: fc.constantFrom<StoreErrorReason | null>("busy", "disk_full", null, null),
        }),
      },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const storedIds: string[] = [];
        const bench = createBench(
          { insertBatch: ({ records }) => storedIds.push(...records.map(({ requestId }) => requestId)) },
          { records: 1_000, bodyBytes: 0 },
        );
        const added: string[] = [];
        for (const action of steps) {
          if (action.kind === "turn") bench.endTurn();
          else if (action.kind === "timer") bench.fireTimer();
          else if (action.kind === "fail") bench.failWith(action.reason);
          else {
            for (let n = 0; n < action.n; n++) {
              const record = sampleRecord();
              added.push(record.requestId);
              bench.writer.add(record);
            }
          }
          const { stored, pending, dropped } = bench.writer.health();
          const lost = Object.values(dropped).reduce((sum, n) => sum + n, 0);
          assert.equal(stored, storedIds.length);
          assert.equal(stored + pending + lost, added.length);
          assert.ok(pending <= 1_000);
          if (pending > 0) assert.ok(bench.turns.length + bench.timers.length > 0, "something is due");
        }
        const places = storedIds.map((id) => added.indexOf(id));
        assert.deepEqual(
          places,
          [...new Set(places)].sort((a, b) => a - b),
        );
      }),
      { numRuns: 40 },
    );
  });
});

describe("createRecordWriter() with calls in progress", () => {
  const ever = { from: null, to: null };
  const unfinished = (count: number) => [{ host, kind: "unfinished", count }];

  it("leaves killed calls in the coverage of the time when they started", () =>
    withStore((store) => {
      const bench = createBench(store);
      bench.writer.begin(host);
      bench.pass(60_000);
      const ended = bench.writer.begin(host);
      bench.endTurn();
      assert.deepEqual(store.coverage.read(ever), unfinished(2));
      bench.pass(SLOT_MS);
      bench.writer.add(sampleRecord());
      ended();
      bench.endTurn();
      // The process is killed here, so its remaining count-down is lost.
      assert.deepEqual(store.coverage.read({ from: noon, to: noon + SLOT_MS }), unfinished(1));
      assert.deepEqual(store.coverage.read(ever), unfinished(1));
    }));

  it("stores a record and the end of its call in one transaction", () =>
    withStore((store) => {
      const bench = createBench(store);
      const ended = bench.writer.begin(host);
      bench.endTurn();
      bench.writer.add(sampleRecord());
      bench.writer.count("metered", host);
      ended();
      ended();
      bench.endTurn();
      assert.equal(bench.batches.length, 2);
      assert.deepEqual(store.coverage.read(ever), [{ host, kind: "metered", count: 1 }]);
    }));

  it("stores no start of a call that ends in the same turn", () => {
    const bench = createBench(nowhere);
    bench.writer.begin(host)();
    bench.endTurn();
    assert.deepEqual(bench.batches, []);
  });

  it("stores the starts of calls separately at most every 10 ms", () => {
    const bench = createBench(nowhere);
    bench.writer.begin(host);
    bench.endTurn();
    for (let begun = 0; begun < 3; begun++) bench.writer.begin(host);
    bench.endTurn();
    assert.equal(bench.batches.length, 1);
    assert.deepEqual(
      bench.timers.map(({ delayMs }) => delayMs),
      [10],
    );
    bench.fireTimer();
    bench.endTurn();
    assert.deepEqual(
      bench.batches.map(({ coverage }) => coverage.map(({ count }) => count)),
      [[1], [3]],
    );
    bench.pass(10);
    bench.writer.begin(host);
    bench.endTurn();
    assert.equal(bench.batches.length, 3);
  });

  it("stores the starts of calls with other rows if there are any", () => {
    const bench = createBench(nowhere);
    bench.writer.count("connections", host);
    bench.endTurn();
    bench.writer.begin(host);
    bench.writer.add(sampleRecord());
    bench.endTurn();
    assert.equal(bench.batches.length, 2);
    bench.fireTimer();
    bench.endTurn();
    assert.equal(bench.batches.length, 2);
  });

  it("counts no call after it was closed", () =>
    withStore((store) => {
      const { writer } = createBench(store);
      const ended = writer.begin(host);
      writer.close();
      ended();
      writer.begin(host)();
      assert.deepEqual(store.coverage.read(ever), unfinished(1));
    }));
});
