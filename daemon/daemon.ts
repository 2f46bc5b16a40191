import type { Clock } from "../core/ports/clock.ts";
import type { ConnectionOwners } from "../core/ports/connection-owner.ts";
import type { CreateContentDecoder } from "../core/ports/content-decoder.ts";
import type { CreateDriver } from "../core/ports/driver.ts";
import type { Log } from "../core/ports/log.ts";
import type { CreateMessageInflater } from "../core/ports/message-inflater.ts";
import type { TokenCounter } from "../core/ports/token-counter.ts";
import type { PriceBook } from "../core/pricing/mod.ts";
import type { Redact } from "../core/redaction/mod.ts";
import type { Millis } from "../core/time.ts";
import type { Registry } from "../core/usage/mod.ts";
import { type ApiPeer, createApi } from "./api/app.ts";
import { createCloudPart } from "./api/cloud-part.ts";
import { createMeteredCounters } from "./api/metrics.ts";
import { createRecordFeed } from "./api/record-feed.ts";
import { showsSecret } from "./api/shows-secret.ts";
import { startBodySweep } from "./body-sweep.ts";
import { type Capture, createCapture } from "./capture/capture.ts";
import type { ConnectionAttribution } from "./capture/ports.ts";
import type { CloudService } from "./cloud/mod.ts";
import { type DaemonHealth, type DaemonStatus, troubleOf } from "./daemon-status.ts";
import { errorName } from "./error-name.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { createProjectSettings } from "./project-settings.ts";
import type { ProxyConfig } from "./proxy/proxy-config.ts";
import { startProxy } from "./proxy/start-proxy.ts";
import { tapClock } from "./proxy/tap-log.ts";
import { createRecordWriter, type RecordWriterHealth, type Store } from "./store/mod.ts";
import { startWatchdog } from "./watchdog.ts";

/** What the daemon needs from outside. */
export interface DaemonPorts {
  version: string;
  log: Log;
  /** Closed by the daemon when it stops. */
  store: Store;
  registry: Registry;
  prices(): PriceBook;
  attribution(caller: {
    readonly clientPort: number;
    readonly proxyUser: string | null;
  }): ConnectionAttribution;
  redact: Redact;
  createDecoder: CreateContentDecoder;
  createMessageInflater: CreateMessageInflater;
  /** Where counts that a provider did not state are to be estimated; else null. */
  tokenCounter: TokenCounter | null;
  sha256Hex(text: string): string;
  randomBytes(count: number): Uint8Array;
  now(): Millis;
  clock: Clock;
  createDriver: CreateDriver;
  atTurnEnd(work: () => void): void;
  later(work: () => void, delayMs: number): void;
  equalSecrets(one: string, other: string): boolean;
  /** Null where the platform has no way to tell whose a connection is. */
  owners: ConnectionOwners | null;
  /** The cloud's side, started and stopped by the daemon; null where there is none. */
  cloud?: CloudService | null;
  /** How many lines of the log could not be written. */
  logLinesLost?(): number;
  /** This machine's name, for the dashboard. */
  hostname?: string;
  /** Called where the proxy's port, held by a service manager, was lost: this process has to end to get it back. */
  portLost?(): void;
  serve(
    fetch: (request: Request, peer: ApiPeer) => Response | Promise<Response>,
    address: { host: string; port: number },
  ): Promise<{ port: number; close(deadlineMs: number): Promise<void> }>;
}

export interface DaemonConfig {
  proxy: ProxyConfig;
  /**
   * `name` is the host as it was configured, whose address `host` is. `allowedOrigins` is asked at each request: the caller
   * may change what it holds.
   */
  api: { host: string; name?: string; port: number; allowedOrigins: ReadonlySet<string> };
  /** What stands in `<meter_home>/loopback-token`. */
  loopbackToken: string;
  /** The local store's cap on a captured body, in bytes. */
  maxBodyBytes: number;
  /** How long captured bodies are kept. */
  bodyRetentionDays: number;
  /** What was found wrong with the configuration, for people. */
  warnings: readonly string[];
}

/** A running daemon. */
export interface Daemon {
  readonly proxyPort: number;
  readonly apiPort: number;
  status(): DaemonStatus;
  /** As `/health` tells it; unlike `status()` it asks no database, and never throws. */
  health(): DaemonHealth;
  /** Lets calls in flight finish until the deadline, stores what was captured, closes everything. */
  stop(deadlineMs: number): Promise<void>;
}

/** How often, while stopping, connections between requests are looked for and closed, in milliseconds. */
const QUIET_CHECK_MS = 100;

/** How browsers and programs write the host of an address: port 80 is left out. */
function hostsOf(name: string, port: number): readonly string[] {
  const host = (name.includes(":") && !name.startsWith("[") ? `[${name}]` : name).toLowerCase();
  return port === 80 ? [host, `${host}:80`] : [`${host}:${port}`];
}

/** How long what can't be stored is tried again when everything else has ended, and how often, in milliseconds. */
const LAST_TRIES_MS = 3_000;
const LAST_TRY_EVERY_MS = 100;

const DAY_MS = 86_400_000;

/** Starts proxy, capture and loopback API. Rejects where a port can't be had; nothing is left running then. */
export async function startDaemon(ports: DaemonPorts, config: DaemonConfig): Promise<Daemon> {
  const { log, store } = ports;
  const startedAt = ports.now();
  const projects = createProjectSettings(store, tapClock);
  const feed = createRecordFeed();
  const counters = createMeteredCounters();
  const writer = createRecordWriter({
    store: {
      insertBatch(batch) {
        store.insertBatch(batch);
        counters.addRecords(batch.records);
        feed.publish(batch.records);
      },
    },
    atTurnEnd: ports.atTurnEnd,
    later: ports.later,
    now: ports.now,
    onEvent(event) {
      if (event.kind === "recovered")
        log.info("store.recovered", { pending: event.pending, dropped: event.dropped });
      else log.error(`store.${event.kind}`, { reason: event.reason });
    },
  });
  const capture: Capture = createCapture({
    ...ports,
    wallClockMs: ports.now,
    monotonicMs: tapClock,
    records: writer,
    findKeptResponse: store.findKeptResponse,
    bodies: {
      wantedAnywhere: projects.anyBodyCapture,
      wantedFor: projects.bodyCapture,
      maxBytes: config.maxBodyBytes,
      redact: ports.redact,
      add: writer.addBody,
    },
    coverage: {
      count(host, kind) {
        counters.addCoverage(kind);
        writer.count(kind, host);
      },
      begin: writer.begin,
    },
  });

  // Refuses everybody until the proxy stands: nobody's Host is allowed before.
  const allowedHosts = new Set<string>();
  const api = createApi({
    ...ports,
    allowedHosts,
    allowedOrigins: config.api.allowedOrigins,
    token: config.loopbackToken,
    port: () => apiPort,
    health: () => health(),
    status: () => status(),
    feed,
    counters,
    cloud:
      ports.cloud == null
        ? null
        : createCloudPart(ports.cloud, {
            version: ports.version,
            hostname: ports.hostname ?? "",
            port: () => apiPort,
            isOwner: (context) => showsSecret(context, { ...ports, token: config.loopbackToken }),
            store,
            surroundings: () => ({
              captureFailing: storeHealth().capturing === "failing",
              runningSince: startedAt,
            }),
            now: ports.now,
          }),
    turn: () => new Promise((resolve) => ports.atTurnEnd(resolve)),
    onError: (error) => log.error("api.failed", { error: errorName(error) }),
  });
  // Listens first, so that the proxy knows its port, whichever it is, and lets nobody through to it.
  const served = await ports.serve((request, peer) => api.fetch(request, { peer }), config.api);
  const apiPort = served.port;

  let restarts = 0;
  const proxy = await startProxy(
    { ...config.proxy, ownPorts: [...config.proxy.ownPorts, apiPort] },
    {
      frames: capture.frames,
      event(event) {
        if (event.kind === "worker_lost") {
          restarts += 1;
          log.error("daemon.task_crashed", { task: "proxy", restart_delay_ms: event.restartDelayMs });
        } else if (event.kind === "port_lost") {
          log.error("daemon.task_crashed", { task: "proxy" });
          ports.portLost?.();
        } else if (event.kind === "worker_restarted") log.info("proxy.restarted", { port: event.port });
        else log.error("capture.failed", { error: errorName(event.error) });
      },
    },
  ).catch(async (cause: unknown) => {
    await served.close(0);
    writer.close();
    throw cause;
  });

  const sweep = startBodySweep({
    ...ports,
    retentionDays: config.bodyRetentionDays,
    monotonicMs: tapClock,
  });
  const watchdog = startWatchdog({ ...ports, proxy });
  const stopHeartbeat = startHeartbeat(ports, () => {
    const { stored, pending } = writer.health();
    return { records: stored, pending, connections: proxy.connections() };
  });

  /** The database may be in trouble before something was to be stored. */
  function storeHealth(): RecordWriterHealth {
    const health = writer.health();
    const { trouble } = store;
    if (trouble === null || health.capturing === "failing") return health;
    const { reason, message } = trouble;
    return { ...health, capturing: "failing", lastError: { reason, message, at: ports.now() } };
  }

  /** What waits for a lock that is short, or for a database that is just opened again, is stored before the end. */
  async function storeRest(): Promise<void> {
    const until = tapClock() + LAST_TRIES_MS;
    while (!writer.flush() && tapClock() < until)
      await new Promise<void>((resolve) => ports.later(resolve, LAST_TRY_EVERY_MS));
  }

  function warnings(): readonly string[] {
    const lost = ports.logLinesLost?.() ?? 0;
    return lost === 0
      ? config.warnings
      : [...config.warnings, `${lost} lines of the log could not be written`];
  }

  const health = (): DaemonHealth => ({
    status: troubleOf({ store: storeHealth(), proxy: { watchdog: watchdog.status } }) ? "degraded" : "ok",
    version: ports.version,
    started_at: new Date(startedAt).toISOString(),
  });
  const status = (): DaemonStatus => ({
    version: ports.version,
    started_at: new Date(startedAt).toISOString(),
    proxy: {
      port: proxy.port,
      connections: proxy.connections(),
      restarts,
      watchdog: watchdog.status,
      counters: proxy.counters(),
    },
    api: { port: apiPort },
    store: { ...storeHealth(), set_aside: store.setAsidePath, bodies_held: sweep.held },
    last_24_hours: {
      coverage: store.readCoverage({ from: ports.now() - DAY_MS, to: null }),
      last_captures: store
        .lastCaptures(ports.now() - DAY_MS)
        .map(({ client, at }) => ({ client, at: new Date(at).toISOString() })),
    },
    warnings: warnings(),
  });
  for (const name of ["127.0.0.1", "localhost", "[::1]", config.api.host, config.api.name ?? config.api.host])
    for (const host of hostsOf(name, apiPort)) allowedHosts.add(host);
  // A configuration that can't be read stops nothing here but the sending, and is told in the log.
  let stopping = false;
  // With another database in its place it would forget what it sent, and that it was paused.
  const cloudStarted = store.opened
    .then(() => (stopping ? undefined : ports.cloud?.start()))
    .catch((cause: unknown) => {
      log.error("daemon.task_crashed", { task: "cloud", error: errorName(cause) });
    });
  if (store.trouble === null) await cloudStarted;
  log.info("daemon.started", { version: ports.version, proxy_port: proxy.port, api_port: apiPort });

  return {
    proxyPort: proxy.port,
    apiPort,
    status,
    health,
    async stop(deadlineMs) {
      stopping = true;
      await ports.cloud?.stop();
      stopHeartbeat();
      watchdog.stop();
      sweep.stop();
      let draining = true;
      const closeQuiet = () => {
        if (!draining) return;
        proxy.closeQuiet(capture.quiet());
        ports.later(closeQuiet, QUIET_CHECK_MS);
      };
      const stopped = proxy.stop(deadlineMs);
      closeQuiet();
      await stopped;
      draining = false;
      await capture.idle();
      feed.close();
      await served.close(deadlineMs);
      await storeRest();
      writer.close();
      const { closed = 0 } = writer.health().dropped;
      if (closed > 0)
        log.error("daemon.warning", {
          warning: `${closed} records and bodies could not be stored before the end`,
        });
      store.close();
      log.info("daemon.stopped", {});
    },
  };
}
