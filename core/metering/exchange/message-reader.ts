import { type ByteStore, createByteStore } from "./byte-store.ts";
import { CR, LF, viewOf } from "./bytes.ts";
import { type ChunkedBody, createChunkedBody } from "./chunked-body.ts";
import {
  type BodyFraming,
  type PendingRequest,
  requestFraming,
  requestsProtocolSwitch,
  responseFraming,
} from "./framing.ts";
import {
  findHeadEnd,
  type HeaderFilter,
  type RequestHead,
  type ResponseHead,
  readRequestHead,
  readResponseHead,
} from "./head.ts";
import { isUnreadable, type Unreadable, type UnreadableReason } from "./unreadable.ts";

/** Maximum length of a head including its empty line, in bytes. Decision: four times Node's default. */
export const MAX_HEAD_BYTES = 65_536;

/** Maximum number of bytes that may follow a protocol switch request before its response. */
export const MAX_HELD_BYTES = 65_536;

/** Receives the events of a message reader in wire order. All bytes are views that are valid only during the call. */
interface MessageSink {
  /** The first byte of a head arrived. */
  started?(): void;
  /** A piece of the body, without chunk framing and trailers. */
  body?(bytes: Uint8Array): void;
  /** A piece of the body as sent on the wire, with chunk framing and trailers. The `body` events for it come first. */
  wire?(bytes: Uint8Array): void;
  /** The message ended. `complete` is false if the connection ended before the message did. */
  end(complete: boolean): void;
  /** Bytes after the connection switched to another protocol. */
  opaque?(bytes: Uint8Array): void;
  /** This direction was closed normally, and everything before was reported. */
  ended?(): void;
  /** The framing is ambiguous from here on. No further events follow. */
  unreadable(reason: UnreadableReason): void;
}

/** Receives the events of the request direction. */
export interface RequestSink extends MessageSink {
  /** `raw` is the head as sent on the wire, including its empty line. */
  head(head: RequestHead, raw: Uint8Array): void;
}

/** Receives the events of the response direction, and supplies the pending request. */
export interface ResponseSink extends MessageSink {
  /** Which headers the heads keep. Those of the framing must be among them. Default: all. */
  readonly keeps?: HeaderFilter;
  /** Returns the request of the current response; null if there is none. Called once per head. */
  pendingRequest(): PendingRequest | null;
  /** An interim response (1xx except 101). The final response is still pending. */
  informational(head: ResponseHead, raw: Uint8Array): void;
  head(head: ResponseHead, raw: Uint8Array): void;
  /** Called instead of `head` and `end` for the response that switches the connection to another protocol. */
  switched(head: ResponseHead, raw: Uint8Array): void;
}

/** A reader of the messages in one direction of a connection. */
export interface MessageReader {
  push(bytes: Uint8Array): void;
  /** This direction was closed normally. A body that runs until the close is complete. Held bytes wait for `resolveSwitch`. */
  end(): void;
  /** The connection was reset or ended abnormally. An open message is incomplete. */
  abort(): void;
  /** Stops reading and reporting. */
  stop(): void;
  /**
   * Returns how bytes can be added to the body at this point: as a chunk, or unframed if the body ends with the connection. Null if the
   * framing does not allow it.
   */
  insertion(): "chunk" | "bytes" | null;
}

/** A reader of requests. Bytes after a request to switch protocols are held until `resolveSwitch` is called. */
export interface RequestReader extends MessageReader {
  /** Reports whether the protocol was switched: the held bytes are then opaque, otherwise they are the next request. */
  resolveSwitch(switched: boolean): void;
}

/** Creates a reader of one direction. The events do not depend on how the bytes are split into pushes. */
export function createMessageReader(direction: "request", sink: RequestSink): RequestReader;
export function createMessageReader(direction: "response", sink: ResponseSink): MessageReader;
export function createMessageReader(
  ...[direction, sink]: ["request", RequestSink] | ["response", ResponseSink]
): MessageReader {
  return direction === "request" ? createRequestReader(sink) : createResponseReader(sink);
}

function createRequestReader(sink: RequestSink): RequestReader {
  let protocolSwitch: "not_requested" | "pending" | "declined" | "switched" = "not_requested";
  const engine = createEngine(sink, {
    skipsBlankLines: true,
    open(raw) {
      const head = readRequestHead(raw);
      if (isUnreadable(head)) return head;
      const framing = requestFraming(head);
      if (isUnreadable(framing)) return framing;
      protocolSwitch = requestsProtocolSwitch(head) ? "pending" : "not_requested";
      sink.head(head, raw);
      return framing;
    },
    next() {
      if (protocolSwitch === "pending") return "held";
      return protocolSwitch === "switched" ? "opaque" : "head";
    },
  });
  return {
    ...engine,
    resolveSwitch(switched) {
      if (protocolSwitch !== "pending") return;
      protocolSwitch = switched ? "switched" : "declined";
      engine.release(switched);
    },
  };
}

function createResponseReader(sink: ResponseSink): MessageReader {
  return createEngine(sink, {
    skipsBlankLines: false,
    open(raw) {
      const head = readResponseHead(raw, sink.keeps);
      if (isUnreadable(head)) return head;
      const request = sink.pendingRequest();
      if (request === null) return { unreadable: "response_without_request" };
      const framing = responseFraming(head, request);
      if (isUnreadable(framing)) return framing;
      if (framing === "switched") {
        sink.switched(head, raw);
        return "switched";
      }
      if (head.status < 200) {
        sink.informational(head, raw);
        return "informational";
      }
      sink.head(head, raw);
      return framing;
    },
    next: () => "head",
  });
}

/** The state of a direction. */
type Phase = "head" | "length" | "chunked" | "until_close" | "held" | "opaque" | "stopped";

/** The behaviour that differs between the two directions. */
interface Role {
  /** RFC 9112 section 2.2: empty lines before a request line are skipped. */
  readonly skipsBlankLines: boolean;
  /** Parses and reports a head, and returns the framing of what follows. */
  open(raw: Uint8Array): BodyFraming | "informational" | "switched" | Unreadable;
  /** Returns the phase after a message. */
  next(): "head" | "held" | "opaque";
}

interface Engine extends MessageReader {
  release(switched: boolean): void;
}

function createEngine(sink: MessageSink, role: Role): Engine {
  const state: EngineState = {
    sink,
    role,
    phase: "head",
    store: createByteStore(),
    startedHead: false,
    afterBlankReturn: false,
    remaining: 0,
    chunked: undefined,
    endsAfterHeld: false,
  };
  return {
    push: (bytes) => pushBytes(state, bytes),
    end: () => close(state, true),
    abort: () => close(state, false),
    stop: () => stop(state),
    insertion: () => insertion(state),
    release: (switched) => release(state, switched),
  };
}

interface EngineState {
  readonly sink: MessageSink;
  readonly role: Role;
  phase: Phase;
  /** The start of an incomplete head, or the bytes held until a protocol switch is resolved. */
  readonly store: ByteStore;
  startedHead: boolean;
  afterBlankReturn: boolean;
  remaining: number;
  chunked: ChunkedBody | undefined;
  /** Whether the direction was closed normally while bytes are held. */
  endsAfterHeld: boolean;
}

function pushBytes(state: EngineState, bytes: Uint8Array): void {
  let at = 0;
  while (at < bytes.length) at = step(state, bytes, at);
}

/** Reads from `at` until the phase changes or the bytes end. */
function step(state: EngineState, bytes: Uint8Array, at: number): number {
  switch (state.phase) {
    case "head":
      return readHead(state, bytes, at);
    case "length": {
      const to = readBody(state, bytes, at, Math.min(bytes.length, at + state.remaining));
      state.remaining -= to - at;
      if (state.remaining === 0) finish(state, true);
      return to;
    }
    case "chunked":
      return readChunks(state, bytes, at, state.chunked!);
    case "until_close":
      return readBody(state, bytes, at, bytes.length);
    case "held":
      if (state.store.length + bytes.length - at > MAX_HELD_BYTES) fail(state, "too_much_before_switch");
      else state.store.append(bytes, at, bytes.length);
      return bytes.length;
    case "opaque":
      state.sink.opaque?.(viewOf(bytes, at, bytes.length));
      return bytes.length;
    default:
      return bytes.length;
  }
}

function readHead(state: EngineState, bytes: Uint8Array, from: number): number {
  const { role, sink, store } = state;
  let start = from;
  if (!state.startedHead) {
    if (role.skipsBlankLines) start = skipBlankLines(state, bytes, from);
    if (start === bytes.length) return start;
    state.startedHead = true;
    sink.started?.();
  }
  const before = store.length;
  let whole = bytes.subarray(start);
  if (before > 0) {
    store.append(bytes, start, Math.min(bytes.length, start + MAX_HEAD_BYTES + 1 - before));
    whole = store.view();
  }
  const end = findHeadEnd(whole, 0, Math.max(0, before - 1));
  if ((end === -1 ? whole.length : end) > MAX_HEAD_BYTES) fail(state, "head_too_long");
  else if (end === -1) {
    if (before === 0) store.append(whole, 0, whole.length);
  } else {
    store.clear();
    openMessage(state, whole.subarray(0, end));
    return start + end - before;
  }
  return bytes.length;
}

/** Skips empty lines, which must end with CRLF. */
function skipBlankLines(state: EngineState, bytes: Uint8Array, from: number): number {
  let at = from;
  for (; at < bytes.length && (state.afterBlankReturn || bytes[at] === CR); at++) {
    if (state.afterBlankReturn && bytes[at] !== LF) {
      fail(state, "bad_request_line");
      return bytes.length;
    }
    state.afterBlankReturn = !state.afterBlankReturn;
  }
  return at;
}

function openMessage(state: EngineState, raw: Uint8Array): void {
  state.startedHead = false;
  const framing = state.role.open(raw);
  if (state.phase === "stopped") return; // the sink may call `stop()` while it handles the head
  if (isUnreadable(framing)) fail(state, framing.unreadable);
  else if (framing === "switched") state.phase = "opaque";
  else if (framing === "until_close") state.phase = "until_close";
  else if (framing === "chunked") {
    state.phase = "chunked";
    state.chunked = createChunkedBody((bytes) => state.sink.body?.(bytes));
  } else if (framing === 0) finish(state, true);
  else if (framing !== "informational") {
    state.phase = "length";
    state.remaining = framing;
  }
}

function readBody({ sink }: EngineState, bytes: Uint8Array, from: number, to: number): number {
  const piece = viewOf(bytes, from, to);
  sink.body?.(piece);
  sink.wire?.(piece);
  return to;
}

function readChunks(state: EngineState, bytes: Uint8Array, from: number, body: ChunkedBody): number {
  const to = body.read(bytes, from);
  if (to > from) state.sink.wire?.(viewOf(bytes, from, to));
  if (body.outcome === "ended") finish(state, true);
  else if (body.outcome !== "open") fail(state, body.outcome);
  return to;
}

function insertion({ phase, chunked }: EngineState): "chunk" | "bytes" | null {
  if (phase === "until_close") return "bytes";
  return phase === "chunked" && chunked?.isBetweenChunks() === true ? "chunk" : null;
}

function finish(state: EngineState, complete: boolean): void {
  state.phase = state.role.next();
  state.sink.end(complete);
}

function fail(state: EngineState, reason: UnreadableReason): void {
  stop(state);
  state.sink.unreadable(reason);
}

function stop(state: EngineState): void {
  state.phase = "stopped";
  state.store.clear();
}

function close(state: EngineState, isNormal: boolean): void {
  const { phase, sink } = state;
  if (phase === "held" && isNormal) {
    state.endsAfterHeld = true;
    return;
  }
  stop(state);
  if (phase === "length" || phase === "chunked") sink.end(false);
  else if (phase === "until_close") sink.end(isNormal);
  if (isNormal) sink.ended?.();
}

function release(state: EngineState, switched: boolean): void {
  if (state.phase !== "held") return; // the request is incomplete; `next` applies the result later
  const held = state.store.view();
  state.phase = switched ? "opaque" : "head";
  state.store.clear();
  pushBytes(state, held);
  if (state.endsAfterHeld) close(state, true);
}
