/** Reports the index of each keyword found and where it ends. */
export type KeywordScan = (text: string, report: (keyword: number, end: number) => void) => void;

/** Lower-cases the code of an ASCII letter. */
const toLowerCode = (code: number): number => (code >= 0x41 && code <= 0x5a ? code + 0x20 : code);

/** The automaton as a table with one row per state. `ends` lists the keywords that end in each state. */
interface Automaton {
  readonly classes: Uint8Array;
  readonly width: number;
  readonly next: Uint16Array;
  readonly ends: readonly (readonly number[])[];
}

/** Builds a trie of the keywords. In `next`, 0 means "no such letter", since no edge leads back to the root. */
function buildTrie(keywords: readonly string[]): Automaton {
  const letters = [...new Set(keywords.join(""))];
  const classes = new Uint8Array(128);
  for (const [index, letter] of letters.entries()) classes[letter.charCodeAt(0)] = index + 1;
  for (let code = 0; code < 128; code += 1) classes[code] = classes[toLowerCode(code)] as number;
  const width = letters.length + 1;
  const next = new Uint16Array((keywords.join("").length + 1) * width);
  const ends: number[][] = [[]];
  for (const [index, keyword] of keywords.entries()) {
    let state = 0;
    for (const letter of keyword) {
      const cell = state * width + (classes[letter.charCodeAt(0)] as number);
      if (next[cell] === 0) next[cell] = ends.push([]) - 1;
      state = next[cell] as number;
    }
    (ends[state] as number[]).push(index);
  }
  return { classes, width, next, ends };
}

/** Adds the failure links: where the trie has no edge, the next state is that of the longest suffix that is in the trie. */
function linkSuffixes({ width, next, ends }: Automaton): readonly (readonly number[])[] {
  const linked = ends.map((each) => [...each]);
  const suffix = new Uint16Array(ends.length);
  const queue: number[] = [0];
  for (const state of queue) {
    for (let letter = 1; letter < width; letter += 1) {
      const cell = state * width + letter;
      const child = next[cell] as number;
      const fallback = state === 0 ? 0 : (next[(suffix[state] as number) * width + letter] as number);
      if (child === 0) next[cell] = fallback;
      else {
        suffix[child] = fallback;
        (linked[child] as number[]).push(...(linked[fallback] as number[]));
        queue.push(child);
      }
    }
  }
  return linked;
}

/**
 * Creates a case-insensitive scan for lower-case ASCII keywords. It is an Aho-Corasick automaton (1975): it reads each
 * character once, however many keywords there are.
 */
export function createKeywordScan(keywords: readonly string[]): KeywordScan {
  const automaton = buildTrie(keywords);
  const linked = linkSuffixes(automaton);
  const { classes, width } = automaton;
  // A state is the offset of its row, so a step is one addition and one lookup.
  const next = Uint32Array.from(automaton.next, (state) => state * width);
  const ends = new Map(linked.map((each, state) => [state * width, each]));
  const isEnd = new Uint8Array(next.length);
  for (const [row, each] of ends) isEnd[row] = Math.min(each.length, 1);
  return (text, report) => {
    let row = 0;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      row = code < 128 ? (next[row + (classes[code] as number)] as number) : 0;
      if (isEnd[row] === 1)
        for (const keyword of ends.get(row) as readonly number[]) report(keyword, index + 1);
    }
  };
}
