import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { CapturedBody } from "../../../daemon/store/port/bodies.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { inNewFolder, opener, withStore } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

const body = (requestId: string, capturedAt: number, text = "body"): CapturedBody => ({
  requestId,
  direction: "request",
  capturedAt,
  contentType: null,
  content: new TextEncoder().encode(text),
  originalSizeBytes: 4,
  truncated: false,
  redactionApplied: false,
  redactionSummary: [],
});

function deleteAll(store: Store, before: number | null) {
  const total = { requests: 0, bodies: 0 };
  for (;;) {
    const some = store.deletion.deleteSome(before);
    total.requests += some.requests;
    total.bodies += some.bodies;
    if (some.requests + some.bodies === 0) return total;
  }
}

describe("the user's own deletions", () => {
  it("delete requests, bodies and coverage before an instant, and nothing else", () =>
    withStore((store) => {
      const records = Array.from({ length: 1_200 }, (_, n) => sampleRecord({ requestedAt: noon + n }));
      store.records.insert(records);
      store.bodies.insert([
        body(records[0]?.requestId ?? "", noon),
        // Its request is deleted, although the body was captured after that time.
        body(records[1]?.requestId ?? "", noon + 5_000),
        body(records[1_199]?.requestId ?? "", noon + 5_000),
      ]);
      store.coverage.add([
        { at: noon - 3_600_000, host: "h", kind: "metered", count: 1 },
        { at: noon + 3_600_000, host: "h", kind: "metered", count: 2 },
      ]);
      assert.deepEqual(store.deletion.count(noon + 1_100), { requests: 1_100, bodies: 1, unsent: 0 });
      assert.deepEqual(deleteAll(store, noon + 1_100), { requests: 1_100, bodies: 2 });
      store.deletion.finish(noon + 1_100, true);
      assert.equal(store.deletion.count(null).requests, 100);
      assert.equal(store.bodies.stats().bodies, 1);
      assert.deepEqual(
        store.coverage.read({ from: null, to: null }).map(({ count }) => count),
        [2],
      );
    }));

  it("leave no cursor beyond the requests that are captured next", () =>
    withStore((store) => {
      const send = () => {
        const ids = store.delivery.pendingProjects(10, 0).map(({ requestId }) => requestId);
        store.delivery.settle({ synced: ids, skipped: [], quarantined: [], at: noon });
        return ids.length;
      };
      store.records.insert([sampleRecord(), sampleRecord(), sampleRecord()]);
      assert.equal(send(), 3);
      store.bodies.insert([body("a", noon), body("b", noon)]);
      store.delivery.updateState("cloud_body_sync_state", { cursor_body_id: 2 });
      deleteAll(store, null);
      assert.equal(store.delivery.readState("cloud_body_sync_state").cursor_body_id, 0);
      store.records.insert([sampleRecord()]);
      assert.equal(store.delivery.countPending(), 1);
      assert.equal(send(), 1);
    }));

  it("count the unsent requests if a cloud is enabled", () =>
    withStore((store) => {
      const [sent, waiting] = [sampleRecord(), sampleRecord()];
      store.records.insert([sent, waiting]);
      store.delivery.settle({ synced: [sent.requestId], skipped: [], quarantined: [], at: noon });
      assert.equal(store.deletion.count(null).unsent, 0);
      store.delivery.updateState("cloud_state", { enabled: 1 });
      assert.equal(store.deletion.count(null).unsent, 1);
    }));

  it("leave no copy in any file", () =>
    inNewFolder(async (folder) => {
      const store = await openStore(opener, join(folder, "meter.db"));
      store.records.insert([sampleRecord({ requestId: "gone", project: "CANARY-PROJECT" })]);
      store.bodies.insert([body("gone", noon, "CANARY-BODY ".repeat(2_000))]);
      deleteAll(store, null);
      store.deletion.finish(null, false);
      const left = readdirSync(folder).filter((name) =>
        readFileSync(join(folder, name), "latin1").includes("CANARY"),
      );
      assert.deepEqual(left, []);
      store.close();
    }));

  // Planted: what budgets warned of and the peaks of requests stayed.
  it("leave nothing in the database that was derived from requests", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const store = await openStore(opener, path, { rollupTail: { max: 2, keep: 1 } });
      const records = Array.from({ length: 600 }, (_, n) => sampleRecord({ requestedAt: noon + n * 60_000 }));
      store.records.insert(records);
      while (store.rollups.buildSome(noon + 40 * 86_400_000));
      store.coverage.add([{ at: noon, host: "h", kind: "metered", count: 1 }]);
      const warning = { budget: "b", key: "session", threshold: 80, limit: 1n };
      store.budgets.addWarnings([
        { ...warning, at: noon },
        { ...warning, threshold: 100, at: noon + 20 * 60_000 },
      ]);
      const before = noon + 10 * 60_000;
      deleteAll(store, before);
      store.deletion.finish(before, false);
      assert.deepEqual(
        store.budgets.warnings("b").map(({ threshold }) => threshold),
        [100],
      );
      deleteAll(store, null);
      store.deletion.finish(null, false);
      store.close();
      const connection = await opener.open(path, { readOnly: true });
      const tables = connection
        .prepare<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .all([])
        .filter(({ name }) => connection.prepare(`SELECT 1 FROM ${name} LIMIT 1`).all([]).length > 0);
      connection.close();
      // The connection to a cloud, and how far the sums reach.
      assert.deepEqual(
        tables.map(({ name }) => name),
        [
          "cloud_body_sync_state",
          "cloud_state",
          "cloud_sync_state",
          "meta",
          "usage_state",
          "usage_sums_version",
        ],
      );
    }));

  it("remove the quarantine entries of deleted requests", () =>
    withStore((store) => {
      const record = sampleRecord();
      store.records.insert([record]);
      const entry = { direction: null, reason: "schema", httpStatus: 422, quarantinedAt: noon };
      store.delivery.settle({
        synced: [],
        skipped: [],
        quarantined: [{ ...entry, kind: "metadata", requestId: record.requestId }],
        at: noon,
      });
      deleteAll(store, null);
      store.deletion.finish(null, false);
      assert.deepEqual(store.quarantine.list(), []);
    }));
});
