import type { Scenario } from "./scenario.ts";
import type { SeededRandom } from "./seeded-random.ts";

/**
 * The usage of a simulated call. Each API adds these numbers up in its own way (inclusive or exclusive totals) and records
 * them in `calls` without parsing the response.
 */
export interface ChosenNumbers {
  freshInput: number;
  cacheRead: number;
  cacheWrite5m: number;
  cacheWrite1h: number;
  visibleOutput: number;
  thinking: number;
  /** Input from the provider's own tools. */
  toolResultInput: number;
  webSearches: number;
}

/** Chooses the numbers of one call. */
export function chooseNumbers(random: SeededRandom, scenario: Scenario): ChosenNumbers {
  const has = scenario.traits;
  const caches = has.has("cached") || has.has("cached-1h");
  return {
    freshInput: has.has("long") ? random.integer(300_001, 400_000) : random.integer(11, 4_000),
    cacheRead: caches ? random.integer(1_024, 60_000) : 0,
    cacheWrite5m: has.has("cached") || has.has("cache-write") ? random.integer(1_024, 9_000) : 0,
    cacheWrite1h: has.has("cached-1h") ? random.integer(1_024, 9_000) : 0,
    visibleOutput: random.integer(7, 1_500),
    thinking: has.has("thinking") ? random.integer(64, 6_000) : 0,
    toolResultInput: has.has("search") ? random.integer(500, 5_000) : 0,
    webSearches: has.has("search") ? random.integer(1, 4) : 0,
  };
}
