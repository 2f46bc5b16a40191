import { createByteStore } from "./byte-store.ts";
import { CR, LF, viewOf } from "./bytes.ts";
import type { ChunkedBody } from "./chunked-body.ts";
import { createChunkedBody } from "./chunked-body.ts";
import type { BodyFraming, PendingRequest } from "./framing.ts";
import { asksToSwitch, requestFraming, responseFraming } from "./framing.ts";
import type { RequestHead, ResponseHead } from "./head.ts";
import { findHeadEnd, readRequestHead, readResponseHead } from "./head.ts";
import type { Unreadable, UnreadableReason } from "./unreadable.ts";
import { isUnreadable } from "./unreadable.ts";

/** The longest head, in bytes with its empty line. Decision: four times what Node accepts by default. */
export const MAX_HEAD_BYTES = 65_536;

/** How much may follow a request that asks to switch protocols before it is answered, in bytes. */
export const MAX_HELD_BYTES = 65_536;

/** What a message reader reports, in the order of the wire. All bytes are views valid only during the call. */
export interface MessageSink {
  /** The first byte of a head has come. */
  started?(): void;
  /** A piece of the body as its sender meant it, without chunk framing and trailers. */
  body?(bytes: Uint8Array): void;
  /** A piece of the body as it stood on the wire, with chunk framing and trailers. Pieces of `body` in it came before. */
  wire?(bytes: Uint8Array): void;
  /** The message is over; `complete` is false where the connection ended before the framing said so. */
  end(complete: boolean): void;
  /** Bytes after the connection switched to another protocol. */
  opaque?(bytes: Uint8Array): void;
  /** The framing can't be told for certain from here on. Nothing more is reported. */
  unreadable(reason: UnreadableReason): void;
}

/** What the reader of the request direction reports. */
export interface RequestSink extends MessageSink {
  /** `raw` is the head as it stood on the wire, its empty line included. */
  head(head: RequestHead, raw: Uint8Array): void;
}

/** What the reader of the response direction reports, and asks. */
export interface ResponseSink extends MessageSink {
  /** The request that the response at hand answers; null where none is open. Asked once for each head. */
  pendingRequest(): PendingRequest | null;
  /** An interim response (1xx, but 101). The same request is still to be answered. */
  informational(head: ResponseHead, raw: Uint8Array): void;
  head(head: ResponseHead, raw: Uint8Array): void;
  /** In place of `head` and `end`: the response that turns the connection over to another protocol. */
  switched(head: ResponseHead, raw: Uint8Array): void;
}

/** Reads the messages of one direction of a connection. */
export interface MessageReader {
  push(bytes: Uint8Array): void;
  /** This direction was closed in order. A body that runs until then is complete. */
  end(): void;
  /** The connection was torn down. Whatever was under way is incomplete. */
  abort(): void;
  /** Reads and reports nothing from here on. */
  stop(): void;
}

/** Reads requests. What follows one that asks to switch protocols is held until it is known what it is. */
export interface RequestReader extends MessageReader {
  /** Tells how the request that asked to switch was answered: is what follows opaque, or another request? */
  settleSwitch(switched: boolean): void;
}

/** Creates the reader of one direction. It finds the same messages however the bytes are cut. */
export function createMessageReader(direction: "request", sink: RequestSink): RequestReader;
export function createMessageReader(direction: "response", sink: ResponseSink): MessageReader;
export function createMessageReader(
  ...[direction, sink]: ["request", RequestSink] | ["response", ResponseSink]
): MessageReader {
  return direction === "request" ? createRequestReader(sink) : createResponseReader(sink);
}

function createRequestReader(sink: RequestSink): RequestReader {
  let answer: "not_asked" | "awaited" | "declined" | "switched" = "not_asked";
  const engine = createEngine(sink, {
    skipsBlankLines: true,
    open(raw) {
      const head = readRequestHead(raw);
      if (isUnreadable(head)) return head;
      const framing = requestFraming(head);
      if (isUnreadable(framing)) return framing;
      answer = asksToSwitch(head) ? "awaited" : "not_asked";
      sink.head(head, raw);
      return framing;
    },
    next() {
      if (answer === "awaited") return "held";
      return answer === "switched" ? "opaque" : "head";
    },
  });
  return {
    ...engine,
    settleSwitch(switched) {
      if (answer !== "awaited") return;
      answer = switched ? "switched" : "declined";
      engine.release(switched);
    },
  };
}

function createResponseReader(sink: ResponseSink): MessageReader {
  return createEngine(sink, {
    skipsBlankLines: false,
    open(raw) {
      const head = readResponseHead(raw);
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

/** Where a direction stands. */
type Phase = "head" | "length" | "chunked" | "until_close" | "held" | "opaque" | "stopped";

/** What tells the two directions apart. */
interface Role {
  /** RFC 9112 section 2.2: empty lines before a request line are passed over. */
  readonly skipsBlankLines: boolean;
  /** Reads and reports a head, and says what follows it. */
  open(raw: Uint8Array): BodyFraming | "informational" | "switched" | Unreadable;
  /** What follows a message. */
  next(): "head" | "held" | "opaque";
}

interface Engine extends MessageReader {
  release(switched: boolean): void;
}

function createEngine(sink: MessageSink, role: Role): Engine {
  let phase: Phase = "head";
  /** A head cut by a push; later, what is held back until a switch is settled. */
  const store = createByteStore();
  let startedHead = false;
  let afterBlankReturn = false;
  let remaining = 0;
  let chunked: ChunkedBody | undefined;

  const fail = (reason: UnreadableReason): void => {
    stop();
    sink.unreadable(reason);
  };

  const stop = (): void => {
    phase = "stopped";
    store.clear();
  };

  const finish = (complete: boolean): void => {
    phase = role.next();
    sink.end(complete);
  };

  const open = (raw: Uint8Array): void => {
    startedHead = false;
    const framing = role.open(raw);
    if (phase === "stopped") return; // by the sink, while it was told of the head
    if (isUnreadable(framing)) fail(framing.unreadable);
    else if (framing === "switched") phase = "opaque";
    else if (framing === "until_close") phase = "until_close";
    else if (framing === "chunked") {
      phase = "chunked";
      chunked = createChunkedBody((bytes) => sink.body?.(bytes));
    } else if (framing === 0) finish(true);
    else if (framing !== "informational") {
      phase = "length";
      remaining = framing;
    }
  };

  /** Empty lines end with CRLF, nothing less. */
  const skipBlankLines = (bytes: Uint8Array, from: number): number => {
    let at = from;
    for (; at < bytes.length && (afterBlankReturn || bytes[at] === CR); at++) {
      if (afterBlankReturn && bytes[at] !== LF) {
        fail("bad_request_line");
        return bytes.length;
      }
      afterBlankReturn = !afterBlankReturn;
    }
    return at;
  };

  const readHead = (bytes: Uint8Array, from: number): number => {
    let start = from;
    if (!startedHead) {
      if (role.skipsBlankLines) start = skipBlankLines(bytes, from);
      if (start === bytes.length) return start;
      startedHead = true;
      sink.started?.();
    }
    const before = store.length;
    let whole = bytes.subarray(start);
    if (before > 0) {
      store.append(bytes, start, Math.min(bytes.length, start + MAX_HEAD_BYTES + 1 - before));
      whole = store.view();
    }
    const end = findHeadEnd(whole, 0, Math.max(0, before - 1));
    if ((end === -1 ? whole.length : end) > MAX_HEAD_BYTES) fail("head_too_long");
    else if (end === -1) {
      if (before === 0) store.append(whole, 0, whole.length);
    } else {
      store.clear();
      open(whole.subarray(0, end));
      return start + end - before;
    }
    return bytes.length;
  };

  const readBody = (bytes: Uint8Array, from: number, to: number): number => {
    const piece = viewOf(bytes, from, to);
    sink.body?.(piece);
    sink.wire?.(piece);
    return to;
  };

  const readChunks = (bytes: Uint8Array, from: number, body: ChunkedBody): number => {
    const to = body.read(bytes, from);
    if (to > from) sink.wire?.(viewOf(bytes, from, to));
    if (body.outcome === "ended") finish(true);
    else if (body.outcome !== "open") fail(body.outcome);
    return to;
  };

  /** Reads on from `at` as far as the phase goes. */
  const step = (bytes: Uint8Array, at: number): number => {
    switch (phase) {
      case "head":
        return readHead(bytes, at);
      case "length": {
        const to = readBody(bytes, at, Math.min(bytes.length, at + remaining));
        remaining -= to - at;
        if (remaining === 0) finish(true);
        return to;
      }
      case "chunked":
        return readChunks(bytes, at, chunked!);
      case "until_close":
        return readBody(bytes, at, bytes.length);
      case "held":
        if (store.length + bytes.length - at > MAX_HELD_BYTES) fail("too_much_before_switch");
        else store.append(bytes, at, bytes.length);
        return bytes.length;
      case "opaque":
        sink.opaque?.(viewOf(bytes, at, bytes.length));
        return bytes.length;
      default:
        return bytes.length;
    }
  };

  const push = (bytes: Uint8Array): void => {
    let at = 0;
    while (at < bytes.length) at = step(bytes, at);
  };

  const close = (inOrder: boolean): void => {
    const was = phase;
    stop();
    if (was === "length" || was === "chunked") sink.end(false);
    else if (was === "until_close") sink.end(inOrder);
  };

  return {
    push,
    end: () => close(true),
    abort: () => close(false),
    stop,
    release(switched) {
      if (phase !== "held") return; // the request is still under way: `next` will know
      const held = store.view();
      phase = switched ? "opaque" : "head";
      store.clear();
      push(held);
    },
  };
}
