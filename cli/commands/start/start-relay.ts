import { closeSync } from "node:fs";
import process from "node:process";
import { clearFileMemory, openFileMemory } from "../../../adapters/threads/file-memory.ts";
import { openMemoryFiles } from "../../../adapters/threads/memory-files.ts";
import {
  createMemoryLogReader,
  MEMORY_LOG_FILES,
  type MemoryLogFiles,
} from "../../../adapters/threads/memory-log.ts";
import { ProcessThread } from "../../../adapters/threads/process-thread.ts";
import { compileCacheEnvironment } from "../../../adapters/threads/thread-compile-cache.ts";
import { PASS_MEMORY_WORDS, type PassMemory } from "../../../daemon/proxy/passes.ts";
import {
  type ProxyThread,
  type ProxyThreadData,
  proxyWorkerUrl,
  startProxyThread,
} from "../../../daemon/proxy/proxy-thread.ts";
import { inheritedSocket } from "./inherited-socket.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What runs the proxy, and the memory that it shares with the daemon. */
export interface Relay {
  /** Returns what runs the proxy: first the one that was started at once, then new ones. */
  readonly startThread: () => ProxyThread;
  /** Undefined: the daemon must use memory for a thread. */
  readonly passMemory?: PassMemory;
}

/**
 * Starts what runs the proxy. It is a process, so that a crash of the relay ends neither the daemon nor what it has in memory. Without
 * memory that outlives such a process, and on Deno and Bun, it is a thread.
 */
export function startRelay(env: Environment): Relay {
  const passFile = openPassFile();
  let ready: ProxyThread | null = start(env, passFile);
  const startThread = () => {
    const started = ready;
    ready = null;
    return started === null || started.threadId === -1 ? start(env, passFile) : started;
  };
  return { startThread, ...(passFile !== null && { passMemory: openFileMemory(passFile) }) };
}

const isNode = () => !("Deno" in globalThis || "Bun" in globalThis);

/** Opens the file of `Relay.passMemory`, which all processes of the relay use in turn. */
function openPassFile(): number | null {
  const [file] = (isNode() ? openMemoryFiles<readonly [number]>(1) : null) ?? [];
  if (file === undefined) return null;
  try {
    clearFileMemory(file, PASS_MEMORY_WORDS);
    return file;
  } catch {
    closeSync(file);
    return null;
  }
}

/** How long a daemon may hang until its relay ends it, in milliseconds: longer than any work that blocks it, such as a migration. */
const MAY_HANG_MS = 600_000;

/** The descriptors in the process: of the log, and of the memory. */
const LOG_FILES: MemoryLogFiles = [5, 6, 7];
const PASS_FILE = 8;

function start(env: Environment, passFile: number | null): ProxyThread {
  const data: ProxyThreadData = { readSystemRoots: true };
  const files = isNode() ? openMemoryFiles<MemoryLogFiles>(MEMORY_LOG_FILES) : null;
  if (files === null)
    return startProxyThread(
      { ...data, ...(passFile !== null && { passMemory: passFile }) },
      compileCacheEnvironment(),
    );
  const relay = new ProcessThread(proxyWorkerUrl(), {
    data: {
      ...data,
      memory: {
        ...{ files: LOG_FILES, daemonPid: process.pid },
        // The script starts another one. The variable is for tests.
        ...(env.METER_SUPERVISOR !== undefined && {
          mayHangMs: Number(env.METER_MAY_HANG_MS ?? MAY_HANG_MS),
        }),
      },
      ...(passFile !== null && { passMemory: PASS_FILE }),
    },
    env: compileCacheEnvironment(),
    inheritedFd: inheritedSocket(env) ?? undefined,
    ownedFds: files,
    sharedFds: passFile === null ? [] : [passFile],
  });
  relay.on("error", () => {}); // `exit` follows
  relay.unref();
  return Object.assign(relay, { log: createMemoryLogReader(files) });
}
