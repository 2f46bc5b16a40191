import type { Socket } from "node:net";
import { recogniseApi, type UnlistedApi } from "../../core/metering/coverage/unlisted-hosts.ts";
import { requestsProtocolSwitch } from "../../core/metering/exchange/framing.ts";
import { headerValue, type RequestHead } from "../../core/metering/exchange/head.ts";
import type { UnreadableReason } from "../../core/metering/exchange/unreadable.ts";
import { resetSocket } from "./close-socket.ts";
import { mayBeSent, takeBody } from "./plain-relay-hold.ts";
import {
  closeUpstream,
  createPlainRelayState,
  finishRelay,
  type HeadItem,
  type PlainRelayState,
  type PlainUpstream,
  type RelayItem,
  refuseClient,
  writeUpstream,
} from "./plain-relay-state.ts";
import { connectUpstream, logAbortedRequest, logProject } from "./plain-relay-upstream.ts";
import { isRefusal, planRequest } from "./plan-request.ts";
import type { Refusal, RelayContext } from "./relay-context.ts";
import { halfOpenMs, watchSilence } from "./tap.ts";

/** Relays the requests that a client sends in plain http, in absolute form or to the gateway. */
export interface PlainRelay {
  head(head: RequestHead, raw: Uint8Array, proxyUser: string | null): void;
  /** Takes bytes of a body as they were on the wire, or bytes after a switch of protocols. */
  bytes(bytes: Uint8Array): void;
  requestEnd(): void;
  /** The client's bytes can no longer be divided into requests. */
  unreadable(reason: UnreadableReason): void;
  /** Sends the proxy's own response, once everything before it is answered. */
  refuse(refusal: Refusal): void;
  /** The client has sent its FIN. Bytes before it may still be held back. */
  halfClosed(): void;
  /** The client's bytes have ended. */
  end(): void;
}

/**
 * Creates a relay for a client's requests. Their heads are rewritten, and all other bytes are relayed unchanged. Requests
 * to the same target share one upstream connection. Before a request to another target, all earlier requests are answered
 * and their connection is closed. So responses keep their order, and no upstream connection serves two clients.
 */
export function createPlainRelay(
  context: RelayContext,
  client: Socket,
  resolveSwitch: (switched: boolean) => void,
): PlainRelay {
  const relay = createPlainRelayState(context, client, resolveSwitch);
  client.on("drain", () => relay.upstream?.stream.resume());
  client.on("error", (error: NodeJS.ErrnoException) => onClientGone(relay, error.code ?? null));
  client.on("close", () => onClientGone(relay, null));
  return {
    head: (head, raw, proxyUser) => onHead(relay, head, raw, proxyUser),
    bytes(bytes) {
      takeBody(relay, bytes);
      enqueue(relay, { kind: "bytes", bytes }, () => ({ kind: "bytes", bytes: bytes.slice() }));
    },
    requestEnd() {
      relay.requestOpen = false;
      relay.held?.ask(true);
    },
    unreadable: (reason) => onUnreadable(relay, reason),
    refuse: (refusal) => enqueueRefusal(relay, refusal),
    halfClosed: () => onHalfClosed(relay),
    end() {
      enqueue(relay, { kind: "end" }, () => ({ kind: "end" }));
    },
  };
}

function onClientGone(relay: PlainRelayState, code: string | null): void {
  if (relay.done) return;
  if (relay.dial !== null) logAbortedRequest(relay, relay.dial.plan, code);
  const isClean = code === null && relay.clientEnded && relay.upstreamEnded;
  finishRelay(relay, isClean ? "clean" : "client_aborted", code);
}

function onHead(relay: PlainRelayState, head: RequestHead, raw: Uint8Array, proxyUser: string | null): void {
  const { gatewayRoutes, gatewayHosts, proxyPassword, isDraining } = relay.context;
  if (isDraining && relay.pending.length === 0) return finishRelay(relay, "clean", null);
  relay.requestOpen = true;
  if (head.method === "CONNECT") {
    return enqueueRefusal(relay, {
      status: 400,
      reason: "malformed",
      text: "CONNECT has to be the first request",
    });
  }
  const takesProxyCredentials = proxyPassword !== null;
  const plan = planRequest(head, { gatewayRoutes, gatewayHosts, proxyUser, takesProxyCredentials });
  if (isRefusal(plan)) return enqueueRefusal(relay, plan);
  enqueue(relay, { kind: "head", plan, head, raw }, () => ({ kind: "head", plan, head, raw: raw.slice() }));
}

function onUnreadable(relay: PlainRelayState, reason: UnreadableReason): void {
  const refusal: Refusal = {
    status: 400,
    reason: "malformed",
    text: `the request is ambiguous (${reason})`,
  };
  if (relay.done || !relay.requestOpen) return enqueueRefusal(relay, refusal);
  // In the middle of a body. The upstream must not mistake the part that has arrived for a complete request.
  if (relay.responseStarted || relay.pending.length > 1) {
    return finishRelay(relay, "client_aborted", reason);
  }
  relay.dial?.cancel();
  relay.dial = null;
  relay.queue.length = 0;
  if (relay.upstream) resetSocket(relay.upstream.stream);
  closeUpstream(relay, "client_aborted", reason);
  refuseClient(relay, refusal);
}

function onHalfClosed(relay: PlainRelayState): void {
  if (relay.done) return;
  // The bytes before the FIN may be waiting behind a request that is never answered.
  relay.stopWatch();
  relay.stopWatch = watchSilence(
    () => relay.upstream?.stream.bytesRead ?? 0,
    halfOpenMs,
    () => finishRelay(relay, "clean", null),
  );
}

function enqueueRefusal(relay: PlainRelayState, refusal: Refusal): void {
  enqueue(relay, { kind: "refusal", refusal }, () => ({ kind: "refusal", refusal }));
}

/** Sends an item, or queues a copy of it and stops reading the client. */
function enqueue(relay: PlainRelayState, item: RelayItem, copy: () => RelayItem): void {
  if (relay.done) return;
  const { queue, client } = relay;
  if (queue.length > 0 || !sendItem(relay, item)) queue.push(copy());
  const isBlocked = queue.length > 0 && relay.held?.phase !== "collecting";
  if (!relay.done && (isBlocked || relay.upstream?.stream.writableNeedDrain)) client.pause();
}

/** Sends queued items as far as possible, and reads the client again when the queue is empty. */
function drainQueue(relay: PlainRelayState): void {
  const { queue, client } = relay;
  while (!relay.done && queue.length > 0 && sendItem(relay, queue[0] as RelayItem)) queue.shift();
  if (!relay.done && queue.length === 0 && !relay.upstream?.stream.writableNeedDrain) client.resume();
}

/** Sends one item. Returns false if it can't be sent yet. */
function sendItem(relay: PlainRelayState, item: RelayItem): boolean {
  if (relay.dial !== null) return false;
  switch (item.kind) {
    case "head":
      return sendHead(relay, item);
    case "bytes":
      if (relay.upstream !== null) writeUpstream(relay.upstream, item.bytes, item.bytes);
      return true;
    case "refusal":
      if (relay.pending.length > 0 && !relay.responsesLost) return false;
      refuseClient(relay, item.refusal);
      return true;
    case "end":
      sendEnd(relay);
      return true;
  }
}

/** Sends a request head if there is a connection to its target. Otherwise opens the connection. */
function sendHead(relay: PlainRelayState, item: HeadItem): boolean {
  if (relay.upstream !== null && relay.upstream.key !== item.plan.key) {
    if (relay.responsesLost) {
      finishRelay(relay, "client_aborted", "UNREADABLE_RESPONSE");
      return true;
    }
    if (relay.pending.length > 0) return false;
    closeUpstream(relay, "clean", null);
  }
  if (relay.upstream === null) {
    connectUpstream(relay, item.plan, () => drainQueue(relay));
    return false;
  }
  if (!mayBeSent(relay, relay.upstream, item, () => drainQueue(relay))) return false;
  writeHead(relay, relay.upstream, item);
  return true;
}

function writeHead(relay: PlainRelayState, upstream: PlainUpstream, { plan, head, raw }: HeadItem): void {
  relay.pending.push({
    number: upstream.requests + 1,
    method: head.method,
    requestsProtocolSwitch: requestsProtocolSwitch(head),
    api: upstream.unlisted === null ? null : recogniseUnlistedCall(head),
  });
  upstream.requests += 1;
  if (upstream.relayLog !== null) logProject(upstream.relayLog, plan);
  const logged = plan.upstreamHead(raw); // without a parent's credentials
  writeUpstream(upstream, upstream.parent === null ? logged : plan.parentHead(raw, upstream.parent), logged);
}

/**
 * Returns the language model API that a request looks like. A web page's request, which has an `Origin`, is not recognised: a
 * page could fill the coverage with names.
 */
function recogniseUnlistedCall({ method, target, headers }: RequestHead): UnlistedApi | null {
  const api = recogniseApi(method, target);
  return api !== null && headerValue(headers, "origin") === null ? api : null;
}

/** Relays the client's FIN. */
function sendEnd(relay: PlainRelayState): void {
  relay.clientEnded = true;
  if (relay.upstream === null) return finishRelay(relay, "clean", null);
  const { relayLog, stream } = relay.upstream;
  relayLog?.log.ended(relayLog.entry, "request");
  stream.end();
}
