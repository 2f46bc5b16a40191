import type { Socket } from "node:net";
import { headerValue, type ResponseHead } from "../../core/metering/exchange/head.ts";
import { createMessageReader, type MessageReader } from "../../core/metering/exchange/message-reader.ts";
import { closeSocket } from "./close-socket.ts";
import type { ClientLocation, DialResult } from "./dial.ts";
import { dialForPeer } from "./dial-for-peer.ts";
import { createDialRefusal, createTlsRefusal } from "./dial-refusal.ts";
import { locateClient } from "./locate-client.ts";
import type { ParentProxy } from "./parent-proxy.ts";
import type { PeerOwner } from "./peers.ts";
import {
  closeUpstream,
  finishRelay,
  type PlainRelayState,
  type PlainUpstream,
  refuseClient,
} from "./plain-relay-state.ts";
import type { RequestPlan } from "./plan-request.ts";
import {
  openRelayLog,
  type Refusal,
  type RelayLog,
  type RelayTarget,
  recordTunnel,
} from "./relay-context.ts";
import { piecesOf } from "./response-cut.ts";
import { watchSilence } from "./tap.ts";
import type { CloseReason } from "./tap-frames.ts";
import type { WarmConnection } from "./warm-connections.ts";

const otherUserRefusal: Refusal = {
  status: 403,
  reason: "gateway_refused",
  text: 'the gateway serves only the user who runs meter; to open it to others, set [proxy] other_users = "meter" in config.toml',
};

/**
 * Opens the upstream connection for the request at the front of the queue. `onProgress` is called whenever queued items
 * may be sendable: when the connection is open, and after each response.
 */
export function connectUpstream(relay: PlainRelayState, plan: RequestPlan, onProgress: () => void): void {
  const { context, client } = relay;
  const warm = plan.tls ? context.warm.take(plan, locateClient(client)) : null;
  if (warm === null) dialUpstream(relay, plan, onProgress);
  else useWarmConnection(relay, plan, warm, onProgress);
}

function dialUpstream(relay: PlainRelayState, plan: RequestPlan, onProgress: () => void): void {
  const purpose = plan.tls ? "tunnel" : "plain_http";
  const clientLocation = locateClient(relay.client);
  const cancel = dialForPeer(relay.context, relay.client, plan, purpose, (dialled, owner) => {
    if (owner === "other" && plan.mode === "gateway") {
      if (dialled.ok) closeSocket(dialled.socket);
      refuseOtherUser(relay);
    } else if (!dialled.ok) {
      failDial(relay, plan, owner, dialled.reason, dialled.code, createDialRefusal(plan, dialled));
    } else if (plan.tls) {
      secureUpstream(relay, plan, owner, clientLocation, dialled, onProgress);
    } else {
      startUpstream(relay, plan, owner, dialled.socket, dialled.parent, onProgress);
    }
  });
  relay.dial = { plan, cancel };
}

/** Uses a warm connection, which only gateway routes have. If it is lost before anything is sent, a new one is dialled. */
function useWarmConnection(
  relay: PlainRelayState,
  plan: RequestPlan,
  warm: WarmConnection,
  onProgress: () => void,
): void {
  let start: NodeJS.Immediate | null = null;
  let cancelWait = () => {};
  relay.dial = {
    plan,
    cancel() {
      cancelWait();
      if (start !== null) clearImmediate(start);
      warm.discard();
    },
  };
  cancelWait = relay.context.peers.onOwnerKnown(relay.client, (owner) => {
    // Later, because the request is not in the queue yet, and the connection may have ended in this turn.
    start = setImmediate(() => {
      if (owner === "other") {
        warm.discard();
        return refuseOtherUser(relay);
      }
      const socket = warm.claim();
      if (socket === null) dialUpstream(relay, plan, onProgress);
      else startUpstream(relay, plan, owner, socket, null, onProgress);
    });
  });
}

function refuseOtherUser(relay: PlainRelayState): void {
  relay.dial = null;
  refuseClient(relay, otherUserRefusal);
}

function secureUpstream(
  relay: PlainRelayState,
  plan: RequestPlan,
  owner: PeerOwner,
  clientLocation: ClientLocation,
  { socket }: DialResult & { ok: true },
  onProgress: () => void,
): void {
  relay.dial = { plan, cancel: () => closeSocket(socket) };
  relay.context.upstreamTls.secure(socket, plan.host, plan.port, (secured) => {
    if (relay.done) {
      if (secured.ok) closeSocket(secured.socket);
    } else if (secured.ok) {
      relay.context.warm.connected(plan, clientLocation);
      startUpstream(relay, plan, owner, secured.socket, null, onProgress);
    } else {
      failDial(relay, plan, owner, secured.reason, secured.code, createTlsRefusal(plan, secured.code));
    }
  });
}

function failDial(
  relay: PlainRelayState,
  plan: RequestPlan,
  owner: PeerOwner,
  reason: CloseReason | "forbidden_target",
  code: string,
  refusal: Refusal,
): void {
  relay.dial = null;
  if (reason !== "forbidden_target") logUnsentRequest(relay, plan, owner, reason, code);
  refuseClient(relay, refusal);
}

function startUpstream(
  relay: PlainRelayState,
  plan: RequestPlan,
  owner: PeerOwner,
  stream: Socket,
  parent: ParentProxy | null,
  onProgress: () => void,
): void {
  relay.dial = null;
  const isLogged = isRequestLogged(relay, plan, owner);
  if (!isLogged) {
    const reason = isRequestMetered(relay, plan) ? "other_user" : "not_provider";
    recordTunnel(relay.context, targetOf(relay, plan), reason, true);
  }
  const relayLog = isLogged ? openLog(relay, plan) : null;
  const unlisted = isLogged || owner === "other" ? null : { host: plan.host, port: plan.port };
  attachUpstream(
    relay,
    { key: plan.key, stream, parent, relayLog, unlisted, responses: readResponses(relay), requests: 0 },
    onProgress,
  );
  onProgress();
}

const isRequestMetered = ({ context }: PlainRelayState, plan: RequestPlan) =>
  plan.mode === "gateway" || context.isProviderHost(plan.host, plan.port);

const isRequestLogged = (relay: PlainRelayState, plan: RequestPlan, owner: PeerOwner) =>
  owner !== "other" && isRequestMetered(relay, plan);

const targetOf = ({ client }: PlainRelayState, plan: RequestPlan): RelayTarget => ({
  host: plan.host,
  port: plan.port,
  client,
  clientPort: client.remotePort ?? 0,
  proxyUser: plan.proxyUser,
});

const openLog = (relay: PlainRelayState, plan: RequestPlan): RelayLog =>
  openRelayLog(relay.context, plan.mode, targetOf(relay, plan), () => finishRelay(relay, "clean", null));

/** Logs a request whose client aborted before it could be sent upstream, once the client's user is known. */
export function logAbortedRequest(relay: PlainRelayState, plan: RequestPlan, code: string | null): void {
  relay.context.peers.onOwnerKnown(relay.client, (owner) =>
    logUnsentRequest(relay, plan, owner, "client_aborted", code),
  );
}

/** Logs a request that was not sent upstream: its head, and the part of its body that has arrived. */
function logUnsentRequest(
  relay: PlainRelayState,
  plan: RequestPlan,
  owner: PeerOwner,
  reason: CloseReason,
  code: string | null,
): void {
  if (!isRequestLogged(relay, plan, owner)) return;
  const relayLog = openLog(relay, plan);
  const [first, ...rest] = relay.queue;
  if (first?.kind === "head") {
    logProject(relayLog, plan);
    relayLog.log.data(relayLog.entry, "request", plan.upstreamHead(first.raw));
  }
  for (const item of rest) {
    if (item.kind !== "bytes") break;
    relayLog.log.data(relayLog.entry, "request", item.bytes);
  }
  relayLog.closed(reason, code);
}

/** Logs the project that a gateway request named in `X-Meter-Project`, a header that is not sent upstream. */
export function logProject({ log, entry }: RelayLog, { project }: RequestPlan): void {
  if (project !== null) log.note({ kind: "labelled", connection: entry.id, project });
}

/** Creates a reader that divides the upstream's bytes into responses, which shows which requests have been answered. */
function readResponses(relay: PlainRelayState): MessageReader {
  const { pending, resolveSwitch } = relay;
  return createMessageReader("response", {
    pendingRequest: () => pending[0] ?? null,
    started() {
      relay.responseStarted = true;
      relay.responseCut.started();
    },
    body: (bytes) => relay.responseCut.body(bytes),
    informational() {
      relay.responseStarted = false;
      relay.responseCut.informational();
    },
    head(head) {
      if (pending[0]?.requestsProtocolSwitch) resolveSwitch(false);
      relay.responseCut.head(head);
      noteUnlistedAnswer(relay, head);
    },
    end() {
      pending.shift();
      relay.responseStarted = false;
      relay.responseCut.ended();
    },
    switched() {
      pending.shift();
      resolveSwitch(true);
    },
    unreadable() {
      relay.responsesLost = true;
      resolveSwitch(true); // the buffered bytes are relayed unread
    },
  });
}

/** Notes that an unlisted host answered the oldest request as a language model API does: with JSON or events, and success. */
function noteUnlistedAnswer({ context, pending, upstream }: PlainRelayState, head: ResponseHead): void {
  const api = pending[0]?.api ?? null;
  const target = upstream?.unlisted ?? null;
  if (api === null || target === null || head.status < 200 || head.status > 299) return;
  const type = headerValue(head.headers, "content-type") ?? "";
  if (!/^(application\/([a-z.-]+\+)?(json|x-ndjson)|text\/event-stream)\b/i.test(type)) return;
  context.log.note({ kind: "unlisted", connection: context.nextConnection(), ...target, api });
}

function attachUpstream(relay: PlainRelayState, upstream: PlainUpstream, onProgress: () => void): void {
  relay.upstream = upstream;
  const { client, queue } = relay;
  const { stream, relayLog } = upstream;
  relayLog?.onCut((order) => {
    if (relay.upstream === upstream && !relay.responsesLost) relay.responseCut.order(order);
  });
  stream.on("data", (bytes: Buffer) => {
    for (const piece of relay.responseCut.isOrdered ? piecesOf(bytes) : [bytes])
      relayResponse(relay, upstream, piece);
    if (!relay.done && queue.length > 0) onProgress();
  });
  stream.on("drain", () => {
    if (queue.length === 0) client.resume();
  });
  stream.on("end", () => onUpstreamEnd(relay, upstream, onProgress));
  const onLost = (code: string | null) => {
    if (relay.upstream !== upstream) return;
    if (relay.clientEnded && relay.upstreamEnded) return;
    finishRelay(relay, "upstream_reset", code);
  };
  stream.on("error", (error: NodeJS.ErrnoException) => onLost(error.code ?? null));
  stream.on("close", () => onLost(null));
  if (stream.destroyed) onLost(null);
  else stream.resume(); // a connection that was kept ready is paused
}

function relayResponse(
  relay: PlainRelayState,
  { stream, relayLog, responses }: PlainUpstream,
  bytes: Buffer,
): void {
  if (relay.done) return;
  // First the log, so that a crash loses no response that the client has got whole.
  relayLog?.log.data(relayLog.entry, "response", bytes);
  if (!relay.client.write(bytes)) stream.pause();
  responses.push(bytes);
  if (relay.responseCut.isOrdered) relay.responseCut.relayed();
}

function onUpstreamEnd(relay: PlainRelayState, upstream: PlainUpstream, onProgress: () => void): void {
  if (relay.done || relay.upstream !== upstream) return;
  upstream.relayLog?.log.ended(upstream.relayLog.entry, "response");
  upstream.responses.end();
  relay.pending.length = 0;
  if (relay.queue.length > 0) {
    closeUpstream(relay, "clean", null); // the next request was waiting for this
    onProgress();
    return;
  }
  relay.upstreamEnded = true;
  relay.client.end();
  relay.stopWatch();
  relay.stopWatch = watchSilence(
    () => relay.client.bytesRead,
    relay.context.limits.lingerMs,
    () => finishRelay(relay, "clean", null),
  );
}
