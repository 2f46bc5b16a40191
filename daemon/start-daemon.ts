import { errorMessage, errorName } from "../core/values/text/describe-error.ts";
import type { Millis } from "../core/values/time.ts";
import { createApi } from "./api/app.ts";
import { createCloudApi } from "./api/cloud-api.ts";
import { hasBearerSecret } from "./api/has-bearer-secret.ts";
import { createTelemetryRefusals, type TelemetryRefusals } from "./api/telemetry-status.ts";
import { followGate } from "./budgets/follow-gate.ts";
import { provisionalGate } from "./budgets/provisional-gate.ts";
import type { Daemon, DaemonConfig, DaemonPorts } from "./daemon.ts";
import { createPipeline, type Pipeline } from "./pipeline.ts";
import { type ProxySink, type RunningProxy, startProxy } from "./proxy/start-proxy.ts";
import { tapClock } from "./proxy/tap-clock.ts";
import {
  readHealth,
  readLastDay,
  readLetThrough,
  readState,
  readStatus,
  readStoreHealth,
} from "./read-status.ts";
import type { ProxyLoss, RunningDaemon, ServedApi } from "./running-daemon.ts";
import { startBodySweep } from "./tasks/body-sweep.ts";
import { startHeartbeat } from "./tasks/heartbeat.ts";
import { logTaskCrash } from "./tasks/log-task-crash.ts";
import { startRollupBuild } from "./tasks/rollup-build.ts";
import { startRunningTimes } from "./tasks/running-times.ts";
import { startWatchdog } from "./tasks/watchdog.ts";

/** How often idle connections are closed while the daemon stops, in milliseconds. */
const IDLE_CHECK_INTERVAL_MS = 100;

/** How long storing is retried at the end of a stop, in milliseconds. */
const LAST_TRIES_MS = 3_000;

/** The interval between these retries, in milliseconds. */
const LAST_TRY_INTERVAL_MS = 100;

/** Starts the proxy, capture and the loopback API. Rejects, and stops everything, if a port is not available. */
export async function startDaemon(ports: DaemonPorts, config: DaemonConfig): Promise<Daemon> {
  const startedAt = ports.now();
  const pipeline = createPipeline(ports, config);
  let running: RunningDaemon | null = null;
  const getRunning = () => {
    if (running === null) throw new Error("the daemon is still starting");
    return running;
  };
  // Empty until the proxy listens, so that every earlier request is refused.
  const allowedHosts = new Set<string>();
  const abandon = (cause: unknown): never => {
    pipeline.budgets.stop();
    pipeline.writer.close();
    throw cause;
  };
  // The API listens first, so that the proxy knows the API's port and refuses to connect to it.
  const refusals = createTelemetryRefusals(ports.now);
  const api = { ...pipeline, startedAt, allowedHosts, refusals, getRunning };
  const served = await serveApi(ports, config, api).catch(abandon);
  const sink = createProxySink(ports, pipeline);
  const proxy = await listenAsProxy(ports, config, served.port, sink).catch(async (cause: unknown) => {
    await served.close(0);
    return abandon(cause);
  });
  const daemon: RunningDaemon = {
    ...pipeline,
    ports,
    config,
    startedAt,
    refusals,
    served,
    proxy,
    restarts: () => sink.restarts,
    lastProxyLoss: () => sink.lastLoss,
    sweep: startBodySweep({ ...ports, retentionDays: config.bodyRetentionDays, monotonicMs: tapClock }),
    stopRollupBuild: startRollupBuild(ports),
    gate: followGate({ ...pipeline, ...ports, proxy }),
    watchdog: startWatchdog({ ...ports, proxy }),
    stopHeartbeat: startHeartbeat(ports, () => {
      const { stored, pending } = pipeline.writer.health();
      return { records: stored, pending, connections: proxy.connections() };
    }),
    stopRunningTimes: startRunningTimes(ports),
    stopping: false,
  };
  running = daemon;
  for (const host of listOwnHosts(config, served.port)) allowedHosts.add(host);
  void startWebhooks(daemon);
  ports.cloud?.onFleetBudgets(pipeline.budgets.refreshFleet);
  const cloudStarted = startCloud(daemon);
  if (ports.store.trouble === null) await cloudStarted;
  ports.log.info("daemon.started", {
    version: ports.version,
    proxy_port: proxy.port,
    api_port: served.port,
  });
  return {
    proxyPort: proxy.port,
    apiPort: served.port,
    status: () => readStatus(daemon),
    health: () => readHealth(daemon),
    stop: (deadlineMs) => stopDaemon(daemon, deadlineMs),
  };
}

interface ApiParts extends Pipeline {
  readonly startedAt: Millis;
  readonly allowedHosts: Set<string>;
  readonly refusals: TelemetryRefusals;
  getRunning(): RunningDaemon;
}

/** Serves the loopback API. */
async function serveApi(ports: DaemonPorts, config: DaemonConfig, parts: ApiParts): Promise<ServedApi> {
  const { capture, feed, counters, limits, budgets, startedAt, allowedHosts, refusals, getRunning } = parts;
  const { log, cloud } = ports;
  const token = config.loopbackToken;
  const port = () => served.port;
  const api = createApi({
    ...ports,
    allowedHosts,
    allowedOrigins: config.api.allowedOrigins,
    token,
    port,
    isKnownHost: ports.registry.isProviderHost,
    ...(config.receiveTelemetry === true && {
      telemetry: { ...ports, reports: ports.store.clientReports, onRefused: refusals.add },
    }),
    ...(config.authorityFile !== undefined && { authorityFile: config.authorityFile }),
    health: () => readHealth(getRunning()),
    state: () => readState(getRunning()),
    lastDay: () => readLastDay(getRunning()),
    feed,
    counters,
    limits,
    budgets: {
      tracker: budgets,
      configured: config.budgets?.configured ?? [],
      letThrough: () => readLetThrough(getRunning()),
      confirmed: () => getRunning().gate.confirmed(),
    },
    callsInFlight: capture.callsInFlight,
    cloud:
      cloud == null
        ? null
        : createCloudApi(cloud, {
            version: ports.version,
            hostname: ports.hostname ?? "",
            port,
            isOwner: (context) => hasBearerSecret(context, { ...ports, token }),
            store: ports.store,
            bannerContext: () => ({
              captureFailing: readStoreHealth(getRunning()).capturing === "failing",
              runningSince: startedAt,
            }),
            now: ports.now,
          }),
    turn: () => new Promise((resolve) => ports.atTurnEnd(resolve)),
    onError: (error) => log.error("api.failed", { error: errorName(error), message: errorMessage(error) }),
  });
  const served = await ports.serve((request, peer) => api.fetch(request, { peer }), config.api);
  return served;
}

/** The sink of the proxy, with how often its thread or process was replaced, and why last. */
interface CountingSink extends ProxySink {
  restarts: number;
  lastLoss: ProxyLoss | null;
}

/** Creates the sink of the proxy. */
function createProxySink(
  { log, now, proxyLost }: DaemonPorts,
  { capture, heldCalls }: Pipeline,
): CountingSink {
  const sink: CountingSink = {
    restarts: 0,
    lastLoss: null,
    frames: capture.frames,
    decide: heldCalls.decide,
    sentLate: heldCalls.sentLate,
    event(event) {
      if (event.kind === "worker_lost") {
        sink.restarts += 1;
        if (!event.isReplaced) sink.lastLoss = { cause: event.message, at: now() };
        heldCalls.lost();
        log.error("daemon.task_crashed", {
          ...{ task: "proxy", error: event.message, restart_delay_ms: event.restartDelayMs },
        });
      } else if (event.kind === "port_lost" || event.kind === "gave_up") {
        log.error("daemon.task_crashed", { task: "proxy", error: event.message });
        proxyLost?.(event.kind);
      } else if (event.kind === "worker_restarted") log.info("proxy.restarted", { port: event.port });
      else log.error("capture.failed", { error: errorName(event.error) });
    },
  };
  return sink;
}

/** Attaches to the proxy that was started early, or starts one. */
function listenAsProxy(
  { earlyProxy, connectLookup, startProxyThread: startThread }: DaemonPorts,
  { proxy, budgets }: DaemonConfig,
  apiPort: number,
  sink: ProxySink,
): Promise<RunningProxy> {
  if (earlyProxy !== undefined) return earlyProxy.attach(sink);
  return startProxy(
    { gate: provisionalGate(budgets?.configured ?? []), ...proxy, ownPorts: [...proxy.ownPorts, apiPort] },
    sink,
    { ...(connectLookup && { connectLookup }), ...(startThread && { startThread }) },
  );
}

/** Returns the `Host` values of the loopback API. */
function listOwnHosts({ api }: DaemonConfig, port: number): readonly string[] {
  const names = ["127.0.0.1", "localhost", "[::1]", api.host, api.name ?? api.host];
  return names.flatMap((name) => hostsOf(name, port));
}

/** Returns the `Host` values of an address. Port 80 may be omitted. */
function hostsOf(name: string, port: number): readonly string[] {
  const host = (name.includes(":") && !name.startsWith("[") ? `[${name}]` : name).toLowerCase();
  return port === 80 ? [host, `${host}:80`] : [`${host}:${port}`];
}

/**
 * Starts the cloud service once the database is open: without it, the service does not know what it sent, or that it was
 * paused. If the configuration can't be read, only sending stops, and the log has the error.
 */
async function startCloud(daemon: RunningDaemon): Promise<void> {
  const { store, cloud, log } = daemon.ports;
  try {
    await store.opened;
    if (!daemon.stopping) await cloud?.start();
  } catch (cause) {
    logTaskCrash(log, "cloud", cause);
  }
}

/** Starts the webhooks and the export once the database is open, where it is stored how far each has got. */
async function startWebhooks(daemon: RunningDaemon): Promise<void> {
  const { store, webhooks, otlp } = daemon.ports;
  await store.opened;
  if (daemon.stopping) return;
  webhooks?.start();
  otlp?.start();
}

async function stopDaemon(daemon: RunningDaemon, deadlineMs: number): Promise<void> {
  const { ports, capture, writer, feed, served } = daemon;
  daemon.stopping = true;
  await Promise.all([ports.cloud?.stop(), ports.webhooks?.stop(), ports.otlp?.stop()]);
  daemon.stopHeartbeat();
  daemon.watchdog.stop();
  daemon.sweep.stop();
  daemon.stopRollupBuild();
  daemon.gate.stop();
  await drainProxy(daemon, deadlineMs);
  await capture.settled();
  feed.close();
  await served.close(deadlineMs);
  await storeRest(daemon);
  daemon.stopRunningTimes();
  daemon.limits.stop();
  daemon.budgets.stop();
  writer.close();
  const { closed = 0 } = writer.health().dropped;
  if (closed > 0)
    ports.log.error("daemon.warning", {
      warning: `${closed} records and bodies could not be stored before the daemon stopped.`,
    });
  ports.store.close();
  ports.log.info("daemon.stopped", {});
}

/** Stops the proxy, and closes connections as they become idle. */
async function drainProxy({ ports, proxy, capture }: RunningDaemon, deadlineMs: number): Promise<void> {
  let draining = true;
  const closeIdle = () => {
    if (!draining) return;
    proxy.closeIdle(capture.idleConnections());
    ports.later(closeIdle, IDLE_CHECK_INTERVAL_MS);
  };
  const stopped = proxy.stop(deadlineMs);
  closeIdle();
  await stopped;
  draining = false;
}

/** Retries storing for a while: a lock may be short, or the database may be about to open. */
async function storeRest({ ports, writer }: RunningDaemon): Promise<void> {
  const until = tapClock() + LAST_TRIES_MS;
  while (!writer.flush() && tapClock() < until)
    await new Promise<void>((resolve) => ports.later(resolve, LAST_TRY_INTERVAL_MS));
}
