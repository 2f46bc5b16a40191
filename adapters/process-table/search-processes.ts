import { readdirSync, statSync } from "node:fs";
import type { ProcessFacts } from "../../core/ports/process-table.ts";
import type { CallerQuery } from "./caller-query.ts";
import { CLOSED_INODE, type KernelSocket } from "./kernel-sockets.ts";
import type { KnownProcesses } from "./known-processes.ts";
import { attempt, readLink, readStat, SOCKET_PREFIX } from "./linux-process.ts";
import type { RecentCallers } from "./recent-callers.ts";

/** A process with more descriptors is searched last: reading 20,000 of them takes 180 ms. */
const MANY_DESCRIPTORS = 1_024;
/** Maximum number of processes that are searched a second time for a socket that was not found. */
const MAX_RETRIED = 32;
/** Maximum number of sockets whose process is remembered. */
const MAX_KNOWN_SOCKETS = 8_192;
/** Time limit for the process searches that a batch's queries want, in milliseconds. */
const MAX_SEARCH_MS = 2_000;
/** Time limit for the process searches for later queries, in milliseconds. The next batch waits for them. */
const MAX_EARLY_SEARCH_MS = 200;

/** A process, identified so that a later one with the same pid is not taken for it. */
interface Holder {
  readonly pid: number;
  /** Clock ticks since boot, as the kernel writes them. */
  readonly startTime: string;
}

/** What is known about processes. */
export interface SearchState {
  /** Where procfs is mounted. */
  readonly proc: string;
  /** The user whose processes can be searched; root (0) can search all. */
  readonly ownUid: number | undefined;
  readonly monotonicMs: () => number;
  readonly onRead: (what: "descriptors") => void;
  /** Pids that connected before, latest first. */
  readonly recent: readonly number[];
  /** The process that holds a socket, by the socket's inode. The kernel counts inodes up, so they are not soon reused. */
  readonly holders: Map<string, Holder>;
  readonly knownProcesses: KnownProcesses;
  readonly recentCallers: RecentCallers;
}

/** The search for the processes that hold sockets, by inode. */
export interface Search {
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

/** Creates the search for the sockets of a batch whose processes are wanted and may be searched. */
export function createSearch(
  state: SearchState,
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
function finish({ knownProcesses }: SearchState, search: Search, inode: string, pid: number): void {
  const isWanted = search.now.delete(inode);
  if (!search.later.delete(inode) && !isWanted) return;
  search.found.set(inode, knownProcesses.factsOf(pid));
  search.pids.add(pid);
}

/** Finds the processes that can be found without a search. */
export function findKnownHolders(state: SearchState, search: Search): void {
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

const isSearchable = ({ ownUid }: SearchState, uid: number) =>
  ownUid === undefined || ownUid === 0 || uid === ownUid;

/** Searches the descriptors of processes until all sockets are found or the time is up. */
export function searchProcesses(state: SearchState, search: Search): void {
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
function* candidates({ proc, recent }: SearchState, uids: ReadonlySet<number>): Generator<number> {
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
function searchProcess(state: SearchState, pid: number, search: Search): void {
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
