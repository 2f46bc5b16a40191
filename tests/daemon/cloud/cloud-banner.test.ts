import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeBanner } from "../../../daemon/cloud/cloud-banner.ts";
import type { CloudSnapshot } from "../../../daemon/cloud/results.ts";

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
  ledger: null,
  sync: {
    pausedReason: null,
    pausedCode: null,
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
    pausedCode: null,
    consecutiveFailures: 9,
    lastError: null,
    lastErrorAt: null,
    lastTickAt: NOW - 300_000,
    lastUploadAt: null,
    pending: 0,
    heldBack: 0,
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

describe("describeBanner()", () => {
  for (const [what, change, surroundings, banner, reasons] of rows) {
    it(`returns ${banner}: ${what}`, () => {
      const found = describeBanner({ ...healthy, ...change }, { ...long, ...surroundings }, NOW);
      assert.deepEqual([found.banner, found.reasons], [banner, reasons]);
      assert.notEqual(found.sentence, "");
    });
  }

  const pauses: readonly [pausedReason: string, pausedCode: string | null, sentence: RegExp][] = [
    ["paused_manual", null, /^Sending was paused by meter cloud pause\. Continue: meter cloud resume$/],
    [
      "paused_unauthorised",
      "invalid_token",
      /no longer accepts this machine's key\. Pair this machine again: meter cloud connect$/,
    ],
    [
      "paused_forbidden",
      "machine_blocked",
      /^The workspace does not permit this machine\. .*: meter cloud resume$/,
    ],
    ["paused_forbidden", "workspace_deleted", /^The workspace was deleted\. .*: meter cloud connect$/],
    ["paused_database_replaced", null, /^The database was damaged .*: meter cloud resume$/],
    ["quota", null, /^Sending is paused \(quota\)\. Continue: meter cloud resume$/],
  ];
  for (const [pausedReason, pausedCode, sentence] of pauses) {
    it(`names the command that ends ${pausedReason}${pausedCode === null ? "" : ` by ${pausedCode}`}, for requests and bodies`, () => {
      const pause = { pausedReason, pausedCode };
      assert.match(describeBanner({ ...healthy, ...sync(pause) }, long, NOW).sentence, sentence);
      const { sentence: ofBodies } = describeBanner({ ...healthy, ...bodies(pause) }, long, NOW);
      assert.ok(ofBodies.startsWith("Bodies are not sent. "));
      assert.match(ofBodies.slice("Bodies are not sent. ".length), sentence);
    });
  }

  it("names the workspace and the pending requests, or what to do", () => {
    assert.equal(
      describeBanner(healthy, long, NOW).sentence,
      "Connected to Work; 4 requests wait to be sent.",
    );
    const failing = { consecutiveFailures: 3, lastError: "HTTP 503" };
    assert.equal(
      describeBanner({ ...healthy, ...sync(failing) }, long, NOW).sentence,
      "Sending failed and will be retried. Last error: HTTP 503",
    );
    const one = describeBanner({ ...healthy, ...sync({ pending: 1 }) }, long, NOW);
    assert.equal(one.sentence, "Connected to Work; 1 request waits to be sent.");
  });
});
