import type { Socket } from "node:net";
import type { Authority } from "./authority.ts";
import { closeSocket } from "./close-socket.ts";
import type { DialPurpose, DialResult } from "./dial.ts";
import type { OtherUsers } from "./proxy-config.ts";
import { locateClient, type RelayContext } from "./relay-context.ts";

/** Which user a client's connection belongs to: the one who runs the daemon, another one, or unknown. */
export type PeerOwner = "self" | "other" | "unknown";

/**
 * Finds the user that owns the client's end of a loopback connection. Returns null if the platform can't tell, and `closed`
 * if the client closed its socket before the lookup.
 */
type FindPeerUser = (connection: {
  readonly clientAddress: string;
  readonly clientPort: number;
  readonly serverPort: number;
}) => Promise<number | "closed" | null>;

/** The clients of a proxy and the users they belong to. */
export interface Peers {
  /** Starts looking up a client's user. */
  add(client: Socket): void;
  /** Calls `then` once the client's owner is known, immediately if it is. The returned function cancels this. */
  onOwnerKnown(client: Socket, then: (owner: PeerOwner) => void): () => void;
  /** Sets how users are looked up from now on. Until the first call, every client's user is unknown. */
  setFinder(find: FindPeerUser): void;
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
  owner: PeerOwner | null;
  waiting: ((owner: PeerOwner) => void)[];
}

interface PeersState extends PeersOptions {
  readonly peers: WeakMap<Socket, Peer>;
  /** The number of open connections of each other user. */
  readonly open: Map<number, number>;
  /** The maximum number of connections of one other user. */
  readonly share: number;
  openOfOthers: number;
  find: FindPeerUser | null;
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
    setFinder(find) {
      state.find = find;
    },
  };
}

function addPeer(state: PeersState, client: Socket): void {
  const peer: Peer = { owner: null, waiting: [] };
  state.peers.set(client, peer);
  const { remoteAddress, remotePort, localPort } = client;
  // A client on another machine has no user here.
  if (state.find === null || remoteAddress === undefined || locateClient(client) === "remote")
    return settlePeer(peer, "unknown");
  const timer = setTimeout(() => settlePeer(peer, "unknown"), LOOKUP_TIMEOUT_MS);
  const connection = {
    clientAddress: remoteAddress,
    clientPort: remotePort ?? 0,
    serverPort: localPort ?? 0,
  };
  void state.find(connection).then((user) => {
    clearTimeout(timer);
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

/**
 * Dials for a client, and calls `done` when the client's owner is known too. The lookup runs while the upstream is dialled. The
 * returned function cancels both.
 */
export function dialForPeer(
  context: RelayContext,
  client: Socket,
  target: Authority,
  purpose: DialPurpose,
  done: (dialled: DialResult, owner: PeerOwner) => void,
): () => void {
  let cancel = context.dial(target, purpose, locateClient(client), (dialled) => {
    const cancelWait = context.peers.onOwnerKnown(client, (owner) => done(dialled, owner));
    cancel = () => {
      cancelWait();
      if (dialled.ok) closeSocket(dialled.socket);
    };
  });
  return () => cancel();
}
