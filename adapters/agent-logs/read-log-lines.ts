import { Buffer } from "node:buffer";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { createLineReader } from "../../core/metering/exchange/line-reader.ts";
import { sha256Hex } from "../crypto/node-crypto.ts";

/** Where reading a file ended. */
export interface LinePosition {
  /** The byte after the last line end. */
  readonly offset: number;
  /** The number of lines before it. */
  readonly line: number;
  /** SHA-256 (hex) of the last bytes before the offset, which show whether the file was rewritten. */
  readonly tailHash: string;
}

/** What receives the lines. */
export interface LineReceiver {
  /** A line that contains one of the needles. `isEnded` is false for a last line without a line end, which may still grow. */
  onLine(text: string, line: number, isEnded: boolean): void;
  onTooLong(line: number): void;
  /** Called after each chunk. */
  onChunk?(bytes: number): Promise<void> | void;
}

/** The longest line that is read, in bytes. A line holds one message, of which images can have several megabytes. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** How many bytes are read at once. */
const CHUNK_BYTES = 256 * 1024;

/** How many bytes before the offset are compared. */
const TAIL_BYTES = 1024;

const START: LinePosition = { offset: 0, line: 0, tailHash: sha256Hex("") };

/** Opens a file for reading. A pipe is not waited for, and a link not followed. */
const openFile = (path: string) =>
  open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));

/**
 * Reads the lines of a file from a position, or from the start if the file is not the one that was read before: shorter, or with
 * other bytes before the position. Returns where it ended, and whether it began at the start. Rejects if the file can't be read.
 */
export async function readLogLines(
  path: string,
  {
    needles,
    from,
    maxLineBytes = MAX_LINE_BYTES,
  }: {
    readonly needles: readonly string[];
    readonly from: LinePosition | null;
    readonly maxLineBytes?: number;
  },
  begin: (isContinued: boolean) => LineReceiver,
): Promise<LinePosition> {
  const file = await openFile(path);
  try {
    const isContinued =
      from !== null && from.offset > 0 && (await hashTail(file, from.offset)) === from.tailHash;
    const start = isContinued ? from : START;
    const { offset, line } = await readLines(file, start, needles, maxLineBytes, begin(isContinued));
    return { offset, line, tailHash: await hashTail(file, offset) };
  } finally {
    await file.close();
  }
}

async function readLines(
  file: FileHandle,
  start: LinePosition,
  needles: readonly string[],
  maxLineBytes: number,
  receiver: LineReceiver,
): Promise<Omit<LinePosition, "tailHash">> {
  const wanted = needles.map((needle) => Buffer.from(needle));
  let [line, offset, position, isEnded] = [start.line, start.offset, start.offset, true];
  const lines = createLineReader({
    crEndsLine: false,
    maxLineBytes,
    onDropped: () => {},
    onLine(bytes, from, to) {
      line += 1;
      if (to - from > maxLineBytes) return receiver.onTooLong(line);
      const view = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);
      if (wanted.length === 0 || wanted.some((needle) => view.includes(needle)))
        receiver.onLine(view.toString("utf8"), line, isEnded);
    },
  });
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) break;
    const bytes = chunk.subarray(0, bytesRead);
    const last = bytes.lastIndexOf(0x0a);
    if (last !== -1) offset = position + last + 1;
    position += bytesRead;
    lines.push(bytes);
    await receiver.onChunk?.(bytesRead);
  }
  const ended = line;
  isEnded = false;
  lines.end();
  return { offset, line: ended };
}

/** Returns the hash of the bytes before an offset; another hash if the file is shorter. */
async function hashTail(file: FileHandle, offset: number): Promise<string> {
  const length = Math.min(offset, TAIL_BYTES);
  const bytes = Buffer.alloc(length);
  const { bytesRead } = length === 0 ? { bytesRead: 0 } : await file.read(bytes, 0, length, offset - length);
  return sha256Hex(bytes.subarray(0, bytesRead).toString("latin1"));
}

/** The largest document that is read, in bytes. */
export const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024;

/** Reads a JSON document. Returns why it was not read. */
export async function readLogDocument(
  path: string,
  maxBytes = MAX_DOCUMENT_BYTES,
): Promise<{ readonly value: unknown } | "too_long" | "unreadable"> {
  const file = await openFile(path);
  try {
    const { size } = await file.stat();
    if (size > maxBytes) return "too_long";
    try {
      return { value: JSON.parse(await file.readFile("utf8")) as unknown };
    } catch (cause) {
      if (cause instanceof SyntaxError) return "unreadable";
      throw cause;
    }
  } finally {
    await file.close();
  }
}
