import type { MessageInflater } from "../ports/message-inflater.ts";
import { createByteStore } from "./byte-store.ts";
import { NO_BYTES } from "./bytes.ts";

/** A data message, whole, as its sender meant it: unmasked, put together, inflated. */
export interface WebSocketMessage {
  readonly kind: "text" | "binary";
  /** A view valid only during the call. */
  readonly bytes: Uint8Array;
  /** When the first byte of its first frame passed. */
  readonly startedAtMs: number;
}

/** What one side of a WebSocket connection sent, in that order. */
export interface WebSocketSink {
  message(message: WebSocketMessage, atMs: number): void;
  /** A close frame passed: this side sends no more messages. `code` is null where the frame states none. */
  closed(code: number | null, atMs: number): void;
  /** The frames can't be told for certain, or what they hold not be inflated: nothing more is reported. */
  unreadable(reason: WebSocketUnreadable, atMs: number): void;
}

/** Why the frames of a direction can't be read on. The words are stable: they are logged. */
export type WebSocketUnreadable =
  // RFC 6455, sections 5.2 to 5.5.
  | "reserved_bit"
  | "unknown_opcode"
  | "bad_mask"
  | "bad_frame_length"
  | "bad_control_frame"
  | "bad_fragment"
  // RFC 7692.
  | "deflate_damaged"
  | "deflate_too_large"
  | "deflate_context_lost";

/** Reads the frames of one direction of a WebSocket connection. */
export interface WebSocketReader {
  push(bytes: Uint8Array, atMs: number): void;
  /** Messages passed over because they were too large. */
  readonly dropped: number;
}

export interface WebSocketReaderOptions {
  /** A client masks its frames, a server does not (RFC 6455, section 5.1). */
  readonly sender: "client" | "server";
  /** The most that a message may hold, on the wire and inflated, in bytes. */
  readonly maxMessageBytes?: number;
  /** What was agreed for this direction; null where nothing is compressed. */
  readonly deflate?: { readonly inflater: MessageInflater; readonly sharesWindow: boolean } | null;
}

/** The default ceiling of a message, in bytes. Decision: as for an event of a stream that repeats a whole response. */
export const DEFAULT_MAX_WEBSOCKET_MESSAGE_BYTES = 8 * 1024 * 1024;

/** A frame's head: two bytes, eight of length, four of mask. */
const MAX_FRAME_HEAD_BYTES = 14;

const CONTINUATION = 0x0;
const TEXT = 0x1;
const BINARY = 0x2;
const CLOSE = 0x8;
const PONG = 0xa;

/**
 * Creates a reader of RFC 6455 frames. A message that lies whole in one push and is not masked is not copied. One that
 * is too large is passed over and counted; where later messages refer to it, they are lost too, and it says so. Text is
 * not checked to be UTF-8. The same bytes give the same report, however they are cut.
 */
export function createWebSocketReader(
  sink: WebSocketSink,
  { sender, maxMessageBytes = DEFAULT_MAX_WEBSOCKET_MESSAGE_BYTES, deflate = null }: WebSocketReaderOptions,
): WebSocketReader {
  let dropped = 0;
  let over = false;
  let nowMs = 0;

  const head = new Uint8Array(MAX_FRAME_HEAD_BYTES);
  let headLength = 0;
  /** When the first byte of the head passed. */
  let frameStartedMs = 0;

  /** The frame whose payload is being read; -1 between frames. */
  let opcode = -1;
  let final = false;
  let payloadLeft = 0;
  let maskAt = -1;
  let masked = 0;

  /** The message whose frames are being put together. */
  let kind: "text" | "binary" | null = null;
  let compressed = false;
  let tooLarge = false;
  let startedAtMs = 0;
  const message = createByteStore();
  const control = createByteStore();

  const fail = (reason: WebSocketUnreadable): void => {
    over = true;
    message.clear();
    sink.unreadable(reason, nowMs);
  };

  /** Reads the frame's head, which is whole. */
  const beginFrame = (): void => {
    const first = head[0]!;
    const length = head[1]! & 0x7f;
    opcode = first & 0x0f;
    final = (first & 0x80) !== 0;
    const isControl = (opcode & 0x8) !== 0;
    const isCompressed = (first & 0x40) !== 0;
    if ((first & 0x30) !== 0) return fail("reserved_bit");
    if (opcode > PONG || (opcode > BINARY && opcode < CLOSE)) return fail("unknown_opcode");
    if (((head[1]! & 0x80) !== 0) !== (sender === "client")) return fail("bad_mask");
    payloadLeft = length;
    if (length === 126) payloadLeft = readUint(head, 2, 4);
    else if (length === 127) payloadLeft = readUint(head, 2, 10);
    // A length beyond 2^53 is none that anybody sends, and can't be counted down here.
    if (payloadLeft > Number.MAX_SAFE_INTEGER) return fail("bad_frame_length");
    maskAt = sender === "client" ? headLength - 4 : -1;
    masked = 0;
    if (isControl) {
      if (!final || length > 125) return fail("bad_control_frame");
      if (isCompressed) return fail("reserved_bit");
      return;
    }
    if ((opcode === CONTINUATION) !== (kind !== null)) return fail("bad_fragment");
    if (opcode === CONTINUATION) {
      if (isCompressed) return fail("reserved_bit");
    } else {
      if (isCompressed && deflate === null) return fail("reserved_bit");
      kind = opcode === TEXT ? "text" : "binary";
      compressed = isCompressed;
      tooLarge = false;
      startedAtMs = frameStartedMs;
    }
    if (message.length + payloadLeft > maxMessageBytes) {
      tooLarge = true;
      message.clear();
    }
  };

  const unmask = (bytes: Uint8Array): Uint8Array => {
    if (maskAt === -1) return bytes;
    const plain = new Uint8Array(bytes.length);
    for (let at = 0; at < bytes.length; at++) plain[at] = bytes[at]! ^ head[maskAt + ((masked + at) & 3)]!;
    masked = (masked + bytes.length) & 3;
    return plain;
  };

  const deliver = (payload: Uint8Array): void => {
    const what = kind!;
    kind = null;
    if (tooLarge) {
      dropped++;
      if (compressed && deflate!.sharesWindow) fail("deflate_context_lost");
      return;
    }
    if (!compressed) return sink.message({ kind: what, bytes: payload, startedAtMs }, nowMs);
    const inflated = deflate!.inflater.inflate(payload);
    if (inflated.kind === "inflated") sink.message({ kind: what, bytes: inflated.bytes, startedAtMs }, nowMs);
    else fail(inflated.kind === "damaged" ? "deflate_damaged" : "deflate_too_large");
  };

  /** Takes a piece of the frame's payload, perhaps empty; `ends` says that the frame is whole with it. */
  const takePayload = (bytes: Uint8Array, ends: boolean): void => {
    if ((opcode & 0x8) !== 0) {
      if (opcode !== CLOSE) return;
      const piece = unmask(bytes);
      control.append(piece, 0, piece.length);
      if (!ends) return;
      over = true;
      const stated = control.view();
      sink.closed(stated.length >= 2 ? readUint(stated, 0, 2) : null, nowMs);
      return;
    }
    const completes = ends && final;
    if (tooLarge) {
      if (completes) deliver(NO_BYTES);
      return;
    }
    const piece = unmask(bytes);
    if (completes && message.length === 0) return deliver(piece);
    message.append(piece, 0, piece.length);
    if (!completes) return;
    const whole = message.view();
    message.clear();
    deliver(whole);
  };

  return {
    get dropped() {
      return dropped;
    },
    push(bytes, atMs) {
      nowMs = atMs;
      let at = 0;
      while (!over && at < bytes.length) {
        if (opcode === -1) {
          if (headLength === 0) frameStartedMs = atMs;
          head[headLength++] = bytes[at++]!;
          if (headLength < 2 || headLength < frameHeadLength(head[1]!)) continue;
          beginFrame();
          if (over) return;
          headLength = 0;
          if (payloadLeft > 0) continue;
        }
        const end = Math.min(bytes.length, at + payloadLeft);
        const piece = bytes.subarray(at, end);
        payloadLeft -= end - at;
        at = end;
        const ends = payloadLeft === 0;
        takePayload(piece, ends);
        if (ends) opcode = -1;
      }
    },
  };
}

/** How long the head is whose second byte this is. */
function frameHeadLength(second: number): number {
  const length = second & 0x7f;
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + ((second & 0x80) !== 0 ? 4 : 0);
}

/** `bytes[from, to)` as an unsigned integer in network order; inexact beyond 2^53. */
function readUint(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) value = value * 256 + bytes[at]!;
  return value;
}
