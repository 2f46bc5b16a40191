/** Reports the range `[start, end)` of a finding in UTF-16 code units, in ascending order of `start`. */
export type ReportRange = (start: number, end: number) => void;

/**
 * One named kind of secret. `find` must take linear time, since an attacker may choose the text: it may read each character
 * only a bounded number of times.
 */
export interface RedactionRule {
  readonly name: string;
  /** Whether a finding is dropped if an earlier rule found something that begins at the same character. */
  readonly yields?: boolean;
  find(text: string, report: ReportRange): void;
}

/** A set of ASCII characters as a table: 1 where the character is in the set. */
export type CharacterSet = Uint8Array;

/** Creates a set from single characters and ranges such as `A-Z`. A literal hyphen comes last. */
export function characterSet(description: string): CharacterSet {
  const set = new Uint8Array(128);
  for (let index = 0; index < description.length; index += 1) {
    const from = description.charCodeAt(index);
    const isRange = description[index + 1] === "-" && index + 2 < description.length;
    const to = isRange ? description.charCodeAt(index + 2) : from;
    set.fill(1, from, to + 1);
    if (isRange) index += 2;
  }
  return set;
}

/** Returns the end of the run of characters from the set that begins at `start`; at most `start + max`. */
export function runEnd(text: string, start: number, set: CharacterSet, max: number): number {
  const bound = Math.min(text.length, start + max);
  let index = start;
  while (index < bound && set[text.charCodeAt(index)] === 1) index += 1;
  return index;
}

export const DIGIT: CharacterSet = characterSet("0-9");
export const ALPHANUMERIC: CharacterSet = characterSet("A-Za-z0-9");
/** base64url, and tokens with hyphens and underscores. */
export const WORD: CharacterSet = characterSet("A-Za-z0-9_-");
/** token68 of RFC 9110, and the underscore. */
export const TOKEN68: CharacterSet = characterSet("A-Za-z0-9._~+/=-");
export const BASE64: CharacterSet = characterSet("A-Za-z0-9+/=");
