/** The worker thread that owns the proxy's sockets. `startProxy()` starts it and exchanges messages with it. */
import { createServer, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
// The worker receives only plain data, so the issuer can't be injected.
import { createLeafIssuer } from "../../adapters/certificates/leaf-issuer.ts";
import { loadSystemRoots } from "../../adapters/certificates/root-certificates.ts";
import { createZlibMessageInflater } from "../../adapters/content-decoder/message-inflater.ts";
import { createPortBatch } from "../../adapters/process-table/lookup-port.ts";
import { createLookupQueue } from "../../adapters/process-table/lookup-queue.ts";
import { collectGarbageAtRest } from "../../adapters/threads/collect-at-rest.ts";
import { flushCompileCacheLater } from "../../adapters/threads/thread-compile-cache.ts";
import { formatAuthority } from "./authority.ts";
import { createCallGate } from "./call-gate.ts";
import { closeSocket } from "./close-socket.ts";
import { createCounters } from "./counters.ts";
import { createDial } from "./dial.ts";
import { createHostMatcher } from "./host-patterns.ts";
import { createLeafContexts } from "./leaf-contexts.ts";
import { createLoginThrottle } from "./login-throttle.ts";
import { createLookupCache } from "./lookup-cache.ts";
import { createPeers } from "./peers.ts";
import { defaultProxyLimits } from "./proxy-config.ts";
import type { ProxyThreadData } from "./proxy-thread.ts";
import type { RelayContext } from "./relay-context.ts";
import { serveClient } from "./serve-client.ts";
import { createTapLog } from "./tap-log.ts";
import { createUpstreamTls } from "./upstream-tls.ts";
import { createWarmConnections, noWarmConnections } from "./warm-connections.ts";
import type { FromWorker, ProxyWorkerData, ToWorker } from "./worker-messages.ts";

const port = parentPort;
if (port === null) throw new Error("proxy-worker runs in a worker thread only");
flushCompileCacheLater();
collectGarbageAtRest();
// Read while waiting for the configuration.
const expectedRoots = (workerData as ProxyThreadData).readSystemRoots ? loadSystemRoots() : null;
// Node delivers one message at a time, and this module continues before the next one. So the listener below misses none.
const { config, firstConnection, acknowledged } = await new Promise<ProxyWorkerData>((resolve) => {
  port.once("message", ({ data }: Extract<ToWorker, { kind: "start" }>) => resolve(data));
});

const post = (message: FromWorker, transfer: readonly ArrayBuffer[] = []) =>
  port.postMessage(message, transfer);

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

const log = createTapLog({
  post: (batch) => {
    post(batch, [batch.buffer]);
  },
  acknowledged,
  maxBacklogBytes: limits.maxBacklogBytes,
  flushMs: limits.flushMs,
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
  createInflater: createZlibMessageInflater,
  gate: createCallGate(
    config.gate ?? null,
    counters.gate,
    (id, question, passed) => {
      if (passed.length > 0) log.flush();
      post({ kind: "question", id, question, passed });
    },
    ({ connection, request }) => post({ kind: "sent_late", connection, request }),
  ),
};

const clients = new Set<Socket>();
const { silent } = context;

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
  });
  context.peers.add(client);
  serveClient(context, client, () => silent.delete(client));
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

port.on("message", (message: ToWorker) => {
  switch (message.kind) {
    case "ping":
      log.flush();
      postCounters();
      return post({ kind: "pong", id: message.id });
    case "caller_lookup": {
      const lookUpCaller = createLookupQueue(createPortBatch(message.port));
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
