import assert from "node:assert/strict";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import {
  createParentProxy,
  createProviderSimulation,
  type ParentProxy,
  type ProviderSimulation,
} from "../simulation/mod.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import {
  createHome,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  startMeter,
  waitFor,
} from "./meter-process.rig.ts";
import { dialProvider, type RawCall, rawCalls, writeRequest } from "./raw-client.rig.ts";

const random = createSeededRandom("killed daemon");

describe("a daemon killed in the middle of a call", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  let simulation: ProviderSimulation;
  let parent: ParentProxy;
  let meter: MeterProcess;
  before(async () => {
    simulation = await createProviderSimulation({ seed: "killed daemon" });
    parent = await createParentProxy(simulation);
    meter = await startMeter(createHome(simulationConfig(parent, simulation)));
  });
  after(async () => {
    await meter.stop();
    await parent.close();
    await simulation.close();
    removeHome(meter.home);
  });

  async function begin(scenario: string) {
    const call = rawCalls.anthropic?.(scenario, true) as RawCall;
    const socket = await dialProvider(meter, call.host);
    socket.on("error", () => {}).resume();
    socket.write(writeRequest(call, true, random));
    return socket;
  }

  it("leaves only that call in the coverage", async () => {
    await begin("ok");
    await meter.waitForRows(1);
    await waitFor("nothing to be under way", async () => (await meter.counted("unfinished")) === 0);
    await begin("silence");
    await waitFor("the call to be counted", async () => (await meter.counted("unfinished")) === 1);
    process.kill(meter.pid, "SIGKILL");
    await meter.stop();
    meter = await startMeter(meter.home);
    assert.equal((await meter.rows()).length, 1);
    assert.equal(await meter.counted("unfinished"), 1);
    const { stdout } = await meter.run(["status"]);
    assert.match(stdout, /Metering coverage: 50 % \(1 of 2 /);
    assert.match(stdout, /not metered: 1 call without a record: in progress/);
  });

  it("differs from a stopped one, which leaves no call in the coverage", async () => {
    const left = await meter.counted("unfinished");
    const socket = await begin("silence");
    await waitFor("the call to be counted", async () => (await meter.counted("unfinished")) === left + 1);
    socket.abort();
    await waitFor("its end to be counted", async () => (await meter.counted("unfinished")) === left);
    await meter.stop();
    meter = await startMeter(meter.home);
    assert.equal(await meter.counted("unfinished"), left);
  });
});
