/**
 * The most output tokens of a model whose request states no limit. Sources: the providers' model pages, 2026-11. A model that is
 * not listed has the largest limit that any listed page states.
 */
const OUTPUT_LIMITS: readonly (readonly [model: RegExp, tokens: number])[] = [
  [/claude-3-(?:opus|haiku|sonnet)|claude-(?:2|instant)/, 4_096],
  [/claude-3-5/, 8_192],
  [/claude-opus-4(?:-1|-2025|@|$)/, 32_000],
  [/gpt-3\.5|gpt-4(?:-0|-1106|-turbo|-vision|$)/, 8_192],
  [/gpt-4o|chatgpt-4o/, 16_384],
  [/gpt-4\.1/, 32_768],
  [/o1|o3|o4-mini/, 100_000],
  [/gemini-(?:1|2\.0)/, 8_192],
  [/gemini-/, 65_536],
];

/** The largest limit of a listed model, and of most that are not listed. */
const LARGEST_OUTPUT = 131_072;

/** Returns the most tokens that one response of the model may have. */
export function outputLimitOf(model: string | null): number {
  const name = model?.toLowerCase() ?? "";
  return OUTPUT_LIMITS.find(([pattern]) => pattern.test(name))?.[1] ?? LARGEST_OUTPUT;
}
