import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { onNodeOnly, SUITE_TIMEOUT_MS } from "./meter-process.rig.ts";
import { openRelayFuzz, type RelayFuzz } from "./relay-fuzz.rig.ts";

// `npm run attack` runs the same for longer, with its own seed.
describe("relays under attack", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  let fuzz: RelayFuzz;
  before(async () => {
    fuzz = await openRelayFuzz("relays under attack");
  });
  after(() => fuzz?.close());

  it("keep the daemon alive and serving if both sides cut, reset, half-close and corrupt in every phase", async () => {
    await fuzz.run(600);
    await fuzz.assertServes();
    assert.deepEqual(
      fuzz.meter.log().filter(({ event }) => event === "daemon.task_crashed"),
      [],
    );
  });

  it("leave no socket open after connections have ended", async () => {
    await fuzz.socketsClosed();
  });
});
