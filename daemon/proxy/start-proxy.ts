import type { MessagePort } from "node:worker_threads";
import type { GateConfig } from "./call-gate.ts";
import type { CallQuestion, GateAnswer, PassedUses } from "./call-question.ts";
import { addCounters, createCounters, type ProxyCounters } from "./counters.ts";
import { createExpectedRests, type RestOfBody } from "./long-questions.ts";
import { probePort } from "./probe-port.ts";
import { type ProxyConfig, withoutInterception } from "./proxy-config.ts";
import { type ProxyThread, startProxyThread } from "./proxy-thread.ts";
import {
  createRelayLogReader,
  type ReceivedQuestion,
  type RelayLogReader,
  type RelayMessage,
} from "./relay-log-reader.ts";
import type { CutOrder } from "./response-cut.ts";
import type { TapFrame } from "./tap-frames.ts";
import type { FromWorker, IdleConnection, ProxyWorkerData, ToWorker } from "./worker-messages.ts";

/** Thrown if the proxy can't listen on its port. `code` is the system's error code, such as `EADDRINUSE`. */
export class ProxyListenError extends Error {
  override name = "ProxyListenError";
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** An event of the proxy itself. */
export type ProxyEvent =
  /** The worker has ended. It is restarted after the delay. */
  | {
      readonly kind: "worker_lost";
      readonly message: string;
      readonly restartDelayMs: number;
      /** Whether `restart()` or `replace()` ended it. */
      readonly isReplaced: boolean;
    }
  | { readonly kind: "worker_restarted"; readonly port: number }
  /** The worker has ended, and with it the socket from the service manager. Only a new process can get that socket again. */
  | { readonly kind: "port_lost"; readonly message: string }
  /** The worker has ended more than `maxFailures` times in a row. It is not restarted. */
  | { readonly kind: "gave_up"; readonly message: string }
  /** The reader of the log threw. The frames of that batch may be unmetered. The proxy keeps running. */
  | { readonly kind: "sink_failed"; readonly error: unknown };

/**
 * The receiver of the tap log. Its functions must be fast: traffic never waits for them, but the unread log takes memory.
 * The bytes of a frame are valid only during the call. Copy them to keep them.
 */
export interface ProxySink {
  frames(frames: readonly TapFrame[]): void;
  event(event: ProxyEvent): void;
  /**
   * Decides on a call that is held. It is asked before the frames of the call, and may be asked before its connection's `opened`.
   * Without it, or if it answers too late, the gate's configuration decides. The log has shown the calls that went without a
   * decision, which are counted first if `passed` is not null. If `rest` is not null, the question has nothing of its body.
   */
  decide?(
    question: CallQuestion,
    answer: (answer: GateAnswer) => void,
    passed: PassedUses | null,
    rest: RestOfBody | null,
  ): void;
  /** The call was asked about, and was sent because no answer had come in time. */
  sentLate?(connection: number, request: number): void;
}

/**
 * Delivers a port to the caller lookup, and a new one each time the lookup restarts. The port takes the messages of
 * `createPortBatch()`. The returned function stops this.
 */
export type ConnectLookup = (deliver: (port: MessagePort) => void) => () => void;

/** Options of `startProxy()`. */
interface StartProxyOptions {
  /** Returns the delay before a restart, given the number of consecutive failures. */
  readonly restartDelayMs?: (failures: number) => number;
  /** After this many consecutive failures, the worker is not restarted. Default: it always is. */
  readonly maxFailures?: number;
  /** Without it, every client counts as this user's. */
  readonly connectLookup?: ConnectLookup;
  /** Returns a thread that waits for its configuration. Default: a new one of this process. */
  readonly startThread?: () => ProxyThread;
  /** How long a worker may take to start until probes find that it hangs. Default: 30 s. */
  readonly startsWithinMs?: number;
}

/** A running proxy. */
export interface RunningProxy {
  readonly port: number;
  /** The worker's counters, at most a second old; `ping()` brings them up to date. */
  counters(): ProxyCounters;
  /** Serves the clients that wait because of `ProxyConfig.holdMs`. */
  serve(): void;
  /** How many logged connections are open. */
  connections(): number;
  /** Resolves with the worker's response time in milliseconds. Rejects if the worker does not answer in time. */
  ping(timeoutMs: number): Promise<number>;
  /**
   * Resolves with whether the port accepts a connection and the worker answers in time, or with true if that can't be determined, as while a
   * worker starts.
   */
  probe(timeoutMs: number): Promise<boolean>;
  /** Closes those connections that have been idle since the given time. */
  closeIdle(connections: readonly IdleConnection[]): void;
  /** Holds calls from now on, or stops holding them. A WebSocket that is open already is not held. */
  setGate(gate: GateConfig | null): void;
  /** Ends a call that is under way. Without an effect if it has ended. */
  cut(order: CutOrder): void;
  /** Replaces the worker, as the watchdog does with one that hangs. Its connections are lost. */
  restart(): void;
  /** The same, with one that intercepts nothing until `restart()`. */
  replace(): void;
  /** Stops accepting connections, and closes the open ones at the deadline. A later call may bring the deadline forward. */
  stop(deadlineMs: number): Promise<void>;
}

/** How many workers the proxy tries at its start: the system may refuse a process or a thread for a moment. */
const START_ATTEMPTS = 5;

/** How long a worker may take to start until probes find that it hangs, in milliseconds. */
const STARTS_WITHIN_MS = 30_000;

/** A worker that ran this long before it ended counts as healthy. */
const healthyRunMs = 60_000;

/** A probe's timer that fires this much late indicates a busy main thread, not a hanging worker. */
const lateTimerMs = 250;

/** A worker that has not stopped this long after the deadline is terminated. */
const stopGraceMs = 2_000;

/** Returns none for the first failure, then one second, doubled for each failure up to one minute. */
function defaultRestartDelayMs(failures: number): number {
  return failures === 1 ? 0 : Math.min(1_000 * 2 ** (failures - 2), 60_000);
}

/** The main thread's state of the proxy. */
interface ProxyState {
  readonly config: ProxyConfig;
  readonly sink: ProxySink;
  readonly restartDelayMs: (failures: number) => number;
  readonly maxFailures: number;
  readonly connectLookup: ConnectLookup | undefined;
  readonly startThread: () => ProxyThread;
  readonly startsWithinMs: number;
  /** When the worker was started, until it is ready or has ended. */
  startingAt: number | null;
  readonly reader: RelayLogReader;
  /** Functions that settle the pings in progress, by id, after everything that the worker sent before its answer was read. */
  readonly pings: Map<number, () => void>;
  /** The same for probes, when the answer arrives: a long log to read does not mean that the worker hangs. */
  readonly probes: Map<number, () => void>;
  worker: ProxyThread | null;
  boundPort: number;
  holdMs: number | undefined;
  gate: GateConfig | null;
  lastPing: number;
  /** When a message of the worker was read last. */
  heardAt: number;
  failures: number;
  startedAt: number;
  /** Called when the worker ends while the proxy starts or stops; null while it runs. */
  onEnded: ((problem: string) => void) | null;
  stopPromise: Promise<void> | null;
  restartTimer: NodeJS.Timeout | null;
  /** Set once the worker has ended and is not restarted. */
  isOver: boolean;
  /** Set while the worker ends because `restart()` or `replace()` was called. */
  isReplaced: boolean;
  /** Whether the next worker intercepts connections. */
  intercepts: boolean;
  previousCounters: ProxyCounters;
  currentCounters: ProxyCounters;
}

/**
 * Starts the proxy in a worker thread and keeps it running: a worker that ends is replaced after a delay, on the same port,
 * and its connections are reported as closed. Rejects with a `ProxyListenError` if the first worker can't listen.
 */
export function startProxy(
  config: ProxyConfig,
  sink: ProxySink,
  {
    restartDelayMs = defaultRestartDelayMs,
    maxFailures = Number.POSITIVE_INFINITY,
    connectLookup,
    startThread = startProxyThread,
    startsWithinMs = STARTS_WITHIN_MS,
  }: StartProxyOptions = {},
): Promise<RunningProxy> {
  const proxy: ProxyState = {
    config,
    sink,
    restartDelayMs,
    maxFailures,
    connectLookup,
    startThread,
    startsWithinMs,
    startingAt: null,
    reader: createRelayLogReader({
      frames: (frames) => guard(sink, () => sink.frames(frames)),
      message: (worker, message) => onMessage(proxy, worker, message),
    }),
    pings: new Map(),
    probes: new Map(),
    worker: null,
    boundPort: config.port,
    holdMs: config.holdMs,
    gate: config.gate ?? null,
    lastPing: 0,
    heardAt: Number.NEGATIVE_INFINITY,
    failures: 0,
    startedAt: 0,
    onEnded: null,
    stopPromise: null,
    restartTimer: null,
    isOver: false,
    isReplaced: false,
    intercepts: true,
    previousCounters: createCounters(),
    currentCounters: createCounters(),
  };
  return new Promise<RunningProxy>((resolve, reject) => {
    // A port that it can't listen on is reported to the caller instead of retried.
    let failure: ProxyListenError | null = null;
    let attempts = 0;
    const start = () => {
      attempts += 1;
      startWorker(
        proxy,
        () => {
          proxy.onEnded = null;
          resolve(toRunningProxy(proxy));
        },
        (error) => {
          failure = error;
          endWorker(proxy);
        },
      );
    };
    proxy.onEnded = (problem) => {
      if (failure === null && attempts < START_ATTEMPTS) return start();
      reject(failure ?? new Error(`the proxy did not start: ${problem}`));
    };
    start();
  });
}

function toRunningProxy(proxy: ProxyState): RunningProxy {
  return {
    get port() {
      return proxy.boundPort;
    },
    counters: () => addCounters(proxy.previousCounters, proxy.currentCounters),
    serve() {
      proxy.holdMs = undefined;
      send(proxy, { kind: "serve" });
    },
    connections: () => proxy.reader.connections(),
    ping: (timeoutMs) => pingWorker(proxy, timeoutMs),
    probe: (timeoutMs) => probeProxy(proxy, timeoutMs),
    closeIdle: (connections) => send(proxy, { kind: "close_idle", connections }),
    setGate(gate) {
      proxy.gate = gate;
      send(proxy, { kind: "gate", gate });
    },
    restart: () => replaceWorker(proxy, true),
    replace: () => replaceWorker(proxy, false),
    cut: (order) => send(proxy, { kind: "cut", order }),
    stop: (deadlineMs) => stopProxy(proxy, deadlineMs),
  };
}

const send = ({ worker }: ProxyState, message: ToWorker) => worker?.postMessage(message);

function replaceWorker(proxy: ProxyState, intercepts: boolean): void {
  proxy.intercepts = intercepts;
  proxy.isReplaced = true;
  endWorker(proxy);
}

const endWorker = ({ worker }: ProxyState) => void worker?.terminate();

function startWorker(
  proxy: ProxyState,
  onReady: () => void,
  onFailed: (error: ProxyListenError) => void,
): void {
  const { config, reader, connectLookup, startThread } = proxy;
  proxy.startedAt = performance.now();
  proxy.startingAt = proxy.startedAt;
  const worker = startThread();
  proxy.worker = worker;
  reader.begin(worker);
  worker.ref();
  const data: ProxyWorkerData = {
    config: {
      ...{ ...config, port: proxy.boundPort, gate: proxy.gate, holdMs: proxy.holdMs },
      ...(!proxy.intercepts && withoutInterception),
    },
    firstConnection: reader.lastConnection() + 1,
    acknowledged: worker.isProcess === true ? null : reader.acknowledged,
  };
  send(proxy, { kind: "start", data });
  const disconnect = connectLookup?.((port) =>
    worker.postMessage({ kind: "caller_lookup", port } satisfies ToWorker, [port]),
  );
  let problem = "the worker ended";
  const rests = createExpectedRests();
  worker.on("message", (message: FromWorker) => {
    proxy.heardAt = performance.now();
    if (message.kind === "ready") {
      proxy.startingAt = null;
      proxy.boundPort = message.port;
      onReady();
    } else if (message.kind === "listen_failed") {
      problem = message.message;
      onFailed(new ProxyListenError(message.code, message.message));
    } else if (message.kind === "question") {
      const question = { ...message, rest: message.hasRest ? rests.expect(message.id) : null };
      if (message.passed === null) decide(proxy, worker, question);
      else reader.push(worker, question);
    } else if (message.kind === "question_part") {
      guard(proxy.sink, () => rests.arrived(message.id, message));
    } else {
      if (message.kind === "pong") proxy.probes.get(message.id)?.();
      reader.push(worker, message);
    }
  });
  worker.on("error", (error: Error) => {
    problem = `${error.name}: ${error.message}`;
  });
  worker.on("exit", (_, signal?: string | null) => {
    problem = signal ?? problem;
    proxy.startingAt = null;
    disconnect?.();
    reader.readRest(worker);
    onWorkerExit(proxy, problem);
  });
}

/** Decides on a held call at once: it waits, and the log may be long. Without an answer, the worker decides. */
function decide(
  proxy: ProxyState,
  worker: ProxyThread,
  { id, question, passed, rest }: ReceivedQuestion,
): void {
  const answer = (answer: GateAnswer) =>
    worker.postMessage({ kind: "answer", id, answer } satisfies ToWorker);
  guard(proxy.sink, () => proxy.sink.decide?.(question, answer, passed, rest));
}

/** Has the sink do something, and reports its failure. */
function guard(sink: ProxySink, work: () => void): void {
  try {
    work();
  } catch (error) {
    sink.event({ kind: "sink_failed", error });
  }
}

/** Takes a message once the log before it was read. */
function onMessage(proxy: ProxyState, worker: ProxyThread, message: RelayMessage): void {
  switch (message.kind) {
    case "question":
      return decide(proxy, worker, message);
    case "sent_late":
      return proxy.sink.sentLate?.(message.connection, message.request);
    case "counters":
      proxy.currentCounters = message.counters;
      return;
    case "pong":
      return proxy.pings.get(message.id)?.();
    case "stopped": // all frames came before this
      void worker.terminate();
  }
}

/** Reports the worker's connections as closed, and restarts it unless the proxy is starting or stopping. */
function onWorkerExit(proxy: ProxyState, problem: string): void {
  proxy.previousCounters = addCounters(proxy.previousCounters, proxy.currentCounters);
  proxy.previousCounters.warm.ready = 0; // its connections are gone
  proxy.currentCounters = createCounters();
  proxy.reader.closeAll();
  if (proxy.onEnded !== null) proxy.onEnded(problem);
  else restartLater(proxy, problem);
}

function restartLater(proxy: ProxyState, message: string): void {
  const { config, sink } = proxy;
  const wasHealthy = performance.now() - proxy.startedAt >= healthyRunMs;
  proxy.failures = wasHealthy ? 1 : proxy.failures + 1;
  // A process has its own copy of the socket.
  const isSocketLost = config.listenFd !== undefined && proxy.worker?.isProcess !== true;
  if (isSocketLost || proxy.failures > proxy.maxFailures) {
    proxy.isOver = true;
    sink.event({ kind: isSocketLost ? "port_lost" : "gave_up", message });
    return;
  }
  const delayMs = proxy.restartDelayMs(proxy.failures);
  sink.event({ kind: "worker_lost", message, restartDelayMs: delayMs, isReplaced: proxy.isReplaced });
  proxy.isReplaced = false;
  proxy.restartTimer = setTimeout(() => {
    proxy.restartTimer = null;
    startWorker(
      proxy,
      () => sink.event({ kind: "worker_restarted", port: proxy.boundPort }),
      () => endWorker(proxy),
    );
  }, delayMs);
}

function pingWorker(proxy: ProxyState, timeoutMs: number, pings = proxy.pings): Promise<number> {
  proxy.lastPing += 1;
  const id = proxy.lastPing;
  const sentAt = performance.now();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      pings.delete(id);
      reject(new Error(`the proxy did not answer within ${timeoutMs} ms`));
    }, timeoutMs);
    pings.set(id, () => {
      pings.delete(id);
      clearTimeout(timer);
      resolve(performance.now() - sentAt);
    });
    send(proxy, { kind: "ping", id });
  });
}

async function probeProxy(proxy: ProxyState, timeoutMs: number): Promise<boolean> {
  // A busy machine needs longer for a start than the watchdog waits, which would use up its restarts on workers that start.
  if (proxy.startingAt !== null && performance.now() - proxy.startingAt < proxy.startsWithinMs) return true;
  // The kernel accepts connections even if the worker hangs, so the worker must answer too.
  const answered = pingWorker(proxy, timeoutMs, proxy.probes).then(
    () => true,
    () => false,
  );
  const startedAt = performance.now();
  const port = await probePort(proxy.config.host, proxy.boundPort, timeoutMs);
  // Without a free descriptor there is no connection to probe. A restart would cut every stream and free nothing for long.
  // Its answer may wait behind other messages, of which a busy main thread reads a few in each turn of the event loop.
  const isHealthy = port !== "closed" && ((await answered) || proxy.heardAt >= startedAt);
  // A probe this late was delayed by a busy main thread, so it proves nothing about the worker.
  return isHealthy || performance.now() - startedAt > timeoutMs + lateTimerMs;
}

function stopProxy(proxy: ProxyState, deadlineMs: number): Promise<void> {
  const workerGone = proxy.restartTimer !== null || proxy.isOver;
  if (proxy.restartTimer !== null) clearTimeout(proxy.restartTimer);
  proxy.restartTimer = null;
  proxy.stopPromise ??= new Promise<void>((resolve) => {
    proxy.onEnded = () => resolve();
    if (workerGone) resolve();
  });
  send(proxy, { kind: "stop", deadlineMs });
  const timer = setTimeout(() => endWorker(proxy), deadlineMs + stopGraceMs);
  return proxy.stopPromise.finally(() => clearTimeout(timer));
}
