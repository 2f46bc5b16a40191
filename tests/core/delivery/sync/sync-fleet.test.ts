import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { judgeFleet } from "../../../../bench/fleet/judge-fleet.ts";
import { type FleetOptions, type Minute, simulateFleet } from "../../../../bench/fleet/simulate-fleet.ts";

const HOUR_MS = 3_600_000;
const outage = { from: 3 * HOUR_MS, to: 5 * HOUR_MS };
const cloud = { servers: 1, batchMs: 5, recordMs: 0.1, longestWaitMs: 10_000, retryAfterMs: 30_000 };
const fleet: FleetOptions = { daemons: 300, hours: 8, recordsPerDay: 600, outage, cloud, seed: 11 };

const sum = (minutes: readonly Minute[], field: keyof Minute) =>
  minutes.reduce((total, minute) => total + minute[field], 0);

describe("a fleet of sync machines", () => {
  it("sends every record once, and recovers from an outage without a stampede", () => {
    const result = simulateFleet(fleet);
    assert.deepEqual(judgeFleet(result, outage, cloud).faults, []);
    const { minutes } = result;
    const most = (from: number, to: number) =>
      Math.max(...minutes.slice(from, to).map((minute) => minute.mostInOneSecond));
    // Planted: attempts at whole five minutes; the whole fleet then came back within a second.
    assert.ok(most(300, 480) <= 3 * most(0, 180), `${most(300, 480)} after, ${most(0, 180)} before`);
    assert.ok(sum(minutes.slice(180, 300), "unanswered") > 0);
    assert.equal(sum(minutes, "repeated"), 0);
  });

  it("loses nothing and stores nothing twice if the cloud is too slow to respond in time", () => {
    // The backlog takes minutes, and the cloud lets a batch wait for longer than a daemon does.
    const slow = { ...cloud, batchMs: 1_500, recordMs: 0.1, longestWaitMs: 120_000 };
    const { minutes } = simulateFleet({ ...fleet, recordsPerDay: 100, cloud: slow });
    assert.ok(sum(minutes, "repeated") > 0);
    assert.ok(sum(minutes, "acknowledged") <= sum(minutes, "stored"));
    assert.ok(sum(minutes, "stored") <= sum(minutes, "created"));
  });

  it("sends fewer batches that a cloud refuses because they would wait too long", () => {
    const slow = { ...cloud, batchMs: 1_500, recordMs: 0.1 };
    const patient = simulateFleet({
      ...fleet,
      recordsPerDay: 100,
      cloud: { ...slow, longestWaitMs: 120_000 },
    });
    const refusing = simulateFleet({
      ...fleet,
      recordsPerDay: 100,
      cloud: { ...slow, longestWaitMs: 10_000 },
    });
    assert.ok(sum(refusing.minutes, "refused") > 0);
    assert.equal(sum(refusing.minutes, "repeated"), 0);
    assert.ok(sum(refusing.minutes, "stored") >= 0.95 * sum(patient.minutes, "stored"));
  });
});
