import { readdirSync, statSync } from "node:fs";
import process from "node:process";
import type { ProcessFacts } from "../../core/ports/process-table.ts";
import { type CallerAnswer, type CallerQuery, UNKNOWN_CALLER } from "./caller-query.ts";
import {
  CLOSED_INODE,
  findSocket,
  indexDiagnosedSockets,
  indexSockets,
  type KernelSocket,
} from "./kernel-sockets.ts";
import { createKnownProcesses, type KnownProcesses } from "./known-processes.ts";
import { attempt, read, readLink, readStat, SOCKET_PREFIX } from "./linux-process.ts";
import { createRecentCallers, type RecentCallers } from "./recent-callers.ts";
import { createSocketDiagnosis, type DiagnoseSockets } from "./socket-diag.ts";
import { createSocketQuery, type QuerySockets, type SocketEnds } from "./socket-query.ts";

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
/** A process with more descriptors is searched last: reading 20,000 of them takes 180 ms. */
const MANY_DESCRIPTORS = 1_024;
/** Maximum number of processes that are searched a second time for a socket that was not found. */
const MAX_RETRIED = 32;
/** Maximum number of processes that are searched first because they connected before. */
const MAX_RECENT = 16;
/** Maximum number of sockets whose process is remembered. */
const MAX_KNOWN_SOCKETS = 8_192;
/** Time limit for the process searches that a batch's queries want, in milliseconds. */
const MAX_SEARCH_MS = 2_000;
/** Time limit for the process searches for later queries, in milliseconds. The next batch waits for them. */
const MAX_EARLY_SEARCH_MS = 200;

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

/** A process, identified so that a later one with the same pid is not taken for it. */
interface Holder {
  readonly pid: number;
  /** Clock ticks since boot, as the kernel writes them. */
  readonly startTime: string;
}

interface CallersState {
  readonly proc: string;
  readonly ownUid: number | undefined;
  readonly monotonicMs: () => number;
  readonly onRead: (what: "tables" | "diagnosis" | "descriptors") => void;
  readonly diagnose: DiagnoseSockets;
  readonly query: QuerySockets;
  /** Until when the kernel's tables count as slow. */
  slowUntilMs: number;
  /** Pids that connected before, latest first. */
  recent: number[];
  /** The process that holds a socket, by the socket's inode. The kernel counts inodes up, so they are not soon reused. */
  readonly holders: Map<string, Holder>;
  readonly knownProcesses: KnownProcesses;
  readonly recentCallers: RecentCallers;
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

/**
 * Finds each query's socket; null if the kernel does not have it. For a process, the socket that was found when the connection
 * was accepted is used again, since it may be closed by now. For a user it is not: that answer grants access.
 */
async function readSockets(
  state: CallersState,
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
  { query: ask }: CallersState,
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
  state: CallersState,
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

/** The search for the processes that hold sockets, by inode. */
interface Search {
  /** Inodes that a query of this batch wants. */
  readonly now: Set<string>;
  /** Inodes that only later queries may want. */
  readonly later: Set<string>;
  /** The users who opened the sockets. */
  readonly uids: Set<number>;
  /** The processes that were found. */
  readonly found: Map<string, ProcessFacts>;
  readonly pids: Set<number>;
}

function createSearch(
  state: CallersState,
  queries: readonly CallerQuery[],
  sockets: readonly (KernelSocket | null)[],
): Search {
  const search: Search = {
    now: new Set(),
    later: new Set(),
    uids: new Set(),
    found: new Map(),
    pids: new Set(),
  };
  for (const [at, query] of queries.entries()) {
    const { wantsProcess, storesProcess } = query;
    const socket = sockets[at] ?? null;
    if (wantsProcess && state.recentCallers.find(query) !== null) continue;
    if (socket === null || socket.inode === CLOSED_INODE || !isSearchable(state, socket.uid)) continue;
    if (!wantsProcess && storesProcess !== true) continue;
    (wantsProcess ? search.now : search.later).add(socket.inode);
    search.uids.add(socket.uid);
  }
  return search;
}

const isFinished = ({ now, later }: Search) => now.size + later.size === 0;

/** Ends the search for a socket. The facts are read immediately: a short-lived process may be gone when the batch ends. */
function finish({ knownProcesses }: CallersState, search: Search, inode: string, pid: number): void {
  const isWanted = search.now.delete(inode);
  if (!search.later.delete(inode) && !isWanted) return;
  search.found.set(inode, knownProcesses.factsOf(pid));
  search.pids.add(pid);
}

/** Finds the processes that can be found without a search. */
function findKnownHolders(state: CallersState, search: Search): void {
  if (isFinished(search)) return;
  for (const inode of [...search.now, ...search.later]) {
    const holder = state.holders.get(inode);
    if (holder !== undefined && readStat(state.proc, holder.pid)?.startTime === holder.startTime)
      finish(state, search, inode, holder.pid);
  }
  if (isFinished(search)) return;
  state.knownProcesses.findHolders((inode, pid) => {
    finish(state, search, inode, pid);
    return isFinished(search);
  });
}

const isSearchable = ({ ownUid }: CallersState, uid: number) =>
  ownUid === undefined || ownUid === 0 || uid === ownUid;

function searchProcesses(state: CallersState, search: Search): void {
  if (isFinished(search)) return;
  const startedAtMs = state.monotonicMs();
  const isDone = () => {
    const maxMs = search.now.size > 0 ? MAX_SEARCH_MS : MAX_EARLY_SEARCH_MS;
    return isFinished(search) || state.monotonicMs() - startedAtMs > maxMs;
  };
  const searched: number[] = [];
  for (const pid of candidates(state, search.uids)) {
    searchProcess(state, pid, search);
    searched.push(pid);
    if (isDone()) return;
  }
  // A process may have opened the socket, or passed it on, while the others were searched.
  for (const pid of searched.slice(0, MAX_RETRIED)) {
    searchProcess(state, pid, search);
    if (isDone()) return;
  }
}

/**
 * Returns the pids to search: those that connected before, then the youngest first, and those with many descriptors last.
 * Before Linux 6.2, the number of descriptors is unknown.
 */
function* candidates({ proc, recent }: CallersState, uids: ReadonlySet<number>): Generator<number> {
  const crowded: number[] = [];
  const tried = new Set(recent);
  const isCrowded = (pid: number) =>
    (attempt(() => statSync(`${proc}/${pid}/fd`).size) ?? 0) > MANY_DESCRIPTORS && crowded.push(pid) > 0;
  for (const pid of tried) if (!isCrowded(pid)) yield pid;
  const pids = (attempt(() => readdirSync(proc)) ?? []).filter((name) => /^\d+$/.test(name)).map(Number);
  for (const pid of pids.sort((a, b) => b - a)) {
    const owner = tried.has(pid) ? undefined : attempt(() => statSync(`${proc}/${pid}`).uid);
    if (owner != null && uids.has(owner) && !isCrowded(pid)) yield pid;
  }
  yield* crowded;
}

/** Looks for sockets in the descriptors of a process, and remembers all of its sockets. Stops early in a crowded process. */
function searchProcess(state: CallersState, pid: number, search: Search): void {
  const folder = `${state.proc}/${pid}/fd`;
  const descriptors = attempt(() => readdirSync(folder));
  const startTime = readStat(state.proc, pid)?.startTime;
  if (descriptors === null || startTime === undefined) return;
  state.onRead("descriptors");
  const holder = { pid, startTime };
  // Sockets in use are mostly among the latest descriptors.
  for (const descriptor of descriptors.reverse()) {
    const link = readLink(`${folder}/${descriptor}`);
    if (link === null || !link.startsWith(SOCKET_PREFIX)) continue;
    const inode = link.slice(SOCKET_PREFIX.length, -1);
    remember(state.holders, inode, holder);
    if (search.now.has(inode) || search.later.has(inode)) state.knownProcesses.remember(pid, descriptor);
    finish(state, search, inode, pid);
    if (descriptors.length > MANY_DESCRIPTORS && isFinished(search)) return;
  }
}

function remember(holders: Map<string, Holder>, inode: string, holder: Holder): void {
  holders.delete(inode);
  holders.set(inode, holder);
  const [oldest] = holders.keys();
  if (holders.size > MAX_KNOWN_SOCKETS && oldest !== undefined) holders.delete(oldest);
}
