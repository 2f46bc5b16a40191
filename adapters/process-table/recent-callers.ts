import type { ProcessFacts } from "../../core/ports/process-table.ts";
import type { CallerQuery } from "./caller-query.ts";

/** The processes of recent connections, for queries after the client has closed its socket. */
export interface RecentCallers {
  /** Sets the process of a new connection. Null forgets the process of an earlier connection with the same ports. */
  set(connection: ConnectionPorts, process: ProcessFacts | null): void;
  find(connection: ConnectionPorts): ProcessFacts | null;
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
  const callers = new Map<string, { process: ProcessFacts; atMs: number }>();
  const keyOf = ({ clientPort, serverPort }: ConnectionPorts) => `${clientPort} ${serverPort}`;
  return {
    set(connection, process) {
      const key = keyOf(connection);
      callers.delete(key);
      if (process === null) return;
      callers.set(key, { process, atMs: monotonicMs() });
      const [oldest] = callers.keys();
      if (callers.size > MAX_CONNECTIONS && oldest !== undefined) callers.delete(oldest);
    },
    find(connection) {
      const known = callers.get(keyOf(connection));
      return known === undefined || monotonicMs() - known.atMs > MAX_AGE_MS ? null : known.process;
    },
  };
}
