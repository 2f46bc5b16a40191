import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import process from "node:process";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { createCredentialStore } from "../../adapters/cloud-credentials/credential-store.ts";
import { openPostgres } from "../../adapters/postgres/postgres-server.ts";
import { tokenFile } from "../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../cli/daemon/loopback-client.ts";
import { migrateCloud } from "../../cloud/store/migrate.ts";
import { type CloudDatabase, openCloudDatabase } from "../../cloud/store/open-database.ts";
import { type CloudProcess, startCloudProcess } from "../cloud/kit/cloud-process.ts";
import { type PostgresServer, startPostgres } from "../cloud/kit/postgres-server.ts";
import { addSenders } from "../cloud/kit/senders.ts";
import {
  createHome,
  type MeterProcess,
  removeHome,
  simulationConfig,
  startMeter,
} from "../end-to-end/meter-process.rig.ts";
import {
  createParentProxy,
  createProviderSimulation,
  type ParentProxy,
  type ProviderSimulation,
} from "../simulation/mod.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import { type Caller, createCaller } from "./caller.ts";

/** Providers, a daemon, a cloud and PostgreSQL as separate processes, paired with each other. */
export interface SyncRig {
  readonly home: string;
  readonly daemon: MeterProcess;
  readonly cloud: CloudProcess;
  readonly postgres: PostgresServer;
  /** Ends the processes at once (SIGKILL) and starts them again. */
  crash(victims: readonly Victim[]): Promise<void>;
  /** `env` is added to the daemon's variables. */
  startDaemon(env?: Readonly<Record<string, string>>): Promise<void>;
  stopDaemon(): Promise<void>;
  /** A client whose calls go through the proxy. */
  createCaller(seed: string): Caller;
  /** A client whose calls go to the same providers without the meter. */
  createDirectCaller(seed: string): Caller;
  /** Asks the daemon to sync; false if it does not respond. */
  poke(): Promise<boolean>;
  /** The ids that the cloud has, read as the owner of the tables. */
  cloudIds(): Promise<string[]>;
  close(): Promise<void>;
}

export type Victim = "daemon" | "cloud" | "postgres";

/** Starts everything except the daemon. */
export async function createSyncRig(seed: string): Promise<SyncRig> {
  const simulation: ProviderSimulation = await createProviderSimulation({ seed });
  const parent: ParentProxy = await createParentProxy(simulation);
  // Committed data must survive a crash.
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
    promptHashKey: null,
    createdAt: Date.now(),
  });
  let daemon: MeterProcess | null = null;
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
    async startDaemon(env = {}) {
      daemon = await startMeter(home, { env });
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
      if (victims.includes("postgres")) ended.push(postgres.kill());
      await Promise.all(ended);
      const startServers = async () => {
        if (victims.includes("postgres")) await postgres.restart();
        if (victims.includes("cloud")) cloud = await startCloud();
      };
      const startMetering = async () => {
        if (victims.includes("daemon")) daemon = await startMeter(home);
      };
      await Promise.all([startServers(), startMetering()]);
    },
    createCaller: (callerSeed) => createCaller(running, createSeededRandom(`${seed} ${callerSeed}`)),
    createDirectCaller: (callerSeed) =>
      createCaller(
        () => ({ proxyPort: parent.port, caPem: simulation.caPem }),
        createSeededRandom(`${seed} ${callerSeed}`),
      ),
    async poke() {
      try {
        const secret = readFileSync(tokenFile(home), "utf8").trim();
        const answer = await requestDaemon(running().apiPort, "/v1/cloud/sync", secret, {
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
