/** A table of the configuration as it was written. */
export type RawTable = Readonly<Record<string, unknown>>;

/** Whether the value is a table. */
export function isTable(value: unknown): value is RawTable {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/**
 * Reads one table key by key. What is missing takes its default in silence; what is wrong takes it with a warning in
 * plain language; what nobody asked for is warned of by `finish()`.
 */
export interface SectionReader {
  boolean(key: string, fallback: boolean): boolean;
  /** A whole number within the bounds; one beyond them is moved to the bound. */
  integer(key: string, fallback: number, bounds: { min: number; max: number }): number;
  text(key: string, fallback: string | null): string | null;
  choice<Choice extends string>(key: string, fallback: Choice, choices: readonly Choice[]): Choice;
  /** Texts; an entry that is none is left out with a warning. */
  texts(key: string): string[];
  table(key: string): SectionReader;
  /** Whether something stands where a table was expected that is none. */
  isNoTable(key: string): boolean;
  /** Each entry of a table, in order. */
  entries(key: string): [name: string, value: unknown][];
  /** The entries that nobody asked for so far; after this they count as asked for. */
  remaining(): [name: string, value: unknown][];
  /** The tables of an array of tables. */
  tables(key: string): SectionReader[];
  /** Reads with a reader of one's own; null with the given warning where that gives null. */
  value<Value>(key: string, read: (raw: unknown) => Value | null, expected: string): Value | null;
  warn(key: string, problem: string): void;
  /** Warns of the keys that were not asked for, with the nearest that is known. */
  finish(): void;
}

/** A text, or a date of TOML's own in the text that it was written as. */
export function asText(value: unknown): string | null {
  if (typeof value === "string") return value;
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : null;
}

/** Whether a default tells a reader something: an empty list, table or text does not. */
const isWorthSaying = (value: unknown): value is string | number | boolean =>
  value !== null && typeof value !== "object" && value !== "";

/**
 * Reads the table at `path` (`""` is the root), which may be anything: what is no table is read as an empty one. What is
 * wrong is added to `warnings`.
 */
export function createSectionReader(raw: unknown, path: string, warnings: string[]): SectionReader {
  const table: RawTable = isTable(raw) ? raw : {};
  const known = new Set<string>();
  const nested: SectionReader[] = [];
  const nameOf = (key: string) => (path === "" ? key : `${path}.${key}`);
  const warn = (key: string, problem: string) => warnings.push(`${nameOf(key)}: ${problem}`);
  if (raw !== undefined && !isTable(raw)) warnings.push(`${path}: must be a table; ignored`);

  const take = <Value>(
    key: string,
    fallback: Value,
    read: (value: unknown) => Value | null,
    expected: string,
  ): Value => {
    known.add(key);
    const value = table[key];
    if (value === undefined) return fallback;
    const found = read(value);
    if (found !== null) return found;
    warn(key, `must be ${expected}; ${isWorthSaying(fallback) ? `${fallback} is used` : "ignored"}`);
    return fallback;
  };
  return {
    boolean: (key, fallback) =>
      take(key, fallback, (value) => (typeof value === "boolean" ? value : null), "true or false"),
    integer(key, fallback, { min, max }) {
      const value = take(
        key,
        fallback,
        (each) => (typeof each === "bigint" || Number.isSafeInteger(each) ? Number(each) : null),
        "a whole number",
      );
      const within = Math.min(Math.max(value, min), max);
      if (within !== value) warn(key, `${value} is outside ${min} to ${max}; ${within} is used`);
      return within;
    },
    text: (key, fallback) => take<string | null>(key, fallback, asText, "a text"),
    choice: (key, fallback, choices) =>
      take(
        key,
        fallback,
        (value) => choices.find((each) => each === value) ?? null,
        `one of ${choices.join(", ")}`,
      ),
    texts(key) {
      const list = take<unknown[]>(
        key,
        [],
        (value) => (Array.isArray(value) ? value : null),
        "a list of texts",
      );
      return list.flatMap((entry) => {
        if (typeof entry === "string") return [entry];
        warn(key, "an entry is no text; left out");
        return [];
      });
    },
    table(key) {
      known.add(key);
      const section = createSectionReader(table[key], nameOf(key), warnings);
      nested.push(section);
      return section;
    },
    isNoTable: (key) => table[key] !== undefined && !isTable(table[key]),
    entries(key) {
      const found = take<RawTable>(key, {}, (value) => (isTable(value) ? value : null), "a table");
      return Object.entries(found);
    },
    remaining() {
      const entries = Object.entries(table).filter(([key]) => !known.has(key));
      for (const [key] of entries) known.add(key);
      return entries;
    },
    tables(key) {
      const list = take<unknown[]>(
        key,
        [],
        (value) => (Array.isArray(value) ? value : null),
        "a list of tables",
      );
      return list.map((entry, index) => {
        const section = createSectionReader(entry, `${nameOf(key)}[${index}]`, warnings);
        nested.push(section);
        return section;
      });
    },
    value: (key, read, expected) => take(key, null, read, expected),
    warn,
    finish() {
      for (const key of Object.keys(table)) {
        if (known.has(key)) continue;
        const near = nearest(key, [...known]);
        warn(key, `is not a setting${near === null ? "" : `; did you mean ${near}?`}`);
      }
      for (const section of nested) section.finish();
    },
  };
}

/** The known word at most two edits away, or null. */
export function nearest(word: string, known: readonly string[]): string | null {
  let best: [distance: number, word: string] = [3, ""];
  for (const each of known) {
    const distance = editDistance(word, each);
    if (distance < best[0]) best = [distance, each];
  }
  return best[0] < 3 ? best[1] : null;
}

/** Levenshtein's distance. Words beyond a setting's length are not compared. */
function editDistance(one: string, other: string): number {
  if (one.length > 64 || other.length > 64) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1;
      next.push(Math.min((next[j - 1] as number) + 1, (row[j] as number) + 1, (row[j - 1] as number) + same));
    }
    row = next;
  }
  return row[other.length] as number;
}
