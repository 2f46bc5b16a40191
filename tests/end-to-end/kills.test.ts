import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import { isKept, LOST_AFTER_KILL_MS, runKills } from "../chaos/kills.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS } from "./meter-process.rig.ts";

const skip =
  onNodeOnly || (process.platform === "linux" ? false : "a supervised daemon is killed on Linux only");

/** The load of the other tests lengthens every delay. `npm run nightly` measures the bound itself. */
const SLACK = 4;

describe("a supervised daemon that is killed again and again", {
  skip,
  timeout: 2 * SUITE_TIMEOUT_MS,
}, () => {
  it("keeps each record, refuses no connection, and states each of its ends", async () => {
    const result = await runKills({ rounds: 4, seed: "tests" }, () => {});
    const { unexplained, doubled, ...figures } = result;
    assert.ok(isKept(result), JSON.stringify({ ...figures, unexplained, doubled: doubled.length }, null, 2));
    assert.ok(result.lostBeforeMs.longest <= SLACK * LOST_AFTER_KILL_MS, JSON.stringify(result.lostBeforeMs));
  });

  it("loses no record of an answered call if its relay is killed", async () => {
    const result = await runKills({ rounds: 4, seed: "relay", victim: "relay" }, () => {});
    const { unexplained, doubled, ...figures } = result;
    assert.ok(isKept(result), JSON.stringify({ ...figures, unexplained, doubled: doubled.length }, null, 2));
  });
});
