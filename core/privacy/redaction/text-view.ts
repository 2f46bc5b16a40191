import { BACKSLASH } from "../../values/text/json-bytes.ts";
/**
 * A decoded text that maps back to its original. Rules search `text`; a finding is cut from the original, including its
 * escapes.
 */
export interface TextView {
  readonly text: string;
  /** Reports, in order, the ranges of the original that correspond to `[start, end)` of the view. */
  pieces(start: number, end: number, report: (start: number, end: number) => void): void;
}

/** Longest run of backslashes that is one escape, so that its length fits in 16 bits. A longer run is several escapes. */
const MAX_ESCAPE_LENGTH = 60_000;

/** Characters per call of `String.fromCharCode`. More arguments overflow the stack of some engines. */
const CHUNK = 8_192;

const ESCAPED_BACKSLASH = /u005c/iy;
const HEX_ESCAPE = /u[0-9a-fA-F]{4}/y;

/** Characters that a backslash escapes to themselves. */
const SELF_ESCAPES: ReadonlyMap<number, number> = new Map([
  [0x22, 0x22],
  [0x2f, 0x2f],
]);
/** The same, and `\n \r \t \b \f`, which become white space. */
const SHORT_ESCAPES: ReadonlyMap<number, number> = new Map([
  ...SELF_ESCAPES,
  [0x6e, 0x0a],
  [0x72, 0x20],
  [0x74, 0x20],
  [0x62, 0x20],
  [0x66, 0x20],
]);

interface ViewArrays {
  readonly codes: Uint16Array;
  readonly starts: Uint32Array;
  readonly lengths: Uint16Array;
}

const createArrays = (capacity: number): ViewArrays => ({
  codes: new Uint16Array(capacity),
  starts: new Uint32Array(capacity),
  lengths: new Uint16Array(capacity),
});

/** The capacity of the arrays that are kept. It is enough for the names of a call. */
const SPARE_CAPACITY = 1_024;

/** The arrays of a builder that was discarded. Most are, and creating the arrays takes longer than searching a short text. */
let spare: ViewArrays | null = null;

/** Builds a view character by character, with each character's place in the original. */
export class ViewBuilder {
  readonly #original: string;
  readonly #arrays: ViewArrays;
  readonly #codes: Uint16Array;
  readonly #starts: Uint32Array;
  readonly #lengths: Uint16Array;
  #size = 0;

  /** @param capacity the largest number of characters that will be appended. */
  constructor(original: string, capacity: number) {
    const isSmall = capacity <= SPARE_CAPACITY;
    this.#original = original;
    this.#arrays = (isSmall ? spare : null) ?? createArrays(isSmall ? SPARE_CAPACITY : capacity);
    if (isSmall) spare = null;
    this.#codes = this.#arrays.codes;
    this.#starts = this.#arrays.starts;
    this.#lengths = this.#arrays.lengths;
  }

  /** Gives the memory back. Nothing may be appended or built afterwards. */
  discard(): void {
    if (this.#codes.length === SPARE_CAPACITY) spare = this.#arrays;
  }

  /**
   * Appends `[start, end)` of the original without its JSON escapes. A run of backslashes of any length and spelling is one
   * escape, so JSON inside a JSON string is decoded too. `escapes` maps the characters that may follow to what they mean.
   */
  appendUnescaped(start: number, end: number, escapes: ReadonlyMap<number, number> = SHORT_ESCAPES): void {
    const text = this.#original;
    let index = start;
    while (index < end) {
      const code = text.charCodeAt(index);
      if (code !== BACKSLASH) {
        this.append(code, index, 1);
        index += 1;
        continue;
      }
      const escapeStart = index;
      const bound = Math.min(end, escapeStart + MAX_ESCAPE_LENGTH);
      while (index < bound && text.charCodeAt(index) === BACKSLASH) {
        ESCAPED_BACKSLASH.lastIndex = index + 1;
        index += ESCAPED_BACKSLASH.test(text) ? 6 : 1;
      }
      HEX_ESCAPE.lastIndex = index;
      const short = escapes.get(text.charCodeAt(index));
      if (index < end && HEX_ESCAPE.test(text)) {
        this.append(
          Number.parseInt(text.slice(index + 1, index + 5), 16),
          escapeStart,
          index + 5 - escapeStart,
        );
        index += 5;
      } else if (index < end && short !== undefined) {
        this.append(short, escapeStart, index + 1 - escapeStart);
        index += 1;
      } else {
        this.append(BACKSLASH, escapeStart, index - escapeStart);
      }
    }
  }

  /** The number of characters appended. */
  get size(): number {
    return this.#size;
  }

  /** Removes everything after the first `size` characters. */
  truncate(size: number): void {
    this.#size = size;
  }

  /** Returns the view. */
  build(): TextView {
    const starts = this.#starts;
    const lengths = this.#lengths;
    let text = "";
    for (let from = 0; from < this.#size; from += CHUNK) {
      // `apply` reads the array directly; a spread would go through its iterator.
      const chunk = this.#codes.subarray(from, Math.min(this.#size, from + CHUNK));
      text += String.fromCharCode.apply(null, chunk as unknown as number[]);
    }
    return {
      text,
      pieces(start, end, report) {
        let from = starts[start] as number;
        let to = from;
        for (let index = start; index < end; index += 1) {
          const next = starts[index] as number;
          if (next > to || next < from) {
            report(from, to);
            from = next;
          }
          to = next + (lengths[index] as number);
        }
        report(from, to);
      },
    };
  }

  /** Appends one character that corresponds to `length` characters of the original from `start`. */
  append(code: number, start: number, length: number): void {
    this.#codes[this.#size] = code;
    this.#starts[this.#size] = start;
    this.#lengths[this.#size] = length;
    this.#size += 1;
  }
}

/** Composes two views: `outer` is a view of the text of `inner`, and the result maps back to the original of `inner`. */
export function composeViews(outer: TextView, inner: TextView): TextView {
  return {
    text: outer.text,
    pieces: (start, end, report) => outer.pieces(start, end, (from, to) => inner.pieces(from, to, report)),
  };
}

function viewWithout(text: string, escapes: ReadonlyMap<number, number>): TextView {
  if (!text.includes("\\")) return { text, pieces: (start, end, report) => report(start, end) };
  const builder = new ViewBuilder(text, text.length);
  builder.appendUnescaped(0, text.length, escapes);
  return builder.build();
}

/** Returns a view without JSON escapes. */
export function unescapedView(text: string): TextView {
  return viewWithout(text, SHORT_ESCAPES);
}

/**
 * Returns a view without the JSON escapes that cannot be literal text. `\n` stays a backslash and a letter, as in
 * `C:\npm_…`.
 */
export function literalView(text: string): TextView {
  return viewWithout(text, SELF_ESCAPES);
}
