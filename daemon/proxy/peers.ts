import type { Socket } from "node:net";
import type { ProcessFacts } from "../../core/ports/process-table.ts";
import { closeSocket } from "./close-socket.ts";
import { locateClient } from "./locate-client.ts";
import type { OtherUsers } from "./proxy-config.ts";

/** Which user a client's connection belongs to: the one who runs the daemon, another one, or unknown. */
export type PeerOwner = "self" | "other" | "unknown";

/** What a lookup found about a client. */
interface PeerFacts {
  /** Null if the platform can't tell, and `closed` if the client closed its socket before the lookup. */
  readonly user: number | "closed" | null;
  /** The client's process; null if it was not found at once. */
  readonly process: ProcessFacts | null;
}

/** Finds the user that owns the client's end of a loopback connection. */
type FindPeer = (connection: {
  readonly clientAddress: string;
  readonly clientPort: number;
  readonly serverAddress: string;
  readonly serverPort: number;
}) => Promise<PeerFacts>;

/** The clients of a proxy and the users they belong to. */
export interface Peers {
  /** Starts looking up a client's user. */
  add(client: Socket): void;
  /** Calls `then` once the client's owner is known, immediately if it is. The returned function cancels this. */
  onOwnerKnown(client: Socket, then: (owner: PeerOwner) => void): () => void;
  /** Whether a lookup of the client was started. */
  isLookedUp(client: Socket): boolean;
  /** Returns the process of a client whose owner is known. Null if the lookup did not find it. */
  processOf(client: Socket): ProcessFacts | null;
  /** Sets how users are looked up from now on. Until the first call, every client's user is unknown. */
  setFinder(find: FindPeer): void;
}

/** After this time, in milliseconds, a lookup is abandoned and the client's user stays unknown. */
const LOOKUP_TIMEOUT_MS = 1_000;

/** The share of the connections that another user may hold. All other users together may hold twice as many. */
const USER_CONNECTION_SHARE = 1 / 4;

interface PeersOptions {
  /** The user of this process. Undefined if the platform has no user IDs. */
  readonly ownUid: number | undefined;
  readonly otherUsers: OtherUsers;
  readonly maxConnections: number;
  /** Called when a connection beyond its user's share was closed. */
  onRefused(): void;
}

interface Peer {
  readonly isLookedUp: boolean;
  owner: PeerOwner | null;
  process: ProcessFacts | null;
  waiting: ((owner: PeerOwner) => void)[];
}

interface PeersState extends PeersOptions {
  readonly peers: WeakMap<Socket, Peer>;
  /** The number of open connections of each other user. */
  readonly open: Map<number, number>;
  /** The maximum number of connections of one other user. */
  readonly share: number;
  openOfOthers: number;
  find: FindPeer | null;
}

/**
 * Creates a registry of the clients' users. With `otherUsers: "meter"`, other users' calls are metered as this user's. Their
 * share of the connections is limited in either case.
 */
export function createPeers(options: PeersOptions): Peers {
  const state: PeersState = {
    ...options,
    peers: new WeakMap(),
    open: new Map(),
    share: Math.max(1, Math.floor(options.maxConnections * USER_CONNECTION_SHARE)),
    openOfOthers: 0,
    find: null,
  };
  return {
    add: (client) => addPeer(state, client),
    onOwnerKnown: (client, then) => awaitOwner(state.peers.get(client), then),
    isLookedUp: (client) => state.peers.get(client)?.isLookedUp ?? false,
    processOf: (client) => state.peers.get(client)?.process ?? null,
    setFinder(find) {
      state.find = find;
    },
  };
}

function addPeer(state: PeersState, client: Socket): void {
  const { remoteAddress, remotePort, localAddress, localPort } = client;
  // A client on another machine has no user here.
  const find = locateClient(client) === "remote" ? null : state.find;
  const peer: Peer = { isLookedUp: find !== null, owner: null, process: null, waiting: [] };
  state.peers.set(client, peer);
  if (find === null || remoteAddress === undefined) return settlePeer(peer, "unknown");
  const timer = setTimeout(() => settlePeer(peer, "unknown"), LOOKUP_TIMEOUT_MS);
  const connection = {
    clientAddress: remoteAddress,
    clientPort: remotePort ?? 0,
    serverAddress: localAddress ?? "",
    serverPort: localPort ?? 0,
  };
  void find(connection).then(({ user, process }) => {
    clearTimeout(timer);
    peer.process = process;
    if (typeof user === "number" && user !== state.ownUid) countConnection(state, client, user);
    if (peer.owner === null) settlePeer(peer, ownerOf(state, user));
  });
}

function awaitOwner(peer: Peer | undefined, then: (owner: PeerOwner) => void): () => void {
  if (peer === undefined || peer.owner !== null) {
    then(peer?.owner ?? "unknown");
    return () => {};
  }
  peer.waiting.push(then);
  return () => {
    peer.waiting = peer.waiting.filter((each) => each !== then);
  };
}

function settlePeer(peer: Peer, owner: PeerOwner): void {
  peer.owner = owner;
  for (const then of peer.waiting.splice(0)) then(owner);
}

/** Returns whose a connection is. A closed socket counts as another user's: its user can't be found, and it reads no response. */
function ownerOf({ ownUid, otherUsers }: PeersState, user: number | "closed" | null): PeerOwner {
  if (user === null) return "unknown";
  return user !== ownUid && otherUsers === "tunnel" ? "other" : "self";
}

/** Counts a connection of another user, or closes it if it exceeds that user's share. */
function countConnection(state: PeersState, client: Socket, uid: number): void {
  const { open, share } = state;
  if (client.destroyed) return;
  const held = open.get(uid) ?? 0;
  if (held >= share || state.openOfOthers >= share * 2) {
    state.onRefused();
    closeSocket(client);
    return;
  }
  open.set(uid, held + 1);
  state.openOfOthers += 1;
  client.once("close", () => {
    state.openOfOthers -= 1;
    const left = (open.get(uid) ?? 1) - 1;
    if (left === 0) open.delete(uid);
    else open.set(uid, left);
  });
}
