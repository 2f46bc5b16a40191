import type { MessageInflater } from "../../ports/message-inflater.ts";
import { type ByteQuota, type ByteStore, createByteStore } from "./byte-store.ts";
import { NO_BYTES } from "./bytes.ts";

/** A complete data message: unmasked, reassembled and decompressed. */
export interface WebSocketMessage {
  readonly kind: "text" | "binary";
  /** A view that is valid only during the call. */
  readonly bytes: Uint8Array;
  /** The time of the first byte of its first frame. */
  readonly startedAtMs: number;
}

/** Receives the events of one side of a WebSocket connection, in order. */
interface WebSocketSink {
  message(message: WebSocketMessage, atMs: number): void;
  /** A close frame was sent: no more messages follow from this side. `code` is null if the frame has none. */
  closed(code: number | null, atMs: number): void;
  /** The frames are invalid or cannot be decompressed. No further events follow. */
  unreadable(reason: WebSocketUnreadable, atMs: number): void;
}

/** Why the frames of a direction cannot be read. The values are stable, because they are logged. */
type WebSocketUnreadable =
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

/** A reader of the frames in one direction of a WebSocket connection. */
export interface WebSocketReader {
  push(bytes: Uint8Array, atMs: number): void;
  /** The number of messages that were too large, or that the quota had no memory for. */
  readonly dropped: number;
}

/** Options of a reader of one direction. */
export interface WebSocketReaderOptions {
  /** A client masks its frames, a server does not (RFC 6455, section 5.1). */
  readonly sender: "client" | "server";
  /** Maximum size of a message in bytes, both compressed and decompressed. */
  readonly maxMessageBytes?: number;
  /** Bounds the memory of messages that span several pushes. Messages that it has no memory for are skipped. */
  readonly quota?: ByteQuota | null;
  /** The compression of this direction; null for none. */
  readonly deflate?: { readonly inflater: MessageInflater; readonly contextTakeover: boolean } | null;
}

/** Default maximum size of a message, in bytes. Decision: the same as for a stream event that repeats a whole response. */
const DEFAULT_MAX_WEBSOCKET_MESSAGE_BYTES = 8 * 1024 * 1024;

/** Maximum size of a frame head: two bytes, eight bytes of length, four bytes of mask. */
const MAX_FRAME_HEAD_BYTES = 14;

const CONTINUATION = 0x0;
const TEXT = 0x1;
const BINARY = 0x2;
const CLOSE = 0x8;
const PONG = 0xa;

/**
 * Creates a reader of RFC 6455 frames. An unmasked message within a single push is not copied. A message that is too large is
 * skipped and counted; if later messages depend on its compression context, the reader reports `deflate_context_lost` and
 * stops. Text is not checked to be UTF-8. The events do not depend on how the bytes are split into pushes.
 */
export function createWebSocketReader(
  sink: WebSocketSink,
  {
    sender,
    maxMessageBytes = DEFAULT_MAX_WEBSOCKET_MESSAGE_BYTES,
    quota = null,
    deflate = null,
  }: WebSocketReaderOptions,
): WebSocketReader {
  const state: FrameState = {
    sink,
    sender,
    maxMessageBytes,
    deflate,
    dropped: 0,
    isOver: false,
    nowMs: 0,
    head: new Uint8Array(MAX_FRAME_HEAD_BYTES),
    headLength: 0,
    frameStartedMs: 0,
    opcode: -1,
    isFinal: false,
    payloadLeft: 0,
    maskAt: -1,
    masked: 0,
    kind: null,
    isCompressed: false,
    isTooLarge: false,
    startedAtMs: 0,
    message: createByteStore(quota),
    control: createByteStore(),
  };
  return {
    get dropped() {
      return state.dropped;
    },
    push: (bytes, atMs) => pushBytes(state, bytes, atMs),
  };
}

interface FrameState {
  readonly sink: WebSocketSink;
  readonly sender: "client" | "server";
  readonly maxMessageBytes: number;
  readonly deflate: NonNullable<WebSocketReaderOptions["deflate"]> | null;
  dropped: number;
  isOver: boolean;
  nowMs: number;
  readonly head: Uint8Array;
  headLength: number;
  /** The time of the first byte of the head. */
  frameStartedMs: number;
  /** The opcode of the current frame; -1 between frames. */
  opcode: number;
  isFinal: boolean;
  payloadLeft: number;
  /** The index of the mask in the head; -1 if the frame has none. */
  maskAt: number;
  /** The number of payload bytes unmasked so far, modulo 4. */
  masked: number;
  /** The kind of the message that is being reassembled; null between messages. */
  kind: "text" | "binary" | null;
  isCompressed: boolean;
  isTooLarge: boolean;
  startedAtMs: number;
  readonly message: ByteStore;
  readonly control: ByteStore;
}

function pushBytes(state: FrameState, bytes: Uint8Array, atMs: number): void {
  state.nowMs = atMs;
  let at = 0;
  while (!state.isOver && at < bytes.length) {
    if (state.opcode === -1) {
      readHeadByte(state, bytes[at++]!);
      if (state.opcode === -1 || state.isOver || state.payloadLeft > 0) continue;
    }
    const end = Math.min(bytes.length, at + state.payloadLeft);
    const piece = bytes.subarray(at, end);
    state.payloadLeft -= end - at;
    at = end;
    const ends = state.payloadLeft === 0;
    readPayload(state, piece, ends);
    if (ends) state.opcode = -1;
  }
}

/** Reads one byte of a frame head. The last one starts the frame, which sets the opcode. */
function readHeadByte(state: FrameState, byte: number): void {
  const { head } = state;
  if (state.headLength === 0) state.frameStartedMs = state.nowMs;
  head[state.headLength++] = byte;
  if (state.headLength < 2 || state.headLength < frameHeadLength(head[1]!)) return;
  const fault = startFrame(state);
  state.headLength = 0;
  if (fault !== null) fail(state, fault);
}

/** Parses a complete frame head. Returns what is wrong with it, or null. */
function startFrame(state: FrameState): WebSocketUnreadable | null {
  const { head, sender } = state;
  const first = head[0]!;
  const length = head[1]! & 0x7f;
  const opcode = first & 0x0f;
  state.opcode = opcode;
  state.isFinal = (first & 0x80) !== 0;
  if ((first & 0x30) !== 0) return "reserved_bit";
  if (opcode > PONG || (opcode > BINARY && opcode < CLOSE)) return "unknown_opcode";
  if (((head[1]! & 0x80) !== 0) !== (sender === "client")) return "bad_mask";
  state.payloadLeft = length;
  if (length === 126) state.payloadLeft = readUint(head, 2, 4);
  else if (length === 127) state.payloadLeft = readUint(head, 2, 10);
  // No sender uses a length beyond 2^53, which a double cannot count exactly.
  if (state.payloadLeft > Number.MAX_SAFE_INTEGER) return "bad_frame_length";
  state.maskAt = sender === "client" ? state.headLength - 4 : -1;
  state.masked = 0;
  const isCompressed = (first & 0x40) !== 0;
  if ((opcode & 0x8) === 0) return startDataFrame(state, isCompressed);
  if (!state.isFinal || length > 125) return "bad_control_frame";
  return isCompressed ? "reserved_bit" : null;
}

/** Starts a frame of a text or binary message. Returns what is wrong with it, or null. */
function startDataFrame(state: FrameState, isCompressed: boolean): WebSocketUnreadable | null {
  const isContinuation = state.opcode === CONTINUATION;
  if (isContinuation !== (state.kind !== null)) return "bad_fragment";
  // Only the first frame of a message is marked as compressed.
  if (isCompressed && (isContinuation || state.deflate === null)) return "reserved_bit";
  if (!isContinuation) {
    state.kind = state.opcode === TEXT ? "text" : "binary";
    state.isCompressed = isCompressed;
    state.isTooLarge = false;
    state.startedAtMs = state.frameStartedMs;
  }
  if (state.message.length + state.payloadLeft > state.maxMessageBytes) {
    state.isTooLarge = true;
    state.message.clear();
  }
  return null;
}

/** Reads a piece of the frame's payload, possibly empty. `ends`: the piece completes the frame. */
function readPayload(state: FrameState, bytes: Uint8Array, ends: boolean): void {
  if ((state.opcode & 0x8) !== 0) return readControlPayload(state, bytes, ends);
  const { message } = state;
  const completes = ends && state.isFinal;
  if (state.isTooLarge) {
    if (completes) deliver(state, NO_BYTES);
    return;
  }
  const piece = unmask(state, bytes);
  if (completes && message.length === 0) return deliver(state, piece);
  if (!message.append(piece, 0, piece.length)) {
    state.isTooLarge = true;
    message.clear();
  }
  if (!completes) return;
  const whole = message.view();
  message.clear();
  deliver(state, whole);
}

/** Reads the payload of a close frame. Pings and pongs are ignored. */
function readControlPayload(state: FrameState, bytes: Uint8Array, ends: boolean): void {
  if (state.opcode !== CLOSE) return;
  const piece = unmask(state, bytes);
  state.control.append(piece, 0, piece.length);
  if (!ends) return;
  state.isOver = true;
  const payload = state.control.view();
  state.sink.closed(payload.length >= 2 ? readUint(payload, 0, 2) : null, state.nowMs);
}

function unmask(state: FrameState, bytes: Uint8Array): Uint8Array {
  const { head, maskAt, masked } = state;
  if (maskAt === -1) return bytes;
  const plain = new Uint8Array(bytes.length);
  for (let at = 0; at < bytes.length; at++) plain[at] = bytes[at]! ^ head[maskAt + ((masked + at) & 3)]!;
  state.masked = (masked + bytes.length) & 3;
  return plain;
}

/** Reports a complete message, decompressed if needed. */
function deliver(state: FrameState, payload: Uint8Array): void {
  const { sink, deflate, startedAtMs, nowMs } = state;
  const kind = state.kind!;
  state.kind = null;
  if (state.isTooLarge) {
    state.dropped++;
    if (state.isCompressed && deflate!.contextTakeover) fail(state, "deflate_context_lost");
    return;
  }
  if (!state.isCompressed) return sink.message({ kind, bytes: payload, startedAtMs }, nowMs);
  const inflated = deflate!.inflater.inflate(payload);
  if (inflated.kind === "inflated") sink.message({ kind, bytes: inflated.bytes, startedAtMs }, nowMs);
  else fail(state, inflated.kind === "damaged" ? "deflate_damaged" : "deflate_too_large");
}

function fail(state: FrameState, reason: WebSocketUnreadable): void {
  state.isOver = true;
  state.message.clear();
  state.sink.unreadable(reason, state.nowMs);
}

/** Returns the length of a frame head, given its second byte. */
function frameHeadLength(second: number): number {
  const length = second & 0x7f;
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + ((second & 0x80) !== 0 ? 4 : 0);
}

/** Reads `bytes[from, to)` as an unsigned big-endian integer; inexact beyond 2^53. */
function readUint(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) value = value * 256 + bytes[at]!;
  return value;
}
