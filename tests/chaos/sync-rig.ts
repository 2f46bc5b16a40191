import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import process from "node:process";
import { systemClock } from "../../adapters/clock/mod.ts";
import { createCredentialStore } from "../../adapters/cloud-credentials/mod.ts";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { tokenFile } from "../../cli/daemon-process.ts";
import { askDaemon } from "../../cli/loopback-client.ts";
import { type CloudDatabase, migrateCloud, openCloudDatabase } from "../../cloud/mod.ts";
import { type CloudProcess, startCloudProcess } from "../cloud/kit/cloud-process.ts";
import { type PostgresServer, startPostgres } from "../cloud/kit/postgres-server.ts";
import { addSenders } from "../cloud/kit/senders.ts";
import {
  createHome,
  type MeterProcess,
  removeHome,
  simulationConfig,
  startMeter,
} from "../end-to-end/meter-process.ts";
import { dialProvider, rawCalls, receive, writeRequest } from "../end-to-end/raw-client.ts";
import {
  createParentProxy,
  createProviderSimulation,
  type ParentProxy,
  type ProviderSimulation,
} from "../simulation/mod.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";

/** Providers, a daemon, a cloud and PostgreSQL as processes of their own, paired with each other. */
export interface SyncRig {
  readonly home: string;
  readonly daemon: MeterProcess;
  readonly cloud: CloudProcess;
  readonly postgres: PostgresServer;
  /** Ends the process at once, without a word, and starts it again. */
  crash(victims: readonly Victim[]): Promise<void>;
  startDaemon(): Promise<void>;
  stopDaemon(): Promise<void>;
  /** One call through the proxy; how long it took, milliseconds. Rejects where it did not go through. */
  call(): Promise<number>;
  /** Asks the daemon to sync; false where it does not answer. */
  poke(): Promise<boolean>;
  /** The ids that the cloud has, read as the owner of the tables. */
  cloudIds(): Promise<string[]>;
  close(): Promise<void>;
}

export type Victim = "daemon" | "cloud" | "postgres";

/** Starts all of it but the daemon. */
export async function createSyncRig(seed: string): Promise<SyncRig> {
  const simulation: ProviderSimulation = await createProviderSimulation({ seed });
  const parent: ParentProxy = await createParentProxy(simulation);
  // What it has said to be committed must outlive a crash.
  const postgres = await startPostgres(true);
  const url = postgres.url("postgres");
  const token = await withDatabase(url, async (db) => {
    await migrateCloud(db, Date.now());
    const { senders } = await addSenders(db, 1, Date.now());
    return (senders[0] as (typeof senders)[0]).token;
  });
  const port = await freePort();
  const startCloud = () =>
    startCloudProcess({
      words: ["--port", String(port)],
      env: { DATABASE_URL: url, METER_CLOUD_LIMITS_KEY_PER_MINUTE: "1000000" },
    });
  let cloud = await startCloud();
  const home = createHome([
    ...simulationConfig(parent, simulation),
    "[cloud]",
    "enabled = true",
    `base_url = "${cloud.url}"`,
  ]);
  await createCredentialStore(home).write({
    token,
    origin: new URL(cloud.url).origin,
    baseUrl: cloud.url,
    workspaceId: "w",
    workspaceName: "Chaos",
    machineId: null,
    createdAt: Date.now(),
  });
  let daemon: MeterProcess | null = null;
  const random = createSeededRandom(seed);
  const running = (): MeterProcess => {
    if (daemon === null) throw new Error("the daemon is not started");
    return daemon;
  };

  return {
    home,
    postgres,
    get daemon() {
      return running();
    },
    get cloud() {
      return cloud;
    },
    async startDaemon() {
      daemon = await startMeter(home);
    },
    async stopDaemon() {
      await daemon?.stop();
      daemon = null;
    },
    async crash(victims) {
      const ended: Promise<unknown>[] = [];
      if (victims.includes("daemon") && daemon !== null) {
        process.kill(daemon.pid, "SIGKILL");
        ended.push(daemon.stop());
      }
      if (victims.includes("cloud")) ended.push(cloud.end("SIGKILL"));
      if (victims.includes("postgres")) ended.push(postgres.crash());
      await Promise.all(ended);
      if (victims.includes("postgres")) await postgres.restart();
      if (victims.includes("cloud")) cloud = await startCloud();
      if (victims.includes("daemon")) daemon = await startMeter(home);
    },
    async call() {
      const startedAt = performance.now();
      const call = (rawCalls.anthropic as (typeof rawCalls)[string])("plain", random.pick([true, false]));
      const socket = await dialProvider(running(), call.host);
      const { over } = receive(socket);
      socket.write(writeRequest(call, true, random));
      const { error } = await over;
      if (error !== null) throw new Error(error);
      return performance.now() - startedAt;
    },
    async poke() {
      try {
        const secret = readFileSync(tokenFile(home), "utf8").trim();
        const answer = await askDaemon(running().apiPort, "/v1/cloud/sync", secret, {
          method: "POST",
          timeoutMs: 60_000,
        });
        return answer.status === 200;
      } catch {
        return false;
      }
    },
    cloudIds: () =>
      withDatabase(url, async (db) => {
        const rows = await db.selectFrom("requests").select("request_id").execute();
        return rows.map((row) => row.request_id);
      }),
    async close() {
      await daemon?.stop();
      await cloud.end("SIGKILL");
      await postgres.stop();
      await parent.close();
      await simulation.close();
      removeHome(home);
    },
  };
}

async function withDatabase<T>(url: string, work: (db: CloudDatabase) => Promise<T>): Promise<T> {
  const db = openCloudDatabase(openPostgres(url, systemClock));
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
