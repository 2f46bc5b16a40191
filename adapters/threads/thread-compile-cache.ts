import module from "node:module";
import { dirname } from "node:path";
import process from "node:process";

/** When compiled code is written to the cache, in milliseconds after the start of a process or a thread. */
const FLUSH_AFTER_MS = 2_000;

/**
 * Returns the environment of a worker thread that uses this process's compile cache; undefined if this process has none. A
 * thread inherits only a cache that `NODE_COMPILE_CACHE` names, and in this process that variable would be inherited by the
 * programs it starts. Deno 2.9 refuses an environment with options for V8 in `NODE_OPTIONS`, and has no such cache.
 */
export function compileCacheEnvironment(): NodeJS.ProcessEnv | undefined {
  const folder = module.getCompileCacheDir?.();
  // The folder of this version of Node, inside the one that was named.
  return folder === undefined ? undefined : { ...process.env, NODE_COMPILE_CACHE: dirname(folder) };
}

/**
 * Writes compiled code to its cache once the start is over. Node does so only when a process or a thread ends by itself, and
 * not when it is killed or terminated. Does not keep the process alive.
 */
export function flushCompileCacheLater(): void {
  setTimeout(() => module.flushCompileCache?.(), FLUSH_AFTER_MS).unref();
}
