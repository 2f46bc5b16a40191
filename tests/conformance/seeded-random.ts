/** A small seeded generator (xorshift32) that returns the same numbers on every run. `seed` must not be 0. */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed | 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}
