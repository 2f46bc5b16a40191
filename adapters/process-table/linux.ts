import { readdirSync, statSync } from "node:fs";
import process from "node:process";
import type { ConnectionOwnerLookup } from "../../core/ports/connection-owner.ts";
import type { ProcessFacts, ProcessTable } from "../../core/ports/process-table.ts";
import { type CallerAnswer, type CallerQuery, UNKNOWN_CALLER } from "./caller-query.ts";
import { CLOSED_INODE, findSocket, indexSockets, type KernelSocket } from "./kernel-sockets.ts";
import { attempt, read, readFacts, readLink, readStat } from "./linux-process.ts";
import { createConnectionOwners, createLookupQueue, createProcessTable } from "./lookup-queue.ts";
import { createRecentCallers, type RecentCallers } from "./recent-callers.ts";

/** Maximum number of readings of the kernel's tables. They are read in pieces, so one reading may miss a connection. */
const MAX_READINGS = 3;
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
  /** Called for each reading of the kernel's tables and each search of one process's descriptors. */
  readonly onRead?: (what: "tables" | "descriptors") => void;
}

/**
 * Answers queries in order. `onUsersKnown` is called once before processes are searched, with answers that have no process.
 */
type LinuxCallers = (
  queries: readonly CallerQuery[],
  onUsersKnown?: (answers: readonly CallerAnswer[]) => void,
) => readonly CallerAnswer[];

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
  readonly onRead: (what: "tables" | "descriptors") => void;
  /** Pids that connected before, latest first. */
  recent: number[];
  /** The process that holds a socket, by the socket's inode. The kernel counts inodes up, so they are not soon reused. */
  readonly holders: Map<string, Holder>;
  readonly recentCallers: RecentCallers;
}

/**
 * Finds the callers of connections on Linux through `/proc`: a socket's user and inode in the kernel's tables of
 * connections, then the process that has the inode open. A batch reads the tables once, and each process's descriptors
 * at most once. What else a process holds open is remembered for later batches.
 *
 * The work is synchronous and may take many milliseconds, so run it in a thread of its own. Processes of other users
 * are searched only by root. Never throws.
 */
export function createLinuxCallers({
  proc = "/proc",
  ownUid = process.geteuid?.(),
  monotonicMs = () => performance.now(),
  onRead = () => {},
}: LinuxCallersOptions = {}): LinuxCallers {
  const state: CallersState = {
    proc,
    ownUid,
    monotonicMs,
    onRead,
    recent: [],
    holders: new Map(),
    recentCallers: createRecentCallers(monotonicMs),
  };
  return (queries, onUsersKnown = () => {}) => {
    try {
      return answerQueries(state, queries, onUsersKnown);
    } catch {
      return queries.map(() => UNKNOWN_CALLER);
    }
  };
}

function answerQueries(
  state: CallersState,
  queries: readonly CallerQuery[],
  onUsersKnown: (answers: readonly CallerAnswer[]) => void,
): readonly CallerAnswer[] {
  const sockets = readSockets(state, queries);
  const users = sockets.map(userAnswer);
  onUsersKnown(users);
  const processes = findProcesses(state, queries, sockets);
  const processAt = (at: number) => processes.get(sockets[at]?.inode ?? "") ?? null;
  for (const [at, query] of queries.entries()) {
    if (query.storesProcess === true) state.recentCallers.set(query, processAt(at));
  }
  return users.map((answer, at) => {
    const query = queries[at] as CallerQuery;
    if (!query.wantsProcess) return answer;
    const isOpen = answer.uid !== null;
    return { ...answer, process: processAt(at) ?? (isOpen ? null : state.recentCallers.find(query)) };
  });
}

function userAnswer(socket: KernelSocket | null): CallerAnswer {
  if (socket === null) return UNKNOWN_CALLER;
  if (socket.inode === CLOSED_INODE) return { ...UNKNOWN_CALLER, isClosed: true };
  return { uid: socket.uid, process: null };
}

/** Finds each query's socket in the kernel's tables; null if they don't have it. */
function readSockets(
  { proc, onRead }: CallersState,
  queries: readonly CallerQuery[],
): (KernelSocket | null)[] {
  const found: (KernelSocket | null)[] = queries.map(() => null);
  for (let reading = 0; reading < MAX_READINGS && found.includes(null); reading++) {
    const ports = new Set(queries.filter((_, at) => found[at] === null).map(({ clientPort }) => clientPort));
    onRead("tables");
    const tables = [read(`${proc}/net/tcp`) ?? "", read(`${proc}/net/tcp6`) ?? ""];
    const index = indexSockets(tables, ports);
    for (const [at, query] of queries.entries()) found[at] ??= findSocket(index, query);
  }
  return found;
}

/** The inodes whose processes have not been found yet. */
interface Search {
  /** Inodes that a query of this batch wants. */
  readonly now: Set<string>;
  /** Inodes that only later queries may want. */
  readonly later: Set<string>;
  /** The users who opened the sockets. */
  readonly uids: Set<number>;
}

/** Finds the processes that hold the sockets, by inode. */
function findProcesses(
  state: CallersState,
  queries: readonly CallerQuery[],
  sockets: readonly (KernelSocket | null)[],
): ReadonlyMap<string, ProcessFacts> {
  const facts = new Map<number, ProcessFacts>();
  const byInode = new Map<string, ProcessFacts>();
  const search: Search = { now: new Set(), later: new Set(), uids: new Set() };
  // The facts are read immediately: a short-lived process may be gone when the batch ends.
  const found = (inode: string, pid: number) => {
    const known = facts.get(pid) ?? readFacts(state.proc, pid);
    facts.set(pid, known);
    byInode.set(inode, known);
    search.now.delete(inode);
    search.later.delete(inode);
  };
  for (const [at, { wantsProcess, storesProcess }] of queries.entries()) {
    const socket = sockets[at] ?? null;
    if (socket === null || socket.inode === CLOSED_INODE || !isSearchable(state, socket.uid)) continue;
    if (!wantsProcess && storesProcess !== true) continue;
    const holder = state.holders.get(socket.inode);
    if (holder !== undefined && readStat(state.proc, holder.pid)?.startTime === holder.startTime) {
      found(socket.inode, holder.pid);
    } else {
      (wantsProcess ? search.now : search.later).add(socket.inode);
      search.uids.add(socket.uid);
    }
  }
  searchProcesses(state, search, found);
  state.recent = [...new Set([...facts.keys(), ...state.recent])].slice(0, MAX_RECENT);
  return byInode;
}

const isSearchable = ({ ownUid }: CallersState, uid: number) =>
  ownUid === undefined || ownUid === 0 || uid === ownUid;

function searchProcesses(
  state: CallersState,
  search: Search,
  found: (inode: string, pid: number) => void,
): void {
  const { now, later, uids } = search;
  if (now.size + later.size === 0) return;
  const startedAtMs = state.monotonicMs();
  for (const pid of candidates(state, uids)) {
    searchProcess(state, pid, (inode) => {
      if (now.has(inode) || later.has(inode)) found(inode, pid);
    });
    const maxMs = now.size > 0 ? MAX_SEARCH_MS : MAX_EARLY_SEARCH_MS;
    if (now.size + later.size === 0 || state.monotonicMs() - startedAtMs > maxMs) return;
  }
}

/** Returns the pids to search: those that connected before, then the youngest first. */
function* candidates({ proc, recent }: CallersState, uids: ReadonlySet<number>): Generator<number> {
  const tried = new Set(recent);
  yield* tried;
  const pids = (attempt(() => readdirSync(proc)) ?? []).filter((name) => /^\d+$/.test(name)).map(Number);
  for (const pid of pids.sort((a, b) => b - a)) {
    const owner = tried.has(pid) ? undefined : attempt(() => statSync(`${proc}/${pid}`).uid);
    if (owner != null && uids.has(owner)) yield pid;
  }
}

/** Reports the inodes of the sockets that a process holds, and remembers them. */
function searchProcess(state: CallersState, pid: number, report: (inode: string) => void): void {
  const folder = `${state.proc}/${pid}/fd`;
  const descriptors = attempt(() => readdirSync(folder));
  const startTime = readStat(state.proc, pid)?.startTime;
  if (descriptors === null || startTime === undefined) return;
  state.onRead("descriptors");
  const holder = { pid, startTime };
  // Sockets in use are mostly among the latest descriptors.
  for (const descriptor of descriptors.reverse()) {
    const link = readLink(`${folder}/${descriptor}`);
    if (link === null || !link.startsWith("socket:[")) continue;
    const inode = link.slice("socket:[".length, -1);
    remember(state.holders, inode, holder);
    report(inode);
  }
}

function remember(holders: Map<string, Holder>, inode: string, holder: Holder): void {
  holders.delete(inode);
  holders.set(inode, holder);
  const [oldest] = holders.keys();
  if (holders.size > MAX_KNOWN_SOCKETS && oldest !== undefined) holders.delete(oldest);
}

/**
 * Creates a process table on Linux that reads `/proc` in the calling thread. The daemon uses `createCallerLookup()`, which
 * has its own thread.
 */
export function createLinuxProcessTable(options?: LinuxCallersOptions): ProcessTable {
  const answer = createLinuxCallers(options);
  return createProcessTable(createLookupQueue(async (queries) => answer(queries)));
}

/**
 * Creates the lookup of connection owners on Linux. The kernel's tables state the user of every socket, including other
 * users'.
 */
export function createLinuxConnectionOwners(options: LinuxCallersOptions = {}): ConnectionOwnerLookup {
  const answer = createLinuxCallers(options);
  return createConnectionOwners(
    createLookupQueue(async (queries) => answer(queries)),
    options.ownUid,
  );
}
