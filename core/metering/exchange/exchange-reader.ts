import { type PendingRequest, requestsProtocolSwitch } from "./framing.ts";
import type { RequestHead, ResponseHead } from "./head.ts";
import { createMessageReader, type RequestSink, type ResponseSink } from "./message-reader.ts";
import type { UnreadableReason } from "./unreadable.ts";

/** The direction of bytes on a connection: `request` from the client, `response` to it. */
export type Direction = "request" | "response";

/**
 * Receives the events of one connection in order. `id` numbers the connection's requests from 1. Bytes are views that are
 * valid only during the call. `atMs` is the time of the event; for a head, the time of its first byte.
 */
export interface ExchangeSink {
  requestHead(id: number, head: RequestHead, atMs: number): void;
  /** A piece of the body, without chunk framing. */
  requestBody(id: number, bytes: Uint8Array, atMs: number): void;
  /** The request is complete. Not called for a truncated request; may follow the end of its response. */
  requestEnd(id: number, atMs: number): void;
  /** An interim response, such as `100 Continue`. */
  informational(id: number, head: ResponseHead, atMs: number): void;
  responseHead(id: number, head: ResponseHead, atMs: number): void;
  responseBody(id: number, bytes: Uint8Array, atMs: number): void;
  /** `complete` is false if the connection ended before the response did. Not called without a response head. */
  responseEnd(id: number, complete: boolean, atMs: number): void;
  /** Called instead of `responseEnd` after the head of a 101 or of a 2xx to CONNECT. The bytes that follow are opaque. */
  upgraded(id: number, atMs: number): void;
  upgradedBytes(direction: Direction, bytes: Uint8Array, atMs: number): void;
  /** The framing is ambiguous or invalid. No further events follow for this connection. */
  unreadable(reason: UnreadableReason, atMs: number): void;
}

/** A reader of both directions of one connection between a client and its upstream. */
export interface ExchangeReader {
  /** Reads bytes of one direction. Push a request before its response, as on the wire. */
  push(direction: Direction, bytes: Uint8Array, atMs: number): void;
  /** One direction was closed normally (FIN). */
  end(direction: Direction, atMs: number): void;
  /** The connection was reset or ended abnormally. Open messages are incomplete. */
  abort(atMs: number): void;
}

/** Maximum number of requests without a response. Decision: deeper pipelining is treated as a memory attack. */
export const MAX_PIPELINED_REQUESTS = 1000;

interface OpenExchange extends PendingRequest {
  readonly id: number;
}

/** The state of one connection. */
interface ConnectionState {
  readonly sink: ExchangeSink;
  /** Requests whose responses have not ended, oldest first. */
  readonly open: OpenExchange[];
  latestId: number;
  nowMs: number;
  requestStartedMs: number;
  responseStartedMs: number;
}

/** Creates a reader of one connection. The events do not depend on how the bytes are split into pushes. */
export function createExchangeReader(sink: ExchangeSink): ExchangeReader {
  const state: ConnectionState = {
    sink,
    open: [],
    latestId: 0,
    nowMs: 0,
    requestStartedMs: 0,
    responseStartedMs: 0,
  };
  const unreadable = (reason: UnreadableReason): void => {
    requests.stop();
    responses.stop();
    sink.unreadable(reason, state.nowMs);
  };
  const resolveSwitch = (switched: boolean): void => requests.resolveSwitch(switched);
  const requests = createMessageReader("request", createRequestSink(state, unreadable));
  const responses = createMessageReader("response", createResponseSink(state, resolveSwitch, unreadable));
  return {
    push(direction, bytes, atMs) {
      state.nowMs = atMs;
      (direction === "request" ? requests : responses).push(bytes);
    },
    end(direction, atMs) {
      state.nowMs = atMs;
      (direction === "request" ? requests : responses).end();
    },
    abort(atMs) {
      state.nowMs = atMs;
      requests.abort();
      responses.abort();
    },
  };
}

function createRequestSink(
  state: ConnectionState,
  unreadable: (reason: UnreadableReason) => void,
): RequestSink {
  const { sink, open } = state;
  return {
    started() {
      state.requestStartedMs = state.nowMs;
    },
    head(head) {
      if (open.length === MAX_PIPELINED_REQUESTS) {
        unreadable("too_many_pipelined");
        return;
      }
      const id = ++state.latestId;
      open.push({ id, method: head.method, requestsProtocolSwitch: requestsProtocolSwitch(head) });
      sink.requestHead(id, head, state.requestStartedMs);
    },
    body: (bytes) => sink.requestBody(state.latestId, bytes, state.nowMs),
    end(complete) {
      if (complete) sink.requestEnd(state.latestId, state.nowMs);
    },
    opaque: (bytes) => sink.upgradedBytes("request", bytes, state.nowMs),
    unreadable,
  };
}

function createResponseSink(
  state: ConnectionState,
  resolveSwitch: (switched: boolean) => void,
  unreadable: (reason: UnreadableReason) => void,
): ResponseSink {
  const { sink, open } = state;
  return {
    started() {
      state.responseStartedMs = state.nowMs;
    },
    pendingRequest: () => open[0] ?? null,
    informational: (head) => sink.informational(open[0]!.id, head, state.responseStartedMs),
    head(head) {
      const { id, requestsProtocolSwitch } = open[0]!;
      sink.responseHead(id, head, state.responseStartedMs);
      if (requestsProtocolSwitch) resolveSwitch(false);
    },
    body: (bytes) => sink.responseBody(open[0]!.id, bytes, state.nowMs),
    end(complete) {
      sink.responseEnd(open.shift()!.id, complete, state.nowMs);
    },
    switched(head) {
      const { id } = open.shift()!;
      sink.responseHead(id, head, state.responseStartedMs);
      sink.upgraded(id, state.nowMs);
      resolveSwitch(true);
    },
    opaque: (bytes) => sink.upgradedBytes("response", bytes, state.nowMs),
    unreadable,
  };
}
