import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readLimitViews } from "../../../daemon/limits/limit-views.ts";
import { readShares } from "../../../daemon/limits/read-shares.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";
import { HOUR, openTracker, start } from "./limits.rig.ts";

describe("readLimitViews()", () => {
  it("shows use, pace, rate and forecast", async () => {
    const rig = await openTracker();
    rig.state({ usedPpm: 400_000, resetAt: start + 4 * HOUR });
    rig.clock.advance(HOUR);
    rig.state({ usedPpm: 620_000, resetAt: start + 4 * HOUR, status: "warning", limit: 300, remaining: 114 });
    rig.tracker.flush();
    assert.deepEqual(readLimitViews(rig.store.limits, rig.clock.now()), [
      {
        id: 1,
        provider: "anthropic",
        account: "a1",
        window: "5h",
        scope: null,
        unit: "share",
        used_percent: 62,
        limit: 300,
        remaining: 114,
        resets_at: "2026-08-31T13:00:00.000Z",
        status: "warning",
        level: "warning",
        seen_at: "2026-08-31T10:00:00.000Z",
        is_over: false,
        elapsed_percent: 40,
        burn_percent_per_hour: 22,
        full: "at",
        full_at: "2026-08-31T11:43:38.182Z",
      },
    ]);
  });

  it("shows no use of a window that has reset since", async () => {
    const rig = await openTracker();
    rig.state({ usedPpm: 960_000, remaining: 4, status: "warning" });
    rig.tracker.flush();
    const [view] = readLimitViews(rig.store.limits, start + 6 * HOUR);
    assert.deepEqual(
      [view?.is_over, view?.used_percent, view?.remaining, view?.status, view?.level, view?.full],
      [true, null, null, null, "ok", "unknown"],
    );
  });

  it("lists the windows of an account by their length, and none that ended long ago", async () => {
    const rig = await openTracker();
    const reset = (inMs: number) => ({ resetAt: start + inMs });
    rig.state({ window: "1m", windowMs: 60_000, unit: "tokens", ...reset(1) });
    rig.state({ window: "1m", windowMs: 60_000, unit: "requests", resetAt: null });
    rig.state({ window: "rate", windowMs: null, unit: "requests", ...reset(HOUR) });
    rig.state({ window: "7d", windowMs: 168 * HOUR, ...reset(HOUR) });
    rig.state({ window: "7d", windowMs: 168 * HOUR, scope: "opus", ...reset(HOUR) });
    rig.state({ ...reset(HOUR) });
    rig.state({ window: "credits", windowMs: null, unit: "credits", resetAt: null });
    rig.state({ ...reset(HOUR) }, "a0");
    rig.tracker.flush();
    const listed = (now: number) =>
      readLimitViews(rig.store.limits, now).map(
        ({ account, window, scope }) => `${account} ${window} ${scope ?? "all"}`,
      );
    assert.deepEqual(listed(start + 2), [
      "a0 5h all",
      "a1 1m all",
      "a1 5h all",
      "a1 7d all",
      "a1 7d opus",
      "a1 credits all",
      "a1 rate all",
    ]);
    assert.deepEqual(listed(start + 25 * HOUR), ["a0 5h all", "a1 5h all", "a1 7d all", "a1 7d opus"]);
    assert.deepEqual(listed(start + 50 * HOUR), []);
  });
});

describe("readShares()", () => {
  it("divides a window among the calls of its provider that count for it", async () => {
    const rig = await openTracker();
    const made = (given: Parameters<typeof sampleRecord>[0]) =>
      sampleRecord({ requestedAt: start + 10_000, latencyMs: 5_000, billingMode: "plan", ...given });
    rig.store.insertBatch({
      records: [
        made({ project: "apollo", sessionId: "s1", agentId: "x", costPicoUsd: 3_000n }),
        made({ project: "hermes", sessionId: "s1", costPicoUsd: 1_000n }),
        made({ project: "metered", billingMode: "metered" }),
        made({ project: "other", provider: "openai" }),
        made({ project: "late", requestedAt: start + HOUR }),
      ],
      bodies: [],
      coverage: [],
    });
    rig.state({ usedPpm: 100_000 });
    rig.clock.advance(HOUR / 2);
    rig.state({ usedPpm: 140_000 });
    rig.tracker.flush();
    const [window] = rig.store.limits.list();
    const share = async (by: "project" | "session" | "agent") =>
      (await readShares(rig.store, window!, by, async () => {})).shares.map(
        ({ key, usedPpm }) => `${key} ${usedPpm}`,
      );
    assert.deepEqual(await share("project"), ["apollo 30000", "hermes 10000"]);
    assert.deepEqual(await share("session"), ["s1 40000"]);
    assert.deepEqual(await share("agent"), ["x 30000", " 10000"]);
    const all = await readShares(rig.store, { ...window!, unit: "micro_usd" }, "project", async () => {});
    assert.ok(all.shares.some(({ key }) => key === "metered"));
    assert.equal(all.earlierPpm, 100_000);
    assert.equal(all.isPartial, false);
  });
});
