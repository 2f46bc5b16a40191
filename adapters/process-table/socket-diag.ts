import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { withTimeout } from "../clock/with-timeout.ts";

/** Returns the output of `ss` (ss(8)) for the sockets with these local ports; null if it cannot be used. Never rejects. */
export type DiagnoseSockets = (localPorts: ReadonlySet<number>) => Promise<string | null>;

interface SocketDiagnosisOptions {
  /** The path of `ss`. Default: where it is installed. */
  readonly program?: string;
  /** Time limit, in milliseconds. */
  readonly timeoutMs?: number;
  /** A clock that never jumps, in milliseconds. */
  readonly monotonicMs?: () => number;
  /** Kills a running `ss`. */
  readonly signal?: AbortSignal;
}

/** Where `ss` is installed. The search path is not used: the answer decides whose a connection is. */
const PLACES = ["/usr/bin/ss", "/bin/ss", "/usr/sbin/ss", "/sbin/ss"];

/** Time limit, in milliseconds. Reading the kernel's tables takes less, even with 100,000 sockets. */
const TIMEOUT_MS = 500;

/** How long `ss` is not used after it failed or did not answer in time, in milliseconds. */
const REST_MS = 60_000;

/** The largest output, in bytes: some hundred per socket. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** Above this number of ports, one reading of the tables is cheaper than the filter. */
export const MAX_DIAGNOSED_PORTS = 64;

/**
 * Creates the lookup of sockets through `ss`. It filters in the kernel (sock_diag(7)), while `/proc/net/tcp` formats every
 * socket of the machine: with 20,000 sockets, 13 ms instead of 140.
 */
export function createSocketDiagnosis({
  program,
  timeoutMs = TIMEOUT_MS,
  monotonicMs = () => performance.now(),
  signal,
}: SocketDiagnosisOptions = {}): DiagnoseSockets {
  let found: string | null | undefined = program;
  let restsUntilMs = Number.NEGATIVE_INFINITY;
  return async (localPorts) => {
    found ??= PLACES.find((path) => existsSync(path)) ?? null;
    if (found === null || localPorts.size > MAX_DIAGNOSED_PORTS || monotonicMs() < restsUntilMs) return null;
    const filter = [...localPorts].flatMap((port) => ["or", "sport", "=", `:${port}`]).slice(1);
    const work = runToEnd(found, ["-tanHe", ...filter], timeoutMs, signal);
    // A process that waits for the kernel does not end when it is killed.
    const output = await withTimeout(work, timeoutMs, () => null);
    if (output === null) restsUntilMs = monotonicMs() + REST_MS;
    return output;
  };
}

/** Returns the output of a program, which is killed at the time limit; null if it fails. */
function runToEnd(
  program: string,
  words: readonly string[],
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      words,
      { encoding: "latin1", env: {}, timeout: timeoutMs, killSignal: "SIGKILL", maxBuffer: MAX_OUTPUT_BYTES },
      (error, stdout) => {
        signal?.removeEventListener("abort", kill);
        resolve(error === null ? stdout : null);
      },
    );
    // The option `signal` of Node's execFile() sends SIGTERM, which a program may ignore.
    const kill = () => child.kill("SIGKILL");
    signal?.addEventListener("abort", kill);
  });
}
