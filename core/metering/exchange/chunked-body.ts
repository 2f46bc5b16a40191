import { CR, DEL, HTAB, LF, SPACE, viewOf } from "./bytes.ts";
import type { UnreadableReason } from "./unreadable.ts";

/** A reader of one chunked body (RFC 9112 section 7.1). It buffers no bytes. */
export interface ChunkedBody {
  /**
   * Continues at `from` and returns the index where it stopped: the end of `bytes`, the index after the body, or the first
   * invalid byte. `outcome` tells which.
   */
  read(bytes: Uint8Array, from: number): number;
  /** `open` until the body ends, `ended` after the trailers, or the reason why the body is unreadable. */
  readonly outcome: "open" | "ended" | UnreadableReason;
  /** Whether another chunk can be inserted here: nothing was read yet, or the last byte ended a chunk. */
  isBetweenChunks(): boolean;
}

/**
 * Maximum length of a chunk size line, in bytes. Decision: extensions are skipped without buffering, but an endless line is
 * rejected, as common servers do.
 */
export const MAX_CHUNK_LINE_BYTES = 4096;

/** Maximum length of the trailer section, in bytes. Decision: the same as for a head. */
export const MAX_TRAILER_BYTES = 65_536;

type Place =
  | "size"
  | "size_padding"
  | "extension"
  | "size_line_feed"
  | "data"
  | "data_return"
  | "data_line_feed"
  | "trailer_start"
  | "trailer"
  | "trailer_line_feed"
  | "final_line_feed";

/** Creates a reader of one chunked body. `onData` receives the payload as views that are valid only during the call. */
export function createChunkedBody(onData: (bytes: Uint8Array) => void): ChunkedBody {
  const state: ChunkState = {
    onData,
    place: "size",
    outcome: "open",
    remaining: 0,
    digits: 0,
    lineBytes: 0,
    isBetweenChunks: () => state.outcome === "open" && state.place === "size" && state.digits === 0,
    read: (bytes, from) => readBytes(state, bytes, from),
  };
  return state;
}

type Outcome = ChunkedBody["outcome"];

interface ChunkState extends ChunkedBody {
  readonly onData: (bytes: Uint8Array) => void;
  place: Place;
  outcome: Outcome;
  /** Payload bytes of this chunk that are still expected. */
  remaining: number;
  digits: number;
  /** Bytes of this size line, or of all trailers, so far. */
  lineBytes: number;
}

function readBytes(state: ChunkState, bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length) {
    if (state.place === "data") {
      const to = Math.min(bytes.length, at + state.remaining);
      state.remaining -= to - at;
      if (state.remaining === 0) state.place = "data_return";
      state.onData(viewOf(bytes, at, to));
      at = to;
      continue;
    }
    state.outcome = readFramingByte(state, bytes[at]!);
    if (state.outcome === "ended") return at + 1;
    if (state.outcome !== "open") return at;
    at++;
  }
  return at;
}

/** Reads one byte of framing and returns the new outcome. */
function readFramingByte(state: ChunkState, byte: number): Outcome {
  switch (state.place) {
    case "size":
      return readSizeByte(state, byte);
    case "size_padding":
      return endSize(state, byte);
    case "extension":
      return readExtensionByte(state, byte);
    case "size_line_feed":
      if (byte !== LF) return "bad_chunk_size";
      state.place = state.remaining > 0 ? "data" : "trailer_start";
      state.lineBytes = 0;
      return "open";
    case "data_return":
      state.place = "data_line_feed";
      return byte === CR ? "open" : "bad_chunk_end";
    case "data_line_feed":
      state.place = "size";
      state.digits = 0;
      return byte === LF ? "open" : "bad_chunk_end";
    case "trailer_start":
      state.place = byte === CR ? "final_line_feed" : "trailer";
      return byte === CR ? "open" : readTrailerByte(state, byte);
    case "trailer":
      return readTrailerByte(state, byte);
    case "trailer_line_feed":
      state.place = "trailer_start";
      return byte === LF ? "open" : "bad_trailer";
    default:
      return byte === LF ? "ended" : "bad_trailer";
  }
}

function readSizeByte(state: ChunkState, byte: number): Outcome {
  const digit = hexDigit(byte);
  if (digit === -1) return state.digits > 0 ? endSize(state, byte) : "bad_chunk_size";
  state.remaining = state.remaining * 16 + digit;
  state.digits++;
  return state.remaining <= Number.MAX_SAFE_INTEGER && state.digits <= 16 ? "open" : "bad_chunk_size";
}

/** Reads a byte after the size: padding, which some servers send, the start of an extension, or the end of the line. */
function endSize(state: ChunkState, byte: number): Outcome {
  if (++state.lineBytes > MAX_CHUNK_LINE_BYTES) return "chunk_line_too_long";
  if (byte === CR) state.place = "size_line_feed";
  else if (byte === SEMICOLON) state.place = "extension";
  else if (byte === SPACE || byte === HTAB) state.place = "size_padding";
  else return "bad_chunk_size";
  return "open";
}

function readExtensionByte(state: ChunkState, byte: number): Outcome {
  if (++state.lineBytes > MAX_CHUNK_LINE_BYTES) return "chunk_line_too_long";
  if (byte === CR) state.place = "size_line_feed";
  else if (isControl(byte)) return "bad_chunk_extension";
  return "open";
}

function readTrailerByte(state: ChunkState, byte: number): Outcome {
  if (++state.lineBytes > MAX_TRAILER_BYTES) return "trailers_too_long";
  if (byte === CR) state.place = "trailer_line_feed";
  else if (isControl(byte)) return "bad_trailer";
  return "open";
}

const SEMICOLON = 0x3b;

/** Whether a byte may not occur in a line. */
function isControl(byte: number): boolean {
  return (byte < SPACE && byte !== HTAB) || byte === DEL;
}

/** Returns the value of a hexadecimal digit, or -1. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
