import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { bindSocket, supervisorScript } from "../../cli/daemon/spawn-daemon.ts";
import { relayFile, type UnmeteredRelay } from "../../cli/daemon/supervision.ts";
import { OR_RELAY } from "../../core/operations/install/service-files.ts";
import {
  createHome,
  freePort,
  meterWords,
  onNodeOnly,
  plainEnvironment,
  removeHome,
  runMeter,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  waitFor,
} from "./meter-process.rig.ts";
import { askForTunnel } from "./raw-client.rig.ts";
import { useSimulation } from "./simulated-meter.rig.ts";

const skip =
  onNodeOnly || (process.platform === "win32" ? "Windows has no shell that restarts the daemon" : false);

describe("a daemon that can't start because config.toml is not valid TOML", {
  skip,
  timeout: SUITE_TIMEOUT_MS,
}, () => {
  const rig = useSimulation("start-failures");
  let home: string;
  let port: number;
  let valid: string;
  const configFile = () => join(home, "config.toml");
  before(async () => {
    port = await freePort();
    home = createHome(
      simulationConfig(rig.parent, rig.simulation, [], { proxy: port, api: await freePort() }),
    );
    valid = readFileSync(configFile(), "utf8");
    appendFileSync(configFile(), "\n[proxy\n");
  });
  after(async () => {
    await runMeter(home, ["stop"]);
    removeHome(home);
  });

  /** Starts the script as a service does, with the proxy's socket. */
  function startService(): ChildProcess {
    const socket = bindSocket("127.0.0.1", port);
    assert.ok(socket);
    const script = spawn("/bin/sh", [supervisorScript, ...meterWords], {
      stdio: ["ignore", "ignore", "ignore", socket.fd],
      env: plainEnvironment({ METER_HOME: home, LISTEN_FDS: "1" }),
    });
    socket.close();
    return script;
  }

  it("is replaced by a relay without metering if a service starts it, until it is corrected", async () => {
    const script = startService();
    const ended = once(script, "exit");
    await waitFor("the relay", () => existsSync(relayFile(home)));
    const relay = JSON.parse(readFileSync(relayFile(home), "utf8")) as UnmeteredRelay;
    assert.deepEqual([relay.supervisor, relay.proxy_port], [script.pid, port]);
    const { head, socket } = await askForTunnel(port, "localhost:1");
    socket.destroy();
    assert.match(head, /^HTTP\/1\.1 \d/, "it answers");
    const status = await runMeter(home, ["status"], { env: { COLUMNS: "1000" } });
    assert.equal(status.code, 3);
    assert.match(
      status.stdout,
      /^Not metering: the daemon could not start\. Calls pass without being metered\. /,
    );
    assert.match(status.stdout, /\nwarning +.*config\.toml is not valid TOML\. Fix line \d+, column \d+\.\n/);
    writeFileSync(configFile(), valid);
    const started = await runMeter(home, ["start"]);
    assert.match(started.stdout, /^Metering\. /);
    assert.deepEqual(await ended, [0, null]);
    assert.equal(existsSync(relayFile(home)), false);
    assert.equal((await runMeter(home, ["stop"])).stdout, "Stopped.\n");
  });

  it("is not replaced if a person starts it, who reads why", async () => {
    appendFileSync(configFile(), "\n[proxy\n");
    const started = await runMeter(home, ["start"]);
    assert.equal(started.code, 1);
    assert.match(started.stderr, /config\.toml is not valid TOML/);
    assert.equal(existsSync(relayFile(home)), false);
    assert.equal((await runMeter(home, ["stop"])).stdout, "The daemon is not running.\n");
  });
});

describe("a daemon that can't start, below a service without a script", {
  skip: onNodeOnly,
  timeout: SUITE_TIMEOUT_MS,
}, () => {
  const rig = useSimulation("start-failures-or-relay");

  it("is replaced by its own process until it is corrected", async (test) => {
    const port = await freePort();
    const home = createHome(
      simulationConfig(rig.parent, rig.simulation, [], { proxy: port, api: await freePort() }),
    );
    test.after(async () => {
      await runMeter(home, ["stop"]);
      removeHome(home);
    });
    writeFileSync(join(home, "ca"), "in the place of the authority's folder");
    const [command = "", ...words] = meterWords;
    const service = spawn(command, [...words, "start", "--foreground", OR_RELAY], {
      stdio: "ignore",
      env: plainEnvironment({ METER_HOME: home }),
    });
    const ended = once(service, "exit");
    await waitFor("the relay", () => existsSync(relayFile(home)));
    const relay = JSON.parse(readFileSync(relayFile(home), "utf8")) as UnmeteredRelay;
    assert.deepEqual([relay.pid, relay.supervisor, relay.proxy_port], [service.pid, service.pid, port]);
    const { head, socket } = await askForTunnel(port, "localhost:1");
    socket.destroy();
    assert.match(head, /^HTTP\/1\.1 \d/, "it answers");
    const status = await runMeter(home, ["status"], { env: { COLUMNS: "1000" } });
    assert.match(
      status.stdout,
      /^Not metering: the daemon could not start\. Calls pass without being metered\. /,
    );
    rmSync(join(home, "ca"));
    const started = await runMeter(home, ["start"]);
    assert.match(started.stdout, /^Metering\. /);
    assert.deepEqual(await ended, [0, null]);
    assert.equal(existsSync(relayFile(home)), false);
  });
});
