import type { Socket } from "node:net";
import type { RequestHead } from "../../core/metering/exchange/head.ts";
import { createMessageReader, type RequestReader } from "../../core/metering/exchange/message-reader.ts";
import type { UnreadableReason } from "../../core/metering/exchange/unreadable.ts";
import { closeSocket } from "./close-socket.ts";
import { serveConnect } from "./connect-request.ts";
import { locateClient } from "./locate-client.ts";
import { createPlainRelay, type PlainRelay } from "./plain-relay.ts";
import { isSamePassword, readProxyUser } from "./proxy-authorization.ts";
import { type Refusal, type RelayContext, refuse } from "./relay-context.ts";

const missingCredentials: Refusal = {
  status: 407,
  reason: "proxy_authentication",
  text: "this proxy requires a password",
};

/**
 * Returns why a client may not use the proxy, or null if it may. Clients on this machine are never throttled, so that other
 * machines can't lock them out. A request without a password does not count as a failure.
 */
function checkLogin(context: RelayContext, client: Socket, password: string | null): Refusal | null {
  const { proxyPassword, passwordFor, loginThrottle } = context;
  const isRemote = locateClient(client) === "remote";
  if (proxyPassword === null || (passwordFor === "other_machines" && !isRemote)) return null;
  const address = client.remoteAddress ?? "";
  const waitMs = isRemote && password !== null ? loginThrottle.waitMs(address) : 0;
  if (waitMs > 0) {
    return {
      status: 429,
      reason: "login_throttled",
      text: "too many wrong passwords from this address",
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
    };
  }
  if (isSamePassword(password, proxyPassword)) {
    if (isRemote) loginThrottle.recordSuccess(address);
    return null;
  }
  if (isRemote && password !== null) loginThrottle.recordFailure(address);
  return missingCredentials;
}

const headTimeout: Refusal = {
  status: 408,
  reason: "head_timeout",
  text: "the request head did not arrive in time",
};

interface ClientState {
  readonly context: RelayContext;
  readonly client: Socket;
  readonly reader: RequestReader;
  /** The CONNECT that the client sent first. */
  connectHead: RequestHead | null;
  /** The relay of plain requests, once the client has sent one. */
  relay: PlainRelay | null;
  refused: boolean;
  awaitsHead: boolean;
  headTimer: NodeJS.Timeout | null;
  /** Bytes that followed the CONNECT in the same read. */
  readonly bytesAfterConnect: Uint8Array[];
  /** Removes the listeners on the client. */
  detach: () => void;
}

/** Serves a client: reads its first request, and either serves its CONNECT or relays its requests. `onHead` is called when a head is complete. */
export function serveClient(context: RelayContext, client: Socket, onHead: () => void): void {
  const state: ClientState = {
    context,
    client,
    reader: createRequestReader(() => state),
    connectHead: null,
    relay: null,
    refused: false,
    awaitsHead: true,
    headTimer: null,
    bytesAfterConnect: [],
    detach() {
      client.off("data", onData);
      client.off("end", onEnd);
      client.off("close", onClose);
    },
  };
  const onData = (bytes: Buffer) => onClientData(state, bytes, onHead);
  const onEnd = () => onClientEnd(state);
  const onClose = () => stopHeadTimer(state);
  client.on("data", onData);
  client.on("end", onEnd);
  client.on("close", onClose);
  updateHeadTimer(state);
}

function createRequestReader(stateOf: () => ClientState): RequestReader {
  return createMessageReader("request", {
    started() {
      stateOf().awaitsHead = true;
    },
    head: (head, raw) => onRequestHead(stateOf(), head, raw),
    wire: (bytes) => stateOf().relay?.bytes(bytes),
    end: () => stateOf().relay?.requestEnd(),
    opaque(bytes) {
      const { relay, bytesAfterConnect } = stateOf();
      if (relay !== null) relay.bytes(bytes);
      else bytesAfterConnect.push(bytes.slice());
    },
    ended: () => stateOf().relay?.end(),
    unreadable: (reason) => onUnreadable(stateOf(), reason),
  });
}

function onRequestHead(state: ClientState, head: RequestHead, raw: Uint8Array): void {
  const { context, client, reader } = state;
  state.awaitsHead = false;
  const { user, password } = readProxyUser(head.headers);
  const refusal = checkLogin(context, client, password);
  if (refusal !== null) {
    reader.stop();
    return refuseClient(state, refusal);
  }
  if (state.relay === null && head.method === "CONNECT") {
    state.connectHead = head;
    return;
  }
  state.relay ??= createPlainRelay(context, client, (switched) => reader.resolveSwitch(switched));
  state.relay.head(head, raw, user);
}

function onUnreadable(state: ClientState, reason: UnreadableReason): void {
  if (state.relay !== null) return state.relay.unreadable(reason);
  refuseClient(
    state,
    reason === "head_too_long"
      ? { status: 431, reason: "head_too_large", text: "the request head is too long" }
      : { status: 400, reason: "malformed", text: `this is not an HTTP/1.1 request (${reason})` },
  );
}

function refuseClient(state: ClientState, refusal: Refusal): void {
  if (state.refused) return;
  if (state.relay !== null) return state.relay.refuse(refusal);
  state.refused = true;
  stopServing(state);
  refuse(state.context, state.client, refusal);
}

function stopServing(state: ClientState): void {
  stopHeadTimer(state);
  state.detach();
}

function stopHeadTimer(state: ClientState): void {
  if (state.headTimer !== null) clearTimeout(state.headTimer);
  state.headTimer = null;
}

/** Runs the timer while a head is awaited. */
function updateHeadTimer(state: ClientState): void {
  if (!state.awaitsHead) return stopHeadTimer(state);
  if (state.headTimer !== null) return;
  const { context, client, reader } = state;
  const { firstByteTimeoutMs, headTimeoutMs } = context.limits;
  const isSilent = client.bytesRead === 0;
  state.headTimer = setTimeout(
    () => {
      reader.stop();
      if (isSilent) return closeSilent(state);
      refuseClient(state, headTimeout);
    },
    isSilent ? firstByteTimeoutMs : headTimeoutMs,
  );
}

/** Closes without a response, which a client that connected in advance would mistake for the response to its first request. */
function closeSilent({ context, client }: ClientState): void {
  context.counters.refused.head_timeout += 1;
  closeSocket(client);
}

function onClientData(state: ClientState, bytes: Buffer, onHead: () => void): void {
  const { client, reader } = state;
  const isFirst = client.bytesRead === bytes.length;
  if (isFirst) stopHeadTimer(state);
  if (isFirst && !looksLikeHttp(bytes)) {
    reader.stop();
    return refuseClient(state, {
      status: 400,
      reason: "malformed",
      text: "this is not an HTTP/1.1 request",
    });
  }
  reader.push(bytes);
  if (state.refused) return;
  updateHeadTimer(state);
  if (!state.awaitsHead) onHead();
  if (state.connectHead !== null) startConnect(state, state.connectHead);
}

function startConnect(state: ClientState, head: RequestHead): void {
  const { context, client, reader, bytesAfterConnect } = state;
  stopServing(state);
  client.pause();
  reader.resolveSwitch(true);
  const { user } = readProxyUser(head.headers);
  serveConnect(context, client, head, Buffer.concat(bytesAfterConnect), user);
}

function onClientEnd({ relay, reader, client }: ClientState): void {
  if (relay === null) return closeSocket(client); // no complete head: nothing to answer
  relay.halfClosed();
  reader.end();
}

/** Whether the bytes may begin a request line: with a printable character, or with the empty lines that may precede it. */
function looksLikeHttp(bytes: Buffer): boolean {
  const first = bytes[0] ?? 0;
  return first === 0x0d || first === 0x0a || (first > 0x20 && first < 0x7f);
}
