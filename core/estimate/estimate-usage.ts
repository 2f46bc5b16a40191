import type { RequestKind } from "../record.ts";
import type { UsageReport } from "../usage/mod.ts";

/** Which counts of a report would have to be estimated. */
export interface MissingCounts {
  prompt: boolean;
  output: boolean;
}

/**
 * What is missing. `cut` says that the answer was cut short: an output count that was stated before is then only a part
 * of what is billed. Null where nothing is missing, or where the provider says that it failed, which it does not bill.
 */
export function missingCounts(
  report: UsageReport,
  { cut, requestKind }: { cut: boolean; requestKind: RequestKind },
): MissingCounts | null {
  if (report.tokensComplete || report.error !== null || report.noRecord !== undefined) return null;
  const { promptTokens, completionTokens } = report.tokens;
  const missing = {
    prompt: promptTokens === null,
    output: requestKind === "chat" && (completionTokens === null || cut),
  };
  return missing.prompt || missing.output ? missing : null;
}

/** Counted tokens; null for what could not be counted. */
export interface Estimates {
  prompt: number | null;
  output: number | null;
  thinking: number | null;
}

/**
 * Puts estimates in the place of counts that are missing, and marks which those are. A count that the provider stated
 * stays, unless more than that was seen to come; the usage stays incomplete.
 */
export function withEstimates(report: UsageReport, estimates: Estimates): UsageReport {
  const tokens = { ...report.tokens };
  const extras = { ...report.extras };
  if (tokens.promptTokens === null && estimates.prompt !== null) {
    tokens.promptTokens = estimates.prompt;
    extras.estimated_input = 1;
  }
  const stated = (tokens.completionTokens ?? 0) + (tokens.thinkingTokens ?? 0);
  const { output, thinking } = estimates;
  if (output !== null && (tokens.completionTokens === null || output + (thinking ?? 0) > stated)) {
    tokens.completionTokens = output;
    tokens.thinkingTokens = thinking === null || thinking === 0 ? tokens.thinkingTokens : thinking;
    extras.estimated_output = 1;
  }
  return { ...report, tokens, extras, tokensComplete: false };
}
