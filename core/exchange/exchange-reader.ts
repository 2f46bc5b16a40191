import type { PendingRequest } from "./framing.ts";
import { asksToSwitch } from "./framing.ts";
import type { RequestHead, ResponseHead } from "./head.ts";
import { createMessageReader } from "./message-reader.ts";
import type { UnreadableReason } from "./unreadable.ts";

/** The two directions of a connection, called after what a client sends in them. */
export type Direction = "request" | "response";

/**
 * What passed on one connection, in that order. `id` counts the requests of the connection from 1. Bytes are views
 * valid only during the call. The time of a head is when its first byte passed, of anything else when it passed.
 */
export interface ExchangeSink {
  requestHead(id: number, head: RequestHead, atMs: number): void;
  /** A piece of the body, without chunk framing. */
  requestBody(id: number, bytes: Uint8Array, atMs: number): void;
  /** The request passed whole. Not called for one that was cut short; may come after its response ended. */
  requestEnd(id: number, atMs: number): void;
  /** An interim response, such as `100 Continue`. */
  informational(id: number, head: ResponseHead, atMs: number): void;
  responseHead(id: number, head: ResponseHead, atMs: number): void;
  responseBody(id: number, bytes: Uint8Array, atMs: number): void;
  /** `complete` is false where the connection ended before the framing said so. Not called without a response head. */
  responseEnd(id: number, complete: boolean, atMs: number): void;
  /** In place of `responseEnd`, after the head of a 101 or of a 2xx to CONNECT: what follows is opaque. */
  upgraded(id: number, atMs: number): void;
  upgradedBytes(direction: Direction, bytes: Uint8Array, atMs: number): void;
  /** The framing is ambiguous or broken: nothing more is reported for this connection. */
  unreadable(reason: UnreadableReason, atMs: number): void;
}

/** Reads both directions of one connection between a client and its upstream. */
export interface ExchangeReader {
  /** Takes what passed in one direction. A request must be pushed before its response, as it was on the wire. */
  push(direction: Direction, bytes: Uint8Array, atMs: number): void;
  /** One direction was closed in order (FIN). */
  end(direction: Direction, atMs: number): void;
  /** The connection was torn down (reset, or an end that can't be trusted): what was under way is incomplete. */
  abort(atMs: number): void;
}

/** How many requests may wait for their responses. Decision: pipelining that deep is an attack on the meter's memory. */
export const MAX_PIPELINED_REQUESTS = 1000;

interface OpenExchange extends PendingRequest {
  readonly id: number;
}

/** Creates the reader of one connection. The same bytes in the same order give the same report, however they are cut. */
export function createExchangeReader(sink: ExchangeSink): ExchangeReader {
  /** Requests whose responses have not ended, oldest first. */
  const open: OpenExchange[] = [];
  let latestId = 0;
  let nowMs = 0;
  let requestStartedMs = 0;
  let responseStartedMs = 0;

  const unreadable = (reason: UnreadableReason): void => {
    requests.stop();
    responses.stop();
    sink.unreadable(reason, nowMs);
  };

  const requests = createMessageReader("request", {
    started() {
      requestStartedMs = nowMs;
    },
    head(head) {
      if (open.length === MAX_PIPELINED_REQUESTS) {
        unreadable("too_many_pipelined");
        return;
      }
      latestId++;
      open.push({ id: latestId, method: head.method, asksToSwitch: asksToSwitch(head) });
      sink.requestHead(latestId, head, requestStartedMs);
    },
    body: (bytes) => sink.requestBody(latestId, bytes, nowMs),
    end(complete) {
      if (complete) sink.requestEnd(latestId, nowMs);
    },
    opaque: (bytes) => sink.upgradedBytes("request", bytes, nowMs),
    unreadable,
  });

  const responses = createMessageReader("response", {
    started() {
      responseStartedMs = nowMs;
    },
    pendingRequest: () => open[0] ?? null,
    informational: (head) => sink.informational(open[0]!.id, head, responseStartedMs),
    head(head) {
      const { id, asksToSwitch } = open[0]!;
      sink.responseHead(id, head, responseStartedMs);
      if (asksToSwitch) requests.settleSwitch(false);
    },
    body: (bytes) => sink.responseBody(open[0]!.id, bytes, nowMs),
    end(complete) {
      sink.responseEnd(open.shift()!.id, complete, nowMs);
    },
    switched(head) {
      const { id } = open.shift()!;
      sink.responseHead(id, head, responseStartedMs);
      sink.upgraded(id, nowMs);
      requests.settleSwitch(true);
    },
    opaque: (bytes) => sink.upgradedBytes("response", bytes, nowMs),
    unreadable,
  });

  return {
    push(direction, bytes, atMs) {
      nowMs = atMs;
      (direction === "request" ? requests : responses).push(bytes);
    },
    end(direction, atMs) {
      nowMs = atMs;
      (direction === "request" ? requests : responses).end();
    },
    abort(atMs) {
      nowMs = atMs;
      requests.abort();
      responses.abort();
    },
  };
}
