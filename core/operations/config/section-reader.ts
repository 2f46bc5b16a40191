/** A table of the configuration as parsed from TOML. */
type RawTable = Readonly<Record<string, unknown>>;

/** Whether the value is a table. */
export function isTable(value: unknown): value is RawTable {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** The bounds of a whole number. */
interface IntegerBounds {
  readonly min: number;
  readonly max: number;
  /** What a smaller number counts as; `min` if absent. */
  readonly ifBelow?: number;
}

/**
 * Reads one table key by key. A missing key gets its default. An invalid value gets its default and a warning.
 * `finish()` warns about keys that were never read.
 */
export interface SectionReader {
  boolean(key: string, fallback: boolean): boolean;
  /** Reads a whole number. One out of bounds counts as the nearest bound, or as `ifBelow` if it is too small, with a warning. */
  integer(key: string, fallback: number, bounds: IntegerBounds): number;
  text(key: string, fallback: string | null): string | null;
  choice<Choice extends string>(key: string, fallback: Choice, choices: readonly Choice[]): Choice;
  /** Reads a list of strings; other entries are dropped with a warning. */
  texts(key: string): string[];
  table(key: string): SectionReader;
  /** Whether the key holds something other than a table. */
  isNotTable(key: string): boolean;
  /** Returns the entries of a table in order. */
  entries(key: string): [name: string, value: unknown][];
  /** Returns the entries that were not read so far, and counts them as read. */
  remaining(): [name: string, value: unknown][];
  /** Returns a reader for each table of an array of tables. */
  tables(key: string): SectionReader[];
  /** Reads a value with `read`. If that returns null, warns that the value must be `expected`. */
  value<Value>(key: string, read: (raw: unknown) => Value | null, expected: string): Value | null;
  warn(key: string, problem: string): void;
  /** Warns about keys that were not read, and suggests the closest known key. */
  finish(): void;
}

/** The warnings about a configuration. */
export interface ConfigWarnings {
  readonly list: readonly string[];
  /** The dotted keys that they are about. */
  readonly keys: ReadonlySet<string>;
  /** Adds `text` with the place of the key in the file, if it is known. */
  add(key: string, text: string): void;
}

/** Creates an empty list of warnings. `locate` describes where a key is, such as `line 3 of ~/.meter/config.toml`. */
export function createConfigWarnings(locate: (key: string) => string | null = () => null): ConfigWarnings {
  const list: string[] = [];
  const keys = new Set<string>();
  return {
    list,
    keys,
    add(key, text) {
      keys.add(key);
      const place = locate(key);
      list.push(place === null ? text : `${text}${text.endsWith("?") ? "" : "."} Fix ${place}.`);
    },
  };
}

/** Returns a string as it is, and a TOML date in ISO 8601; null for anything else. */
export function asText(value: unknown): string | null {
  if (typeof value === "string") return value;
  return value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : null;
}

/** Whether a warning should name the default: not if it is an empty list, table or string. */
const isWorthNaming = (value: unknown): value is string | number | boolean =>
  value !== null && typeof value !== "object" && value !== "";

/** The state of one reader. */
interface Section {
  readonly table: RawTable;
  /** The dotted path of the table; empty for the root. */
  readonly path: string;
  readonly warnings: ConfigWarnings;
  /** The keys that were read. */
  readonly known: Set<string>;
  readonly nested: SectionReader[];
}

/**
 * Creates a reader for the table at `path` (`""` is the root). A value that is not a table is read as an empty one.
 * Problems are added to `warnings`.
 */
export function createSectionReader(raw: unknown, path: string, warnings: ConfigWarnings): SectionReader {
  if (raw !== undefined && !isTable(raw)) warnings.add(path, `${path}: must be a table; ignored`);
  const section: Section = {
    table: isTable(raw) ? raw : {},
    path,
    warnings,
    known: new Set(),
    nested: [],
  };
  return {
    boolean: (key, fallback) => readValue(section, key, fallback, asBoolean, "true or false"),
    integer: (key, fallback, bounds) => readInteger(section, key, fallback, bounds),
    text: (key, fallback) => readValue<string | null>(section, key, fallback, asText, "a string"),
    choice: (key, fallback, choices) =>
      readValue(
        section,
        key,
        fallback,
        (value) => choices.find((each) => each === value) ?? null,
        `one of ${choices.join(", ")}`,
      ),
    texts: (key) => readTexts(section, key),
    table(key) {
      section.known.add(key);
      return addNested(section, section.table[key], nameOf(section, key));
    },
    isNotTable: (key) => section.table[key] !== undefined && !isTable(section.table[key]),
    entries: (key) => Object.entries(readValue<RawTable>(section, key, {}, asTable, "a table")),
    remaining() {
      const entries = Object.entries(section.table).filter(([key]) => !section.known.has(key));
      for (const [key] of entries) section.known.add(key);
      return entries;
    },
    tables: (key) =>
      readValue<unknown[]>(section, key, [], asList, "a list of tables").map((entry, index) =>
        addNested(section, entry, `${nameOf(section, key)}[${index}]`),
      ),
    value: (key, read, expected) => readValue(section, key, null, read, expected),
    warn: (key, problem) => warn(section, key, problem),
    finish: () => finish(section),
  };
}

const asBoolean = (value: unknown): boolean | null => (typeof value === "boolean" ? value : null);
const asInteger = (value: unknown): number | null =>
  typeof value === "bigint" || Number.isSafeInteger(value) ? Number(value) : null;
const asTable = (value: unknown): RawTable | null => (isTable(value) ? value : null);
const asList = (value: unknown): unknown[] | null => (Array.isArray(value) ? value : null);

function nameOf({ path }: Section, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

function warn(section: Section, key: string, problem: string): void {
  const name = nameOf(section, key);
  section.warnings.add(name, `${name}: ${problem}`);
}

/** Returns the value of a key, or the default, with a warning if the value is invalid. */
function readValue<Value>(
  section: Section,
  key: string,
  fallback: Value,
  read: (value: unknown) => Value | null,
  expected: string,
): Value {
  section.known.add(key);
  const value = section.table[key];
  if (value === undefined) return fallback;
  const found = read(value);
  if (found !== null) return found;
  const result = isWorthNaming(fallback) ? `${fallback} is used` : "ignored";
  warn(section, key, `must be ${expected}; ${result}`);
  return fallback;
}

function readInteger(
  section: Section,
  key: string,
  fallback: number,
  { min, max, ifBelow = min }: IntegerBounds,
): number {
  const value = readValue(section, key, fallback, asInteger, "a whole number");
  const within = value < min ? ifBelow : Math.min(value, max);
  if (within !== value) warn(section, key, `${value} is outside ${min} to ${max}; ${within} is used`);
  return within;
}

function readTexts(section: Section, key: string): string[] {
  return readValue<unknown[]>(section, key, [], asList, "a list of strings").flatMap((entry) => {
    if (typeof entry === "string") return [entry];
    warn(section, key, "an entry is not a string; ignored");
    return [];
  });
}

function addNested(section: Section, raw: unknown, path: string): SectionReader {
  const nested = createSectionReader(raw, path, section.warnings);
  section.nested.push(nested);
  return nested;
}

function finish(section: Section): void {
  for (const key of Object.keys(section.table)) {
    if (section.known.has(key)) continue;
    const near = nearest(key, [...section.known]);
    warn(section, key, `is not a setting${near === null ? "" : `; did you mean ${near}?`}`);
  }
  for (const nested of section.nested) nested.finish();
}

/** Returns the closest known word within two edits, or null. */
export function nearest(word: string, known: readonly string[]): string | null {
  let best: [distance: number, word: string] = [3, ""];
  for (const each of known) {
    const distance = editDistance(word, each);
    if (distance < best[0]) best = [distance, each];
  }
  return best[0] < 3 ? best[1] : null;
}

/** The Levenshtein distance; infinite for words longer than any setting. */
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

/** Reads a table of texts by key. Other values are dropped with a warning. */
export function readTextTable(section: SectionReader, key: string): Record<string, string> {
  const entries = section.entries(key).flatMap(([name, value]): [string, string][] => {
    if (typeof value === "string") return [[name, value]];
    section.warn(`${key}.${name}`, "must be a string; ignored");
    return [];
  });
  return Object.fromEntries(entries);
}
