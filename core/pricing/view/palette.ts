/** How many colours a chart has. "Other" is grey and has none of them. */
export const COLOURS = 6;

/** Returns a number that depends on the text only (FNV-1a). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/**
 * Gives each value a colour, the same on all pages as far as there are enough: the colour of its name, or the next free one. Values
 * beyond the colours, and the unknown value, are null, which is grey.
 */
export function assignColours(keys: readonly (string | null)[]): (number | null)[] {
  const taken = new Map<number, string>();
  const colours = new Map<string, number>();
  const named = [...new Set(keys.filter((key) => key !== null))].slice(0, COLOURS);
  // In an order that does not depend on the page's.
  for (const key of named.toSorted()) {
    let colour = hashOf(key) % COLOURS;
    while (taken.has(colour)) colour = (colour + 1) % COLOURS;
    taken.set(colour, key);
    colours.set(key, colour);
  }
  return keys.map((key) => (key === null ? null : (colours.get(key) ?? null)));
}
