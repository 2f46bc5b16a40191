import type { ByteQuota } from "./byte-store.ts";
import { CR, viewOf } from "./bytes.ts";
import { createLineReader } from "./line-reader.ts";

interface NdjsonReaderOptions {
  /** Maximum length of a line, in bytes. Longer lines are dropped. */
  readonly maxLineBytes?: number;
  /** Bounds the memory of lines that span several pushes. Lines that it has no memory for are dropped. */
  readonly quota?: ByteQuota | null;
}

interface NdjsonReader {
  push(bytes: Uint8Array): void;
  /** Ends the stream. A last line without a line end is reported too. */
  end(): void;
  /** The number of lines that were too long, or that the quota had no memory for. */
  readonly dropped: number;
}

/** Default maximum length of a line, in bytes. Decision: the capture skip threshold of docs/specification.md#limits, 4 MiB. */
const DEFAULT_MAX_LINE_BYTES = 4 * 1024 * 1024;

/** Creates a reader of newline-delimited JSON. `onLine` receives each non-empty line as a view that is valid only during the call. */
export function createNdjsonReader(
  onLine: (line: Uint8Array) => void,
  { maxLineBytes = DEFAULT_MAX_LINE_BYTES, quota = null }: NdjsonReaderOptions = {},
): NdjsonReader {
  let dropped = 0;
  const lines = createLineReader({
    crEndsLine: false,
    maxLineBytes,
    quota,
    onDropped() {
      dropped++;
    },
    onLine(bytes, from, to) {
      const end = bytes[to - 1] === CR && to > from ? to - 1 : to;
      if (to - from > maxLineBytes) dropped++;
      else if (end > from) onLine(viewOf(bytes, from, end));
    },
  });
  return {
    get dropped() {
      return dropped;
    },
    push: lines.push,
    end: lines.end,
  };
}
