import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { reading } from "../../core/metering/limits/limits.rig.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";
import { openApi } from "./api.rig.ts";

const HOUR = 3_600_000;

async function openLimits() {
  let flushes = 0;
  const rig = await openApi({ limits: { flush: () => void (flushes += 1) } });
  const now = rig.clock.now();
  const at = (usedPpm: number, seenAt: number) => ({
    reading: reading({ usedPpm, seenAt, resetAt: now + 2 * HOUR }),
    isPoint: true,
  });
  rig.store.limits.save([at(100_000, now - HOUR)]);
  rig.store.limits.save([at(200_000, now)]);
  rig.store.insertBatch({
    records: [
      sampleRecord({
        requestedAt: now - HOUR / 2,
        billingMode: "plan",
        project: "apollo",
        sessionId: "s1",
        agentId: null,
      }),
    ],
    bodies: [],
    coverage: [],
  });
  const json = async (path: string) => {
    const answer = await rig.ask(path);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  return { rig, json, flushes: () => flushes, now };
}

describe("GET /v1/limits", () => {
  it("lists the windows, after saving the latest readings", async () => {
    const { rig, json, flushes } = await openLimits();
    const { status, body } = await json("/v1/limits");
    assert.equal(status, 200);
    const [view] = body.limits as { window: string; used_percent: number; burn_percent_per_hour: number }[];
    assert.deepEqual([view?.window, view?.used_percent, view?.burn_percent_per_hour], ["5h", 20, 10]);
    assert.equal(flushes(), 1);
    rig.close();
  });
});

describe("GET /v1/limits/:id", () => {
  it("has the history and, if asked for, the shares", async () => {
    const { rig, json, now } = await openLimits();
    const { body } = await json("/v1/limits/1?by=project");
    assert.deepEqual(body.history, [
      {
        seen_at: new Date(now - HOUR).toISOString(),
        used_percent: 10,
        resets_at: new Date(now + 2 * HOUR).toISOString(),
      },
      {
        seen_at: new Date(now).toISOString(),
        used_percent: 20,
        resets_at: new Date(now + 2 * HOUR).toISOString(),
      },
    ]);
    assert.deepEqual(body.shares, {
      by: "project",
      items: [{ key: "apollo", used_percent: 10 }],
      elsewhere_percent: 10,
      earlier_percent: 0,
      is_partial: false,
    });
    const agents = (await json("/v1/limits/1?by=agent")).body.shares as { items: unknown };
    assert.deepEqual(agents.items, [{ key: null, used_percent: 10 }]);
    assert.equal((await json("/v1/limits/1")).body.shares, null);
    rig.close();
  });

  it("refuses what it does not know", async () => {
    const { rig, json } = await openLimits();
    for (const [path, status] of [
      ["/v1/limits/9", 404],
      ["/v1/limits/01", 404],
      ["/v1/limits/1?by=colour", 400],
      ["/v1/limits/1?days=91", 400],
      ["/v1/limits/1?days=0", 400],
    ] as const)
      assert.equal((await json(path)).status, status, path);
    rig.close();
  });
});
