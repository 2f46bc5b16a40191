import process from "node:process";
import { openMemoryFiles } from "../../../adapters/threads/memory-files.ts";
import {
  createMemoryLogReader,
  MEMORY_LOG_FILES,
  type MemoryLogFiles,
} from "../../../adapters/threads/memory-log.ts";
import { ProcessThread } from "../../../adapters/threads/process-thread.ts";
import { compileCacheEnvironment } from "../../../adapters/threads/thread-compile-cache.ts";
import {
  type ProxyThread,
  type ProxyThreadData,
  proxyWorkerUrl,
  startProxyThread,
} from "../../../daemon/proxy/proxy-thread.ts";
import { inheritedSocket } from "./inherited-socket.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns a function that returns what runs the proxy: first the one that this function starts at once, then new ones. It is a process,
 * so that a crash of the relay ends neither the daemon nor what it has in memory. Without memory that outlives such a process, and on
 * Deno and Bun, it is a thread.
 */
export function startRelay(env: Environment): () => ProxyThread {
  let ready: ProxyThread | null = start(env);
  return () => {
    const started = ready;
    ready = null;
    return started === null || started.threadId === -1 ? start(env) : started;
  };
}

/** The descriptors of the log in the process. */
const LOG_FILES: MemoryLogFiles = [5, 6, 7];

function start(env: Environment): ProxyThread {
  const data: ProxyThreadData = { readSystemRoots: true };
  const isNode = !("Deno" in globalThis || "Bun" in globalThis);
  const files = isNode ? openMemoryFiles<MemoryLogFiles>(MEMORY_LOG_FILES) : null;
  if (files === null) return startProxyThread(data, compileCacheEnvironment());
  const relay = new ProcessThread(proxyWorkerUrl(), {
    data: { ...data, memory: { files: LOG_FILES, daemonPid: process.pid } },
    env: compileCacheEnvironment(),
    inheritedFd: inheritedSocket(env) ?? undefined,
    ownedFds: files,
  });
  relay.on("error", () => {}); // `exit` follows
  relay.unref();
  return Object.assign(relay, { log: createMemoryLogReader(files) });
}
