import type { Socket } from "node:net";
import { closeSocket, resetAfterFlush, resetSocket } from "./close-socket.ts";
import { createHeldRequests, type HeldLink, type HeldRequests } from "./held-requests.ts";
import { endCutClient, type RelayLog, sendRefusal } from "./relay-context.ts";
import { type CutOrder, piecesOf } from "./response-cut.ts";
import type { CloseReason, TapDirection } from "./tap-frames.ts";

/**
 * How long an upstream may be silent after the client's FIN, in milliseconds. Most clients that send a FIN have closed, and
 * most upstreams then close too. A client that still waits for its response has this long.
 */
export const halfOpenMs = 900_000;

/** Calls `onSilent` once the count has not changed for `silenceMs`. The returned function stops this. */
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

interface TapOptions {
  /** The streams with plain bytes. */
  readonly client: Socket;
  readonly upstream: Socket;
  /** Null for a tunnel, which is not logged. */
  readonly relayLog: RelayLog | null;
  readonly lingerMs: number;
  /** Holds each request until the decision on it, from the first that begins while the gate has a configuration. */
  readonly hold?: Pick<HeldLink, "gate" | "target" | "createInflater">;
}

interface TapState extends TapOptions {
  done: boolean;
  clientEnded: boolean;
  upstreamEnded: boolean;
  clientClosed: boolean;
  upstreamClosed: boolean;
  /** Whether a graceful close was requested. */
  closing: boolean;
  stopWatch: () => void;
  requests: HeldRequests | null;
  /** Where the last bytes came from. */
  last: TapDirection | null;
}

/**
 * Relays bytes in both directions until both sides have ended, and writes a copy of them to the log. The sockets'
 * backpressure applies: while one side accepts no bytes, the other is not read. A FIN is relayed as a FIN, and a reset as a
 * reset. Nothing times out while both sides are open, since a model may be silent for minutes. The returned function
 * closes both sides gracefully.
 */
export function startTap(options: TapOptions): () => void {
  const tap: TapState = {
    ...options,
    done: false,
    clientEnded: false,
    upstreamEnded: false,
    clientClosed: false,
    upstreamClosed: false,
    closing: false,
    stopWatch: () => {},
    requests: null,
    last: null,
  };
  const { client, upstream } = tap;
  passBytes(tap, "request", client, upstream);
  passBytes(tap, "response", upstream, client);
  client.on("end", () => onClientEnd(tap));
  upstream.on("end", () => onUpstreamEnd(tap));
  const onClientError = (error: NodeJS.ErrnoException) =>
    finishTap(tap, "client_aborted", error.code ?? null);
  client.on("error", onClientError);
  upstream.on("error", (error: NodeJS.ErrnoException) =>
    finishTap(tap, "upstream_reset", error.code ?? null),
  );
  // A TLSSocket that was created as a server reports errors after the handshake here only.
  client.on("_tlsError", onClientError);
  client.on("close", () => onClientClose(tap));
  upstream.on("close", () => onUpstreamClose(tap));
  // The callers paused both sockets.
  client.resume();
  upstream.resume();
  // Either may have ended while the other was being connected.
  if (client.readableEnded) onClientEnd(tap);
  if (client.destroyed) onClientClose(tap);
  else if (upstream.destroyed) onUpstreamClose(tap);
  return () => {
    tap.closing = true;
    client.end();
    upstream.end();
  };
}

function passBytes(tap: TapState, direction: TapDirection, from: Socket, to: Socket): void {
  const { relayLog, hold } = tap;
  from.on("data", (bytes: Buffer) => {
    if (tap.done) return;
    if (direction === "request") {
      // The client sends it again, on a connection to the next daemon.
      if (relayLog?.isDraining() === true && followsResponse(tap, bytes))
        return finishTap(tap, "clean", null);
      if (tap.requests === null && hold?.gate.config != null) holdRequests(tap, bytes);
      if (tap.requests !== null) return tap.requests.push(bytes);
    }
    tap.last = direction;
    const pieces = direction === "response" && tap.requests?.isCutting === true ? piecesOf(bytes) : [bytes];
    for (const piece of pieces) {
      if (tap.done) return;
      // First the log, so that a crash loses no response that the client has got whole.
      relayLog?.log.data(relayLog.entry, direction, piece);
      if (!to.write(piece)) from.pause();
      if (direction === "response") tap.requests?.response(piece);
    }
  });
  to.on("drain", () => from.resume());
}

/** The first line of a request. */
const REQUEST_LINE = /^[A-Z]{3,7} \S+ HTTP\/1\.[01]\r?\n/;

/** The longest first line that is examined, in bytes. */
const MAX_REQUEST_LINE = 4_096;

/**
 * Whether a request begins with these bytes. On a connection that was not held so far, they follow bytes of the upstream: the rest of a
 * body may begin in any way, but rarely follows a response, and more rarely like this.
 */
const beginsRequest = (tap: TapState, bytes: Buffer): boolean =>
  tap.last === null || followsResponse(tap, bytes);

const followsResponse = ({ last }: TapState, bytes: Buffer): boolean =>
  last === "response" && REQUEST_LINE.test(bytes.toString("latin1", 0, MAX_REQUEST_LINE));

/** Holds the client's requests from now on if one begins with these bytes. */
function holdRequests(tap: TapState, first: Buffer): void {
  const { client, upstream, relayLog, hold } = tap;
  if (hold === undefined || relayLog === null || !beginsRequest(tap, first)) return;
  relayLog.onCut((order) => tap.requests?.cut(order));
  tap.requests = createHeldRequests({
    ...hold,
    client,
    upstream,
    relayLog,
    forward(bytes) {
      if (tap.done) return;
      if (!upstream.write(bytes)) client.pause();
      relayLog.log.data(relayLog.entry, "request", bytes);
    },
    reply(bytes) {
      if (!tap.done) client.write(bytes);
    },
    close() {
      tap.closing = true;
      client.end();
      upstream.end();
    },
    end: () => relayClientEnd(tap),
    refuse(answer, held) {
      if (tap.done) return;
      relayLog.blocked(answer, held);
      tap.closing = true;
      upstream.end();
      sendRefusal(client, answer.answer);
    },
    cut: (order, bytes) => cutTap(tap, order, bytes),
  });
}

/** Ends both sides in the middle of a call. */
function cutTap(tap: TapState, order: CutOrder, bytes: Uint8Array | null): void {
  if (tap.done) return;
  tap.done = true;
  tap.stopWatch();
  tap.requests?.stop();
  tap.relayLog?.cut(order);
  resetSocket(tap.upstream);
  endCutClient(tap.client, bytes);
}

function finishTap(tap: TapState, reason: CloseReason, code: string | null): void {
  if (tap.done) return;
  tap.done = true;
  tap.stopWatch();
  tap.requests?.stop();
  const { client, upstream, relayLog } = tap;
  relayLog?.closed(reason, code);
  if (reason === "clean") {
    closeSocket(client);
    closeSocket(upstream);
  } else if (reason === "client_aborted") {
    closeSocket(client);
    resetSocket(upstream);
  } else {
    closeSocket(upstream);
    client.resume(); // the rest of its bytes is discarded
    resetAfterFlush(client);
  }
}

/** Closes a half-open connection whose remaining side is silent for too long. */
function watchRemaining(tap: TapState, side: Socket, silenceMs: number): void {
  tap.stopWatch();
  tap.stopWatch = watchSilence(
    () => side.bytesRead,
    silenceMs,
    () => finishTap(tap, "clean", null),
  );
}

function onClientEnd(tap: TapState): void {
  if (tap.done || tap.clientEnded) return;
  tap.clientEnded = true;
  if (tap.requests === null) relayClientEnd(tap);
  else tap.requests.end();
}

function relayClientEnd(tap: TapState): void {
  if (tap.done) return;
  const { upstream, relayLog } = tap;
  relayLog?.log.ended(relayLog.entry, "request");
  upstream.end();
  watchRemaining(tap, upstream, halfOpenMs);
}

function onUpstreamEnd(tap: TapState): void {
  if (tap.done) return;
  const { client, relayLog, lingerMs } = tap;
  tap.upstreamEnded = true;
  relayLog?.log.ended(relayLog.entry, "response");
  client.end();
  watchRemaining(tap, client, lingerMs);
}

const endsInOrder = ({ closing, clientEnded, upstreamEnded }: TapState) =>
  closing || (clientEnded && upstreamEnded);

function onClientClose(tap: TapState): void {
  tap.clientClosed = true;
  if (tap.upstreamClosed) finishTap(tap, "clean", null);
  else if (!endsInOrder(tap)) finishTap(tap, "client_aborted", null);
}

function onUpstreamClose(tap: TapState): void {
  tap.upstreamClosed = true;
  if (tap.clientClosed) finishTap(tap, "clean", null);
  else if (!endsInOrder(tap)) finishTap(tap, "upstream_reset", null);
}
