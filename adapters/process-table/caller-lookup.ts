import process from "node:process";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { ConnectionOwnerLookup } from "../../core/ports/connection-owner.ts";
import type { ProcessTable } from "../../core/ports/process-table.ts";
import { withTimeout } from "../clock/with-timeout.ts";
import { compileCacheEnvironment } from "../threads/thread-compile-cache.ts";
import { type AnswerBatch, UNKNOWN_CALLER } from "./caller-query.ts";
import { createPortBatch, type LookupMessage } from "./lookup-port.ts";
import { createConnectionOwners, createLookupQueue, createProcessTable } from "./lookup-queue.ts";
import { answerOnMacos } from "./macos.ts";
import { runCommand } from "./run-command.ts";
import { answerOnWindows } from "./windows.ts";

/** Finds the processes at the client end of local connections, without blocking the calling threads. */
export interface CallerLookup {
  readonly processTable: ProcessTable;
  /** Null if the platform has no fast way to find the owner. */
  readonly owners: ConnectionOwnerLookup | null;
  /**
   * Opens a port to the lookup thread for another thread, which queries it with `createPortBatch()`. Delivers a new port
   * each time the thread is restarted, and none if the platform needs no thread. Returns a function that ends the
   * subscription.
   */
  connect(deliver: (port: MessagePort) => void): () => void;
  close(): Promise<void>;
}

/**
 * Minimum time between two starts of the lookup thread, in milliseconds. A thread that exited is restarted at the next
 * query.
 */
const RESTART_AFTER_MS = 1_000;

/** Time after which a lookup thread that has not answered a batch is replaced, in milliseconds. */
const HANG_TIMEOUT_MS = 4_000;

/** How long the lookup thread may take to stop, in milliseconds. It may be reading `/proc`. */
const STOP_TIMEOUT_MS = 1_000;

const workerUrl = () =>
  new URL(`./lookup-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

/** The threads that query the lookup thread. Each gets a new port whenever the lookup thread is restarted. */
interface Subscribers {
  /** Delivers a port. Without a lookup thread, queries wait in it. Returns a function that removes the subscriber. */
  add(deliver: (port: MessagePort) => void, worker: Worker | null): () => void;
  /** Connects every subscriber to a new lookup thread. */
  connectAll(worker: Worker): void;
  close(): void;
}

function createSubscribers(): Subscribers {
  /** Each with the thread's end of a port that was opened before it started, in which queries wait; else null. */
  const subscribers = new Map<(port: MessagePort) => void, MessagePort | null>();

  /** Opens a port to a subscriber and returns the thread's end of it. */
  function openPort(deliver: (port: MessagePort) => void): MessagePort {
    const { port1, port2 } = new MessageChannel();
    deliver(port2);
    return port1;
  }

  const give = (to: Worker, port: MessagePort) => to.postMessage({ port }, [port]);

  return {
    add(deliver, worker) {
      const port = openPort(deliver);
      subscribers.set(deliver, worker === null ? port : null);
      if (worker !== null) give(worker, port);
      return () => {
        subscribers.get(deliver)?.close();
        subscribers.delete(deliver);
      };
    },
    connectAll(worker) {
      for (const [deliver, waiting] of subscribers) {
        give(worker, waiting ?? openPort(deliver));
        subscribers.set(deliver, null);
      }
    },
    close() {
      for (const waiting of subscribers.values()) waiting?.close();
    },
  };
}

/** Creates the lookup on Linux: one thread that answers batches of queries from all threads. */
function createLinuxLookup(monotonicMs: () => number, url: URL): CallerLookup {
  const subscribers = createSubscribers();
  let worker: Worker | null = null;
  let batch: AnswerBatch | null = null;
  let startedAtMs = Number.NEGATIVE_INFINITY;
  let closed = false;

  function start(): void {
    if (closed || worker !== null || monotonicMs() - startedAtMs < RESTART_AFTER_MS) return;
    startedAtMs = monotonicMs();
    const fresh = startThread(url);
    if (fresh === null) return;
    worker = fresh;
    batch = createPortBatch(fresh);
    fresh.on("error", () => {}); // `exit` follows
    fresh.on("exit", () => {
      if (worker === fresh) [worker, batch] = [null, null];
    });
    subscribers.connectAll(fresh);
  }

  /** Rejects everything that waits for the thread, even if it cannot be terminated because it waits for the kernel. */
  function replace(hung: Worker | null): void {
    if (worker === hung) [worker, batch] = [null, null];
    void hung?.terminate();
  }

  const lookUpCaller = createLookupQueue(async (queries) => {
    start();
    if (batch === null) return queries.map(() => UNKNOWN_CALLER);
    const queried = worker;
    return await withTimeout(batch(queries), HANG_TIMEOUT_MS, () => {
      replace(queried);
      throw new Error(`the lookup thread did not answer within ${HANG_TIMEOUT_MS} ms`);
    });
  });
  /** The start that `connect()` asked for. */
  let starting: NodeJS.Immediate | undefined;
  return {
    processTable: createProcessTable(lookUpCaller),
    owners: createConnectionOwners(lookUpCaller),
    connect(deliver) {
      const remove = subscribers.add(deliver, worker);
      // Delayed: the program that connects is still starting and needs the processor more.
      starting ??= setImmediate(start);
      return remove;
    },
    async close() {
      closed = true;
      clearImmediate(starting);
      subscribers.close();
      if (worker !== null) await stopThread(worker);
    },
  };
}

/** Starts the thread. Null if the system refuses one, as when there are too many. */
function startThread(url: URL): Worker | null {
  try {
    return new Worker(url, {
      name: "meter lookup",
      env: compileCacheEnvironment(),
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
  } catch {
    return null;
  }
}

/** Lets the thread kill the program that it runs, and ends it. */
async function stopThread(worker: Worker): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    worker.on("message", (message) => message === "stopped" && resolve());
    worker.on("exit", () => resolve());
  });
  worker.postMessage({ stop: true } satisfies LookupMessage);
  await withTimeout(stopped, STOP_TIMEOUT_MS, () => {});
  await withTimeout(worker.terminate(), STOP_TIMEOUT_MS, () => {});
}

/** Creates the lookup of this platform. On an unsupported platform, every caller is unknown. `url` is the thread's module. */
export function createCallerLookup(
  platform: string = process.platform,
  monotonicMs: () => number = () => performance.now(),
  url: URL = workerUrl(),
): CallerLookup {
  if (platform === "linux" || platform === "android") return createLinuxLookup(monotonicMs, url);
  const answer: AnswerBatch =
    platform === "darwin"
      ? answerOnMacos(runCommand)
      : platform === "win32"
        ? answerOnWindows(runCommand)
        : async (queries) => queries.map(() => UNKNOWN_CALLER);
  return {
    processTable: createProcessTable(createLookupQueue(answer)),
    owners: null,
    connect: () => () => {},
    close: async () => {},
  };
}
