import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ATTRIBUTION_DUE_MS, isCallerAwaited } from "../../../../daemon/store/port/attribution-due.ts";
import { withStore } from "../open-sample-store.rig.ts";
import { noon, sampleRecord } from "../sample-records.rig.ts";

describe("isCallerAwaited()", () => {
  // Planted: a record waits no longer at its due time itself; the bound of a clock that was ahead is missing.
  it("is true of the records that the sync holds back", () =>
    withStore((store) => {
      const near = (ms: number) => fc.integer({ min: ms - 2, max: ms + 2 });
      const afterMs = fc.oneof(
        near(0),
        near(ATTRIBUTION_DUE_MS),
        fc.integer({ min: -86_400_000, max: 86_400_000 }),
      );
      fc.assert(
        fc.property(fc.array(fc.option(afterMs), { minLength: 1, maxLength: 8 }), (list) => {
          const records = list.map((ms) => sampleRecord(ms === null ? {} : { attributionDueAt: noon + ms }));
          store.records.insert(records);
          const ids = records.map(({ requestId }) => requestId);
          const pending = store.delivery
            .pendingProjects(records.length, noon)
            .map(({ requestId }) => requestId);
          const ready = records.filter((record) => !isCallerAwaited(record, noon));
          store.delivery.settle({ synced: ids, skipped: [], quarantined: [], at: noon });
          assert.deepEqual(
            pending,
            ready.map(({ requestId }) => requestId),
          );
        }),
      );
    }));
});
