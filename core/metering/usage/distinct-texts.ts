/** The most characters of distinct texts that are kept. A response with its searches has far fewer. */
const MAX_CHARACTERS = 1024 * 1024;

/** Counts distinct texts of one response. */
export interface DistinctTexts {
  add(text: string): void;
  count(): number;
}

/** Counts in bounded memory: a text beyond the limit is not counted. */
export function createDistinctTexts(): DistinctTexts {
  const texts = new Set<string>();
  let room = MAX_CHARACTERS;
  return {
    add(text) {
      if (text.length > room || texts.has(text)) return;
      texts.add(text);
      room -= text.length;
    },
    count: () => texts.size,
  };
}
