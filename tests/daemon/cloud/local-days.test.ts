import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readLocalDays } from "../../../daemon/cloud/local-days.ts";
import { withStore } from "../store/open-sample-store.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";

const policy = { preset: "standard", fields: {}, perProject: {} } as const;
const date = new Date(noon).toISOString().slice(0, 10);

/** A change of a request, and whether the cloud's totals may then differ. */
const changes: readonly (readonly [what: string, at: number, isChanged: boolean])[] = [
  ["before it was sent", noon + 1, false],
  ["since it was sent", noon + 3, true],
];

describe("readLocalDays()", () => {
  it("counts a request with all fields that were ever sent, or by the current policy if they are unknown", () =>
    withStore((store) => {
      const records = [1, 2, 3, 4].map(() => sampleRecord({ requestedAt: noon }));
      const [before, full, bare, both] = records.map(({ requestId }) => requestId) as [
        string,
        string,
        string,
        string,
      ];
      store.records.insert(records);
      store.delivery.saveSentFields([full], ["prompt_tokens", "completion_tokens"]);
      store.delivery.saveSentFields([bare, both], []);
      store.delivery.saveSentFields([both], ["prompt_tokens"]);
      store.delivery.saveSentFields([both], ["completion_tokens"]);
      store.delivery.saveSentFields([both], []);
      store.delivery.settle({
        synced: [before, full, bare, both],
        skipped: [],
        quarantined: [],
        at: noon + 1,
      });
      const of = (fields: Record<string, boolean>) =>
        readLocalDays(store.delivery, { ...policy, fields }, date, date)[0]?.delivered;
      const { promptTokens, completionTokens } = sampleRecord().tokens;
      const held = of({ prompt_tokens: false, completion_tokens: false });
      assert.deepEqual([held?.requests, held?.promptTokens], [4, 2 * Number(promptTokens)]);
      const now = of({});
      assert.deepEqual([now?.requests, now?.completionTokens], [4, 3 * Number(completionTokens)]);
    }));

  for (const [when, at, isChanged] of changes) {
    for (const how of ["recomputed", "reassigned"] as const) {
      it(`${isChanged ? "counts" : "does not count"} a request as changed that was ${how} ${when}`, () =>
        withStore((store) => {
          const record = sampleRecord({ requestedAt: noon, project: "web" });
          const { requestId } = record;
          store.records.insert([record, sampleRecord({ requestedAt: noon, project: "other" })]);
          if (how === "recomputed") {
            const update = {
              requestId,
              costPicoUsd: 7n,
              costSource: "computed",
              ratesSource: "auto",
            } as const;
            store.records.updateCosts([update], at);
          } else {
            store.reassignments.move(
              { fromProject: "web", toProject: "site", period: { from: null, to: null } },
              at,
            );
          }
          store.delivery.settle({ synced: [requestId], skipped: [], quarantined: [], at: noon + 2 });
          const [day] = readLocalDays(store.delivery, policy, date, date);
          assert.deepEqual(
            [day?.delivered.requests, day?.changedRequests, day?.pendingRequests],
            [1, isChanged ? 1 : 0, 1],
          );
        }));
    }
  }
});
