import { spawn } from "node:child_process";
import { openSync } from "node:fs";
import net from "node:net";
import { dirname, join } from "node:path";
import process from "node:process";
import { withMemoryLimits } from "../../core/operations/install/memory-limits.ts";
import { bootLogFile, programFile } from "./daemon-process.ts";
import { ATTENDED, SUPERVISOR_SCRIPT } from "./supervision.ts";

/** The script that restarts the daemon after a crash. It needs a POSIX shell. */
export const supervisorScript = join(dirname(programFile), SUPERVISOR_SCRIPT);

/** A socket that is bound but does not listen. A process that inherits its descriptor makes it listen. */
export interface BoundSocket {
  readonly fd: number;
  close(): void;
}

/** `node:net` with the function by which Node's module `cluster` binds the sockets that workers share. */
interface SharingNet {
  _createServerHandle?(host: string, port: number, type: 4 | 6, fd: -1, flags: 0): unknown;
}

/**
 * Binds the proxy's socket, for `supervise.sh` to hold. Null if that is not possible: on a runtime that can't share a socket,
 * or if the address is in use, which the daemon then reports itself.
 */
export function bindSocket(host: string, port: number): BoundSocket | null {
  const bound = (net as SharingNet)._createServerHandle?.(host, port, net.isIPv6(host) ? 6 : 4, -1, 0);
  if (typeof bound !== "object" || bound === null) return null;
  const { fd, close, getsockname } = bound as {
    fd?: unknown;
    close?: () => void;
    getsockname?: (name: object) => number;
  };
  const socket = { fd: Number(fd ?? -1), close: () => close?.call(bound) };
  // libuv keeps the error of an address in use until the socket is asked for its name.
  if (socket.fd >= 0 && getsockname?.call(bound, {}) === 0) return socket;
  socket.close();
  return null;
}

/**
 * Starts a daemon that outlives this process, and `supervise.sh` over it, except on Windows, which has no POSIX shell.
 * `socket` is the proxy's. The output goes to `logs/start.log`; see `waitForDaemon()`.
 */
export function spawnDaemon(home: string, socket: BoundSocket | null = null): { exited: Promise<number> } {
  let output: number | "ignore" = "ignore";
  try {
    output = openSync(bootLogFile(home), "w", 0o600);
  } catch {
    // The daemon starts even if its log can't be written.
  }
  const program = [process.execPath, programFile];
  const [command, words] =
    process.platform === "win32"
      ? [process.execPath, [programFile, "start", "--foreground"]]
      : ["/bin/sh", [supervisorScript, ...program]];
  const child = spawn(command, words, {
    detached: true,
    stdio: ["ignore", output, output, ...(socket === null ? [] : [socket.fd])],
    env: {
      ...{ ...withMemoryLimits(process.env), METER_HOME: home, [ATTENDED]: "1" },
      ...(socket !== null && { LISTEN_FDS: "1" }),
    },
    cwd: home,
  });
  const exited = new Promise<number>((resolve) => {
    child.once("exit", (code) => resolve(code ?? 1));
    child.once("error", () => resolve(1));
  });
  child.unref();
  return { exited };
}
