import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { sendCoverage } from "../../../daemon/cloud/coverage-sync.ts";
import { createCloudService } from "../../../daemon/cloud/create-cloud-service.ts";
import { sendLimitReadings } from "../../../daemon/cloud/limit-sync.ts";
import { readRestore, saveConnection } from "../../../daemon/cloud/offer-again.ts";
import { readPullHistory } from "../../../daemon/cloud/pull-state.ts";
import { stampWatermark } from "../../../daemon/cloud/upload-watermark.ts";
import { readNote } from "../../../daemon/store/read-note.ts";
import { START } from "../../cloud/kit/cloud-rig.ts";
import { createMachine, startScriptedCloud } from "./cloud.rig.ts";

const KEYS = [
  ...["limit_readings_sent", "coverage_sent", "ledger_heads", "cloud_restore", "cloud_connection"],
  ...["pairing_target", "rates_pull_failed", "upload_from_commanded", "sync_machine", "uploader_machine"],
];

describe("readNote()", () => {
  it("returns null for a note that does not exist or can't be parsed", () => {
    const texts: Record<string, string> = { whole: '{"a":1}', cut: '{"a":' };
    const notes = { read: (key: string) => texts[key] ?? null };
    assert.deepEqual(
      ["whole", "cut", "none"].map((key) => readNote(notes, key)),
      [{ a: 1 }, null, null],
    );
  });

  it("lets everything that is sent and shown begin anew after its note was damaged", async () => {
    const cloud = await startScriptedCloud();
    const clock = createManualClock(START);
    const machine = await createMachine(cloud.url, {
      clock,
      config: { cloud: { upload: { preset: "full" } } },
    });
    try {
      const { ports, store } = machine;
      for (const key of KEYS) store.notes.write(key, '{"workspaceId":"w');
      store.coverage.saveRun({ from: START - 7_200_000, to: START - 3_600_000 });
      store.limits.save([
        {
          isPoint: false,
          reading: {
            ...{ provider: "anthropic", account: null, window: "5h", scope: null, unit: "share" },
            ...{ windowMs: null, usedPpm: 1, limit: null, remaining: null, resetAt: null, status: null },
            seenAt: START,
          },
        },
      ]);
      cloud.otherwise("/v1/daemon/coverage", { status: 200, body: { stored: 1 } });
      cloud.otherwise("/v1/daemon/limits", { status: 200, body: { stored: 1 } });
      assert.equal(await sendCoverage(ports, new Map()), "sent");
      assert.equal(await sendLimitReadings(ports), "sent");
      const service = createCloudService(ports);
      assert.equal((await service.state()).ledger, null);
      assert.equal(service.connectStatus().status, "idle");
      assert.equal(readPullHistory(store.notes).failure, null);
      const credentials = await ports.credentials.read();
      assert.ok(credentials !== null);
      assert.equal(readRestore(store.notes, credentials.workspaceId), null);
      saveConnection(store.notes, credentials, credentials);
      const { workspaceId, createdAt: since } = credentials;
      assert.deepEqual(readNote(store.notes, "cloud_connection"), { workspaceId, since });
      const date = { kind: "instant", at: START - 1 } as const;
      assert.deepEqual(stampWatermark(store, date, START), { uploadFrom: START - 1, isAnnounced: false });
    } finally {
      await machine.close();
      await cloud.close();
    }
  });
});
