import { CR, viewOf } from "./bytes.ts";
import { createLineReader } from "./line-reader.ts";

export interface NdjsonReaderOptions {
  /** The longest line that is reported, in bytes. */
  readonly maxLineBytes?: number;
}

export interface NdjsonReader {
  push(bytes: Uint8Array): void;
  /** The stream is over. A last line without a line end is reported: it is as good as the others. */
  end(): void;
  /** Lines passed over because they were too long. */
  readonly dropped: number;
}

/** The default ceiling of a line, in bytes. Decision: the contract's capture skip threshold, 4 MiB. */
export const DEFAULT_MAX_LINE_BYTES = 4 * 1024 * 1024;

/** Creates a reader of newline-delimited JSON: `onLine` gets each line that is not empty, as a view valid only during the call. */
export function createNdjsonReader(
  onLine: (line: Uint8Array) => void,
  { maxLineBytes = DEFAULT_MAX_LINE_BYTES }: NdjsonReaderOptions = {},
): NdjsonReader {
  let dropped = 0;
  const lines = createLineReader({
    endsAtReturn: false,
    maxLineBytes,
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
