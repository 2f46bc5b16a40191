import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { NO_TOKENS } from "../../../core/metering/usage/token-counts.ts";
import { migrate } from "../../../daemon/store/migrate.ts";
import { openStore } from "../../../daemon/store/open-store.ts";
import type { QuarantineEntry } from "../../../daemon/store/port/delivery.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { propertyRuns } from "../../core/property-runs.rig.ts";
import { inNewFolder, opener, withStore } from "./open-sample-store.rig.ts";
import { noon, sampleRecord } from "./sample-records.rig.ts";

const nothing = { synced: [], skipped: [], quarantined: [], at: noon };

const quarantineOf = (requestId: string): QuarantineEntry => ({
  kind: "metadata",
  requestId,
  direction: null,
  reason: "refused",
  httpStatus: 422,
  quarantinedAt: noon,
});

const records = Array.from({ length: 6 }, (_, n) => sampleRecord({ requestedAt: noon + n * 1_000 }));

/** The operations that change which requests are pending. Each may meet requests in any state, and repeat. */
type Operation =
  | {
      readonly kind: "insert" | "insert_incomplete" | "sync" | "skip" | "quarantine" | "release" | "delete";
      readonly of: number[];
    }
  | { readonly kind: "prune"; readonly before: number }
  | { readonly kind: "skip_all" }
  | { readonly kind: "offer_all" };

const indexes = fc.uniqueArray(fc.nat({ max: records.length - 1 }), { minLength: 1, maxLength: 3 });

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constantFrom("insert", "insert_incomplete", "sync", "skip", "quarantine", "release", "delete"),
      of: indexes,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("prune"), before: fc.nat({ max: records.length }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("skip_all") }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("offer_all") }) },
);

function perform(store: Store, step: Operation): void {
  if (step.kind === "prune") {
    store.deletion.deleteSome(noon + step.before * 1_000);
    return;
  }
  if (step.kind === "skip_all") {
    let through = store.delivery.skipSome(noon, null);
    while (through !== null) through = store.delivery.skipSome(noon, through);
    return;
  }
  if (step.kind === "offer_all") {
    assert.equal(store.delivery.offerAgain(noon, null), null);
    return;
  }
  const chosen = step.of.map((index) => records[index] ?? assert.fail());
  const ids = chosen.map(({ requestId }) => requestId);
  // Sync only settles requests that it has read.
  const stored = () => store.delivery.requestsById(ids).map(({ requestId }) => requestId);
  const steps: Record<typeof step.kind, () => void> = {
    insert: () => store.records.insert(chosen),
    insert_incomplete: () =>
      store.records.insert(chosen.map((each) => ({ ...each, tokens: NO_TOKENS, tokensComplete: false }))),
    sync: () => store.delivery.settle({ ...nothing, synced: ids }),
    skip: () => store.delivery.settle({ ...nothing, skipped: ids }),
    quarantine: () => store.delivery.settle({ ...nothing, quarantined: stored().map(quarantineOf) }),
    release: () => void store.quarantine.release("metadata", ids),
    delete: () => store.deletion.deleteRequests(ids),
  };
  steps[step.kind]();
}

/** The pending requests in order of arrival, read from every row. */
function readPendingRows(store: Store): string[] {
  const refused = new Set(store.quarantine.list().map(({ requestId }) => requestId));
  return store.records
    .read({ from: null, to: null, afterSeq: 0, limit: 1_000 })
    .filter(({ syncedAt, syncSkippedAt }) => syncedAt === null && syncSkippedAt === null)
    .map(({ requestId }) => requestId)
    .filter((id) => !refused.has(id));
}

describe("DeliveryStore", () => {
  // Found, once each: a fill, a release, a deletion and a settlement that did not change the count, a cursor that did not move
  // back when the last row was deleted, and quarantine that stayed after its request was deleted.
  it("counts the pending requests as a reading of every row does, after any operations", () =>
    fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 30, size: "max" }), (steps) =>
        withStore((store) => {
          for (const step of steps) {
            perform(store, step);
            const pending = readPendingRows(store);
            assert.equal(store.delivery.countPending(), pending.length, JSON.stringify(step));
            assert.deepEqual(
              store.delivery.pendingProjects(100, 0).map(({ requestId }) => requestId),
              pending,
              JSON.stringify(step),
            );
          }
        }),
      ),
      { numRuns: propertyRuns(50) },
    ));

  it("skips what is pending at the first call in steps, and nothing that arrives between them", () =>
    withStore((store) => {
      const older = Array.from({ length: 2_300 }, () => sampleRecord());
      store.records.insert(older);
      const left: number[] = [];
      let through = store.delivery.skipSome(noon, null);
      while (through !== null) {
        left.push(store.delivery.countPending());
        store.records.insert([sampleRecord()]);
        through = store.delivery.skipSome(noon, through);
      }
      assert.deepEqual(left, [1_300, 301]);
      assert.equal(store.delivery.countPending(), 2);
      assert.equal(store.delivery.requestsById([older[0]?.requestId ?? ""])[0]?.syncSkippedAt, noon);
    }));

  it("offers again what was sent at an instant or later, in steps, with bodies, and nothing that arrives between them", () =>
    withStore((store) => {
      const older = Array.from({ length: 4_500 }, () => sampleRecord());
      store.records.insert(older);
      const ids = older.map(({ requestId }) => requestId);
      store.delivery.settle({ ...nothing, synced: ids.slice(0, 3_000), at: noon });
      store.delivery.settle({ ...nothing, synced: ids.slice(3_000), at: noon + 1 });
      store.delivery.settle({ ...nothing, synced: ids.slice(10, 20), at: noon + 1 });
      assert.equal(store.delivery.countPending(), 0);
      const left: number[] = [];
      let through = store.delivery.offerAgain(noon + 1, null);
      while (through !== null) {
        left.push(store.delivery.countPending());
        const [late] = store.delivery.pendingProjects(1, 0, "newest");
        store.delivery.settle({ ...nothing, synced: [late?.requestId ?? ""], at: noon + 2 });
        through = store.delivery.offerAgain(noon + 1, through);
      }
      assert.deepEqual(left, [1_500, 1_499]);
      assert.equal(store.delivery.countPending(), 1_498);
      // The first stamp stays, so what was sent before the instant is not offered.
      assert.deepEqual(store.delivery.requestsById([ids[15] ?? ""])[0]?.syncedAt, noon);
      assert.equal(store.delivery.pendingProjects(1, 0)[0]?.requestId, ids[3_000]);
    }));

  it("counts what an older version left", () =>
    inNewFolder(async (folder) => {
      const path = join(folder, "meter.db");
      const old = await opener.open(path);
      migrate(old, 23);
      const columns = `request_id, requested_at, provider, model, project, tokens_complete, cost_source, request_kind, streaming,
        latency_ms, attribution_tier, method, path, host, api`;
      const values = "1, 'p', 'm', 'x', 1, 'computed', 'chat', 0, 1, 'git_root', 'POST', '/', 'h', 'a'";
      for (const seq of [1, 2, 3, 5, 8])
        old.execute(`INSERT INTO requests (seq, ${columns}) VALUES (${seq}, 'id-${seq}', ${values})`);
      old.execute("UPDATE requests SET synced_at = 1 WHERE seq IN (1, 3)");
      old.execute("UPDATE cloud_sync_state SET cursor_seq = 1");
      old.execute(
        `INSERT INTO cloud_quarantine (kind, request_id, reason, quarantined_at) VALUES ('metadata', 'id-5', 'r', 1)`,
      );
      old.close();
      const store = await openStore(opener, path);
      assert.equal(store.delivery.countPending(), 2);
      store.close();
    }));
});
