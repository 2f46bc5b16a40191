import { type ChildProcess, fork } from "node:child_process";
import { EventEmitter } from "node:events";
import { closeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { MessagePort, type Transferable } from "node:worker_threads";
import type { ProcessMessage } from "./thread-port.ts";

/** Options of `startProcessThread()`. */
interface ProcessThreadOptions {
  /** JSON, which the module reads as `data`. */
  readonly data: unknown;
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** A descriptor that the process inherits as its descriptor 3. */
  readonly inheritedFd?: number | undefined;
  /** Descriptors that it inherits as 5 and the following ones. They are closed here once it has ended. */
  readonly ownedFds?: readonly number[];
  /** Descriptors that it inherits after those. They stay open here. */
  readonly sharedFds?: readonly number[];
}

/**
 * A process that is used like a worker thread. A crash in native code ends it and not its parent, and what it had sent before is
 * still delivered, because the kernel has it. Transferred buffers are copied; a transferred port must be the message's field `port`.
 * Emits `message`, `error` with an error that it did not handle, and last `exit` with its exit code and signal.
 */
export class ProcessThread extends EventEmitter {
  readonly isProcess = true;
  /** Null if it could not be started. */
  readonly #child: ChildProcess | null;
  readonly #ports = new Map<number, MessagePort>();
  readonly #ownedFds: readonly number[];
  #lastPort = 0;
  /** Set once it has ended and everything that it sent was delivered. */
  #hasEnded = false;

  constructor(module: URL, { data, env, inheritedFd, ownedFds = [], sharedFds = [] }: ProcessThreadOptions) {
    super();
    this.#ownedFds = ownedFds;
    let child: ChildProcess;
    try {
      child = fork(fileURLToPath(module), [JSON.stringify(data)], {
        serialization: "advanced",
        stdio: ["ignore", "inherit", "inherit", inheritedFd ?? "ignore", "ipc", ...ownedFds, ...sharedFds],
        ...(env !== undefined && { env }),
      });
    } catch (error) {
      // Node throws some failures of a start, and emits others. Nobody listens yet.
      this.#child = null;
      setImmediate(() => {
        this.emit("error", error);
        this.#end(1, null);
      });
      return;
    }
    this.#child = child;
    child.on("message", (message) => this.#receive(message as unknown as ProcessMessage));
    child.on("error", (error) => {
      this.emit("error", error);
      // A process that could not be started neither exits nor disconnects.
      if (child.pid === undefined) this.#end(1, null);
    });
    // The last messages may be read after the exit.
    const disconnected = new Promise<void>((resolve) => child.once("disconnect", resolve));
    child.once("exit", (code, signal) => void disconnected.then(() => this.#end(code, signal)));
  }

  /** The process id; -1 once it has ended. */
  get threadId(): number {
    return this.#hasEnded ? -1 : (this.#child?.pid ?? -1);
  }

  postMessage(message: unknown, transfer: readonly Transferable[] = []): void {
    const port = transfer.find((each) => each instanceof MessagePort);
    if (port === undefined) return this.#send(["message", message]);
    const id = (this.#lastPort += 1);
    this.#ports.set(id, port);
    this.#send(["message_with_port", { ...(message as object), port: null }, id]);
    port.on("message", (received) => this.#send(["port_message", received, id]));
    port.on("close", () => this.#send(["port_closed", null, id]));
    port.unref();
  }

  /** Closes the connection, by which the process notices that it is no longer needed. */
  disconnect(): void {
    this.#child?.disconnect();
  }

  terminate(): void {
    this.#child?.kill("SIGKILL");
  }

  ref(): void {
    this.#child?.ref();
    this.#child?.channel?.ref();
  }

  unref(): void {
    this.#child?.unref();
    this.#child?.channel?.unref();
  }

  /** Does nothing if the process has ended, as `postMessage()` of a thread does. */
  #send(message: ProcessMessage): void {
    if (this.#child?.connected === true) this.#child.send(message, () => {});
  }

  #receive(message: ProcessMessage): void {
    const [kind, content, id] = message;
    if (kind === "message") this.emit("message", content);
    else if (kind === "port_message") this.#ports.get(id)?.postMessage(content);
    else if (kind === "error") this.emit("error", new Error(content));
  }

  #end(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const port of this.#ports.values()) port.close();
    this.emit("exit", code, signal);
    for (const fd of this.#ownedFds) closeSync(fd);
  }
}
