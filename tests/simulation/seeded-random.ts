/** A seeded random generator: the same seed gives the same values. */
export interface SeededRandom {
  /** Returns an integer from `min` to `max`, inclusive. */
  integer(min: number, max: number): number;
  pick<T>(items: readonly T[]): T;
  /** Returns `length` random characters of the alphabet. */
  text(length: number, alphabet?: string): string;
}

export const hexDigits = "0123456789abcdef";
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Creates a generator from any text (FNV-1a, then mulberry32). Not cryptographically secure. */
export function createSeededRandom(seed: string): SeededRandom {
  let state = 0x811c9dc5;
  for (let at = 0; at < seed.length; at += 1) state = Math.imul(state ^ seed.charCodeAt(at), 0x01000193);
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
  const random: SeededRandom = {
    integer: (min, max) => min + Math.floor(next() * (max - min + 1)),
    pick: (items) => items[random.integer(0, items.length - 1)]!,
    text: (length, alphabet = base62) =>
      Array.from({ length }, () => alphabet[random.integer(0, alphabet.length - 1)]).join(""),
  };
  return random;
}
