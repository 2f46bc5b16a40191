import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { limitsUploadSchema, MAX_LIMIT_READINGS } from "../../../core/wire/limit-readings.ts";

const reading = {
  provider: "anthropic",
  account: "a1",
  window: "5h",
  scope: null,
  unit: "share",
  window_ms: 18_000_000,
  used_ppm: 250_000,
  limit: null,
  remaining: null,
  reset_at: "2026-11-27T12:00:00.000Z",
  status: "allowed",
  seen_at: "2026-11-27T09:00:00.000Z",
};
const isUpload = (readings: readonly object[]) =>
  v.safeParse(limitsUploadSchema, { daemon_version: "0.4.0", readings }).success;

describe("limitsUploadSchema", () => {
  it("accepts 1 to 500 readings", () => {
    const some = (count: number) => Array.from({ length: count }, () => reading);
    assert.deepEqual([0, 1, MAX_LIMIT_READINGS, MAX_LIMIT_READINGS + 1].map(some).map(isUpload), [
      false,
      true,
      true,
      false,
    ]);
  });

  it("rejects a count that is negative or not whole, and a reading without its time", () => {
    for (const change of [{ used_ppm: -1 }, { remaining: 0.5 }, { limit: 2 ** 53 }, { seen_at: null }])
      assert.equal(isUpload([{ ...reading, ...change }]), false, JSON.stringify(change));
  });
});
