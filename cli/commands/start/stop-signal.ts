import process from "node:process";

let stopped: Promise<"signal"> | null = null;

/**
 * Resolves at the first signal that asks to stop; a second one ends the process at once. One listener does both: Deno 2.9
 * calls a listener that is added while a signal is being handled for that same signal. Each call returns the same promise.
 */
export function stopSignal(): Promise<"signal"> {
  stopped ??= new Promise((resolve) => {
    let isStopping = false;
    const stop = () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      resolve("signal");
    };
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, stop);
  });
  return stopped;
}
