import type { Socket } from "node:net";
import {
  type PendingRequest,
  RESPONSE_HEADERS,
  requestsProtocolSwitch,
} from "../../core/metering/exchange/framing.ts";
import { headerValue, type RequestHead, type ResponseHead } from "../../core/metering/exchange/head.ts";
import {
  createMessageReader,
  type MessageReader,
  type ResponseSink,
} from "../../core/metering/exchange/message-reader.ts";
import { createRequestScanner, type RequestScanner } from "../../core/metering/exchange/request-scanner.ts";
import type { CreateMessageInflater } from "../../core/ports/message-inflater.ts";
import { type BodyWait, startBodyWait } from "./body-wait.ts";
import { type CallGate, isHeld, MAX_HELD_BODY_BYTES } from "./call-gate.ts";
import type { GateAnswer } from "./call-question.ts";
import { createHeldTurns, type HeldTurns } from "./held-turns.ts";
import type { PassBound } from "./passes.ts";
import type { RelayLog, RelayTarget } from "./relay-context.ts";
import { type CutOrder, createResponseCut, type ResponseCut } from "./response-cut.ts";

/** The operations of a tap that holds the requests of its client. */
export interface HeldLink {
  readonly gate: CallGate;
  readonly client: Socket;
  readonly upstream: Socket;
  readonly relayLog: RelayLog;
  readonly target: RelayTarget;
  readonly createInflater: CreateMessageInflater;
  /** Sends bytes upstream and logs them. */
  forward(bytes: Uint8Array): void;
  /** The client's FIN may be relayed. */
  end(): void;
  /** Sends bytes to the client. */
  reply(bytes: Uint8Array): void;
  /** Closes both connections in order. */
  close(): void;
  /** Answers the client instead of the provider, and ends both connections. `held` is what was not sent upstream. */
  refuse(answer: GateAnswer & { kind: "refuse" }, held: readonly Uint8Array[]): void;
  /** Ends both connections in the middle of a call, after these bytes to the client; null: abruptly. */
  cut(order: CutOrder, bytes: Uint8Array | null): void;
}

/** The requests of one client, each of which is held until the decision on it. */
export interface HeldRequests {
  /** Takes bytes of the client. */
  push(bytes: Buffer): void;
  /** Takes the client's FIN. */
  end(): void;
  /** Reads bytes of the upstream, which are relayed elsewhere. */
  response(bytes: Buffer): void;
  /** Whether the response is to be ended, so that it must be relayed in the pieces of `piecesOf()`. */
  readonly isCutting: boolean;
  /** Ends a call that is under way. Without an effect if it has ended. */
  cut(order: CutOrder): void;
  /** Ends the waiting, because a connection has ended. */
  stop(): void;
}

/**
 * `passing`: bytes go on at once, up to the request's end. `collecting`: they are held until the body is complete or long enough.
 * `asking`, `switching` and `refused` wait: for a decision, for the answer to an upgrade, for earlier responses. `open`: the
 * bytes can't or need not be divided any more.
 */
type Phase = "passing" | "collecting" | "asking" | "switching" | "refused" | "open";

interface HeldState {
  readonly link: HeldLink;
  readonly scanner: RequestScanner;
  readonly responses: MessageReader;
  /** Requests whose responses have not ended, oldest first. */
  readonly pending: (PendingRequest & { readonly number: number })[];
  readonly responseCut: ResponseCut;
  phase: Phase;
  /** Bytes that were not scanned yet. */
  queue: Buffer[];
  /** Bytes of the request that waits for its decision. */
  held: Uint8Array[];
  /** Its body without chunk framing. */
  body: Uint8Array[];
  bodyBytes: number;
  head: RequestHead | null;
  /** The bytes of the head. */
  rawHead: readonly Uint8Array[];
  requests: number;
  refusal: (GateAnswer & { kind: "refuse" }) | null;
  clientEnded: boolean;
  /** Whether each turn of the requested WebSocket is held; and its turns, once it is open. */
  holdsTurns: boolean;
  turns: HeldTurns | null;
  /** The wait for the rest of the body; null before its first bytes were held. */
  wait: BodyWait | null;
  /** Cancels the question or the wait for the body. */
  cancel: () => void;
}

/** Creates the requests of a tapped client. */
export function createHeldRequests(link: HeldLink): HeldRequests {
  const state: HeldState = {
    link,
    scanner: createRequestScanner((bytes) => {
      if (state.phase !== "collecting") return;
      if (state.bodyBytes === 0) state.body = [bytes];
      else state.body.push(bytes);
      state.bodyBytes += bytes.length;
    }),
    responses: createMessageReader(
      "response",
      createResponseSink(() => state),
    ),
    pending: [],
    responseCut: createResponseCut({
      reader: () => state.responses,
      pending: () => state.pending,
      end: link.cut,
    }),
    phase: "passing",
    queue: [],
    held: [],
    body: [],
    bodyBytes: 0,
    head: null,
    rawHead: [],
    wait: null,
    requests: 0,
    refusal: null,
    clientEnded: false,
    holdsTurns: false,
    turns: null,
    cancel: () => {},
  };
  return {
    push(bytes) {
      if (state.phase === "open") return relayOpen(state, bytes);
      if (state.queue.length === 0) state.queue = [bytes];
      else state.queue.push(bytes);
      scanQueue(state);
    },
    end() {
      state.clientEnded = true;
      endWhenSent(state);
    },
    response(bytes) {
      if (state.turns !== null) state.turns.response(bytes);
      else {
        state.responses.push(bytes);
        if (state.responseCut.isOrdered) state.responseCut.relayed();
      }
    },
    get isCutting() {
      return state.responseCut.isOrdered;
    },
    cut: (order) => cut(state, order),
    stop() {
      state.cancel();
      state.responseCut.stop();
      state.turns?.stop();
    },
  };
}

/** Reads the responses, which show which requests have been answered. */
const createResponseSink = (state: () => HeldState): ResponseSink => ({
  keeps: RESPONSE_HEADERS,
  pendingRequest: () => state().pending[0] ?? null,
  informational: () => state().responseCut.informational(),
  started: () => state().responseCut.started(),
  body: (bytes) => state().responseCut.body(bytes),
  head(head) {
    state().responseCut.head(head);
    if (state().phase === "switching" && state().pending[0]?.requestsProtocolSwitch)
      continueWith(state(), "passing");
  },
  end() {
    state().pending.shift();
    state().responseCut.ended();
    refuseWhenAnswered(state());
  },
  switched(head) {
    if (state().holdsTurns) state().turns = openTurns(state(), head);
    continueWith(state(), "open");
  },
  unreadable: () => continueWith(state(), "open"),
});

const isWaiting = ({ phase }: HeldState) =>
  phase === "asking" || phase === "switching" || phase === "refused";

/** Relays what may be relayed. */
function scanQueue(state: HeldState): void {
  const { link, scanner, queue } = state;
  for (
    let bytes = queue[0];
    bytes !== undefined && !isWaiting(state) && state.phase !== "open";
    bytes = queue[0]
  ) {
    const { to, found } = scanner.scan(bytes, 0);
    // The bytes of a head are held: it may be incomplete, and decides what happens to its request.
    const isBetween = state.head === null;
    const piece = bytes.subarray(0, to);
    if (state.phase !== "collecting" && !isBetween) link.forward(piece);
    else holdPiece(state, piece);
    if (to < bytes.length) queue[0] = bytes.subarray(to);
    else if (found === "more" || found === "unreadable" || found === "end") queue.shift();
    else queue[0] = bytes.subarray(to); // a request without a body ends after no more bytes
    if (found === "head") onHead(state, scanner.head() as RequestHead);
    else if (found === "end") onRequestEnd(state);
    else if (found === "unreadable") continueWith(state, "open");
    else if (state.phase === "collecting" && state.bodyBytes >= MAX_HELD_BODY_BYTES) askNow(state, false);
  }
  if (isWaiting(state)) link.client.pause();
  else if (state.phase === "collecting") limitWait(state);
}

/** Holds a piece. One that follows the last one in the same buffer extends it: each is written on its own, as a TLS record. */
function holdPiece(state: HeldState, piece: Uint8Array): void {
  const { held } = state;
  const last = held.at(-1);
  // An array of one is far smaller than one that grows.
  if (last === undefined) state.held = [piece];
  else if (last.buffer === piece.buffer && last.byteOffset + last.length === piece.byteOffset)
    held[held.length - 1] = Buffer.from(piece.buffer, last.byteOffset, last.length + piece.length);
  else held.push(piece);
}

/** Asks with the start of a body whose rest does not arrive soon. */
function limitWait(state: HeldState): void {
  if (state.wait !== null) return state.wait.arrived();
  state.wait = startBodyWait(() => askNow(state, false));
  state.cancel = state.wait.end;
}

function onHead(state: HeldState, head: RequestHead): void {
  const { link } = state;
  state.head = head;
  state.requests += 1;
  if (link.gate.config === null || !isHeld(head, requestsProtocolSwitch(head)))
    return sendHeld(state, "passing");
  state.phase = "collecting";
  state.wait = null;
  state.rawHead = state.held.slice();
  // The client sends the body only after `100 Continue`, or not soon.
  if (headerValue(head.headers, "expect") !== null) askNow(state, false);
}

function onRequestEnd(state: HeldState): void {
  if (state.phase === "collecting") return askNow(state, true);
  const switches = state.pending.at(-1)?.requestsProtocolSwitch === true;
  state.head = null;
  if (switches) state.phase = "switching";
}

/** Lets a request whose body is complete go without a decision if the budgets have ample room. */
function letPass(state: HeldState): boolean {
  const { link, head, body, bodyBytes, requests } = state;
  const { entry, log } = link.relayLog;
  // Whether its turns are held is part of the decision on a WebSocket.
  if (entry.lost || head === null || requestsProtocolSwitch(head)) return false;
  const pass = link.gate.pass({
    keptBytes: bodyBytes,
    bound: boundOf(state, head),
    body: () => joinBody(body),
  });
  if (pass === null) return false;
  log.passed(entry, requests, pass);
  sendHeld(state, "passing");
  return true;
}

/** Returns a function that returns what the request, whose body is complete, can use at most. */
function boundOf({ link, body }: HeldState, head: RequestHead): () => PassBound {
  const { host, port } = link.target;
  return () => link.gate.bound({ host, port, head, body: joinBody(body) });
}

const joinBody = (body: readonly Uint8Array[]): Uint8Array =>
  body.length === 1 ? (body[0] as Uint8Array) : Buffer.concat(body);

function askNow(state: HeldState, isWhole: boolean): void {
  const { link, head } = state;
  state.cancel();
  state.cancel = () => {};
  if (isWhole && letPass(state)) return onRequestEnd(state);
  state.phase = "asking";
  link.client.pause();
  state.cancel = link.gate.ask(
    { ...questionOf(state), body: Buffer.concat(state.body), isWhole, isTurn: false },
    (answer) => {
      state.cancel = () => {};
      if (answer.kind === "allow") {
        state.holdsTurns = answer.holdsTurns === true;
        sendHeld(state, "passing");
        if (isWhole) onRequestEnd(state);
        return resume(state);
      }
      state.phase = "refused";
      state.refusal = answer;
      refuseWhenAnswered(state);
    },
    isWhole && head !== null && !requestsProtocolSwitch(head) ? boundOf(state, head) : undefined,
  );
}

function cut(state: HeldState, order: CutOrder): void {
  const { link, phase, turns, responseCut } = state;
  if (phase !== "open") responseCut.order(order);
  else if (turns !== null && order.turn !== null) turns.cut(order);
  // Where responses begin and end is not known.
  else if (turns === null && order.request === state.requests) link.cut(order, null);
}

/** Returns what every question about the connection has. */
function questionOf({ link, requests, rawHead }: HeldState) {
  const { target, relayLog } = link;
  const { host, port, clientPort, proxyUser } = target;
  return {
    connection: relayLog.entry.id,
    request: requests,
    ...{ host, port, clientPort, proxyUser },
    project: null,
    caller: relayLog.caller,
    head: Buffer.concat(rawHead),
  };
}

/** Holds the turns of the WebSocket that has just been opened. */
function openTurns(state: HeldState, head: ResponseHead): HeldTurns | null {
  const { link } = state;
  return createHeldTurns(
    {
      ...link,
      ask: (turn, number, done) =>
        link.gate.ask(
          { ...questionOf(state), request: -number, body: turn, isWhole: true, isTurn: true },
          done,
        ),
      hold(isHeld) {
        if (isHeld) link.client.pause();
        else if (!link.upstream.writableNeedDrain) link.client.resume();
      },
      blocked: (answer, held) => link.relayLog.blocked(answer, held, true),
      cut: link.cut,
    },
    head,
  );
}

function relayOpen({ link, turns }: HeldState, bytes: Uint8Array): void {
  if (turns === null) link.forward(bytes);
  else turns.push(bytes);
}

/** Sends the held bytes of the current request. */
function sendHeld(state: HeldState, phase: Phase): void {
  const { link, head, held } = state;
  state.phase = phase;
  state.held = [];
  state.body = [];
  state.bodyBytes = 0;
  if (head !== null)
    state.pending.push({
      number: state.requests,
      method: head.method,
      requestsProtocolSwitch: requestsProtocolSwitch(head),
    });
  for (const bytes of held) link.forward(bytes);
}

function resume(state: HeldState): void {
  const { link } = state;
  scanQueue(state);
  if (isWaiting(state)) return;
  if (!link.upstream.writableNeedDrain) link.client.resume();
  endWhenSent(state);
}

/** Continues after a wait, or stops dividing the bytes. */
function continueWith(state: HeldState, phase: "passing" | "open"): void {
  if (state.phase === "open" || state.phase === "refused") return;
  if (phase === "open") {
    state.cancel();
    for (const bytes of state.held.splice(0)) state.link.forward(bytes);
    state.phase = "open";
    for (const bytes of state.queue.splice(0)) relayOpen(state, bytes);
  } else state.phase = phase;
  resume(state);
}

/** Answers instead of the provider once the responses to earlier requests are complete. */
function refuseWhenAnswered({ link, refusal, pending, held }: HeldState): void {
  if (refusal !== null && pending.length === 0) link.refuse(refusal, held);
}

/** Relays the client's FIN after its bytes. A request that it did not complete is sent as it is. */
function endWhenSent(state: HeldState): void {
  if (!state.clientEnded || isWaiting(state)) return;
  state.cancel();
  if (state.held.length > 0) sendHeld(state, "open");
  state.link.end();
}
