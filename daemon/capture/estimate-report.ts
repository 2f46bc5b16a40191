import { answerTexts } from "../../core/metering/estimate/answer-texts.ts";
import { missingCounts, withEstimates } from "../../core/metering/estimate/estimate-usage.ts";
import { promptTexts, TOKENS_PER_MESSAGE } from "../../core/metering/estimate/prompt-texts.ts";
import type { UsageReport } from "../../core/metering/usage/usage-report.ts";
import type { TokenCounter } from "../../core/ports/token-counter.ts";
import type { RequestKind } from "../../core/values/record.ts";

/** The input of an estimate. A body is null if it was not kept. */
interface EstimateInput {
  model: string;
  requestKind: RequestKind;
  /** Whether the response was cut off. */
  cut: boolean;
  request: Uint8Array | null;
  response: Uint8Array | null;
}

/** Adds estimates of the token counts that the provider did not report, if the bodies allow them. */
export async function estimateReport(
  counter: TokenCounter,
  report: UsageReport,
  call: EstimateInput,
): Promise<UsageReport> {
  const missing = missingCounts(report, call);
  if (missing === null) return report;
  const prompt = missing.prompt && call.request !== null ? promptTexts(call.request) : null;
  const outputTexts = missing.output && call.response !== null ? answerTexts(call.response) : null;
  const count = async (texts: readonly string[] | null) =>
    texts === null ? null : await counter.count(texts, call.model);
  const promptTokens = await count(prompt?.texts ?? null);
  return withEstimates(report, {
    prompt: promptTokens === null ? null : promptTokens + (prompt?.messages ?? 0) * TOKENS_PER_MESSAGE,
    output: await count(outputTexts === null ? null : [outputTexts.output]),
    thinking: await count(outputTexts === null ? null : [outputTexts.thinking]),
  });
}
