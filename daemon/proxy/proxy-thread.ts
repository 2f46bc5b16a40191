import { type Transferable, Worker } from "node:worker_threads";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

/** The reading end of a process's log. */
export interface ProcessLog {
  /**
   * Returns the next entries up to the one of this number: some at once, none at the end. Their bytes are valid until the next call.
   */
  read(through: number): readonly Uint8Array<ArrayBuffer>[];
  /** Whether the entry of this number was read. */
  hasRead(entry: number): boolean;
  /**
   * Tells the process that what `read()` returned was processed: so many bytes, and so many of its announcements. What could not be told
   * is part of the next call.
   */
  acknowledge(bytes: number, announcements: number): void;
}

/** A thread that loads the proxy's module and waits for its configuration, or a process that does so (`ProcessThread`). */
export interface ProxyThread {
  /** -1 once it has ended. */
  readonly threadId: number;
  /** Set for a process, which shares no memory with this one. */
  readonly isProcess?: true;
  /** The log of a process, which it writes to memory that outlives it. */
  readonly log?: ProcessLog;
  postMessage(message: ToWorker, transfer?: readonly Transferable[]): void;
  on(event: "message", listener: (message: FromWorker) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  /** The last event. A process names the signal that ended it. */
  on(event: "exit", listener: (code: number, signal?: string | null) => void): unknown;
  terminate(): unknown;
  ref(): void;
  unref(): void;
}

/**
 * The size of V8's young generation in the worker, in MB. The worker's objects live as long as a chunk or as long as a
 * connection, so a small young generation saves memory: 17 MB with 1,000 open streams, at the same CPU time per request.
 */
const youngGenerationMb = 8;

/** The worker's source beside this file: `.ts` in a checkout, `.js` in `dist`. */
export const proxyWorkerUrl = () =>
  new URL(`./proxy-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

/** What a thread is told at its start. */
export interface ProxyThreadData {
  /** Reads the system's certificates at once: the configuration is expected to trust them. */
  readonly readSystemRoots: boolean;
  /** The memory for the log of a process: its descriptors, and the process that reads it. */
  readonly memory?: {
    readonly files: readonly [segment: number, otherSegment: number, progress: number];
    readonly daemonPid: number;
    /** The process ends a daemon that hangs for this long, in milliseconds. Absent: nothing would start another one. */
    readonly mayHangMs?: number;
  };
  /** The descriptor of the file with the memory for calls that pass without a decision (`PassMemory`). */
  readonly passMemory?: number;
}

/**
 * Starts a thread for `startProxy()`. Start it before loading the rest of the program, so that both load in parallel. An unused
 * thread does not keep the process alive. `env` replaces this process's environment in it.
 */
export function startProxyThread(
  data: ProxyThreadData = { readSystemRoots: false },
  env?: NodeJS.ProcessEnv,
): ProxyThread {
  const thread = new Worker(proxyWorkerUrl(), {
    name: "meter proxy",
    workerData: data,
    ...(env !== undefined && { env }),
    resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb },
  });
  thread.on("error", () => {}); // `exit` follows
  thread.unref();
  return thread;
}
