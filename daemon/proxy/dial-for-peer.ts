import type { Socket } from "node:net";
import type { Authority } from "./authority.ts";
import { closeSocket } from "./close-socket.ts";
import type { DialPurpose, DialResult } from "./dial.ts";
import { locateClient } from "./locate-client.ts";
import type { PeerOwner } from "./peers.ts";
import type { RelayContext } from "./relay-context.ts";

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
