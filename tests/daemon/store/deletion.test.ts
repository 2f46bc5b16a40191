import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type CapturedBody, openStore, type Store } from "../../../daemon/store/mod.ts";
import { inNewFolder, opener, withStore } from "./open-sample-store.ts";
import { noon, sampleRecord } from "./sample-records.ts";

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
    const some = store.deleteSome(before);
    total.requests += some.requests;
    total.bodies += some.bodies;
    if (some.requests + some.bodies === 0) return total;
  }
}

describe("the user's own deletions", () => {
  it("take requests, bodies and coverage before an instant, and nothing else", () =>
    withStore((store) => {
      const records = Array.from({ length: 1_200 }, (_, n) => sampleRecord({ requestedAt: noon + n }));
      store.insertRecords(records);
      store.insertBodies([
        body(records[0]?.requestId ?? "", noon),
        // Its request goes, though the body came after the instant.
        body(records[1]?.requestId ?? "", noon + 5_000),
        body(records[1_199]?.requestId ?? "", noon + 5_000),
      ]);
      store.addCoverage([
        { at: noon - 3_600_000, host: "h", kind: "metered", count: 1 },
        { at: noon + 3_600_000, host: "h", kind: "metered", count: 2 },
      ]);
      assert.deepEqual(store.countDeletion(noon + 1_100), { requests: 1_100, bodies: 1, unsent: 0 });
      assert.deepEqual(deleteAll(store, noon + 1_100), { requests: 1_100, bodies: 2 });
      store.finishDeletion(noon + 1_100, true);
      assert.equal(store.countDeletion(null).requests, 100);
      assert.equal(store.bodyStats().bodies, 1);
      assert.deepEqual(
        store.readCoverage({ from: null, to: null }).map(({ count }) => count),
        [2],
      );
    }));

  it("leave what is captured next before no cursor", () =>
    withStore((store) => {
      const send = () => {
        const ids = store.pendingProjects(10).map(({ requestId }) => requestId);
        store.settleRequests({ synced: ids, skipped: [], quarantined: [], at: noon });
        return ids.length;
      };
      store.insertRecords([sampleRecord(), sampleRecord(), sampleRecord()]);
      assert.equal(send(), 3);
      store.insertBodies([body("a", noon), body("b", noon)]);
      store.updateCloudState("cloud_body_sync_state", { cursor_body_id: 2 });
      deleteAll(store, null);
      assert.equal(store.readCloudState("cloud_body_sync_state").cursor_body_id, 0);
      store.insertRecords([sampleRecord()]);
      assert.equal(store.countPending(), 1);
      assert.equal(send(), 1);
    }));

  it("say how many requests were still to be sent, where a cloud is on", () =>
    withStore((store) => {
      const [sent, waiting] = [sampleRecord(), sampleRecord()];
      store.insertRecords([sent, waiting]);
      store.settleRequests({ synced: [sent.requestId], skipped: [], quarantined: [], at: noon });
      assert.equal(store.countDeletion(null).unsent, 0);
      store.updateCloudState("cloud_state", { enabled: 1 });
      assert.equal(store.countDeletion(null).unsent, 1);
    }));

  it("leave nothing of it in any file", () =>
    inNewFolder(async (folder) => {
      const store = await openStore(opener, join(folder, "meter.db"));
      store.insertRecords([sampleRecord({ requestId: "gone", project: "CANARY-PROJECT" })]);
      store.insertBodies([body("gone", noon, "CANARY-BODY ".repeat(2_000))]);
      deleteAll(store, null);
      store.finishDeletion(null, false);
      const left = readdirSync(folder).filter((name) =>
        readFileSync(join(folder, name), "latin1").includes("CANARY"),
      );
      assert.deepEqual(left, []);
      store.close();
    }));

  it("take out of quarantine what is gone", () =>
    withStore((store) => {
      const record = sampleRecord();
      store.insertRecords([record]);
      const entry = { direction: null, reason: "schema", httpStatus: 422, quarantinedAt: noon };
      store.settleRequests({
        synced: [],
        skipped: [],
        quarantined: [{ ...entry, kind: "metadata", requestId: record.requestId }],
        at: noon,
      });
      deleteAll(store, null);
      store.finishDeletion(null, false);
      assert.deepEqual(store.listQuarantine(), []);
    }));
});
