/**
 * A text as a reader of it would see it, with the way back: rules search `text`, and what they find is cut out of the
 * original, escapes and all.
 */
export interface TextView {
  readonly text: string;
  /** Reports the pieces of the original that `[start, end)` of the view stands for, in order. */
  pieces(start: number, end: number, report: (start: number, end: number) => void): void;
}

/** Longest run of backslashes read as one, so that its length fits 16 bits; a longer one is several. */
const MAX_ESCAPE_LENGTH = 60_000;

/** Characters handed to `String.fromCharCode` at once; more arguments overflow the stack of some engines. */
const CHUNK = 8_192;

const BACKSLASH = 0x5c;
const ESCAPED_BACKSLASH = /u005c/iy;
const HEX_ESCAPE = /u[0-9a-fA-F]{4}/y;

/** Characters that stand for themselves after a backslash. */
const THEMSELVES: ReadonlyMap<number, number> = new Map([
  [0x22, 0x22],
  [0x2f, 0x2f],
]);
/** The same and `\n \r \t \b \f`, which all are white space here. */
const SHORT_ESCAPES: ReadonlyMap<number, number> = new Map([
  ...THEMSELVES,
  [0x6e, 0x0a],
  [0x72, 0x20],
  [0x74, 0x20],
  [0x62, 0x20],
  [0x66, 0x20],
]);

/** Collects characters together with where in the original each of them came from. */
export class ViewBuilder {
  readonly #original: string;
  readonly #codes: Uint16Array;
  readonly #starts: Uint32Array;
  readonly #lengths: Uint16Array;
  #size = 0;

  /** @param capacity the most characters that will be appended. */
  constructor(original: string, capacity: number) {
    this.#original = original;
    this.#codes = new Uint16Array(capacity);
    this.#starts = new Uint32Array(capacity);
    this.#lengths = new Uint16Array(capacity);
  }

  /**
   * Appends `[start, end)` of the original without its JSON escapes, of one level or of several: a run of backslashes,
   * however long and however written, is one escape, so that JSON inside a JSON string is read as well. `escapes` says
   * which characters after it are taken with it.
   */
  appendUnescaped(start: number, end: number, escapes: ReadonlyMap<number, number> = SHORT_ESCAPES): void {
    const text = this.#original;
    let index = start;
    while (index < end) {
      const code = text.charCodeAt(index);
      if (code !== BACKSLASH) {
        this.#append(code, index, 1);
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
        this.#append(
          Number.parseInt(text.slice(index + 1, index + 5), 16),
          escapeStart,
          index + 5 - escapeStart,
        );
        index += 5;
      } else if (index < end && short !== undefined) {
        this.#append(short, escapeStart, index + 1 - escapeStart);
        index += 1;
      } else {
        this.#append(BACKSLASH, escapeStart, index - escapeStart);
      }
    }
  }

  /** The view of what was appended. */
  build(): TextView {
    const starts = this.#starts;
    const lengths = this.#lengths;
    let text = "";
    for (let from = 0; from < this.#size; from += CHUNK) {
      text += String.fromCharCode(...this.#codes.subarray(from, Math.min(this.#size, from + CHUNK)));
    }
    return {
      text,
      pieces(start, end, report) {
        let from = starts[start] as number;
        let to = from;
        for (let index = start; index < end; index += 1) {
          const next = starts[index] as number;
          if (next !== to) {
            report(from, to);
            from = next;
          }
          to = next + (lengths[index] as number);
        }
        report(from, to);
      },
    };
  }

  #append(code: number, start: number, length: number): void {
    this.#codes[this.#size] = code;
    this.#starts[this.#size] = start;
    this.#lengths[this.#size] = length;
    this.#size += 1;
  }
}

function viewWithout(text: string, escapes: ReadonlyMap<number, number>): TextView {
  if (!text.includes("\\")) return { text, pieces: (start, end, report) => report(start, end) };
  const builder = new ViewBuilder(text, text.length);
  builder.appendUnescaped(0, text.length, escapes);
  return builder.build();
}

/** The text without JSON escapes; the text itself where it has none. */
export function unescapedView(text: string): TextView {
  return viewWithout(text, SHORT_ESCAPES);
}

/**
 * The text without those JSON escapes that can be nothing else: `\n` stays a backslash and a letter, as it is in
 * `C:\npm_…`.
 */
export function literalView(text: string): TextView {
  return viewWithout(text, THEMSELVES);
}
