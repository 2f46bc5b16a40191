import type { Socket } from "node:net";

/** The TCP socket below each TLS stream, and the uppermost TLS stream of each such socket. */
const tcpSockets = new WeakMap<Socket, Socket>();
const tlsStreams = new WeakMap<Socket, Socket>();

/** How long a socket may take to send its last bytes before it is reset, in milliseconds. */
const flushBeforeResetMs = 5_000;

/** Registers a TLS stream over a socket, which may be a TLS stream itself. */
export function registerTlsStream(transport: Socket, stream: Socket): void {
  const bottom = tcpSockets.get(transport) ?? transport;
  tcpSockets.set(stream, bottom);
  tlsStreams.set(bottom, stream);
}

/**
 * Closes a connection without waiting for unwritten bytes. `socket` is any layer of the connection. The uppermost layer is
 * destroyed, which closes the layers below. If the TCP socket is already closing, Node closes the TLS stream itself.
 *
 * Only this file destroys the proxy's sockets. Node crashes (SIGSEGV; seen in 22, 24, 25 and 26) if a TLS stream is
 * destroyed or written to after its TCP socket was destroyed or reset and before that socket's `close` event:
 * docs/node-tls-reset.md.
 */
export function closeSocket(socket: Socket, error?: Error): void {
  const bottom = tcpSockets.get(socket) ?? socket;
  if (bottom.destroyed) return;
  (tlsStreams.get(bottom) ?? bottom).destroy(error);
}

/**
 * Ends a connection with a TCP reset, so that the peer notices the failure. Its TLS stream must not be written to
 * afterwards. A connection that is sending its FIN is closed without a reset: libuv refuses to reset it, and Node (24.21)
 * would then never close the socket.
 */
export function resetSocket(socket: Socket): void {
  const bottom = tcpSockets.get(socket) ?? socket;
  if (bottom.destroyed) return;
  if (isSendingFin(bottom) || isSendingFin(tlsStreams.get(bottom) ?? bottom)) return closeSocket(bottom);
  try {
    bottom.resetAndDestroy();
  } catch {
    closeSocket(bottom); // not a TCP socket
  }
}

const isSendingFin = (socket: Socket) => socket.writableEnded && !socket.writableFinished;

/** Resets a connection after the bytes written to it were sent. */
export function resetAfterFlush(stream: Socket): void {
  if (stream.destroyed || stream.writableLength === 0) return resetSocket(stream);
  const timer = setTimeout(() => resetSocket(stream), flushBeforeResetMs);
  stream.once("close", () => clearTimeout(timer));
  if (!stream.writableEnded) stream.write("", () => resetSocket(stream));
}
