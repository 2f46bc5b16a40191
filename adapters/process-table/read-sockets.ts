import type { CallerQuery } from "./caller-query.ts";
import { findSocket, indexDiagnosedSockets, indexSockets, type KernelSocket } from "./kernel-sockets.ts";
import { read } from "./linux-process.ts";
import type { RecentCallers } from "./recent-callers.ts";
import type { DiagnoseSockets } from "./socket-diag.ts";
import type { QuerySockets, SocketEnds } from "./socket-query.ts";

/** Maximum number of readings of the kernel's tables. They are read in pieces, so one reading may miss a connection. */
const MAX_READINGS = 3;
/** A reading of the kernel's tables that takes longer than this is slow, in milliseconds. */
const SLOW_READING_MS = 15;
/**
 * Tables above this size are large, in bytes: about 1,700 sockets. A busy machine also reads small tables slowly, and `ss` is
 * no faster then.
 */
const LARGE_TABLES_BYTES = 256 * 1024;
/**
 * How long `ss` is used after a slow reading of large tables, in milliseconds. Then one reading shows whether they are still
 * large.
 */
const SLOW_FOR_MS = 30_000;

/** Where sockets are read from. */
export interface SocketsState {
  /** Where procfs is mounted. */
  readonly proc: string;
  readonly monotonicMs: () => number;
  readonly onRead: (what: "tables" | "diagnosis") => void;
  readonly diagnose: DiagnoseSockets;
  readonly query: QuerySockets;
  /** Until when the kernel's tables count as slow. */
  slowUntilMs: number;
  readonly recentCallers: RecentCallers;
}

/**
 * Finds each query's socket; null if the kernel does not have it. For a process, the socket that was found when the connection
 * was accepted is used again, since it may be closed by now. For a user it is not: that answer grants access.
 */
export async function readSockets(
  state: SocketsState,
  queries: readonly CallerQuery[],
): Promise<(KernelSocket | null)[]> {
  const found = queries.map((query) => (query.wantsProcess ? state.recentCallers.findSocket(query) : null));
  await askForSockets(state, queries, found);
  for (let reading = 0; reading < MAX_READINGS && found.includes(null); reading++) {
    const ports = new Set(queries.filter((_, at) => found[at] === null).map(({ clientPort }) => clientPort));
    const index = await listSockets(state, ports);
    for (const [at, query] of queries.entries()) found[at] ??= findSocket(index, query);
  }
  return found;
}

/** Asks the kernel for the sockets whose ends are known. The tables show those that it does not find, too. */
async function askForSockets(
  { query: ask }: SocketsState,
  queries: readonly CallerQuery[],
  found: (KernelSocket | null)[],
): Promise<void> {
  const asked = queries.flatMap((query, at) => {
    const ends = found[at] === null ? endsOf(query) : null;
    return ends === null ? [] : [{ at, ends }];
  });
  if (asked.length === 0) return;
  const sockets = await ask(asked.map(({ ends }) => ends));
  for (const [index, { at }] of asked.entries()) found[at] = sockets[index] ?? null;
}

function endsOf({ clientAddress, clientPort, serverAddress, serverPort }: CallerQuery): SocketEnds | null {
  if (clientAddress === null || serverAddress === undefined || serverPort === null) return null;
  return {
    localAddress: clientAddress,
    localPort: clientPort,
    remoteAddress: serverAddress,
    remotePort: serverPort,
  };
}

/** Lists the sockets with these local ports: from the kernel's tables, or through `ss` if these are large. */
async function listSockets(
  state: SocketsState,
  ports: ReadonlySet<number>,
): Promise<ReturnType<typeof indexSockets>> {
  const { proc, onRead, monotonicMs } = state;
  if (monotonicMs() < state.slowUntilMs) {
    onRead("diagnosis");
    const output = await state.diagnose(ports);
    if (output !== null) return indexDiagnosedSockets(output);
  }
  onRead("tables");
  const startedAtMs = monotonicMs();
  const tables = [read(`${proc}/net/tcp`) ?? "", read(`${proc}/net/tcp6`) ?? ""];
  const endedAtMs = monotonicMs();
  const bytes = tables.reduce((sum, { length }) => sum + length, 0);
  if (bytes > LARGE_TABLES_BYTES && endedAtMs - startedAtMs > SLOW_READING_MS)
    state.slowUntilMs = endedAtMs + SLOW_FOR_MS;
  return indexSockets(tables, ports);
}
