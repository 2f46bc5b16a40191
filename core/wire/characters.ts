/** Returns the number of characters (Unicode code points) in a text. An unpaired surrogate counts as one. */
export function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Returns the first `maxCharacters` characters (code points) of a text, without splitting a surrogate pair. */
export function truncateCharacters(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  let end = 0;
  let left = maxCharacters;
  for (const character of text) {
    if (left === 0) break;
    left -= 1;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Whether every store can hold the text unchanged: no U+0000, which PostgreSQL rejects, and no unpaired surrogate. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Whether the text is one line without control characters, and not all of it is invisible. */
export function isLegibleLine(text: string): boolean {
  return !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text) && /[^\p{C}\p{Z}]/u.test(text);
}

/** Replaces what `isStorableText` rejects with U+FFFD, and truncates the text to `maxCharacters`. */
export function toStorableText(text: string, maxCharacters: number): string {
  return truncateCharacters(text.toWellFormed().replaceAll("\0", "\u{fffd}"), maxCharacters);
}
