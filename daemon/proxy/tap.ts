import type { Socket } from "node:net";
import type { RelayLog } from "./relay-context.ts";
import type { CloseReason } from "./tap-frames.ts";

/** One side of a connection: the stream with plain bytes, and the TCP socket at the bottom of it. */
export interface TapSide {
  readonly stream: Socket;
  readonly transport: Socket;
}

/** How long the last bytes for a side may take to leave before it is cut off. */
const flushBeforeResetMs = 5_000;

/**
 * Ends a side the hard way, so that the peer learns that something went wrong. During a shutdown libuv refuses to
 * reset, and Node (24.21) then never closes the socket: a side that is just saying its FIN is closed, no more.
 */
export function reset(side: TapSide): void {
  const { stream, transport } = side;
  if (stream.writableEnded && !stream.writableFinished) {
    transport.destroy();
    return;
  }
  try {
    transport.resetAndDestroy();
  } catch {
    transport.destroy(); // not a TCP socket
  }
}

/** Resets a side once what was written to it has left. */
export function resetAfterFlush(side: TapSide): void {
  const { stream, transport } = side;
  if (stream.destroyed || stream.writableLength === 0) return reset(side);
  const timer = setTimeout(() => reset(side), flushBeforeResetMs);
  transport.once("close", () => clearTimeout(timer));
  if (!stream.writableEnded) stream.write("", () => reset(side));
}

/**
 * How long an upstream may be silent once the client has sent its FIN. Most clients that do so are gone, and most
 * upstreams then hang up by themselves; a client that does wait for its answer gets this long.
 */
export const halfOpenMs = 900_000;

/** Calls `onSilent` once the count has stood still for so long; the returned function ends the watch. */
export function watchSilence(bytesRead: () => number, silenceMs: number, onSilent: () => void): () => void {
  let seen = bytesRead();
  const timer = setInterval(() => {
    const now = bytesRead();
    if (now !== seen) {
      seen = now;
      return;
    }
    clearInterval(timer);
    onSilent();
  }, silenceMs);
  return () => clearInterval(timer);
}

/**
 * Passes bytes on both ways as they come, until both sides are done, and writes a copy of them to the log (none for
 * tunnels). The sockets' own backpressure holds: a side that doesn't take bytes stops the other from being read.
 * FIN is passed on as FIN, and what ends abruptly ends abruptly on the other side too. Nothing is ever timed out
 * while both sides are open: a model may think for minutes. The returned function closes both sides in order.
 */
export function startTap(options: {
  readonly client: TapSide;
  readonly upstream: TapSide;
  readonly relayLog: RelayLog | null;
  readonly lingerMs: number;
}): () => void {
  const { relayLog, lingerMs } = options;
  const client = options.client.stream;
  const upstream = options.upstream.stream;
  let done = false;
  let clientEnded = false;
  let upstreamEnded = false;
  let clientClosed = false;
  let upstreamClosed = false;
  let closing = false;
  let stopWatch = () => {};

  const finish = (reason: CloseReason, code: string | null) => {
    if (done) return;
    done = true;
    stopWatch();
    relayLog?.closed(reason, code);
    if (reason === "clean") {
      client.destroy();
      upstream.destroy();
    } else if (reason === "client_aborted") {
      client.destroy();
      reset(options.upstream);
    } else {
      upstream.destroy();
      client.resume(); // what it still sends goes nowhere
      resetAfterFlush(options.client);
    }
  };

  client.on("data", (bytes: Buffer) => {
    if (done) return;
    if (!upstream.write(bytes)) client.pause();
    if (relayLog !== null) relayLog.log.data(relayLog.entry, "request", bytes);
  });
  upstream.on("data", (bytes: Buffer) => {
    if (done) return;
    if (!client.write(bytes)) upstream.pause();
    if (relayLog !== null) relayLog.log.data(relayLog.entry, "response", bytes);
  });
  upstream.on("drain", () => client.resume());
  client.on("drain", () => upstream.resume());

  /** Ends a half-open connection whose remaining side says nothing for so long. */
  const watch = (side: Socket, silenceMs: number) => {
    stopWatch();
    stopWatch = watchSilence(
      () => side.bytesRead,
      silenceMs,
      () => finish("clean", null),
    );
  };

  const onClientEnd = () => {
    if (done) return;
    clientEnded = true;
    relayLog?.log.ended(relayLog.entry, "request");
    upstream.end();
    watch(upstream, halfOpenMs);
  };
  client.on("end", onClientEnd);
  upstream.on("end", () => {
    if (done) return;
    upstreamEnded = true;
    relayLog?.log.ended(relayLog.entry, "response");
    client.end();
    watch(client, lingerMs);
  });

  const onClientError = (error: NodeJS.ErrnoException) => finish("client_aborted", error.code ?? null);
  const onUpstreamError = (error: NodeJS.ErrnoException) => finish("upstream_reset", error.code ?? null);
  client.on("error", onClientError);
  upstream.on("error", onUpstreamError);
  // A server-side TLSSocket of our own reports errors after the handshake here, and only here.
  client.on("_tlsError", onClientError);

  const onClientClose = () => {
    clientClosed = true;
    if (upstreamClosed) finish("clean", null);
    else if (!(closing || (clientEnded && upstreamEnded))) finish("client_aborted", null);
  };
  const onUpstreamClose = () => {
    upstreamClosed = true;
    if (clientClosed) finish("clean", null);
    else if (!(closing || (clientEnded && upstreamEnded))) finish("upstream_reset", null);
  };
  client.on("close", onClientClose);
  upstream.on("close", onUpstreamClose);
  // They may have been paused while the connection was decided upon.
  client.resume();
  upstream.resume();
  // Either may have gone while the other was being connected.
  if (client.readableEnded) onClientEnd();
  if (client.destroyed) onClientClose();
  else if (upstream.destroyed) onUpstreamClose();
  return () => {
    closing = true;
    client.end();
    upstream.end();
  };
}
