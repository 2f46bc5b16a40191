import { Worker } from "node:worker_threads";
import { addCounters, createCounters, type ProxyCounters } from "./counters.ts";
import { probePort } from "./probe-port.ts";
import type { ProxyConfig } from "./proxy-config.ts";
import type { TapFrame } from "./tap-frames.ts";
import { readTapBatch, tapClock } from "./tap-log.ts";
import type { FromWorker, ProxyWorkerData, QuietConnection, ToWorker } from "./worker-messages.ts";

/** The proxy's port can't be listened on. `code` is the system's word: `EADDRINUSE`, `EACCES`. */
export class ProxyListenError extends Error {
  override name = "ProxyListenError";
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** What happened to the proxy itself. */
export type ProxyEvent =
  /** The worker is gone; it comes back after the delay. */
  | { readonly kind: "worker_lost"; readonly message: string; readonly restartDelayMs: number }
  | { readonly kind: "worker_restarted"; readonly port: number }
  /** The worker is gone, and with it the socket that it was given: only a new process can have that again. */
  | { readonly kind: "port_lost"; readonly message: string }
  /** The reader of the log threw; the frames of that batch may be unmetered. The proxy goes on. */
  | { readonly kind: "sink_failed"; readonly error: unknown };

/**
 * Who reads the tap log. Neither function may be slow: bytes never wait for it, but the log's memory grows. The bytes of
 * the frames are there during the call alone: who keeps some makes a copy.
 */
export interface ProxySink {
  frames(frames: readonly TapFrame[]): void;
  event(event: ProxyEvent): void;
}

/** A running proxy. */
export interface RunningProxy {
  readonly port: number;
  /** The worker's counters, at most a second old; `ping()` brings them up to date. */
  counters(): ProxyCounters;
  /** How many logged connections are open. */
  connections(): number;
  /** Resolves with the time that the worker took to answer; rejects when it does not in time. */
  ping(timeoutMs: number): Promise<number>;
  /** Whether the port takes a connection and the worker answers, both within the time; yes where that can't be told. */
  probe(timeoutMs: number): Promise<boolean>;
  /** Closes connections on which nothing has passed since the given time. */
  closeQuiet(connections: readonly QuietConnection[]): void;
  /** Replaces the worker, as the watchdog does with one that hangs. Its connections are lost. */
  restart(): void;
  /** Stops accepting, lets what is open finish until the deadline, then closes it. A later call may bring it forward. */
  stop(deadlineMs: number): Promise<void>;
}

/** A worker that ran this long before it went counts as healthy. */
const healthyRunMs = 60_000;

/** A probe's timer that fires this much late tells of a busy main thread, not of the worker. */
const heldUpMs = 250;

/** A worker that has not stopped this long after the deadline is ended. */
const stopGraceMs = 2_000;

/**
 * The worker's objects live either for a chunk or for a connection. A small nursery keeps the dead ones from staying
 * resident: measured with 1,000 open streams, 17 MB less than by default at the same CPU time per request.
 */
const youngGenerationMb = 8;

/** The worker's source beside this file: `.ts` in a checkout, `.js` in `dist`. */
const workerUrl = () =>
  new URL(`./proxy-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

/** From one second, doubling to one minute. */
function defaultRestartDelayMs(failures: number): number {
  return Math.min(1_000 * 2 ** (failures - 1), 60_000);
}

/**
 * Starts the proxy in a worker thread and keeps it running: a worker that is lost is replaced after a delay, on the
 * same port, and the connections that went with it are reported as closed. Rejects with a `ProxyListenError` where
 * the port can't be had at the start.
 */
export function startProxy(
  config: ProxyConfig,
  sink: ProxySink,
  restartDelayMs: (failures: number) => number = defaultRestartDelayMs,
): Promise<RunningProxy> {
  const acknowledged = new Int32Array(new SharedArrayBuffer(4));
  const open = new Set<number>();
  const pings = new Map<number, () => void>();
  let worker: Worker;
  let boundPort = config.port;
  let lastConnection = 0;
  let lastPing = 0;
  let failures = 0;
  let startedAt = 0;
  let stopping = false;
  let stopped: ((problem: string) => void) | null = null;
  let stopPromise: Promise<void> | null = null;
  let restartTimer: NodeJS.Timeout | null = null;
  let portLost = false;
  let past = createCounters();
  let current = createCounters();

  const deliver = (frames: readonly TapFrame[]) => {
    try {
      sink.frames(frames);
    } catch (error) {
      sink.event({ kind: "sink_failed", error });
    }
  };

  const note = (frame: TapFrame) => {
    if (frame.connection > lastConnection) lastConnection = frame.connection;
    if (frame.kind === "opened") open.add(frame.connection);
    else if (frame.kind === "closed") open.delete(frame.connection);
  };

  const spawn = (onReady: () => void, onFailed: (error: ProxyListenError) => void) => {
    startedAt = performance.now();
    const data: ProxyWorkerData = {
      config: { ...config, port: boundPort },
      firstConnection: lastConnection + 1,
      acknowledged,
    };
    Atomics.store(acknowledged, 0, 0);
    const fresh = new Worker(workerUrl(), {
      workerData: data,
      name: "meter proxy",
      resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb },
    });
    worker = fresh;
    let problem = "the worker ended";
    fresh.on("message", (message: FromWorker) => {
      switch (message.kind) {
        case "batch": {
          for (const frame of message.notes) note(frame);
          deliver(readTapBatch(message));
          if (worker === fresh) Atomics.add(acknowledged, 0, message.weight);
          fresh.postMessage({ kind: "spent", buffer: message.buffer } satisfies ToWorker, [message.buffer]);
          return;
        }
        case "ready":
          boundPort = message.port;
          return onReady();
        case "listen_failed":
          problem = message.message;
          return onFailed(new ProxyListenError(message.code, message.message));
        case "counters":
          current = message.counters;
          return;
        case "pong":
          pings.get(message.id)?.();
          return;
        case "stopped": // all frames came before this
          void fresh.terminate();
      }
    });
    fresh.on("error", (error: Error) => {
      problem = `${error.name}: ${error.message}`;
    });
    fresh.on("exit", () => {
      past = addCounters(past, current);
      current = createCounters();
      const atMs = tapClock();
      const frames = [...open].map(
        (connection): TapFrame => ({ kind: "closed", connection, atMs, reason: "proxy_lost", code: null }),
      );
      open.clear();
      if (frames.length > 0) deliver(frames);
      if (stopping) stopped?.(problem);
      else lost(problem);
    });
  };

  const lost = (message: string) => {
    if (config.listenFd !== undefined) {
      portLost = true;
      sink.event({ kind: "port_lost", message });
      return;
    }
    failures = performance.now() - startedAt >= healthyRunMs ? 1 : failures + 1;
    const delayMs = restartDelayMs(failures);
    sink.event({ kind: "worker_lost", message, restartDelayMs: delayMs });
    restartTimer = setTimeout(() => {
      restartTimer = null;
      spawn(
        () => sink.event({ kind: "worker_restarted", port: boundPort }),
        () => void worker.terminate(),
      );
    }, delayMs);
  };

  const send = (message: ToWorker) => worker.postMessage(message);

  const proxy: RunningProxy = {
    get port() {
      return boundPort;
    },
    counters: () => addCounters(past, current),
    connections: () => open.size,
    ping(timeoutMs) {
      const id = (lastPing += 1);
      const sentAt = performance.now();
      return new Promise<number>((resolve, reject) => {
        const timer = setTimeout(() => {
          pings.delete(id);
          reject(new Error(`the proxy did not answer within ${timeoutMs} ms`));
        }, timeoutMs);
        pings.set(id, () => {
          pings.delete(id);
          clearTimeout(timer);
          resolve(performance.now() - sentAt);
        });
        send({ kind: "ping", id });
      });
    },
    async probe(timeoutMs) {
      // The system takes connections for a worker that hangs: its own answer is wanted too.
      const answered = proxy.ping(timeoutMs).then(
        () => true,
        () => false,
      );
      const startedAt = performance.now();
      const isWell = (await probePort(config.host, boundPort, timeoutMs)) && (await answered);
      // Whoever looks this late was held up itself, and has no right to call the worker slow.
      return isWell || performance.now() - startedAt > timeoutMs + heldUpMs;
    },
    closeQuiet: (connections) => send({ kind: "close_quiet", connections }),
    restart: () => void worker.terminate(),
    stop(deadlineMs) {
      const workerGone = restartTimer !== null || portLost;
      if (restartTimer !== null) clearTimeout(restartTimer);
      restartTimer = null;
      stopPromise ??= new Promise<void>((resolve) => {
        stopping = true;
        stopped = () => resolve();
        if (workerGone) resolve();
      });
      send({ kind: "stop", deadlineMs });
      const timer = setTimeout(() => void worker.terminate(), deadlineMs + stopGraceMs);
      return stopPromise.finally(() => clearTimeout(timer));
    },
  };

  return new Promise<RunningProxy>((resolve, reject) => {
    // Until it has listened once there is nothing to mend: the caller hears why.
    stopping = true;
    let failure: ProxyListenError | null = null;
    stopped = (problem) => reject(failure ?? new Error(`the proxy did not start: ${problem}`));
    spawn(
      () => {
        stopping = false;
        stopped = null;
        resolve(proxy);
      },
      (error) => {
        failure = error;
        void worker.terminate();
      },
    );
  });
}
