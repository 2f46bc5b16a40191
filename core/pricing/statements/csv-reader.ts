/** The longest row, in characters. A line item has a few thousand at most. */
const MAX_ROW_LENGTH = 1024 * 1024;

/** Reads CSV (RFC 4180) from chunks of any size. */
export interface CsvReader {
  /** Returns the rows that end in this chunk. */
  push(chunk: string): string[][];
  /** Returns the last row if it has no line end. */
  end(): string[][];
}

/** The state between two characters: the row so far, its last field, and whether that field is inside quotes. */
interface State {
  fields: string[];
  field: string;
  length: number;
  isQuoted: boolean;
  /** Whether the last character was a quote inside a quoted field, which ends it unless another quote follows. */
  isAfterQuote: boolean;
}

const emptyState = (): State => ({ fields: [], field: "", length: 0, isQuoted: false, isAfterQuote: false });

/** Takes what needs no decision: everything up to the next character with a meaning. */
const PLAIN = /[^",\r\n]+/y;

/**
 * Creates a reader of CSV. Line ends may be LF or CRLF, and empty lines are skipped. Throws a `RangeError` for a row of more
 * than a million characters, such as one whose quote never ends.
 */
export function createCsvReader(): CsvReader {
  let state = emptyState();
  const endRow = (): string[][] => {
    const row = [...state.fields, state.field];
    state = emptyState();
    return row.length === 1 && row[0] === "" ? [] : [row];
  };
  return {
    push(chunk) {
      const rows: string[][] = [];
      for (let index = 0; index < chunk.length; ) {
        PLAIN.lastIndex = index;
        const plain = PLAIN.exec(chunk)?.[0] ?? "";
        index += plain.length;
        take(state, plain);
        const character = chunk[index++];
        if (character !== undefined && readSpecial(state, character)) rows.push(...endRow());
      }
      return rows;
    },
    end: endRow,
  };
}

function take(state: State, text: string): void {
  if (text === "") return;
  grow(state, text.length);
  if (state.isAfterQuote) {
    state.isAfterQuote = false;
    state.isQuoted = false;
  }
  state.field += text;
}

function grow(state: State, characters: number): void {
  state.length += characters;
  if (state.length > MAX_ROW_LENGTH) throw new RangeError("a row has more than a million characters");
}

/** Reads a quote, a comma or a line end. Returns whether the row ends. */
function readSpecial(state: State, character: string): boolean {
  if (character === '"') {
    if (state.isAfterQuote) {
      state.isAfterQuote = false;
      take(state, '"');
    } else if (state.isQuoted) state.isAfterQuote = true;
    else if (state.field === "") state.isQuoted = true;
    else take(state, '"');
    return false;
  }
  if (state.isQuoted && !state.isAfterQuote) {
    take(state, character);
    return false;
  }
  state.isQuoted = false;
  state.isAfterQuote = false;
  if (character === ",") {
    grow(state, 1);
    state.fields.push(state.field);
    state.field = "";
    return false;
  }
  return character === "\n";
}
