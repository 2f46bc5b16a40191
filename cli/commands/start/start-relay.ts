import process from "node:process";
import { ProcessThread } from "../../../adapters/threads/process-thread.ts";
import { compileCacheEnvironment } from "../../../adapters/threads/thread-compile-cache.ts";
import { type ProxyThread, proxyWorkerUrl, startProxyThread } from "../../../daemon/proxy/proxy-thread.ts";
import { inheritedSocket } from "./inherited-socket.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns a function that returns what runs the proxy: first the one that this function starts at once, then new ones. It is a process,
 * so that a crash of the relay ends neither the daemon nor what it has in memory; on Windows, Deno and Bun, where that was never
 * run, it is a thread.
 */
export function startRelay(env: Environment): () => ProxyThread {
  let ready: ProxyThread | null = start(env);
  return () => {
    const started = ready;
    ready = null;
    return started === null || started.threadId === -1 ? start(env) : started;
  };
}

function start(env: Environment): ProxyThread {
  const data = { readSystemRoots: true };
  if (process.platform === "win32" || "Deno" in globalThis || "Bun" in globalThis)
    return startProxyThread(data, compileCacheEnvironment());
  const relay = new ProcessThread(proxyWorkerUrl(), {
    data,
    env: compileCacheEnvironment(),
    inheritedFd: inheritedSocket(env) ?? undefined,
  });
  relay.on("error", () => {}); // `exit` follows
  relay.unref();
  return relay;
}
