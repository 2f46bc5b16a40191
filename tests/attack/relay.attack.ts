import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openRelayFuzz } from "../end-to-end/relay-fuzz.rig.ts";

/** `METER_ATTACK_SEED` repeats a run, `METER_ATTACK_CONNECTIONS` sets its length. */
const seed = process.env.METER_ATTACK_SEED ?? String(Date.now());
const connections = Number(process.env.METER_ATTACK_CONNECTIONS ?? 20_000);

describe(`relays under attack, seed ${seed}`, () => {
  it(`survive ${connections} connections that are cut, reset, half-closed and corrupted on both sides`, async () => {
    const fuzz = await openRelayFuzz(seed);
    try {
      await fuzz.run(connections);
      await fuzz.assertServes();
      const crashes = fuzz.meter.log().filter(({ event }) => event === "daemon.task_crashed");
      assert.deepEqual(crashes, []);
      await fuzz.socketsClosed();
    } finally {
      await fuzz.close();
    }
  });
});
