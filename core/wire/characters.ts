/** The number of characters (Unicode code points) in a text. A lone half of a pair counts as one. */
export function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** The first `maxCharacters` characters (code points) of a text: no pair is split. */
export function cutCharacters(text: string, maxCharacters: number): string {
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

/** Whether any store can keep the text as it is: no U+0000, which PostgreSQL's text can't hold, and no half of a pair. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** The text with U+FFFD in place of what `isStorableText` refuses, cut to so many characters. */
export function toStorableText(text: string, maxCharacters: number): string {
  return cutCharacters(text.toWellFormed().replaceAll("\0", "\u{fffd}"), maxCharacters);
}
