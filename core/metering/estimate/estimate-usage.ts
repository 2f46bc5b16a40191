import type { RequestKind } from "../../values/record.ts";
import type { UsageReport } from "../usage/usage-report.ts";

/** The counts of a report that need an estimate. */
export interface MissingCounts {
  prompt: boolean;
  output: boolean;
}

/**
 * Returns which counts are missing. `cut` means that the response was truncated, so that an output count stated earlier is
 * only a part of what is billed. Returns null if nothing is missing, or if the provider reported an error, which is not billed.
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

/** Estimated token counts; null if a count could not be estimated. */
export interface Estimates {
  prompt: number | null;
  output: number | null;
  thinking: number | null;
}

/**
 * Fills in missing counts with estimates and marks them in the extras. A stated output count is kept unless the estimate of
 * the received output is larger. The usage stays incomplete.
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
