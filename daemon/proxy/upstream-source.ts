import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Authority } from "./authority.ts";
import { resetSocket } from "./close-socket.ts";
import type { ClientLocation } from "./dial.ts";
import { type DialTlsResult, dialTls } from "./dial-tls.ts";
import type { RelayContext } from "./relay-context.ts";
import type { WarmConnection } from "./warm-connections.ts";

/** Where an interception gets its verified upstream connection from. */
export interface UpstreamSource {
  /** Opens the connection for the client on `server`. Calls `done` once, unless the client has disconnected. */
  open(server: TLSSocket, done: (opened: DialTlsResult) => void): void;
  /** Closes what was opened so far, because the client has disconnected. */
  abandon(): void;
}

/** Starts TLS on a connection that was dialled for the client. */
export function secureDialled(
  { upstreamTls, warm }: RelayContext,
  socket: Socket,
  target: Authority,
  client: ClientLocation,
): UpstreamSource {
  return {
    open(_, done) {
      upstreamTls.secure(socket, target.host, target.port, (secured) => {
        if (secured.ok) warm.connected(target, client);
        done(secured);
      });
    },
    abandon: () => resetSocket(socket),
  };
}

/**
 * Uses a warm connection once the client has sent something. If the connection is lost before, a new one is dialled: nothing
 * was sent on it. Afterwards nothing is repeated, since the provider may have read it.
 */
export function useWarm(
  context: RelayContext,
  connection: WarmConnection,
  target: Authority,
  client: ClientLocation,
): UpstreamSource {
  let abandon = () => connection.discard();
  return {
    open(server, done) {
      const stop = () => {
        connection.onLost = null;
        server.off("data", onData);
        server.off("end", onReady);
        server.pause();
      };
      const dial = () => {
        stop();
        abandon = dialTls(context, target, client, (opened) => {
          if (opened.ok) context.warm.connected(target, client);
          done(opened);
        });
      };
      const onReady = () => {
        stop();
        // The connection may have ended in the same turn of the event loop.
        const check = setImmediate(() => {
          const socket = connection.claim();
          if (socket === null) dial();
          else done({ ok: true, socket });
        });
        abandon = () => {
          clearImmediate(check);
          connection.discard();
        };
      };
      const onData = (bytes: Buffer) => {
        onReady();
        server.unshift(bytes);
      };
      if (connection.isLost) return dial();
      connection.onLost = dial;
      server.on("data", onData);
      server.on("end", onReady);
      server.resume();
    },
    abandon: () => abandon(),
  };
}
