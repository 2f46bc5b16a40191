import type { Socket } from "node:net";
import type { UnlistedApi } from "../../core/metering/coverage/unlisted-hosts.ts";
import type { ChunkedBody } from "../../core/metering/exchange/chunked-body.ts";
import type { PendingRequest } from "../../core/metering/exchange/framing.ts";
import type { RequestHead } from "../../core/metering/exchange/head.ts";
import type { MessageReader } from "../../core/metering/exchange/message-reader.ts";
import type { BodyWait } from "./body-wait.ts";
import type { GateAnswer } from "./call-question.ts";
import { closeSocket, resetAfterFlush, resetSocket } from "./close-socket.ts";
import type { ParentProxy } from "./parent-proxy.ts";

import type { RequestPlan } from "./plan-request.ts";
import { endCutClient, type Refusal, type RelayContext, type RelayLog, refuse } from "./relay-context.ts";
import { type CutOrder, createResponseCut, type ResponseCut } from "./response-cut.ts";
import type { CloseReason } from "./tap-frames.ts";

/** The request at the front of the queue, which waits for the decision on it. */
export interface HeldRequest {
  phase: "collecting" | "asking" | "allowed" | "refused";
  readonly raw: Uint8Array;
  /** The body without chunk framing. */
  readonly body: Uint8Array[];
  bodyBytes: number;
  readonly chunked: ChunkedBody | null;
  refusal: (GateAnswer & { kind: "refuse" }) | null;
  /** The wait for the rest of the body; null before it began. */
  wait: BodyWait | null;
  /** Cancels the question or the wait for the body. */
  cancel: () => void;
  /** Asks now. */
  ask(isWhole: boolean): void;
}

/** Something to send upstream, in order. The bytes of a queued item are copies. */
export type RelayItem =
  | HeadItem
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "refusal"; readonly refusal: Refusal }
  | { readonly kind: "end" };

export interface HeadItem {
  readonly kind: "head";
  readonly plan: RequestPlan;
  readonly head: RequestHead;
  readonly raw: Uint8Array;
}

/** The upstream connection in use. */
export interface PlainUpstream {
  readonly key: string;
  readonly stream: Socket;
  readonly parent: ParentProxy | null;
  readonly relayLog: RelayLog | null;
  /** The target, if it is no provider's host and its calls may be named in the coverage; otherwise null. */
  readonly unlisted: { readonly host: string; readonly port: number } | null;
  readonly responses: MessageReader;
  /** How many requests were sent on it. */
  requests: number;
}

/** A request whose response has not ended. */
export interface RelayedRequest extends PendingRequest {
  /** Its number on its upstream connection, from 1. */
  readonly number: number;
  /** The language model API that a request to an unlisted host looks like; null for any other request. */
  readonly api: UnlistedApi | null;
}

/** The state of one client's plain relay. */
export interface PlainRelayState {
  readonly context: RelayContext;
  readonly client: Socket;
  /** Tells the reader of the client's bytes whether the upstream switched protocols. */
  readonly resolveSwitch: (switched: boolean) => void;
  readonly queue: RelayItem[];
  /** Requests whose responses have not ended, oldest first. */
  readonly pending: RelayedRequest[];
  readonly responseCut: ResponseCut;
  upstream: PlainUpstream | null;
  /** The upstream connection that is being opened, for the head at the front of the queue. */
  dial: { readonly plan: RequestPlan; readonly cancel: () => void } | null;
  /** The request at the front of the queue, while it waits for the decision of the budgets. */
  held: HeldRequest | null;
  /** Whether the client is in the middle of a request. */
  requestOpen: boolean;
  responseStarted: boolean;
  /** Whether the upstream's bytes can no longer be divided into responses. */
  responsesLost: boolean;
  clientEnded: boolean;
  upstreamEnded: boolean;
  done: boolean;
  stopWatch: () => void;
}

export function createPlainRelayState(
  context: RelayContext,
  client: Socket,
  resolveSwitch: (switched: boolean) => void,
): PlainRelayState {
  const relay: PlainRelayState = {
    context,
    client,
    resolveSwitch,
    queue: [],
    pending: [],
    responseCut: createResponseCut({
      reader: () => (relay.upstream as PlainUpstream).responses,
      pending: () => relay.pending,
      end: (order, bytes) => cutRelay(relay, order, bytes),
    }),
    upstream: null,
    dial: null,
    held: null,
    requestOpen: false,
    responseStarted: false,
    responsesLost: false,
    clientEnded: false,
    upstreamEnded: false,
    done: false,
    stopWatch: () => {},
  };
  return relay;
}

/** Ends both sides in the middle of a call. */
function cutRelay(relay: PlainRelayState, order: CutOrder, bytes: Uint8Array | null): void {
  if (relay.done) return;
  relay.done = true;
  relay.stopWatch();
  relay.held?.cancel();
  const { client, upstream } = relay;
  upstream?.relayLog?.cut(order);
  if (upstream) resetSocket(upstream.stream);
  endCutClient(client, bytes);
}

/** Ends the relay. If one side ended abruptly, the other side is reset. */
export function finishRelay(relay: PlainRelayState, reason: CloseReason, code: string | null): void {
  if (relay.done) return;
  relay.done = true;
  relay.stopWatch();
  relay.dial?.cancel();
  relay.held?.cancel();
  relay.responseCut.stop();
  const { client, upstream } = relay;
  upstream?.relayLog?.closed(reason, code);
  if (reason === "clean") {
    closeSocket(client);
    if (upstream) closeSocket(upstream.stream);
  } else if (reason === "client_aborted") {
    closeSocket(client);
    if (upstream) resetSocket(upstream.stream);
  } else {
    if (upstream) closeSocket(upstream.stream);
    client.resume();
    resetAfterFlush(client);
  }
}

/** Ends the relay with a response from the proxy itself. */
export function refuseClient(relay: PlainRelayState, refusal: Refusal): void {
  relay.done = true;
  relay.stopWatch();
  relay.held?.cancel();
  closeUpstream(relay, "clean", null);
  refuse(relay.context, relay.client, refusal);
}

/** Closes the upstream connection, if there is one. Outstanding responses are discarded. */
export function closeUpstream(relay: PlainRelayState, reason: CloseReason, code: string | null): void {
  const { upstream } = relay;
  if (upstream === null) return;
  relay.upstream = null;
  relay.upstreamEnded = false;
  upstream.relayLog?.closed(reason, code);
  upstream.stream.removeAllListeners("data");
  closeSocket(upstream.stream);
}

/** Writes `bytes` to the upstream, and `logged` to the log. */
export function writeUpstream(upstream: PlainUpstream, bytes: Uint8Array, logged: Uint8Array): void {
  upstream.stream.write(bytes);
  if (upstream.relayLog !== null) {
    upstream.relayLog.log.data(upstream.relayLog.entry, "request", logged);
  }
}
