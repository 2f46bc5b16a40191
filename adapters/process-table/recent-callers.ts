import type { ProcessFacts } from "../../core/ports/process-table.ts";
import type { CallerQuery } from "./caller-query.ts";
import type { KernelSocket } from "./kernel-sockets.ts";

/** The callers of recent connections, for queries after the client has closed its socket. */
export interface RecentCallers {
  /** Sets what was found for a new connection. Replaces what is known of an earlier one with the same ports. */
  set(connection: ConnectionPorts, found: RecentCaller): void;
  find(connection: ConnectionPorts): ProcessFacts | null;
  /** Returns the client's socket, which may be closed by now. */
  findSocket(connection: ConnectionPorts): KernelSocket | null;
}

interface RecentCaller {
  readonly process: ProcessFacts | null;
  readonly socket: KernelSocket | null;
}

type ConnectionPorts = Pick<CallerQuery, "clientPort" | "serverPort">;

/** Maximum number of connections that are remembered. The oldest is forgotten first. */
const MAX_CONNECTIONS = 2_048;

/**
 * How long a connection is remembered, in milliseconds. Decision: longer than the daemon waits for a caller, and shorter than a
 * port is usually free before it is used again.
 */
const MAX_AGE_MS = 10_000;

/** Creates an empty memory of recent connections. */
export function createRecentCallers(monotonicMs: () => number): RecentCallers {
  const callers = new Map<string, RecentCaller & { atMs: number }>();
  const keyOf = ({ clientPort, serverPort }: ConnectionPorts) => `${clientPort} ${serverPort}`;
  const findRecent = (connection: ConnectionPorts) => {
    const known = callers.get(keyOf(connection));
    return known === undefined || monotonicMs() - known.atMs > MAX_AGE_MS ? null : known;
  };
  return {
    set(connection, found) {
      const key = keyOf(connection);
      callers.delete(key);
      if (found.process === null && found.socket === null) return;
      callers.set(key, { ...found, atMs: monotonicMs() });
      const [oldest] = callers.keys();
      if (callers.size > MAX_CONNECTIONS && oldest !== undefined) callers.delete(oldest);
    },
    find: (connection) => findRecent(connection)?.process ?? null,
    findSocket: (connection) => findRecent(connection)?.socket ?? null,
  };
}
