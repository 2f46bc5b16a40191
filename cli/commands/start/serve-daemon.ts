import { timingSafeEqual } from "node:crypto";
import process from "node:process";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { createZlibMessageInflater } from "../../../adapters/content-decoder/message-inflater.ts";
import { createZlibDecoder } from "../../../adapters/content-decoder/zlib.ts";
import { createRandomBytes, sha256, sha256Hex } from "../../../adapters/crypto/node-crypto.ts";
import { createDriver } from "../../../adapters/driver/create-driver.ts";
import { createProjectFiles, isFolderGone } from "../../../adapters/files/project-files.ts";
import { serve } from "../../../adapters/http/serve.ts";
import { createAccountHash } from "../../../core/metering/limits/account-identity.ts";
import type { Config } from "../../../core/operations/config/config.ts";
import { createIdHash } from "../../../core/privacy/policy/id-hash.ts";
import { createNameCheck } from "../../../core/privacy/redaction/name-check.ts";
import { createRedact } from "../../../core/privacy/redaction/redact.ts";
import { createAttributor } from "../../../daemon/capture/create-attributor.ts";
import { createProjectOrigins, type ProjectOrigins } from "../../../daemon/capture/project-origins.ts";
import { createCloudService } from "../../../daemon/cloud/create-cloud-service.ts";
import { mergeBodyRules } from "../../../daemon/cloud/merge-body-rules.ts";
import type { CloudServicePorts } from "../../../daemon/cloud/ports.ts";
import type { Daemon, DaemonPorts } from "../../../daemon/daemon.ts";
import type { OtlpService } from "../../../daemon/otlp/otlp-service.ts";
import type { ProxyConfig } from "../../../daemon/proxy/proxy-config.ts";
import { startDaemon } from "../../../daemon/start-daemon.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import type { WebhookService } from "../../../daemon/webhooks/webhook-service.ts";
import { createCloudPorts } from "../../cloud/cloud-ports.ts";
import type { RunningDaemon } from "../../daemon/daemon-process.ts";
import { reachableHost } from "../../daemon/own-address.ts";
import { placeOf } from "../../home/place-of.ts";
import { authorityFiles } from "../../home/prepare-home.ts";
import { readOrCreateIdKey } from "../../home/read-or-create-secret.ts";
import { fingerprintOf } from "../../install/trusted-authority.ts";
import { version } from "../../program/version.ts";
import { openPriceBook } from "../../records/price-book.ts";
import { processStart } from "./announce-daemon.ts";
import type { DaemonSetup, OpenedParts } from "./daemon-setup.ts";
import { createEstimates } from "./estimates.ts";
import { readOrCreateToken } from "./loopback-token.ts";
import { createNotifyUser } from "./notify-user.ts";
import { openDaemonStore } from "./open-daemon-store.ts";
import { passwordFile } from "./proxy-login.ts";
import { createSettingsReader } from "./settings-reader.ts";
import type { Relay } from "./start-relay.ts";

/** Limits of the loopback API, whose clients are the programs and pages of one person. */
const API_LIMITS = { requestTimeoutMs: 30_000, keepAliveMs: 30_000, maxConnections: 256 };

/** A running daemon, with the parts that its stop needs. */
export interface Serving {
  readonly daemon: Daemon;
  readonly running: RunningDaemon;
  /** The token of the loopback API. */
  readonly token: string;
  readonly cloudPorts: CloudServicePorts;
  /** Resolves if the proxy has ended for good. */
  readonly proxyLost: Promise<"port_lost" | "gave_up">;
}

/** The price book, which is read again when rates or the database change. */
interface Prices {
  current(): ReturnType<typeof openPriceBook>;
  readFrom(store: Store): void;
  /** Reads the rates again; does nothing before `readFrom()`. */
  reload(): void;
}

function createPrices({ config }: DaemonSetup): Prices {
  let source: Store | null = null;
  let book: ReturnType<typeof openPriceBook> | null = null;
  const reload = () => {
    if (source !== null) book = openPriceBook(config, source.rates);
  };
  return {
    current() {
      if (book === null) throw new Error("the price book was used before the store was opened");
      return book;
    },
    readFrom(store) {
      source = store;
      reload();
    },
    reload,
  };
}

/** Opens the store, starts everything on it and returns what runs. */
export async function serveDaemon(
  setup: DaemonSetup,
  {
    proxy,
    apiAddress,
    relay,
  }: { readonly proxy: ProxyConfig; readonly apiAddress: string; readonly relay: Relay },
  opened: OpenedParts,
): Promise<Serving> {
  const { home, config, warnings, opener } = setup;
  const { earlyProxy } = opened;
  const prices = createPrices(setup);
  let origins: ProjectOrigins | null = null;
  const store = await openDaemonStore(home, opener, warnings, () => {
    prices.reload();
    origins?.reload();
  });
  opened.store = store;
  prices.readFrom(store);
  let localProjects = listLocalProjects(config);
  let { perProject } = config.cloud.upload;
  origins = createProjectOrigins({
    ...{ store, isFolderGone, sha256Hex, clock: systemClock, log: setup.log },
    isSecret: createNameCheck(config.redactionRules),
    // A project that is kept on this machine must not continue under another name.
    isShared: (name) => localProjects.has(name),
  });
  const allowedOrigins = new Set(dashboardOrigins(config));
  const estimates = createEstimates(config);
  const cloudPorts = await openCloudPorts(setup, store, prices, (read) => {
    allowedOrigins.clear();
    for (const origin of dashboardOrigins(read)) allowedOrigins.add(origin);
    estimates.follow(read);
    localProjects = listLocalProjects(read);
    ({ perProject } = read.cloud.upload);
  });
  const idKey = await readOrCreateIdKey(home).catch(() => null);
  const proxyLost = Promise.withResolvers<"port_lost" | "gave_up">();
  let proxyPort: number | null = null;
  const ports: DaemonPorts = {
    ...createDaemonPorts(setup, { store, prices, origins }, () => proxyPort),
    tokenCounter: estimates.counter,
    ...(earlyProxy === null ? { startProxyThread: relay.startThread } : { earlyProxy }),
    ...(relay.passMemory !== undefined && { passMemory: relay.passMemory }),
    proxyLost: proxyLost.resolve,
    cloud: createCloudService(cloudPorts),
    sent: { outbox: cloudPorts.outbox, localProjects: () => localProjects },
    settings: createSettingsReader(setup),
    webhooks: await openWebhooks(setup, { store, client: cloudPorts.client, idKey }, () => perProject),
    otlp: await openOtlp(setup, { store, client: cloudPorts.client, idKey }, () => perProject),
    notify: createNotifyUser(config.budgetWarnings, setup.log),
    hostname: cloudPorts.machine.hostname,
    ...(idKey !== null && { hashAccount: createAccountHash(idKey, sha256) }),
  };
  const options = await readDaemonOptions(setup);
  const daemon = await startDaemon(ports, {
    ...{ proxy, api: { host: apiAddress, name: config.api.host, port: config.api.port, allowedOrigins } },
    ...options,
    budgets: { configured: config.budgets, place: placeOf(cloudPorts.machine.hostname) },
  });
  proxyPort = daemon.proxyPort;
  const running = describeRunning(daemon, proxy, { home, apiAddress });
  return { daemon, running, token: options.loopbackToken, cloudPorts, proxyLost: proxyLost.promise };
}

/** Returns what the home and the configuration say about the daemon. */
async function readDaemonOptions({ home, config, warnings }: DaemonSetup) {
  return {
    loopbackToken: await readOrCreateToken(home),
    authorityFile: authorityFiles(home).caFile,
    receiveTelemetry: config.telemetry.receive,
    maxBodyBytes: config.bodies.maxBodyBytes,
    bodyRetentionDays: config.bodies.retentionDays,
    warnings: warnings.current,
  };
}

/** Creates the service for webhooks; null if none is configured. */
async function openWebhooks(
  { config, log }: DaemonSetup,
  { idKey, ...ports }: Pick<CloudServicePorts, "store" | "client"> & { readonly idKey: string | null },
  perProject: () => Config["cloud"]["upload"]["perProject"],
): Promise<WebhookService | null> {
  if (config.webhooks.length === 0) return null;
  const { createWebhookService } = await import("../../../daemon/webhooks/webhook-service.ts");
  return createWebhookService(
    {
      ...{ ...ports, clock: systemClock, log, sha256, random: Math.random, perProject },
      createIdHash: () => (idKey === null ? null : createIdHash(idKey, sha256)),
    },
    config.webhooks,
  );
}

/** Creates the export by OTLP; null if none is configured. */
async function openOtlp(
  { config, log }: DaemonSetup,
  { idKey, ...ports }: Pick<CloudServicePorts, "store" | "client"> & { readonly idKey: string | null },
  perProject: () => Config["cloud"]["upload"]["perProject"],
): Promise<OtlpService | null> {
  const otlp = config.telemetry.export;
  if (otlp === null) return null;
  const { createOtlpService } = await import("../../../daemon/otlp/otlp-service.ts");
  return createOtlpService(
    {
      ...{ ...ports, clock: systemClock, log, sha256, random: Math.random, perProject },
      createIdHash: () => (idKey === null ? null : createIdHash(idKey, sha256)),
      loadEncoder: async () =>
        (await import("../../../adapters/otlp/encode-otlp.ts")).loadOtlpEncoder(version),
    },
    otlp,
  );
}

/** Returns what `daemon.json` tells commands about this process. */
function describeRunning(
  daemon: Daemon,
  proxy: ProxyConfig,
  { home, apiAddress }: { readonly home: string; readonly apiAddress: string },
): RunningDaemon {
  return {
    pid: process.pid,
    ...processStart(),
    version,
    proxy_host: reachableHost(proxy.host),
    proxy_port: daemon.proxyPort,
    api_host: reachableHost(apiAddress),
    api_port: daemon.apiPort,
    ...(proxy.passwordFor === "other_machines" && { password_file: passwordFile(home) }),
    authority: proxy.authority && fingerprintOf(proxy.authority.certificatePem),
    started_at: daemon.health().started_at,
  };
}

/** Creates the cloud service's ports. A change of the configuration is applied and updates the warnings at once. */
function openCloudPorts(
  { home, env, log, warnings }: DaemonSetup,
  store: Store,
  prices: Prices,
  apply: (config: Config) => void,
): Promise<CloudServicePorts> {
  return createCloudPorts({
    home,
    env,
    store,
    log,
    configRead(config, configWarnings) {
      apply(config);
      warnings.replaceCloudWarnings(configWarnings);
    },
    ratesChanged: prices.reload,
    notice: warnings.report,
    credentialsRestored: warnings.add,
  });
}

/** Creates the daemon's ports except for those of the proxy and the cloud. */
function createDaemonPorts(
  { config, log, logFile, registry, callers }: DaemonSetup,
  { store, prices, origins }: { store: Store; prices: Prices; origins: ProjectOrigins },
  proxyPort: () => number | null,
): Omit<DaemonPorts, "tokenCounter"> {
  return {
    version,
    log,
    store,
    registry,
    prices: prices.current,
    origins,
    attribution: createAttributor(
      {
        ...{ processTable: callers.processTable, projectFiles: createProjectFiles() },
        ...{ clock: systemClock, log, origins },
      },
      { ...config.attribution, isSecret: createNameCheck(config.redactionRules), proxyPort },
    ),
    redact: createRedact(config.redactionRules),
    createDecoder: createZlibDecoder,
    createMessageInflater: createZlibMessageInflater,
    sha256Hex,
    randomBytes: createRandomBytes(),
    now: Date.now,
    clock: systemClock,
    createDriver,
    atTurnEnd: setImmediate,
    later: (work, delayMs) => void setTimeout(work, delayMs),
    owners: callers.owners,
    connectLookup: callers.connect,
    equalSecrets: (one, other) => timingSafeEqual(sha256(Buffer.from(one)), sha256(Buffer.from(other))),
    serve: (fetch, address) => serve(fetch, address, { limits: API_LIMITS }),
    logLinesLost: logFile.lost,
  };
}

/** Returns the projects whose records or bodies may not be sent. */
function listLocalProjects({ cloud }: Config): ReadonlySet<string> {
  const rules = Object.entries(mergeBodyRules(cloud));
  return new Set(rules.flatMap(([project, isSent]) => (isSent ? [] : [project])));
}

/** Returns the origins whose pages may call the API: the cloud's own, and those in the configuration. */
function dashboardOrigins({ api, cloud }: Config): readonly string[] {
  const own = cloud.baseUrl === null ? [] : [new URL(cloud.baseUrl).origin];
  return [...own, ...api.dashboardOrigins];
}
