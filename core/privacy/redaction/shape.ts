import { readItems, toCharacterSet } from "./linear-pattern.ts";
import { type CharacterSet, runEnd } from "./rule.ts";

/** The shape of one kind of credential. */
export interface ShapeData {
  /** Name of the rule that the shape comes from. */
  readonly id: string;
  /** What the scan looks for, in lower case: part of the credential, or of the name it is assigned to. */
  readonly keyword: string;
  /** The credential, in the language of `readLinearPattern`, matched from left to right without backtracking. */
  readonly pattern: string;
  /** Least Shannon entropy, in bits per character. */
  readonly entropy: number;
  /** Characters of the pattern before the keyword. Undefined if the keyword is part of the name. */
  readonly offset?: number;
  /** Whether the credential must begin and end at word boundaries. */
  readonly bounded?: boolean;
}

/** Longest run of one character set. */
export const MAX_RUN = 4_096;

/** The long runs that were found in one text, so that a text with many keywords in one run is still searched in linear time. */
export type LongRuns = Map<Run, { readonly from: number; readonly to: number }>;

interface Run {
  readonly set: CharacterSet;
  readonly min: number;
  readonly max: number;
}

export type Shape = ShapeData & { readonly runs: readonly Run[]; readonly tail: CharacterSet };

/** Compiles a shape. Throws a TypeError if its pattern is invalid. */
export function compileShape(data: ShapeData): Shape {
  const items = readItems(data.pattern);
  if (typeof items === "string") throw new TypeError(`the shape ${data.id} is invalid: ${items}`);
  const runs = items.map(({ accepts, min, max }) => ({
    set: toCharacterSet(accepts),
    min,
    max: Math.min(max, MAX_RUN),
  }));
  return { ...data, runs, tail: (runs.at(-1) as Run).set };
}

/**
 * Returns the end of the credential that begins at `start`, or -1 if there is none. A credential that the end of the text
 * cuts off counts if it reaches beyond `least`.
 */
export function matchEnd(
  text: string,
  start: number,
  { runs }: Shape,
  least: number,
  longRuns: LongRuns,
): number {
  let index = start;
  for (const run of runs) {
    const { set, min, max } = run;
    const end =
      max < MAX_RUN
        ? runEnd(text, index, set, max)
        : Math.min(longRunEnd(text, index, run, longRuns), index + max);
    if (end - index < min) return end === text.length && end > least ? end : -1;
    index = end;
  }
  return index;
}

/** Returns the end of a run of any length. */
function longRunEnd(text: string, index: number, run: Run, longRuns: LongRuns): number {
  const known = longRuns.get(run);
  if (known !== undefined && known.from <= index && index < known.to) return known.to;
  const to = runEnd(text, index, run.set, text.length);
  longRuns.set(run, { from: index, to });
  return to;
}
