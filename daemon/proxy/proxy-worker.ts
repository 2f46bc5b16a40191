/** The thread or process that owns the proxy's sockets. `startProxy()` exchanges messages with it. */
import { createServer, type Socket } from "node:net";
import process from "node:process";
// The worker receives only plain data, so the issuer can't be injected.
import { createLeafIssuer } from "../../adapters/certificates/leaf-issuer.ts";
import { loadSystemRoots } from "../../adapters/certificates/root-certificates.ts";
import { createZlibMessageInflater } from "../../adapters/content-decoder/message-inflater.ts";
import { readStat } from "../../adapters/process-table/linux-process.ts";
import { createPortBatch, createProcessBatch } from "../../adapters/process-table/lookup-port.ts";
import { createLookupQueue } from "../../adapters/process-table/lookup-queue.ts";
import { collectGarbageAtRest } from "../../adapters/threads/collect-at-rest.ts";
import { openFileMemory } from "../../adapters/threads/file-memory.ts";
import { createMemoryLogWriter } from "../../adapters/threads/memory-log.ts";
import { watchProcess } from "../../adapters/threads/process-watch.ts";
import { flushCompileCacheLater } from "../../adapters/threads/thread-compile-cache.ts";
import { openThreadPort } from "../../adapters/threads/thread-port.ts";
import { formatAuthority } from "./authority.ts";
import { createCallGate } from "./call-gate.ts";
import { closeSocket } from "./close-socket.ts";
import { createCounters } from "./counters.ts";
import { createDial } from "./dial.ts";
import { createHostMatcher } from "./host-patterns.ts";
import { watchHungDaemon } from "./hung-daemon.ts";
import { createLeafContexts } from "./leaf-contexts.ts";
import { createLoginThrottle } from "./login-throttle.ts";
import { divideQuestion } from "./long-questions.ts";
import { createLookupCache } from "./lookup-cache.ts";
import { createPeers } from "./peers.ts";
import { defaultProxyLimits } from "./proxy-config.ts";
import type { ProxyThreadData } from "./proxy-thread.ts";
import type { RelayContext } from "./relay-context.ts";
import { serveClient } from "./serve-client.ts";
import { createTapLog, type TapMemory } from "./tap-log.ts";
import { createUpstreamTls } from "./upstream-tls.ts";
import { createWarmConnections, noWarmConnections } from "./warm-connections.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

const port = openThreadPort<ToWorker, FromWorker>();
const { post, postPart } = port;
flushCompileCacheLater();
collectGarbageAtRest();
// Read while waiting for the configuration.
const { readSystemRoots, memory, passMemory } = port.data as ProxyThreadData;
const expectedRoots = readSystemRoots ? loadSystemRoots() : null;
const { data } = (await port.first) as Extract<ToWorker, { kind: "start" }>;
const { config, firstConnection } = data;
const acknowledged = data.acknowledged ?? new Int32Array(2);

const limits = { ...defaultProxyLimits, ...config.limits };
const counters = createCounters();
const ownPorts = new Set(config.ownPorts);
const gatewayHosts = new Set<string>();
const systemRoots = config.systemRoots === true ? (expectedRoots ?? loadSystemRoots()) : [];
const upstreamTls = createUpstreamTls([...systemRoots, ...config.roots], limits.handshakeTimeoutMs);
let lastConnection = firstConnection - 1;
let counted = "";

const postCounters = () => {
  const now = JSON.stringify(counters);
  if (now === counted) return;
  counted = now;
  post({ kind: "counters", counters });
};

/** How long a process takes it for granted that the daemon is alive, in milliseconds. To look takes 5 µs. */
const READER_CHECK_MS = 1;

const isDaemonAlive = memory === undefined ? () => true : watchProcess(memory.daemonPid);

/** Ends a process whose daemon was killed: nobody would meter its calls. */
function endWithoutDaemon(): void {
  if (!context.isDraining && !isDaemonAlive()) process.exit();
}

/** The states in which a process that does not answer hangs: it runs, or waits for another thread. Source: proc_pid_stat(5). */
const HUNG_STATES = new Set(["R", "S"]);

function watchDaemon({ daemonPid, mayHangMs }: NonNullable<ProxyThreadData["memory"]>): () => void {
  if (mayHangMs === undefined) return () => {};
  const watch = watchHungDaemon({
    mayHangMs,
    now: () => performance.now(),
    canRun: () => HUNG_STATES.has(readStat("/proc", daemonPid)?.state ?? ""),
    end() {
      process.stderr.write(`meter: The daemon did not respond for ${mayHangMs / 1_000} s. It was ended.\n`);
      process.kill(daemonPid, "SIGKILL");
      drain();
    },
  });
  setInterval(watch.check, watch.checkEveryMs).unref();
  return watch.heard;
}

const heardDaemon = memory === undefined ? () => {} : watchDaemon(memory);

/** Opens the memory that this process shares with the main one, its parent. */
function openMemory({ files }: NonNullable<ProxyThreadData["memory"]>): TapMemory {
  const writer = createMemoryLogWriter(files);
  let checkedAtMs = 0;
  return {
    write: writer.write,
    announce: () => post({ kind: "announced", through: writer.lastEntry() }),
    readProgress(counts) {
      const { bytes, announcements } = writer.progress();
      counts[0] = bytes;
      counts[1] = announcements;
    },
    checkReader() {
      const now = performance.now();
      if (now - checkedAtMs < READER_CHECK_MS) return;
      checkedAtMs = now;
      endWithoutDaemon();
    },
  };
}

const log = createTapLog({
  post: (batch) => {
    post(batch, [batch.buffer]);
  },
  acknowledged,
  maxBacklogBytes: limits.maxBacklogBytes,
  flushMs: limits.flushMs,
  memory: memory && openMemory(memory),
  onLost: () => {
    counters.lost += 1;
  },
});

const lookups = createLookupCache();
const dial = createDial({
  ownPorts,
  parents: config.parentProxies,
  isSharedTarget: createHostMatcher(config.sharedTargets ?? []),
  timeoutMs: limits.connectTimeoutMs,
  secureContext: upstreamTls.secureContext,
  lookups,
});

const context: RelayContext = {
  limits,
  counters,
  log,
  dial,
  leaves:
    config.authority === null
      ? { find: () => null }
      : createLeafContexts(createLeafIssuer(config.authority), Date.now),
  upstreamTls,
  warm:
    config.warmConnections === true
      ? createWarmConnections({
          dial,
          upstreamTls,
          counters: counters.warm,
          onNetworkChanged: () => lookups.clear(),
        })
      : noWarmConnections,
  gatewayRoutes: config.gatewayRoutes,
  gatewayHosts,
  proxyPassword: config.proxyPassword,
  passwordFor: config.passwordFor ?? "everybody",
  loginThrottle: createLoginThrottle(() => performance.now()),
  isProviderHost: createHostMatcher(config.providerHosts),
  isPlainHost: createHostMatcher(config.plainHosts ?? []),
  nextConnection: () => (lastConnection += 1),
  silent: new Set(),
  peers: createPeers({
    ownUid: config.ownUid,
    otherUsers: config.otherUsers ?? "tunnel",
    maxConnections: limits.maxConnections,
    onRefused: () => {
      counters.refused.too_many_connections += 1;
    },
  }),
  relays: new Map(),
  isDraining: false,
  createInflater: createZlibMessageInflater,
  gate: createCallGate(
    config.gate ?? null,
    counters.gate,
    (id, question, passed) => {
      if (passed !== null) log.flush();
      // Bodies of many questions may not delay announcements: a log that is not read loses connections.
      for (const message of divideQuestion(id, question, passed))
        if (message.kind === "question_part") postPart(message, message.isFirst);
        else post(message);
    },
    ({ connection, request }) => post({ kind: "sent_late", connection, request }),
    passMemory === undefined ? null : openFileMemory(passMemory),
  ),
};

const clients = new Set<Socket>();
/** Clients that wait to be served; null once they are. */
let held: Socket[] | null = config.holdMs === undefined ? null : [];
const holdTimer = setTimeout(serveHeld, config.holdMs ?? 0);
const { silent } = context;

const serve = (client: Socket) => serveClient(context, client, () => silent.delete(client));

function serveHeld(): void {
  clearTimeout(holdTimer);
  const waiting = held ?? [];
  held = null;
  for (const client of waiting) if (!client.destroyed) serve(client);
}

/** Closes the client that has been silent longest. Returns false if no client is silent. */
function makeRoom(): boolean {
  const [longest] = silent;
  if (longest === undefined) return false;
  silent.delete(longest);
  clients.delete(longest);
  closeSocket(longest);
  return true;
}

const server = createServer({
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
});
server.on("connection", (client: Socket) => {
  // Later connections wait at the socket for the next daemon, if a service manager holds it.
  endWithoutDaemon();
  counters.accepted += 1;
  if (clients.size >= limits.maxConnections) {
    counters.refused.too_many_connections += 1;
    if (!makeRoom()) return closeSocket(client);
  }
  clients.add(client);
  silent.add(client);
  client.on("error", () => {}); // an unhandled error would end the worker; the relay has its own listener
  client.on("close", () => {
    clients.delete(client);
    silent.delete(client);
    if (stopping) finishStop();
    if (context.isDraining) endDrained();
  });
  context.peers.add(client);
  if (held === null) serve(client);
  else held.push(client);
});
server.on("error", (error: NodeJS.ErrnoException) => {
  post({ kind: "listen_failed", code: error.code ?? "UNKNOWN", message: error.message });
});
const where =
  config.listenFd === undefined ? { port: config.port, host: config.host } : { fd: config.listenFd };
server.listen(where, () => {
  const address = server.address();
  if (address === null || typeof address === "string") return;
  if (config.listenFd !== undefined && address.address !== config.host) {
    post({
      kind: "listen_failed",
      code: "EADDRNOTAVAIL",
      message: `the service manager listens on ${address.address}, but the configured host is ${config.host}`,
    });
    return;
  }
  ownPorts.add(address.port);
  for (const host of ["127.0.0.1", "localhost", "::1", config.host]) {
    gatewayHosts.add(formatAuthority({ host, port: address.port }));
    if (address.port === 80) gatewayHosts.add(formatAuthority({ host, port: 80 }, 80));
  }
  post({ kind: "ready", port: address.port });
});

/** Counters change with connections, not with bytes, so it is enough to post them once a second. */
const counterTimer = setInterval(postCounters, 1_000);
counterTimer.unref();

let stopping = false;
let stopTimer: NodeJS.Timeout | null = null;

function finishStop(): void {
  if (clients.size > 0) return;
  if (stopTimer !== null) clearTimeout(stopTimer);
  // Upstream sockets may still be closing. The log is complete once all clients are closed.
  setImmediate(() => {
    log.flush();
    postCounters();
    post({ kind: "stopped" }); // the main thread then terminates this worker
  });
}

/** How long connections may stay open after this process has ended its daemon, in milliseconds. Providers' libraries wait as long for a response. */
const DRAIN_MS = 600_000;

/** Relays calls in flight to their end without metering them, and accepts nothing more: the next daemon serves new connections. */
function drain(): void {
  context.isDraining = true;
  port.outlive();
  server.close();
  context.warm.close();
  for (const { entry } of context.relays.values()) entry.lost = true;
  for (const client of silent) closeSocket(client);
  setTimeout(() => process.exit(), DRAIN_MS);
  endDrained();
}

function endDrained(): void {
  if (clients.size === 0) process.exit();
}

port.listen((message) => {
  heardDaemon();
  switch (message.kind) {
    case "serve":
      return serveHeld();
    case "ping":
      log.flush();
      postCounters();
      return post({ kind: "pong", id: message.id });
    case "caller_lookup": {
      const lookUpCaller = createLookupQueue(
        (port.isProcess ? createProcessBatch : createPortBatch)(message.port),
      );
      return context.peers.setFinder(async (connection) => {
        // The client of a short call has closed its socket when the main thread looks up its process.
        const query = { ...connection, wantsProcess: false, storesProcess: true };
        const { uid, isClosed, process } = await lookUpCaller(query);
        return { user: isClosed ? "closed" : uid, process };
      });
    }
    case "gate":
      return context.gate.configure(message.gate);
    case "answer":
      return context.gate.answered(message.id, message.answer);
    case "cut":
      return context.relays.get(message.order.connection)?.cut(message.order);
    case "spent":
      return log.reuse(message.buffer);
    case "close_idle":
      for (const { connection, lastAtMs } of message.connections) {
        const relay = context.relays.get(connection);
        if (relay !== undefined && relay.entry.lastAtMs <= lastAtMs) relay.close();
      }
      return;
    case "stop":
      if (!stopping) server.close();
      stopping = true;
      context.warm.close();
      if (stopTimer !== null) clearTimeout(stopTimer);
      for (const client of silent) closeSocket(client);
      stopTimer = setTimeout(() => {
        for (const client of clients)
          closeSocket(client, Object.assign(new Error("stopped"), { code: "METER_STOPPED" }));
      }, message.deadlineMs);
      finishStop();
  }
});
