import { CR, DEL, HTAB, LF, SPACE, viewOf } from "./bytes.ts";
import type { UnreadableReason } from "./unreadable.ts";

/** Reads one chunked body (RFC 9112 section 7.1). It holds no bytes, whatever comes. */
export interface ChunkedBody {
  /**
   * Reads on at `from` and says where it stopped: at the end of `bytes`, behind the last byte of the body, or at the
   * byte that broke it. `outcome` tells which.
   */
  read(bytes: Uint8Array, from: number): number;
  /** `open` while more is to come, `ended` after the trailers. */
  readonly outcome: "open" | "ended" | UnreadableReason;
}

/**
 * The longest size line of a chunk, in bytes. Decision: extensions are read over without being held, yet a line that
 * never ends is refused, as the common servers do.
 */
export const MAX_CHUNK_LINE_BYTES = 4096;

/** The longest trailer section, in bytes. Decision: as long as a head may be. */
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

/** Creates the reader of one chunked body; `onData` gets the payload as views valid only during the call. */
export function createChunkedBody(onData: (bytes: Uint8Array) => void): ChunkedBody {
  let place: Place = "size";
  let outcome: ChunkedBody["outcome"] = "open";
  /** Payload bytes of this chunk that are still to come. */
  let remaining = 0;
  let digits = 0;
  /** Length of this size line, or of all trailers, so far. */
  let lineBytes = 0;

  /** Takes one byte of framing; what it returns becomes the outcome. */
  const take = (byte: number): ChunkedBody["outcome"] => {
    switch (place) {
      case "size": {
        const digit = hexDigit(byte);
        if (digit >= 0) {
          remaining = remaining * 16 + digit;
          digits++;
          return remaining <= Number.MAX_SAFE_INTEGER && digits <= 16 ? "open" : "bad_chunk_size";
        }
        return digits > 0 ? endSize(byte) : "bad_chunk_size";
      }
      case "size_padding":
        return endSize(byte);
      case "extension":
        if (++lineBytes > MAX_CHUNK_LINE_BYTES) return "chunk_line_too_long";
        if (byte === CR) place = "size_line_feed";
        else if ((byte < SPACE && byte !== HTAB) || byte === DEL) return "bad_chunk_extension";
        return "open";
      case "size_line_feed":
        if (byte !== LF) return "bad_chunk_size";
        place = remaining > 0 ? "data" : "trailer_start";
        lineBytes = 0;
        return "open";
      case "data_return":
        place = "data_line_feed";
        return byte === CR ? "open" : "bad_chunk_end";
      case "data_line_feed":
        place = "size";
        digits = 0;
        return byte === LF ? "open" : "bad_chunk_end";
      case "trailer_start":
        if (byte === CR) {
          place = "final_line_feed";
          return "open";
        }
        place = "trailer";
        return takeTrailer(byte);
      case "trailer":
        return takeTrailer(byte);
      case "trailer_line_feed":
        place = "trailer_start";
        return byte === LF ? "open" : "bad_trailer";
      default:
        return byte === LF ? "ended" : "bad_trailer";
    }
  };

  /** Blanks after the size pass, as some servers pad it; anything else there must begin an extension or end the line. */
  const endSize = (byte: number): ChunkedBody["outcome"] => {
    if (++lineBytes > MAX_CHUNK_LINE_BYTES) return "chunk_line_too_long";
    if (byte === CR) place = "size_line_feed";
    else if (byte === SEMICOLON) place = "extension";
    else if (byte === SPACE || byte === HTAB) place = "size_padding";
    else return "bad_chunk_size";
    return "open";
  };

  const takeTrailer = (byte: number): ChunkedBody["outcome"] => {
    if (++lineBytes > MAX_TRAILER_BYTES) return "trailers_too_long";
    if (byte === CR) place = "trailer_line_feed";
    else if ((byte < SPACE && byte !== HTAB) || byte === DEL) return "bad_trailer";
    return "open";
  };

  return {
    get outcome() {
      return outcome;
    },
    read(bytes, from) {
      let at = from;
      while (at < bytes.length) {
        if (place === "data") {
          const to = Math.min(bytes.length, at + remaining);
          remaining -= to - at;
          if (remaining === 0) place = "data_return";
          onData(viewOf(bytes, at, to));
          at = to;
          continue;
        }
        outcome = take(bytes[at]!);
        if (outcome === "ended") return at + 1;
        if (outcome !== "open") return at;
        at++;
      }
      return at;
    },
  };
}

const SEMICOLON = 0x3b;

/** The value of a hexadecimal digit, or -1. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
