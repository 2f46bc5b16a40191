import { characterSet, runEnd } from "./rule.ts";

/** Placeholders in examples, and expressions in code that are not a literal secret. */
const PLACEHOLDER =
  /\.\.\.|x{4}|\*{3}|[<>{}]|\$[({A-Za-z_]|%[A-Z_]+%|your[-_ ]?|example|placeholder|change[-_]?(?:me|it|this)|redacted|insert[-_]|replace[-_]|dummy|\bsample|process\.env|environ|getenv|os\.|function|undefined|lorem|:\/\/|abcdefgh|12345678|01234567/i;

/** The characters of a base64 run. */
const PART = characterSet("A-Za-z0-9+/");
const DIGIT = characterSet("0-9");
const UPPER = characterSet("A-Z");
const LOWER = characterSet("a-z");
const VOWEL = characterSet("AEIOUYaeiouy");

/** How many characters of a value are examined, as a sample of it. */
export const MAX_EXAMINED = 128;

/** Longest average piece of a random text. Words and identifiers have longer pieces. */
const MAX_PIECE = 2.9;
/** The same for a long text, whose average is more reliable. */
const MAX_LONG_PIECE = 3.9;
/** The same for a text without digits, such as a camel-case name. */
const MAX_LETTER_PIECE = 2.4;
/** Length from which a text counts as long, in characters. */
const LONG = 16;
/** Consonants in a row that no English word has. */
const UNPRONOUNCEABLE = 6;

/** Counts of a text's characters. A piece is a word of a camel-case name, or a number. */
interface Counts {
  digits: number;
  upper: number;
  lower: number;
  pieces: number;
  /** Length of the longest run of consonants. */
  consonants: number;
}

function countCharacters(text: string): Counts {
  const counts: Counts = { digits: 0, upper: 0, lower: 0, pieces: 0, consonants: 0 };
  let consonants = 0;
  let previous: CharacterKind = "other";
  let run = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const kind = kindOf(code);
    if (kind !== "other") counts[kind] += 1;
    run = kind === previous ? run + 1 : 1;
    // `Word` is one piece, `HTTPWord` two.
    const isWordStart = kind === "lower" && previous === "upper";
    if (run === 1 && kind !== "other" && !isWordStart) counts.pieces += 1;
    if (isWordStart && UPPER[text.charCodeAt(index - 2)] === 1) counts.pieces += 1;
    consonants = (kind === "upper" || kind === "lower") && VOWEL[code] !== 1 ? consonants + 1 : 0;
    counts.consonants = Math.max(counts.consonants, consonants);
    previous = kind;
  }
  return counts;
}

type CharacterKind = "digits" | "upper" | "lower" | "other";

function kindOf(code: number): CharacterKind {
  if (DIGIT[code] === 1) return "digits";
  if (UPPER[code] === 1) return "upper";
  return LOWER[code] === 1 ? "lower" : "other";
}

/** Fewest distinct characters of a random value. Repetitions such as `a1a1a1a1` occur in examples. */
const MIN_DISTINCT = 6;

/** Whether a part looks random: letters and digits, or upper and lower case, alternate more often than in words. */
function isRandomPart(part: string, minLength: number): boolean {
  if (part.length < minLength) return false;
  const { digits, upper, lower, pieces, consonants } = countCharacters(part);
  const letters = upper + lower;
  const length = letters + digits;
  if (length < minLength || letters < length * 0.18) return false;
  const changesOften =
    digits > 0
      ? length / pieces <= (length >= LONG ? MAX_LONG_PIECE : MAX_PIECE)
      : length >= LONG &&
        (length / pieces <= MAX_LETTER_PIECE ||
          (consonants >= UNPRONOUNCEABLE && (upper === 0 || lower === 0)));
  return changesOften && new Set(part).size >= MIN_DISTINCT;
}

/** Whether any part of a text looks random, or all parts together if they are short groups. */
function hasRandomPart(text: string, minLength: number): boolean {
  let joined = "";
  let parts = 0;
  let shortest = Infinity;
  for (let index = 0; index < text.length; index += 1) {
    const end = runEnd(text, index, PART, text.length);
    if (end === index) continue;
    const part = text.slice(index, end);
    if (isRandomPart(part, minLength)) return true;
    joined += part;
    parts += 1;
    shortest = Math.min(shortest, part.length);
    index = end;
  }
  // Groups that are too short one by one, such as `k3fd-9x2m-p0qz-77ab`.
  return parts > 1 && shortest >= 3 && DIGIT[text.charCodeAt(0)] !== 1 && isRandomPart(joined, LONG);
}

/**
 * Whether a value looks random, as keys and tokens do, and is not words, an identifier, a path, a version, a date or a
 * placeholder. Takes bounded time for any length.
 */
export function isRandomValue(value: string, minLength: number): boolean {
  const head = value.slice(0, MAX_EXAMINED);
  if (head.length < minLength || !hasRandomPart(head, minLength)) return false;
  return !/\s/.test(head) && !PLACEHOLDER.test(head);
}
