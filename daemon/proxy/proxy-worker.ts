/** The worker thread that owns the proxy's sockets. `startProxy()` starts it and talks to it. */
import { createServer, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
// A worker composes itself: only plain data crosses into it, so the issuer can't be injected.
import { createLeafIssuer } from "../../adapters/certificates/mod.ts";
import { formatAuthority } from "./authority.ts";
import { createCounters } from "./counters.ts";
import { createDial } from "./dial.ts";
import { createHostMatcher } from "./host-patterns.ts";
import { createLeafContexts } from "./leaf-contexts.ts";
import { defaultProxyLimits } from "./proxy-config.ts";
import type { RelayContext } from "./relay-context.ts";
import { serveClient } from "./serve-client.ts";
import { createTapLog } from "./tap-log.ts";
import { createUpstreamTls } from "./upstream-tls.ts";
import type { FromWorker, ProxyWorkerData, ToWorker } from "./worker-messages.ts";

const port = parentPort;
if (port === null) throw new Error("proxy-worker runs in a worker thread only");
const { config, firstConnection, acknowledged } = workerData as ProxyWorkerData;

const post = (message: FromWorker, transfer: readonly ArrayBuffer[] = []) =>
  port.postMessage(message, transfer);

const limits = { ...defaultProxyLimits, ...config.limits };
const counters = createCounters();
const ownPorts = new Set(config.ownPorts);
const gatewayHosts = new Set<string>();
const upstreamTls = createUpstreamTls(config.roots, limits.handshakeTimeoutMs);
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

const context: RelayContext = {
  limits,
  counters,
  log,
  dial: createDial({
    ownPorts,
    parents: config.parentProxies,
    timeoutMs: limits.connectTimeoutMs,
    secureContext: upstreamTls.secureContext,
  }),
  leaves: createLeafContexts(createLeafIssuer(config.authority), Date.now),
  upstreamTls,
  gatewayRoutes: config.gatewayRoutes,
  gatewayHosts,
  proxyPassword: config.proxyPassword,
  isProviderHost: createHostMatcher(config.providerHosts),
  nextConnection: () => (lastConnection += 1),
  relays: new Map(),
};

const clients = new Set<Socket>();
/** Clients that have not sent a head yet. */
const silent = new Set<Socket>();

const server = createServer({
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
});
server.maxConnections = limits.maxConnections;
server.on("drop", () => {
  counters.refused.too_many_connections += 1;
});
server.on("connection", (client: Socket) => {
  counters.accepted += 1;
  clients.add(client);
  silent.add(client);
  client.on("error", () => {}); // never without a listener; who relays listens for itself
  client.on("close", () => {
    clients.delete(client);
    silent.delete(client);
    if (stopping) finishStop();
  });
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
      message: `the service manager holds ${address.address}, and the configuration says ${config.host}`,
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

/** Counters change with connections, not with bytes: looking at them now and then is enough. */
const counterTimer = setInterval(postCounters, 1_000);
counterTimer.unref();

let stopping = false;
let stopTimer: NodeJS.Timeout | null = null;

function finishStop(): void {
  if (clients.size > 0) return;
  if (stopTimer !== null) clearTimeout(stopTimer);
  // Sockets towards upstreams may still be closing; the log is complete when the clients are gone.
  setImmediate(() => {
    log.flush();
    postCounters();
    post({ kind: "stopped" }); // upon which this worker is ended
  });
}

port.on("message", (message: ToWorker) => {
  switch (message.kind) {
    case "ping":
      log.flush();
      postCounters();
      return post({ kind: "pong", id: message.id });
    case "spent":
      return log.reuse(message.buffer);
    case "close_quiet":
      for (const { connection, lastAtMs } of message.connections) {
        const relay = context.relays.get(connection);
        if (relay !== undefined && relay.entry.lastAtMs <= lastAtMs) relay.close();
      }
      return;
    case "stop":
      if (!stopping) server.close();
      stopping = true;
      if (stopTimer !== null) clearTimeout(stopTimer);
      for (const client of silent) client.destroy();
      stopTimer = setTimeout(() => {
        for (const client of clients)
          client.destroy(Object.assign(new Error("stopped"), { code: "METER_STOPPED" }));
      }, message.deadlineMs);
      finishStop();
  }
});
