import { Worker } from "node:worker_threads";

/** A thread that loads the proxy's module and waits for its configuration. */
export type ProxyThread = Worker;

/**
 * The size of V8's young generation in the worker, in MB. The worker's objects live as long as a chunk or as long as a
 * connection, so a small young generation saves memory: 17 MB with 1,000 open streams, at the same CPU time per request.
 */
const youngGenerationMb = 8;

/** The worker's source beside this file: `.ts` in a checkout, `.js` in `dist`. */
const workerUrl = () =>
  new URL(`./proxy-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

/** What a thread is told at its start. */
export interface ProxyThreadData {
  /** Reads the system's certificates at once: the configuration is expected to trust them. */
  readonly readSystemRoots: boolean;
}

/**
 * Starts a thread for `startProxy()`. Start it before loading the rest of the program, so that both load in parallel. An unused
 * thread does not keep the process alive. `env` replaces this process's environment in it.
 */
export function startProxyThread(
  data: ProxyThreadData = { readSystemRoots: false },
  env?: NodeJS.ProcessEnv,
): ProxyThread {
  const thread = new Worker(workerUrl(), {
    name: "meter proxy",
    workerData: data,
    ...(env !== undefined && { env }),
    resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb },
  });
  thread.on("error", () => {}); // `exit` follows
  thread.unref();
  return thread;
}
