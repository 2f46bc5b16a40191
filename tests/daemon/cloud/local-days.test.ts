import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readLocalDays } from "../../../daemon/cloud/local-days.ts";
import { withStore } from "../store/open-sample-store.ts";
import { noon, sampleRecord } from "../store/sample-records.ts";

const policy = { preset: "standard", fields: {}, perProject: {} } as const;
const date = new Date(noon).toISOString().slice(0, 10);

/** What happens to a request, and whether the cloud may differ because of it. */
const changes: readonly (readonly [what: string, at: number, isChanged: boolean])[] = [
  ["before it was sent", noon + 1, false],
  ["since it was sent", noon + 3, true],
];

describe("readLocalDays()", () => {
  for (const [when, at, isChanged] of changes) {
    for (const how of ["recomputed", "reassigned"] as const) {
      it(`${isChanged ? "names" : "does not name"} a request that was ${how} ${when}`, () =>
        withStore((store) => {
          const record = sampleRecord({ requestedAt: noon, project: "web" });
          const { requestId } = record;
          store.insertRecords([record, sampleRecord({ requestedAt: noon, project: "other" })]);
          if (how === "recomputed") {
            const update = {
              requestId,
              costPicoUsd: 7n,
              costSource: "computed",
              ratesSource: "auto",
            } as const;
            store.updateCosts([update], at);
          } else {
            store.reassign({ fromProject: "web", toProject: "site", period: { from: null, to: null } }, at);
          }
          store.settleRequests({ synced: [requestId], skipped: [], quarantined: [], at: noon + 2 });
          const [day] = readLocalDays(store, policy, date, date);
          assert.deepEqual(
            [day?.delivered.requests, day?.changedRequests, day?.pendingRequests],
            [1, isChanged ? 1 : 0, 1],
          );
        }));
    }
  }
});
