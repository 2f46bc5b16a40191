import assert from "node:assert/strict";
import process from "node:process";
import { describe, it } from "node:test";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import { onNodeOnly, SUITE_TIMEOUT_MS, waitFor } from "./meter-process.rig.ts";
import { dialProvider, type RawCall, rawCalls, writeRequest } from "./raw-client.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

const random = createSeededRandom("killed daemon");

describe("a daemon killed in the middle of a call", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  const rig = useSimulatedMeter("killed daemon");

  async function begin(scenario: string) {
    const call = rawCalls.anthropic?.(scenario, true) as RawCall;
    const socket = await dialProvider(rig.meter, call.host);
    socket.on("error", () => {}).resume();
    socket.write(writeRequest(call, true, random));
    return socket;
  }

  it("leaves only that call in the coverage", async () => {
    await begin("ok");
    await rig.meter.waitForRows(1);
    await waitFor("nothing to be under way", async () => (await rig.meter.counted("unfinished")) === 0);
    await begin("silence");
    await waitFor("the call to be counted", async () => (await rig.meter.counted("unfinished")) === 1);
    process.kill(rig.meter.pid, "SIGKILL");
    await rig.restart();
    assert.equal((await rig.meter.rows()).length, 1);
    assert.equal(await rig.meter.counted("unfinished"), 1);
    const { stdout } = await rig.meter.run(["status"]);
    assert.match(stdout, /Metering coverage: 50 % \(1 of 2 /);
    assert.match(stdout, /not metered: 1 call without a record: in progress/);
  });

  it("differs from a stopped one, which leaves no call in the coverage", async () => {
    const left = await rig.meter.counted("unfinished");
    const socket = await begin("silence");
    await waitFor("the call to be counted", async () => (await rig.meter.counted("unfinished")) === left + 1);
    socket.abort();
    await waitFor("its end to be counted", async () => (await rig.meter.counted("unfinished")) === left);
    await rig.restart();
    assert.equal(await rig.meter.counted("unfinished"), left);
  });
});
