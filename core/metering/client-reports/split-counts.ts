import type { TokenCounts } from "../../values/record.ts";
import { splitTotal } from "../usage/token-counts.ts";

/** Makes counts disjoint whose input includes what was read from and written to a cache, and whose output includes reasoning. */
export function splitCounts(total: {
  readonly input: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite?: number | null;
  readonly output?: number | null;
  readonly reasoning?: number | null;
}): TokenCounts {
  const { input, cacheRead, cacheWrite = null, output = null, reasoning = null } = total;
  const inputs = splitTotal(input, [cacheRead, cacheWrite]);
  const outputs = splitTotal(output, [reasoning]);
  return {
    // Parts that exceed their total make both of them unknown.
    promptTokens: inputs.consistent ? inputs.rest : null,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    cacheWrite1hTokens: null,
    completionTokens: outputs.consistent ? outputs.rest : null,
    thinkingTokens: reasoning,
  };
}
