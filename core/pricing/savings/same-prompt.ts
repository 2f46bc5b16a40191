import type { Millis } from "../../values/time.ts";

/**
 * How many calls before a call, and how many after it, are searched for its prompt. Prompts have no index, since one would cost each
 * stored call more than it is worth.
 */
export const SAME_PROMPT_SEARCHED = 1_000;

/** How many calls with the same prompt are listed. */
export const MAX_SAME_PROMPTS = 10;

/** A call with the same prompt as another one. */
export interface SamePromptCall {
  readonly requestId: string;
  readonly requestedAt: Millis;
}

/** The calls with the same prompt among those around a call. */
export interface SamePrompts {
  /** How many there are, with the call itself. */
  readonly count: number;
  /** The nearest ones in time without the call itself, the newest first. */
  readonly nearest: readonly SamePromptCall[];
}

/** Returns the calls with the same prompt as one of them, from all that were found around it. */
export function listSamePrompts(
  { requestId, requestedAt }: SamePromptCall,
  found: readonly SamePromptCall[],
): SamePrompts {
  const others = found.filter((call) => call.requestId !== requestId);
  const distance = (call: SamePromptCall) => Math.abs(call.requestedAt - requestedAt);
  return {
    count: others.length + 1,
    nearest: others
      .toSorted((one, other) => distance(one) - distance(other))
      .slice(0, MAX_SAME_PROMPTS)
      .sort((one, other) => other.requestedAt - one.requestedAt),
  };
}
