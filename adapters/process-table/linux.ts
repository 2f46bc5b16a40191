import process from "node:process";
import { type CallerAnswer, type CallerQuery, UNKNOWN_CALLER } from "./caller-query.ts";
import { CLOSED_INODE, type KernelSocket } from "./kernel-sockets.ts";
import { createKnownProcesses } from "./known-processes.ts";
import { readSockets, type SocketsState } from "./read-sockets.ts";
import { createRecentCallers } from "./recent-callers.ts";
import { createSearch, findKnownHolders, type SearchState, searchProcesses } from "./search-processes.ts";
import { createSocketDiagnosis, type DiagnoseSockets } from "./socket-diag.ts";
import { createSocketQuery, type QuerySockets } from "./socket-query.ts";

/** Maximum number of processes that are searched first because they connected before. */
const MAX_RECENT = 16;

interface LinuxCallersOptions {
  /** Where procfs is mounted. */
  readonly proc?: string;
  /** The user whose processes can be searched; root (0) can search all. */
  readonly ownUid?: number | undefined;
  /** A clock that never jumps, in milliseconds. */
  readonly monotonicMs?: () => number;
  /** Called for each reading of the kernel's tables, each use of `ss`, and each search of one process's descriptors. */
  readonly onRead?: (what: "tables" | "diagnosis" | "descriptors") => void;
  readonly diagnose?: DiagnoseSockets;
  readonly query?: QuerySockets;
}

/**
 * Answers queries in order. `onUsersKnown` is called once before processes are searched, with answers that have no process. One
 * call must have ended before the next one.
 */
export type LinuxCallers = (
  queries: readonly CallerQuery[],
  onUsersKnown?: (answers: readonly CallerAnswer[]) => void,
) => Promise<readonly CallerAnswer[]>;

interface CallersState extends SocketsState, SearchState {
  readonly onRead: NonNullable<LinuxCallersOptions["onRead"]>;
  recent: readonly number[];
}

/**
 * Finds the callers of connections on Linux through `/proc`: a socket's user and inode in the kernel's tables of
 * connections, then the process that has the inode open. A batch reads the tables once, and each process's descriptors
 * at most once. What else a process holds open is remembered for later batches.
 *
 * Reading `/proc` is synchronous and may take many milliseconds, so run it in a thread of its own. Processes of other users
 * are searched only by root. Never rejects.
 */
export function createLinuxCallers({
  proc = "/proc",
  ownUid = process.geteuid?.(),
  monotonicMs = () => performance.now(),
  onRead = () => {},
  diagnose = proc === "/proc" ? createSocketDiagnosis() : async () => null,
  query = proc === "/proc" ? createSocketQuery() : async (sockets) => sockets.map(() => null),
}: LinuxCallersOptions = {}): LinuxCallers {
  const state: CallersState = {
    proc,
    ownUid,
    monotonicMs,
    onRead,
    diagnose,
    query,
    slowUntilMs: 0,
    recent: [],
    holders: new Map(),
    knownProcesses: createKnownProcesses(proc, monotonicMs),
    recentCallers: createRecentCallers(monotonicMs),
  };
  return async (queries, onUsersKnown = () => {}) => {
    try {
      return await answerQueries(state, queries, onUsersKnown);
    } catch {
      return queries.map(() => UNKNOWN_CALLER);
    }
  };
}

async function answerQueries(
  state: CallersState,
  queries: readonly CallerQuery[],
  onUsersKnown: (answers: readonly CallerAnswer[]) => void,
): Promise<readonly CallerAnswer[]> {
  const sockets = await readSockets(state, queries);
  const search = createSearch(state, queries, sockets);
  const processAt = (at: number) => search.found.get(sockets[at]?.inode ?? "") ?? null;
  const users = sockets.map(userAnswer);
  findKnownHolders(state, search);
  onUsersKnown(users.map((answer, at) => ({ ...answer, process: processAt(at) })));
  searchProcesses(state, search);
  state.recent = [...new Set([...search.pids, ...state.recent])].slice(0, MAX_RECENT);
  for (const [at, query] of queries.entries()) {
    if (query.storesProcess === true)
      state.recentCallers.set(query, { process: processAt(at), socket: openSocket(sockets[at] ?? null) });
  }
  return users.map((answer, at) => {
    const query = queries[at] as CallerQuery;
    return query.wantsProcess
      ? { ...answer, process: processAt(at) ?? state.recentCallers.find(query) }
      : answer;
  });
}

const openSocket = (socket: KernelSocket | null) => (socket?.inode === CLOSED_INODE ? null : socket);

function userAnswer(socket: KernelSocket | null): CallerAnswer {
  if (socket === null) return UNKNOWN_CALLER;
  if (socket.inode === CLOSED_INODE) return { ...UNKNOWN_CALLER, isClosed: true };
  return { uid: socket.uid, process: null };
}
