import {
  answerTexts,
  missingCounts,
  promptTexts,
  TOKENS_PER_MESSAGE,
  withEstimates,
} from "../../core/estimate/mod.ts";
import type { TokenCounter } from "../../core/ports/token-counter.ts";
import type { RequestKind } from "../../core/record.ts";
import type { UsageReport } from "../../core/usage/mod.ts";

/** What an estimate is made from. A body is null where it was too long to be kept. */
export interface EstimatedCall {
  model: string;
  requestKind: RequestKind;
  /** Whether the answer was cut short. */
  cut: boolean;
  request: Uint8Array | null;
  answer: Uint8Array | null;
}

/** Fills in what the provider did not state, as far as the bodies tell, and gives the report back as it was otherwise. */
export async function estimateReport(
  counter: TokenCounter,
  report: UsageReport,
  call: EstimatedCall,
): Promise<UsageReport> {
  const missing = missingCounts(report, call);
  if (missing === null) return report;
  const prompt = missing.prompt && call.request !== null ? promptTexts(call.request) : null;
  const said = missing.output && call.answer !== null ? answerTexts(call.answer) : null;
  const count = async (texts: readonly string[] | null) =>
    texts === null ? null : await counter.count(texts, call.model);
  const promptTokens = await count(prompt?.texts ?? null);
  return withEstimates(report, {
    prompt: promptTokens === null ? null : promptTokens + (prompt?.messages ?? 0) * TOKENS_PER_MESSAGE,
    output: await count(said === null ? null : [said.output]),
    thinking: await count(said === null ? null : [said.thinking]),
  });
}
