import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { NowResponse } from "../../../daemon/api/now-routes.ts";
import { reading } from "../../core/metering/limits/limits.rig.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";
import { openApi } from "./api.rig.ts";

const MINUTE = 60_000;

async function openNow() {
  const rig = await openApi({
    callsInFlight: () => [
      {
        provider: "anthropic",
        model: "m",
        runningMs: 1_200,
        program: async () => ({ name: "claude", runtime: "node" }),
      },
      { provider: "openai", model: null, runningMs: 5, program: async () => null },
    ],
  });
  const now = rig.clock.now();
  const made = (agoMs: number, more: Parameters<typeof sampleRecord>[0] = {}) =>
    sampleRecord({ requestedAt: now - agoMs, costPicoUsd: 1_000n, latencyMs: 0, ...more });
  rig.store.insertBatch({
    records: [
      made(0, { sessionId: "s1" }),
      made(MINUTE, { sessionId: "s1", billingMode: "plan" }),
      made(70 * MINUTE, { billingMode: "plan" }),
    ],
    bodies: [],
    coverage: [],
  });
  rig.store.limits.save([
    { reading: reading({ usedPpm: 5, seenAt: now, resetAt: now + MINUTE }), isPoint: true },
    {
      reading: reading({ window: "1m", windowMs: MINUTE, seenAt: now, resetAt: now + MINUTE }),
      isPoint: false,
    },
  ]);
  const ask = async (query: string) => (await (await rig.ask(`/v1/now${query}`)).json()) as NowResponse;
  return { rig, ask };
}

describe("GET /v1/now", () => {
  it("sums today and the last hour by who pays, and lists the long windows", async () => {
    const { rig, ask } = await openNow();
    const { today, last_hour, session, limits, calls_in_flight, detail } = await ask("");
    assert.deepEqual([today.requests, today.spent_pico_usd, today.plan_usage_pico_usd], [3, "1000", "2000"]);
    assert.deepEqual([last_hour.requests, last_hour.plan_usage_pico_usd], [2, "1000"]);
    // Of 2,130 input tokens of each request, 2,000 came from caches.
    assert.equal(today.cache_percent, 93);
    assert.equal(session, null);
    assert.deepEqual(
      limits.map(({ window }) => window),
      ["5h"],
    );
    assert.deepEqual([calls_in_flight, detail], [2, null]);
    rig.close();
  });

  it("sums the session that is asked for", async () => {
    const { rig, ask } = await openNow();
    assert.deepEqual((await ask("?session=s1")).session?.requests, 2);
    for (const id of ["none", "", "s".repeat(300)])
      assert.equal((await ask(`?session=${id}`)).session, null, id);
    rig.close();
  });

  it("has the calls in flight, minutes and sessions on request", async () => {
    const { rig, ask } = await openNow();
    const { detail } = await ask("?detail=1");
    assert.deepEqual(detail?.calls, [
      { provider: "anthropic", model: "m", client: "claude", running_ms: 1_200 },
      { provider: "openai", model: null, client: null, running_ms: 5 },
    ]);
    assert.equal(detail?.minutes.length, 60);
    assert.deepEqual(detail?.minutes.slice(-2), [
      { requests: 1, cost_pico_usd: "1000" },
      { requests: 1, cost_pico_usd: "1000" },
    ]);
    assert.deepEqual(
      detail?.sessions.map(({ session_id, requests, client }) => [session_id, requests, client]),
      [["s1", 2, "claude"]],
    );
    rig.close();
  });

  it("is empty on an empty store", async () => {
    const rig = await openApi();
    const { today, limits, calls_in_flight } = (await (await rig.ask("/v1/now")).json()) as NowResponse;
    assert.deepEqual([today.requests, today.cache_percent, limits, calls_in_flight], [0, null, [], 0]);
    rig.close();
  });
});
