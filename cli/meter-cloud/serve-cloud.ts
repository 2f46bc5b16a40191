import { readFileSync } from "node:fs";
import process from "node:process";
import { createSecureContext } from "node:tls";
import { createBodyKeyFolder } from "../../adapters/body-keys/key-folder.ts";
import { systemClock } from "../../adapters/clock/system-clock.ts";
import { createRandomBytes, sha256 } from "../../adapters/crypto/node-crypto.ts";
import { type Peer, type Served, serve } from "../../adapters/http/serve.ts";
import { createCloudLog } from "../../adapters/log/create-cloud-log.ts";
import { createCloudMetrics, METRICS_MEDIA_TYPE } from "../../adapters/metrics/create-cloud-metrics.ts";
import { type BudgetWatch, createBudgetWatch } from "../../cloud/budgets/budget-watch.ts";
import { createCloud } from "../../cloud/create-cloud.ts";
import { type Operations, withOperations } from "../../cloud/http/operations.ts";
import { startPurgeJob } from "../../cloud/purge/purge-job.ts";
import { compactDatabase } from "../../cloud/store/compact.ts";
import { isMigrated } from "../../cloud/store/migrate.ts";
import { type SummaryJob, startSummaryJob } from "../../cloud/summaries/summary-job.ts";
import type { Accounts } from "../../core/ports/accounts.ts";
import type { CloudLog } from "../../core/ports/cloud-log.ts";
import { errorName } from "../../core/values/text/describe-error.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { withProgramName } from "../program/program-name.ts";
import { version } from "../program/version.ts";
import { writeBackup } from "./backup.ts";
import { openControlChannel } from "./control-channel.ts";
import { openAccounts } from "./open-accounts.ts";
import {
  describeDatabaseError,
  NO_TABLES,
  type OpenedDatabase,
  openConfiguredDatabase,
} from "./open-cloud-database.ts";
import { openMail } from "./open-mail.ts";
import { prepareDatabase } from "./prepare-database.ts";
import { badConfig, type CloudProgramConfig } from "./read-cloud-config.ts";

/** The output streams and the environment. Messages for people go to `stdout`, the log to `stderr`. */
export interface Outputs {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** Serves the cloud until a signal asks it to stop, then finishes the requests in flight. */
export async function serveCloud(config: CloudProgramConfig, outputs: Outputs): Promise<void> {
  const tls = readTls(config.settings.server);
  const opened = await openConfiguredDatabase(config);
  try {
    await serveOn(opened, tls, config, outputs);
  } catch (cause) {
    throw describeDatabaseError(cause);
  } finally {
    await opened.db.destroy();
  }
}

/** The running server, with the parts that its stop needs. */
interface Running {
  readonly operations: Operations;
  readonly served: Served;
  readonly baseUrl: string;
  readonly accounts: Accounts<Request, Response>;
  readonly budgetWatch: BudgetWatch;
  readonly summaries: SummaryJob;
}

async function serveOn(
  opened: OpenedDatabase,
  tls: Tls | null,
  config: CloudProgramConfig,
  { stdout, stderr, env }: Outputs,
): Promise<void> {
  const { server, database, log: logSettings } = config.settings;
  const { db, engine } = opened;
  const log = createCloudLog({ write: (line) => stderr.write(line) }, logSettings.level);
  if (database.migrate) await prepareDatabase(db, log);
  else if (!(await isMigrated(db))) throw new CommandFailure(NO_TABLES);
  const stopped = stopSignal();
  const running = await startServing(opened, tls, config, { log, stdout });
  const { accounts, baseUrl, served, summaries } = running;
  const bodyKeys = createBodyKeyFolder(config.bodyKeysFolder);
  const control =
    engine === "pglite"
      ? await openControlChannel(config.databaseFolder, {
          db,
          bodyKeys,
          accounts: async () => accounts,
          backUp: (folder) => writeBackup(opened, config.databaseUrl, folder),
        })
      : null;
  const purgeParts = {
    db,
    clock: systemClock,
    accounts,
    bodyKeys,
    sha256,
    randomBytes: createRandomBytes(),
    log,
  };
  const purge = startPurgeJob(purgeParts, async () => {
    // The embedded database is small and only this process uses it, so erased rows are removed from its files too.
    if (engine === "pglite") await compactDatabase(db);
  });
  log({ event: "cloud.started", version, engine, port: served.port, tls: tls !== null });
  for (const line of greeting(config, baseUrl, served.port)) stdout.write(`${withProgramName(line, env)}\n`);

  log({ event: "cloud.draining", signal: await stopped });
  const startedAt = performance.now();
  running.operations.drain();
  await new Promise((resolve) => setTimeout(resolve, server.drain_delay_seconds * 1_000));
  await Promise.all([purge.stop(), summaries.stop(), control?.close()]);
  await served.close(server.drain_seconds * 1_000);
  await running.budgetWatch.stop();
  log({ event: "cloud.stopped", drained_ms: Math.round(performance.now() - startedAt) });
}

/** Listens first, because the base URL contains the port, then creates the app. Requests before that get 503. */
async function startServing(
  { db, database }: OpenedDatabase,
  tls: Tls | null,
  config: CloudProgramConfig,
  { log, stdout }: { readonly log: CloudLog; readonly stdout: NodeJS.WritableStream },
): Promise<Running> {
  const { server } = config.settings;
  let operations: Operations | null = null;
  const served = await listen(server, tls, (request, peer) =>
    operations === null ? new Response(null, { status: 503 }) : operations.fetch(request, peer),
  );
  const baseUrl = server.base_url ?? localAddress(server.host, served.port, tls !== null);
  const mail = await openMail(config, stdout);
  const accounts = openAccounts(config, db, baseUrl, mail, (cause) =>
    log({ event: "cloud.mail_failed", reason: errorName(cause) }),
  );
  const metrics = createCloudMetrics(database.pool ?? null);
  const peerAddress = (env: unknown) => (env as Peer | undefined)?.address ?? null;
  const randomBytes = createRandomBytes();
  const budgetWatch = createBudgetWatch({ db, clock: systemClock, accounts, mail, log, baseUrl });
  const ports = {
    ...{
      db,
      clock: systemClock,
      randomBytes,
      sha256,
      log,
      metrics,
      accounts,
      mail,
      peerAddress,
      budgetWatch,
    },
    bodyKeys: createBodyKeyFolder(config.bodyKeysFolder),
  };
  const cloudConfig = toCloudConfig(config, baseUrl);
  const app = createCloud(ports, cloudConfig);
  const summaries = startSummaryJob(ports, cloudConfig);
  operations = withOperations(app, {
    ...{ db, clock: systemClock, sha256, peerAddress },
    metrics: { mediaType: METRICS_MEDIA_TYPE, text: metrics.text },
    metricsToken: config.metricsToken,
    trustedHops: server.trusted_hops,
  });
  return { operations, served, baseUrl, accounts, budgetWatch, summaries };
}

/** How many uploads are processed at once with the embedded database. It has one connection; the second upload is parsed meanwhile. */
const EMBEDDED_UPLOADS = 2;

/** Converts the settings to the configuration of the app. */
function toCloudConfig(
  { settings: { server, database, checkout, limits }, databaseUrl }: CloudProgramConfig,
  baseUrl: string,
): Parameters<typeof createCloud>[1] {
  const { strings, earlier_hashes: earlierHashes } = checkout;
  return {
    baseUrl,
    trustedHops: server.trusted_hops,
    ...(strings !== null && { checkoutWording: { strings, earlierHashes } }),
    // The embedded database has one process.
    shareLimits: databaseUrl !== null,
    concurrentUploads: databaseUrl === null ? EMBEDDED_UPLOADS : database.max_connections,
    rateLimits: {
      perKey: limits.key_per_minute,
      perUser: limits.user_per_minute,
      signInPerAddress: limits.sign_in_per_minute,
      pairingPerAddress: limits.pairing_per_minute,
      pollPerAddress: limits.poll_per_minute,
    },
  };
}

/** Reads and checks the certificate and its key before anything is started; null for plain HTTP. */
function readTls({ tls_cert, tls_key }: CloudProgramConfig["settings"]["server"]): Tls | null {
  if (tls_cert === null || tls_key === null) return null;
  const tls = { cert: readPem("server.tls_cert", tls_cert), key: readPem("server.tls_key", tls_key) };
  try {
    createSecureContext(tls);
  } catch (cause) {
    throw badConfig([
      `server.tls_cert, server.tls_key: the files are not a certificate and its key: ${(cause as Error).message}.`,
    ]);
  }
  return tls;
}

function readPem(setting: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw badConfig([`${setting}: ${path} can't be read: ${(cause as NodeJS.ErrnoException).code}.`]);
  }
}

async function listen(
  { host, port, max_connections }: CloudProgramConfig["settings"]["server"],
  tls: Tls | null,
  fetch: (request: Request, peer: Peer) => Response | Promise<Response>,
): Promise<Served> {
  const limits = { maxConnections: max_connections };
  try {
    return await serve(fetch, { host, port }, { limits, ...(tls === null ? {} : { tls }) });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new CommandFailure(
      code === "EADDRINUSE"
        ? `Port ${port} on ${host} is already in use.\nUse another one: meter-cloud serve --port <port>`
        : `Can't listen on ${host}, port ${port}: ${message}.`,
    );
  }
}

/** Addresses that mean every interface. */
const WILDCARDS = new Set(["0.0.0.0", "::"]);

function localAddress(host: string, port: number, tls: boolean): string {
  const name = WILDCARDS.has(host) ? "127.0.0.1" : host;
  return `${tls ? "https" : "http"}://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/** Returns what a person who starts the server by hand needs to know. */
function greeting(config: CloudProgramConfig, baseUrl: string, port: number): string[] {
  const { server } = config.settings;
  const lines = [`meter-cloud ${version} is running at ${baseUrl}`];
  if (server.base_url !== null) lines.push(`  listening on ${server.host}, port ${port}`);
  lines.push(
    config.databaseUrl === null
      ? `  database: embedded, in ${config.databaseFolder}`
      : "  database: the PostgreSQL server of DATABASE_URL",
    `  first account: ${baseUrl}/sign-up, or meter-cloud admin create-user --email <email>`,
    `  connect a machine: meter cloud connect --base-url ${baseUrl}`,
  );
  const isOpen = !["127.0.0.1", "::1", "localhost"].includes(server.host);
  if (isOpen && baseUrl.startsWith("http:")) {
    lines.push(
      "  WARNING: other machines use plain HTTP, so keys and passwords can be read in transit. Set up TLS: docs/hosting.md",
    );
  }
  return lines;
}

/** Resolves with the first signal that asks to stop. A second one ends the process at once. */
function stopSignal(): Promise<string> {
  let isAsked = false;
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      process.on(signal, () => {
        if (isAsked) process.exit(1);
        isAsked = true;
        resolve(signal);
      });
    }
  });
}
