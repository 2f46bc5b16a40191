import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { callAtOnce } from "./call-storm.rig.ts";
import {
  createHome,
  freePort,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  runMeter,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  startMeter,
} from "./meter-process.rig.ts";
import { useSimulation } from "./simulated-meter.rig.ts";

describe("a daemon with configured ports, whose proxy starts before its database", {
  timeout: SUITE_TIMEOUT_MS,
  skip: onNodeOnly,
}, () => {
  const rig = useSimulation("restart");
  let home: string;
  let meter: MeterProcess;
  let folder: string;

  before(async () => {
    const ports = { proxy: await freePort(), api: await freePort() };
    home = createHome(simulationConfig(rig.parent, rig.simulation, [], ports));
    meter = await startMeter(home);
    folder = mkdtempSync(join(tmpdir(), "restart-"));
  });
  after(async () => {
    await meter?.stop();
    removeHome(home);
    rmSync(folder, { recursive: true, force: true });
  });

  it("meters again after kill -9, and has every earlier row", async () => {
    assert.equal((await callAtOnce(meter, 2, folder)).answered, 2);
    await meter.waitForRows(2);
    process.kill(meter.pid, "SIGKILL");
    await meter.ended;
    const left = join(home, "import");
    mkdirSync(left);
    writeFileSync(join(left, "copy.db"), "a copy of another program's database, left by a killed import");
    meter = await startMeter(home);
    assert.equal((await callAtOnce(meter, 3, folder)).answered, 3);
    assert.equal((await meter.waitForRows(5)).length, 5);
    assert.equal((await meter.status()).store.capturing, "ok");
    assert.equal(existsSync(left), false);
  });

  it("exits and cleans up if the port of its API is taken", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const other = createHome(["[proxy]", `port = ${await freePort()}`, "[api]", `port = ${port}`]);
    try {
      const { code, stderr } = await runMeter(other, ["start", "--foreground"]);
      assert.deepEqual([code, /Port \d+ is already in use/.test(stderr)], [1, true]);
    } finally {
      taken.close();
      removeHome(other);
    }
  });
});
