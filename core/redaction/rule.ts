/** Says where something was found: `[start, end)` in UTF-16 units, in ascending order of `start`. */
export type ReportRange = (start: number, end: number) => void;

/**
 * One named kind of secret. `find` costs linear time whatever the text, because the text is an attacker's to choose:
 * it looks at each character a bounded number of times.
 */
export interface RedactionRule {
  readonly name: string;
  find(text: string, report: ReportRange): void;
}

/** A set of ASCII characters as a table: 1 where the character is in the set. */
export type CharacterSet = Uint8Array;

/** Makes a set from single characters and ranges such as `A-Z`; a hyphen stands at the end. */
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

/** Where the run of characters of the set that begins at `start` ends, at most `max` characters on. */
export function runEnd(text: string, start: number, set: CharacterSet, max: number): number {
  const bound = Math.min(text.length, start + max);
  let index = start;
  while (index < bound && set[text.charCodeAt(index)] === 1) index += 1;
  return index;
}

export const DIGIT: CharacterSet = characterSet("0-9");
export const ALPHANUMERIC: CharacterSet = characterSet("A-Za-z0-9");
/** base64url and what tokens with hyphens and underscores are made of. */
export const WORD: CharacterSet = characterSet("A-Za-z0-9_-");
/** RFC 9110's token68, with the underscore in it. */
export const TOKEN68: CharacterSet = characterSet("A-Za-z0-9._~+/=-");
export const BASE64: CharacterSet = characterSet("A-Za-z0-9+/=");
