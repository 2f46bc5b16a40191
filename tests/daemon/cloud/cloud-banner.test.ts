import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bannerOf, type CloudSnapshot } from "../../../daemon/cloud/mod.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const healthy: CloudSnapshot = {
  enabled: true,
  baseUrl: "https://meter.company",
  paired: true,
  otherOrigin: null,
  workspaceName: "Work",
  machineId: null,
  hostname: "laptop",
  lastConnectedAt: NOW,
  sync: {
    pausedReason: null,
    consecutiveFailures: 2,
    lastError: null,
    lastErrorAt: null,
    lastTickAt: NOW - 90_000,
    nextTickAt: null,
    pending: 4,
    oldestPendingAt: NOW,
  },
  bodies: {
    enabled: true,
    pausedReason: null,
    consecutiveFailures: 9,
    lastError: null,
    lastErrorAt: null,
    lastTickAt: NOW - 300_000,
    lastUploadAt: null,
    pending: 0,
    recordsPolicyRejected: 0,
    uploadFrom: null,
  },
  quarantined: 0,
  workers: { sync: "running", bodies: "running" },
};
const sync = (change: Partial<CloudSnapshot["sync"]>) => ({ sync: { ...healthy.sync, ...change } });
const bodies = (change: Partial<CloudSnapshot["bodies"]>) => ({ bodies: { ...healthy.bodies, ...change } });
const long = { captureFailing: false, runningSince: NOW - 86_400_000 };

const rows: readonly [
  what: string,
  change: Partial<CloudSnapshot>,
  surroundings: Partial<typeof long>,
  banner: string,
  reasons: readonly string[],
][] = [
  ["all is well", {}, {}, "ACTIVE", []],
  ["it is switched off", { enabled: false }, {}, "NOT-CONFIGURED", ["not_enabled"]],
  ["it was never paired", { paired: false }, {}, "NOT-CONFIGURED", ["never_paired"]],
  [
    "sync is paused",
    sync({ pausedReason: "paused_manual", consecutiveFailures: 9 }),
    {},
    "PAUSED",
    ["sync_paused"],
  ],
  ["three tries have failed", sync({ consecutiveFailures: 3 }), {}, "DEGRADED", ["failures"]],
  ["the worker has not ticked", sync({ lastTickAt: NOW - 90_001 }), {}, "DEGRADED", ["tick_stale"]],
  ["the daemon has just begun", sync({ lastTickAt: 0 }), { runningSince: NOW - 1_000 }, "ACTIVE", []],
  [
    "a worker is degraded",
    { workers: { sync: "degraded", bodies: "running" } },
    {},
    "DEGRADED",
    ["worker_degraded"],
  ],
  [
    "a worker is on trial",
    { workers: { sync: "running", bodies: "retrying" } },
    {},
    "DEGRADED",
    ["worker_degraded"],
  ],
  ["nothing runs", { workers: null }, {}, "ACTIVE", []],
  [
    "the uploader is paused",
    bodies({ pausedReason: "paused_forbidden" }),
    {},
    "DEGRADED",
    ["uploader_paused"],
  ],
  ["the uploader is stale", bodies({ lastTickAt: NOW - 300_001 }), {}, "DEGRADED", ["uploader_stale"]],
  [
    "bodies are off",
    bodies({ enabled: false, lastTickAt: 0, pausedReason: "paused_forbidden" }),
    {},
    "ACTIVE",
    [],
  ],
  ["capture fails", {}, { captureFailing: true }, "DEGRADED", ["capture_failing"]],
];

describe("bannerOf()", () => {
  for (const [what, change, surroundings, banner, reasons] of rows) {
    it(`says ${banner} where ${what}`, () => {
      const found = bannerOf({ ...healthy, ...change }, { ...long, ...surroundings }, NOW);
      assert.deepEqual([found.banner, found.reasons], [banner, reasons]);
      assert.notEqual(found.sentence, "");
    });
  }

  it("names the workspace and what waits, or what to do", () => {
    assert.equal(bannerOf(healthy, long, NOW).sentence, "Connected to Work; 4 requests wait to be sent.");
    const paused = bannerOf({ ...healthy, ...sync({ pausedReason: "paused_manual" }) }, long, NOW);
    assert.equal(paused.sentence, "Nothing is sent. To go on: meter cloud resume");
  });
});
