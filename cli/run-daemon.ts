import { timingSafeEqual } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Writable } from "node:stream";
import { loadRootCertificates, openCertificateAuthority } from "../adapters/certificates/mod.ts";
import { systemClock } from "../adapters/clock/mod.ts";
import { createZlibDecoder, createZlibMessageInflater } from "../adapters/content-decoder/mod.ts";
import { createRandomBytes, sha256, sha256Hex } from "../adapters/crypto/node-crypto.ts";
import { createDriver } from "../adapters/driver/mod.ts";
import { createProjectFiles, writeFileAtomic } from "../adapters/files/mod.ts";
import { serve } from "../adapters/http/serve.ts";
import { LOOK_MS, takeExclusiveLock } from "../adapters/lock/exclusive-lock.ts";
import { createLog, openLogFile } from "../adapters/log/mod.ts";
import {
  createConnectionOwners,
  createProcessTable,
  readOpenFilesLimit,
} from "../adapters/process-table/mod.ts";
import { createSqliteOpener } from "../adapters/sqlite/mod.ts";
import { createTokenCounter } from "../adapters/token-counter/mod.ts";
import type { Config } from "../core/config/mod.ts";
import { CertificateStoreError } from "../core/ports/certificates.ts";
import { StoreError } from "../core/ports/sqlite.ts";
import { createRedact } from "../core/redaction/mod.ts";
import { createRegistry, type Registry } from "../core/usage/mod.ts";
import { createAttributor } from "../daemon/attribution.ts";
import { createCloudService } from "../daemon/cloud/mod.ts";
import { startDaemon } from "../daemon/daemon.ts";
import {
  defaultProxyLimits,
  isLoopbackAddress,
  NonLoopbackHostError,
  type ProxyConfig,
  ProxyListenError,
  resolveListenHost,
  resolveParentProxies,
} from "../daemon/proxy/mod.ts";
import { openLastingStore } from "../daemon/store/mod.ts";
import { createCloudPorts } from "./cloud-ports.ts";
import { isAboutCloud } from "./cloud-warnings.ts";
import { lockFile, type RunningDaemon, stateFile } from "./daemon-process.ts";
import { databaseFile } from "./database-file.ts";
import { CommandFailure } from "./exit-codes.ts";
import { authorityFiles, prepareHome } from "./home.ts";
import { readOrMakeToken } from "./loopback-token.ts";
import { reachableHost } from "./own-address.ts";
import { openPriceBook } from "./price-book.ts";
import { readConfig } from "./read-config.ts";
import { printableLines } from "./render/printable.ts";
import { version } from "./version.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How long calls in flight may go on after SIGTERM, in milliseconds. */
const STOP_DEADLINE_MS = 10_000;

/** What clients of the loopback API may take of it: they are the programs and pages of one person. */
const API_LIMITS = { requestTimeoutMs: 30_000, keepAliveMs: 30_000, maxConnections: 256 };

/** Runs the daemon in this process until it is told to stop. Throws a `CommandFailure` where it can't start. */
export async function runDaemon(home: string, env: Environment, stderr: Writable): Promise<number> {
  prepareHome(home);
  const { config, warnings } = await readConfig(home, env);
  const opener = createSqliteOpener();
  const lock = await takeExclusiveLock(opener, lockFile(home), LOOK_MS);
  if (lock === null) throw new CommandFailure(`another daemon runs in ${home}`);
  const logFile = openLogFile(join(home, "logs", "daemon.log"));
  const log = createLog(logFile, config.log.level);
  let closeStore = () => {};
  try {
    const tell = (warning: string) => {
      stderr.write(`meter: ${printableLines(warning)}\n`);
      log.warn("daemon.warning", { warning });
    };
    const allWarnings = [...warnings];
    let readPrices = () => {};
    const store = await openLastingStore(
      {
        opener,
        clock: systemClock,
        monotonicMs: () => performance.now(),
        opened({ setAsidePath, damagedLogPath }) {
          if (setAsidePath !== null) {
            tell(`the database was damaged; it was moved to ${setAsidePath} and a new one begun`);
          }
          if (damagedLogPath !== null) {
            const warning = `the last calls before the database was closed may be missing: its log was damaged and is kept as ${damagedLogPath}`;
            tell(warning);
            allWarnings.push(warning);
          }
          readPrices();
        },
      },
      databaseFile(home),
    );
    closeStore = () => store.close();
    if (store.trouble !== null)
      tell(`calls pass, but what is metered can't be stored: ${store.trouble.message}`);
    const registry = createRegistry(config.providers, { deployments: config.azureDeployments });
    const proxy = await proxyConfig(home, config, registry, env, allWarnings);
    const apiAddress = await listenAddress(config.api.host, env, allWarnings);
    for (const warning of allWarnings) tell(warning);
    let prices = openPriceBook(config.pricing.operator, store);
    readPrices = () => {
      prices = openPriceBook(config.pricing.operator, store);
    };
    // Those of the cloud that is configured now: connecting to another one needs no new start.
    const allowedOrigins = new Set(dashboardOrigins(config));
    const cloudPorts = await createCloudPorts({
      home,
      env,
      store,
      log,
      configRead(now, nowWarnings) {
        allowedOrigins.clear();
        for (const origin of dashboardOrigins(now)) allowedOrigins.add(origin);
        // What leaves the machine follows the file at once, and so do its warnings.
        const about = nowWarnings.filter(isAboutCloud);
        for (const warning of about) if (!allWarnings.includes(warning)) tell(warning);
        allWarnings.splice(
          0,
          Number.POSITIVE_INFINITY,
          ...allWarnings.filter((each) => !isAboutCloud(each)),
          ...about,
        );
      },
      ratesChanged: readPrices,
      notice: tell,
    });
    const cloud = createCloudService(cloudPorts);
    let proxyPort: number | null = null;
    const attribution = createAttributor(
      { processTable: createProcessTable(), projectFiles: createProjectFiles(), clock: systemClock, log },
      { ...config.attribution, proxyPort: () => proxyPort },
    );
    const loopbackToken = await readOrMakeToken(home);
    const portLost = Promise.withResolvers<"port_lost">();
    const listenFd = inheritedSocket(env);
    const daemon = await startDaemon(
      {
        version,
        log,
        store,
        registry,
        prices: () => prices,
        attribution,
        redact: createRedact(config.redactionRules),
        createDecoder: createZlibDecoder,
        createMessageInflater: createZlibMessageInflater,
        tokenCounter: config.usage.estimateMissing ? createTokenCounter() : null,
        sha256Hex,
        randomBytes: createRandomBytes(),
        now: Date.now,
        clock: systemClock,
        createDriver,
        atTurnEnd: setImmediate,
        later: (work, delayMs) => void setTimeout(work, delayMs),
        owners: createConnectionOwners(),
        equalSecrets: (one, other) => timingSafeEqual(sha256(Buffer.from(one)), sha256(Buffer.from(other))),
        serve: (fetch, address) => serve(fetch, address, { limits: API_LIMITS }),
        logLinesLost: logFile.lost,
        portLost: () => portLost.resolve("port_lost"),
        cloud,
        hostname: cloudPorts.machine.hostname,
      },
      {
        proxy: { ...proxy, ...(listenFd !== null && { listenFd }) },
        api: {
          host: apiAddress,
          name: config.api.host,
          port: config.api.port,
          allowedOrigins,
        },
        loopbackToken,
        maxBodyBytes: config.bodies.maxBodyBytes,
        bodyRetentionDays: config.bodies.retentionDays,
        warnings: allWarnings,
      },
    );
    proxyPort = daemon.proxyPort;
    const running: RunningDaemon = {
      pid: process.pid,
      version,
      proxy_host: reachableHost(proxy.host),
      proxy_port: daemon.proxyPort,
      api_host: reachableHost(apiAddress),
      api_port: daemon.apiPort,
      started_at: daemon.health().started_at,
    };
    const withdraw = announce(stateFile(home), running, tell);
    const why = await Promise.race([stopSignal(), portLost.promise]);
    withdraw();
    // It closes the store, too.
    closeStore = () => {};
    await daemon.stop(STOP_DEADLINE_MS);
    await cloudPorts.client.close();
    // A failure, so that the service manager starts another; meanwhile connections wait at its socket.
    return why === "port_lost" ? 1 : 0;
  } catch (cause) {
    throw startFailure(cause, config);
  } finally {
    // Its timers would keep a process alive that did not start.
    closeStore();
    await logFile.close();
    lock.release();
  }
}

/** How often the file that commands find the daemon by is tried again on a disk that is full, in milliseconds. */
const ANNOUNCE_EVERY_MS = 2_000;

/** Writes the file that commands find the daemon by, as soon as that can be done; gives what takes it away again. */
function announce(path: string, running: RunningDaemon, tell: (warning: string) => void): () => void {
  let cancel = () => {};
  const write = (told: boolean) => {
    try {
      writeFileAtomic(path, `${JSON.stringify(running, null, 2)}\n`, { mode: 0o600 });
    } catch (cause) {
      if (!told)
        tell(`commands can't find this daemon, since ${path} can't be written: ${(cause as Error).message}`);
      cancel = systemClock.setTimer(ANNOUNCE_EVERY_MS, () => write(true));
    }
  };
  write(false);
  return () => {
    cancel();
    try {
      rmSync(path, { force: true });
    } catch {
      // It names a daemon that does not answer any more, which is as good.
    }
  };
}

/** The socket that a service manager passed on, as sd_listen_fds(3) has it: one, the first after standard error. */
function inheritedSocket(env: Environment): number | null {
  return env.LISTEN_PID === `${process.pid}` && env.LISTEN_FDS === "1" ? 3 : null;
}

/** Resolves at the first signal that asks to stop; a second one ends the process at once. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
        process.off(signal, stop);
        process.once(signal, () => process.exit(1));
      }
      resolve();
    };
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, stop);
  });
}

/** What keeps a daemon from starting, in words that say what to do. */
function startFailure(cause: unknown, config: Config): unknown {
  if (cause instanceof NonLoopbackHostError) {
    return new CommandFailure(
      `${cause.message}. Anybody who can reach that address could use it; HALTON_METER_ALLOW_NON_LOOPBACK=1 allows it all the same`,
    );
  }
  if (cause instanceof ProxyListenError) {
    return new CommandFailure(
      cause.code === "EADDRINUSE"
        ? `port ${config.proxy.port} is taken: set another one under [proxy] port in config.toml`
        : cause.message,
    );
  }
  if ((cause as NodeJS.ErrnoException).code === "EADDRINUSE") {
    return new CommandFailure(
      `port ${config.api.port} is taken: set another one under [api] port in config.toml`,
    );
  }
  if (cause instanceof CertificateStoreError || cause instanceof StoreError)
    return new CommandFailure(cause.message);
  return cause;
}

/** Whether the contract's override for addresses beyond loopback is set. */
const allowsNonLoopback = (env: Environment) => env.HALTON_METER_ALLOW_NON_LOOPBACK === "1";

async function listenAddress(host: string, env: Environment, warnings: string[]): Promise<string> {
  const { address, loopback } = await resolveListenHost(host, allowsNonLoopback(env));
  if (!loopback)
    warnings.push(`listening beyond this machine, on ${host}, because HALTON_METER_ALLOW_NON_LOOPBACK=1`);
  return address;
}

async function proxyConfig(
  home: string,
  config: Config,
  registry: Registry,
  env: Environment,
  warnings: string[],
): Promise<ProxyConfig> {
  const host = await listenAddress(config.proxy.host, env, warnings);
  const ownPorts = [config.proxy.port, config.api.port].filter((port) => port !== 0);
  const { parent, parentFromEnvironment } = config.proxy;
  const setting =
    parent !== null
      ? ({ kind: "url", url: parent, noProxy: env.NO_PROXY ?? env.no_proxy ?? null } as const)
      : ({ kind: parentFromEnvironment ? "environment" : "none" } as const);
  const parents = await resolveParentProxies(setting, env, new Set(ownPorts));
  warnings.push(...parents.warnings);
  const { caFolder } = authorityFiles(home);
  const authority = openCertificateAuthority({ directory: caFolder, hosts: registry.hosts, now: Date.now() });
  warnings.push(...authority.warnings);
  const { password, requireAuthorization } = config.proxy;
  if (!isLoopbackAddress(host) && requireAuthorization && password === null) {
    throw new CommandFailure(
      "beyond this machine the proxy wants a login: set [proxy] password, or require_authorization = false",
    );
  }
  return {
    host,
    port: config.proxy.port,
    ownPorts,
    providerHosts: registry.hostPatterns,
    gatewayRoutes: [...registry.gatewayPrefixes].map(([prefix, target]) => ({
      prefix: `/${prefix}`,
      host: target.host,
      port: target.port,
      tls: target.scheme === "https",
      basePath: target.basePath,
    })),
    authority: { certificatePem: authority.certificatePem, keyPem: authority.keyPem },
    roots: loadRootCertificates(config.proxy.extraCa),
    parentProxies: parents.proxies,
    proxyPassword: password,
    limits: { maxConnections: connectionsWithin(readOpenFilesLimit()) },
  };
}

/** Files and sockets that the daemon keeps for itself: its database, log and API, and what it looks up about callers. */
const OWN_DESCRIPTORS = 48;

/** How many clients fit, each with a socket of its own towards its provider. */
function connectionsWithin(openFilesLimit: number | null): number {
  const { maxConnections } = defaultProxyLimits;
  if (openFilesLimit === null) return maxConnections;
  return Math.max(4, Math.min(maxConnections, Math.floor((openFilesLimit - OWN_DESCRIPTORS) / 2)));
}

/** The origins whose pages may ask: the cloud's own, and those that the configuration lists. */
function dashboardOrigins({ api, cloud }: Config): readonly string[] {
  const own = cloud.baseUrl === null ? [] : [new URL(cloud.baseUrl).origin];
  return [...own, ...api.dashboardOrigins];
}
