import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { type RunningDaemon, stateFile } from "../../cli/daemon/daemon-process.ts";
import { createCaller } from "../chaos/caller.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import {
  createHome,
  freePort,
  onNodeOnly,
  readStore,
  removeHome,
  runMeter,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  waitFor,
} from "./meter-process.rig.ts";
import { type RawCall, rawCalls } from "./raw-client.rig.ts";
import { useSimulation } from "./simulated-meter.rig.ts";

const skip = onNodeOnly || (process.platform === "linux" ? false : "the relay is a process on Linux only");

/** Blocks a program's main thread for good at a signal, while its other threads and processes run. */
const HANGS_AT_SIGNAL = `
process.on("SIGUSR2", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
`;

describe("a daemon whose main thread hangs", { skip, timeout: SUITE_TIMEOUT_MS }, () => {
  const rig = useSimulation("hung-daemon");

  it("is ended by its relay and started again, and its calls pass meanwhile", async (test) => {
    const ports = { proxy: await freePort(), api: await freePort() };
    const home = createHome(simulationConfig(rig.parent, rig.simulation, [], ports));
    test.after(async () => {
      await runMeter(home, ["stop"]);
      removeHome(home);
    });
    const hang = join(home, "hang.mjs");
    writeFileSync(hang, HANGS_AT_SIGNAL);
    const env = { METER_MAY_HANG_MS: "8000", NODE_OPTIONS: `--import=${hang}` };
    const started = await runMeter(home, ["start"], { env });
    assert.equal(started.code, 0, started.stderr);
    const running = () => JSON.parse(readFileSync(stateFile(home), "utf8")) as RunningDaemon;
    const caPem = readFileSync(join(home, "ca", "ca.pem"), "utf8");
    const meter = { proxyPort: running().proxy_port, caPem };
    const call = async (label: string) => {
      const caller = createCaller(() => meter, createSeededRandom(label));
      await caller.call(rawCalls.anthropic?.("ok", false) as RawCall, label);
      caller.close();
    };
    const { pid } = running();
    process.kill(pid, "SIGUSR2");
    await call("unrecorded");
    await waitFor("another daemon", () => existsSync(stateFile(home)) && running().pid !== pid);
    await call("recorded");
    const projects = await waitFor("the call to be stored", () =>
      readStore(home, (store) => {
        const rows = store.records.read({ from: null, to: null, afterSeq: 0, limit: 10 });
        return rows.length > 0 && rows.map(({ project }) => project);
      }),
    );
    assert.deepEqual(projects, ["recorded"]);
    const { stdout } = await runMeter(home, ["status"]);
    assert.match(stdout, /\nwarning +The daemon crashed \(SIGKILL\) at 20[^ ]+Z and was started again\./);
    const log = readFileSync(join(home, "logs", "start.log"), "utf8");
    assert.match(log, /^meter: The daemon did not respond for 8 s\. It was ended\.$/m);
  });
});
