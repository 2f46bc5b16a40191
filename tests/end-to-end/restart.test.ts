import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import {
  createParentProxy,
  createProviderSimulation,
  type ParentProxy,
  type ProviderSimulation,
} from "../simulation/mod.ts";
import { callAtOnce } from "./call-storm.rig.ts";
import {
  createHome,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  runMeter,
  SUITE_TIMEOUT_MS,
  startMeter,
} from "./meter-process.rig.ts";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

describe("a daemon with configured ports, whose proxy starts before its database", {
  timeout: SUITE_TIMEOUT_MS,
  skip: onNodeOnly,
}, () => {
  let simulation: ProviderSimulation;
  let parent: ParentProxy;
  let home: string;
  let meter: MeterProcess;
  let folder: string;

  before(async () => {
    simulation = await createProviderSimulation({ seed: "restart" });
    parent = await createParentProxy(simulation);
    home = createHome([
      "[proxy]",
      `port = ${await freePort()}`,
      `parent = ${JSON.stringify(parent.url)}`,
      `extra_ca = ${JSON.stringify(simulation.caFile)}`,
      "[api]",
      `port = ${await freePort()}`,
    ]);
    meter = await startMeter(home);
    folder = mkdtempSync(join(tmpdir(), "restart-"));
  });
  after(async () => {
    await meter?.stop();
    await parent?.close();
    await simulation?.close();
    removeHome(home);
    rmSync(folder, { recursive: true, force: true });
  });

  it("meters again after kill -9, and has every earlier row", async () => {
    assert.equal((await callAtOnce(meter, 2, folder)).answered, 2);
    await meter.waitForRows(2);
    process.kill(meter.pid, "SIGKILL");
    await meter.ended;
    meter = await startMeter(home);
    assert.equal((await callAtOnce(meter, 3, folder)).answered, 3);
    assert.equal((await meter.waitForRows(5)).length, 5);
    assert.equal((await meter.status()).store.capturing, "ok");
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
