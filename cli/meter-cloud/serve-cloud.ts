import { readFileSync } from "node:fs";
import process from "node:process";
import { createSecureContext } from "node:tls";
import { systemClock } from "../../adapters/clock/mod.ts";
import { createRandomBytes, sha256 } from "../../adapters/crypto/mod.ts";
import { type Peer, type Served, serve } from "../../adapters/http/mod.ts";
import { createCloudLog } from "../../adapters/log/mod.ts";
import { createCloudMetrics, METRICS_MEDIA_TYPE } from "../../adapters/metrics/mod.ts";
import { createCloud, isMigrated, type Operations, withOperations } from "../../cloud/mod.ts";
import { CommandFailure } from "../exit-codes.ts";
import { toPaste } from "../program-word.ts";
import { version } from "../version.ts";
import { createConsoleMail, openAccounts } from "./open-accounts.ts";
import { inWords, type OpenedDatabase, openConfiguredDatabase } from "./open-cloud-database.ts";
import { prepareDatabase } from "./prepare-database.ts";
import { badConfig, type CloudProgramConfig } from "./read-cloud-config.ts";

/** Where the program writes; people read the first, programs the second. */
export interface Outputs {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** Serves the cloud until a signal says stop, then lets what is under way finish. */
export async function serveCloud(config: CloudProgramConfig, outputs: Outputs): Promise<void> {
  const tls = readTls(config.settings.server);
  const opened = await openConfiguredDatabase(config);
  try {
    await serveOn(opened, tls, config, outputs);
  } catch (cause) {
    throw inWords(cause);
  } finally {
    await opened.db.destroy();
  }
}

async function serveOn(
  opened: OpenedDatabase,
  tls: Tls | null,
  config: CloudProgramConfig,
  outputs: Outputs,
): Promise<void> {
  const { settings } = config;
  const { stdout, stderr } = outputs;
  const log = createCloudLog({ write: (line) => stderr.write(line) }, settings.log.level);
  const { db, database, engine } = opened;
  if (settings.database.migrate) await prepareDatabase(db, log);
  else if (!(await isMigrated(db))) {
    throw new CommandFailure("the database has no tables of this version: run meter-cloud migrate");
  }
  const stopped = stopSignal();
  const metrics = createCloudMetrics(database.pool ?? null);
  const peerAddress = (env: unknown) => (env as Peer | undefined)?.address ?? null;
  const randomBytes = createRandomBytes();
  let operations: Operations | null = null;
  const served = await listen(settings.server, tls, (request, peer) =>
    operations === null ? new Response(null, { status: 503 }) : operations.fetch(request, peer),
  );
  const baseUrl = settings.server.base_url ?? localAddress(settings.server.host, served.port, tls !== null);
  const mail = createConsoleMail(stdout);
  const accounts = openAccounts(config, db, baseUrl, mail, (cause) =>
    log({ event: "cloud.mail_failed", reason: cause instanceof Error ? cause.name : typeof cause }),
  );
  const app = createCloud(
    { db, clock: systemClock, randomBytes, sha256, log, metrics, accounts, mail, peerAddress },
    {
      baseUrl,
      trustedHops: settings.server.trusted_hops,
      ...(settings.checkout.strings === null
        ? {}
        : {
            checkoutWording: {
              strings: settings.checkout.strings,
              earlierHashes: settings.checkout.earlier_hashes,
            },
          }),
      rateLimits: {
        perKey: settings.limits.key_per_minute,
        perUser: settings.limits.user_per_minute,
        signInPerAddress: settings.limits.sign_in_per_minute,
        pairingPerAddress: settings.limits.pairing_per_minute,
        pollPerAddress: settings.limits.poll_per_minute,
      },
    },
  );
  operations = withOperations(app, {
    db,
    clock: systemClock,
    sha256,
    metrics: { mediaType: METRICS_MEDIA_TYPE, text: metrics.text },
    metricsToken: config.metricsToken,
    trustedHops: settings.server.trusted_hops,
    peerAddress,
  });
  log({ event: "cloud.started", version, engine, port: served.port, tls: tls !== null });
  for (const line of greeting(config, baseUrl, served.port)) stdout.write(`${toPaste(line, outputs.env)}\n`);

  log({ event: "cloud.draining", signal: await stopped });
  const startedAt = performance.now();
  operations.drain();
  await new Promise((resolve) => setTimeout(resolve, settings.server.drain_delay_seconds * 1_000));
  await served.close(settings.server.drain_seconds * 1_000);
  log({ event: "cloud.stopped", drained_ms: Math.round(performance.now() - startedAt) });
}

/** The certificate and its key, looked at before anything is started; null for plain HTTP. */
function readTls({ tls_cert, tls_key }: CloudProgramConfig["settings"]["server"]): Tls | null {
  if (tls_cert === null || tls_key === null) return null;
  const tls = { cert: readPem("server.tls_cert", tls_cert), key: readPem("server.tls_key", tls_key) };
  try {
    createSecureContext(tls);
  } catch (cause) {
    throw badConfig([
      `server.tls_cert, server.tls_key: no certificate with its key: ${(cause as Error).message}`,
    ]);
  }
  return tls;
}

function readPem(setting: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw badConfig([`${setting}: ${path} can't be read: ${(cause as NodeJS.ErrnoException).code}`]);
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
        ? `port ${port} on ${host} is taken: choose another by --port`
        : `can't listen on ${host}, port ${port}: ${message}`,
    );
  }
}

/** Every address is reachable at the local one too. */
const WILDCARDS = new Set(["0.0.0.0", "::"]);

function localAddress(host: string, port: number, tls: boolean): string {
  const name = WILDCARDS.has(host) ? "127.0.0.1" : host;
  return `${tls ? "https" : "http"}://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/** What a person who started it by hand needs to know. */
function greeting(config: CloudProgramConfig, baseUrl: string, port: number): string[] {
  const { server } = config.settings;
  const lines = [`meter-cloud ${version} answers at ${baseUrl}`];
  if (server.base_url !== null) lines.push(`  listening on ${server.host}, port ${port}`);
  lines.push(
    config.databaseUrl === null
      ? `  database: embedded, in ${config.databaseFolder}`
      : "  database: the PostgreSQL server of DATABASE_URL",
    `  first account: at ${baseUrl}/sign-up, or by meter-cloud admin create-user`,
    `  connect a machine: meter cloud connect --base-url ${baseUrl}`,
  );
  const isOpen = !["127.0.0.1", "::1", "localhost"].includes(server.host);
  if (isOpen && baseUrl.startsWith("http:")) {
    lines.push(
      "  WARNING: plain HTTP beyond this machine; keys and passwords can be read on the way (see docs/hosting.md)",
    );
  }
  return lines;
}

/** Resolves with the first signal that asks to stop; a second one ends the process at once. */
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
