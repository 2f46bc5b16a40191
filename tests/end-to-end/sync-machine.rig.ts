import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { tokenFile } from "../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../cli/daemon/loopback-client.ts";
import type { ConnectStatus } from "../../core/wire/loopback.ts";
import { FRESH_MS } from "../../daemon/capture/project-settings.ts";
import type { CloudSnapshot, SyncNowResult } from "../../daemon/cloud/results.ts";
import {
  createParentProxy,
  createProviderSimulation,
  type ParentProxy,
  type ProviderSimulation,
} from "../simulation/mod.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import {
  createHome,
  type Finished,
  type MeterProcess,
  removeHome,
  simulationConfig,
  startMeter,
} from "./meter-process.rig.ts";
import { dialProvider, rawCalls, receive, writeRequest } from "./raw-client.rig.ts";

/** A daemon as a process, with simulated providers to call through it. */
export interface SyncMachine {
  readonly home: string;
  readonly meter: MeterProcess;
  /** Makes calls through the proxy and waits until they are stored. */
  call(count: number, project?: string): Promise<void>;
  /** Runs a command that must succeed and returns its output. On Node, commands run in this process. */
  run(...words: string[]): Promise<string>;
  /** Runs a command and returns its result, even if it fails. */
  attempt(...words: string[]): Promise<Finished>;
  /** `meter cloud status --json`. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects, field by field.
  status(): Promise<any>;
  /** The same from the daemon itself, without a command's process. */
  snapshot(): Promise<CloudSnapshot>;
  connectStatus(): Promise<ConnectStatus>;
  /** Like `meter sync`; returns whether everything was sent. */
  sync(): Promise<boolean>;
  /** Kills the daemon and starts a new one. */
  crash(): Promise<void>;
  close(): Promise<void>;
}

/** Starts it. The providers belong to this process. */
export async function startSyncMachine(config: readonly string[] = []): Promise<SyncMachine> {
  const simulation: ProviderSimulation = await createProviderSimulation({ recordBytes: false });
  const parent: ParentProxy = await createParentProxy(simulation);
  const home = createHome(simulationConfig(parent, simulation, config));
  let meter = await startMeter(home);
  const random = createSeededRandom("sync machine");
  let made = 0;
  async function ask(method: "GET" | "POST", path: string): Promise<string> {
    const secret = readFileSync(tokenFile(home), "utf8").trim();
    const { status, body } = await requestDaemon(meter.apiPort, path, secret, { method, timeoutMs: 60_000 });
    assert.equal(status, 200, `${path}: ${body}`);
    return body;
  }
  const attempt: SyncMachine["attempt"] = (...words) => meter.run(words);
  return {
    home,
    get meter() {
      return meter;
    },
    async call(count, project) {
      for (let n = 0; n < count; n += 1) {
        const call = (rawCalls.chat as (typeof rawCalls)[string])("plain", false);
        const socket = await dialProvider(meter, call.host);
        const { over } = receive(socket);
        const request = writeRequest(call, true, random).toString("latin1");
        const named = project === undefined ? "" : `X-Meter-Project: ${project}\r\n`;
        socket.write(Buffer.from(request.replace("\r\n", `\r\n${named}`), "latin1"));
        await over;
      }
      made += count;
      await meter.waitForRows(made);
    },
    attempt,
    async run(...words) {
      const { code, stdout, stderr } = await attempt(...words);
      assert.equal(code, 0, `meter ${words.join(" ")}: ${stdout}${stderr}`);
      // The daemon keeps the settings of projects for this long.
      if (words[0] === "project") await delay(FRESH_MS);
      return stdout;
    },
    status: async () => JSON.parse((await attempt("cloud", "status", "--json")).stdout),
    snapshot: async () => JSON.parse(await ask("GET", "/v1/cloud/status")) as CloudSnapshot,
    connectStatus: async () => JSON.parse(await ask("GET", "/v1/cloud/connect/status")) as ConnectStatus,
    sync: async () => (JSON.parse(await ask("POST", "/v1/cloud/sync")) as SyncNowResult).kind === "synced",
    async crash() {
      process.kill(meter.pid, "SIGKILL");
      await meter.stop();
      meter = await startMeter(home);
    },
    async close() {
      await meter.stop();
      await parent.close();
      await simulation.close();
      removeHome(home);
    },
  };
}
