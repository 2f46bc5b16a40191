import { Buffer } from "node:buffer";
import { constants, inflateRawSync } from "node:zlib";
import type { CreateMessageInflater } from "../../core/ports/message-inflater.ts";

/** The end of each message, which the sender omits (RFC 7692, section 7.2.2): an empty stored block. */
const TAIL = Buffer.from([0x00, 0x00, 0xff, 0xff]);

/** Maximum distance of a DEFLATE reference, in bytes (RFC 1951, section 2). */
const WINDOW_BYTES = 32 * 1024;

/** Initial output buffer, in bytes. It grows as needed. */
const FIRST_CHUNK_BYTES = 16 * 1024;

/** Length of a stored block's head: type, length and complement of the length (RFC 1951, section 3.2.4). */
const STORED_HEAD_BYTES = 5;

/**
 * Creates an inflater on `node:zlib`. Each message is inflated separately and synchronously. If messages share their
 * window, the last 32 KiB before the message are prepended as a stored block. (A dictionary would do the same, but Deno's
 * zlib ignores it.)
 */
export const createZlibMessageInflater: CreateMessageInflater = ({ contextTakeover, maxBytes }) => {
  let window: Buffer = Buffer.alloc(0);
  return {
    inflate(payload) {
      const before = window.length;
      let output: Buffer;
      try {
        output = inflateRawSync(Buffer.concat([...storedBlock(window), payload, TAIL]), {
          chunkSize: before + FIRST_CHUNK_BYTES,
          finishFlush: constants.Z_SYNC_FLUSH,
          maxOutputLength: before + maxBytes,
        });
      } catch (cause) {
        const { code } = cause as NodeJS.ErrnoException;
        return { kind: code === "ERR_BUFFER_TOO_LARGE" ? "too_large" : "damaged" };
      }
      if (contextTakeover) window = Buffer.from(output.subarray(-WINDOW_BYTES));
      return { kind: "inflated", bytes: output.subarray(before) };
    },
  };
};

function storedBlock(bytes: Buffer): Buffer[] {
  if (bytes.length === 0) return [];
  const head = Buffer.alloc(STORED_HEAD_BYTES);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(~bytes.length & 0xffff, 3);
  return [head, bytes];
}
