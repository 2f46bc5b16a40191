import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  BANNER_FAILURES,
  BANNER_STALE_INTERVALS,
  type Banner,
  type BannerFacts,
  type BannerReason,
  BODY_STALE_MS,
  statusBanner,
} from "../../../../core/delivery/banner/status-banner.ts";
import { DAY } from "../../machine.rig.ts";

const well: BannerFacts = {
  enabled: true,
  paired: true,
  pausedReason: null,
  consecutiveFailures: 0,
  lastTickAt: DAY,
  workerDegraded: false,
  bodiesEnabled: true,
  bodiesPausedReason: null,
  lastBodyTickAt: DAY,
  captureFailing: false,
  runningSince: DAY - 86_400_000,
};

describe("statusBanner() follows the specification's table", () => {
  const rows: readonly [
    name: string,
    changes: Partial<BannerFacts>,
    banner: Banner,
    reasons: BannerReason[],
  ][] = [
    ["disabled", { enabled: false }, "NOT-CONFIGURED", ["not_enabled"]],
    ["never paired", { paired: false, pausedReason: "paused_manual" }, "NOT-CONFIGURED", ["never_paired"]],
    ["neither", { enabled: false, paired: false }, "NOT-CONFIGURED", ["not_enabled", "never_paired"]],
    ["metadata pause", { pausedReason: "paused_manual", workerDegraded: true }, "PAUSED", ["sync_paused"]],
    ["a pause of another name", { pausedReason: "quota" }, "PAUSED", ["sync_paused"]],
    ["2 consecutive failures", { consecutiveFailures: 2 }, "ACTIVE", []],
    ["3 consecutive failures", { consecutiveFailures: 3 }, "DEGRADED", ["failures"]],
    ["last tick 3 intervals old", { lastTickAt: DAY - 90_000 }, "ACTIVE", []],
    ["last tick older than 3 intervals", { lastTickAt: DAY - 90_001 }, "DEGRADED", ["tick_stale"]],
    ["no tick yet, just begun", { lastTickAt: null, runningSince: DAY - 90_000 }, "ACTIVE", []],
    ["no tick since it began", { lastTickAt: null, runningSince: DAY - 90_001 }, "DEGRADED", ["tick_stale"]],
    ["an old tick, just begun", { lastTickAt: 0, runningSince: DAY }, "ACTIVE", []],
    [
      "the daemon does not run and never ticked",
      { lastTickAt: null, runningSince: null },
      "DEGRADED",
      ["daemon_stopped"],
    ],
    [
      "the daemon has stopped since its last tick",
      { runningSince: null, consecutiveFailures: 3 },
      "DEGRADED",
      ["daemon_stopped", "failures"],
    ],
    ["degraded worker", { workerDegraded: true }, "DEGRADED", ["worker_degraded"]],
    ["body uploader paused", { bodiesPausedReason: "paused_forbidden" }, "DEGRADED", ["uploader_paused"]],
    ["body uploader stale at 300 s", { lastBodyTickAt: DAY - 300_000 }, "ACTIVE", []],
    ["body uploader stale beyond 300 s", { lastBodyTickAt: DAY - 300_001 }, "DEGRADED", ["uploader_stale"]],
    ["no body tick since it began", { lastBodyTickAt: null }, "DEGRADED", ["uploader_stale"]],
    [
      "bodies switched off",
      { bodiesEnabled: false, bodiesPausedReason: "paused_manual", lastBodyTickAt: null },
      "ACTIVE",
      [],
    ],
    ["capture failing", { captureFailing: true }, "DEGRADED", ["capture_failing"]],
    [
      "several",
      { consecutiveFailures: 9, workerDegraded: true, captureFailing: true },
      "DEGRADED",
      ["failures", "worker_degraded", "capture_failing"],
    ],
    ["all well", {}, "ACTIVE", []],
  ];
  for (const [name, changes, banner, reasons] of rows) {
    it(`${name} -> ${banner}`, () => {
      assert.deepEqual(statusBanner({ ...well, ...changes }, DAY), { banner, reasons });
    });
  }

  // Planted: DEGRADED asked before PAUSED. Planted: the reasons of a lower banner kept.
  it("shows the first banner that applies", () => {
    const facts = fc.record({
      enabled: fc.boolean(),
      paired: fc.boolean(),
      pausedReason: fc.constantFrom(null, "paused_manual"),
      consecutiveFailures: fc.nat(4),
      lastTickAt: fc.constantFrom(null, 0, DAY, DAY + 1e9),
      workerDegraded: fc.boolean(),
      bodiesEnabled: fc.boolean(),
      bodiesPausedReason: fc.constantFrom(null, "paused_manual"),
      lastBodyTickAt: fc.constantFrom(null, 0, DAY),
      captureFailing: fc.boolean(),
      runningSince: fc.constantFrom(null, 0, DAY),
    });
    fc.assert(
      fc.property(facts, (some) => {
        const { banner, reasons } = statusBanner(some, DAY);
        if (!some.enabled || !some.paired) assert.equal(banner, "NOT-CONFIGURED");
        else if (some.pausedReason !== null) assert.deepEqual([banner, reasons], ["PAUSED", ["sync_paused"]]);
        else assert.equal(banner === "DEGRADED", reasons.length > 0);
        assert.equal(banner === "ACTIVE", reasons.length === 0);
      }),
    );
  });
});

describe("the numbers of core/delivery/banner", () => {
  it("are the specification's", () => {
    assert.deepEqual(
      { BANNER_FAILURES, BANNER_STALE_INTERVALS, BODY_STALE_MS },
      { BANNER_FAILURES: 3, BANNER_STALE_INTERVALS: 3, BODY_STALE_MS: 300_000 },
    );
  });
});
