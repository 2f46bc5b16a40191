import type { RequestRecord } from "../values/record.ts";

/** Whether a request has no known price. A failed request without counts used nothing, so it has nothing to price. */
export function isUnpriced({
  costPicoUsd,
  errorClass,
  tokens,
}: Pick<RequestRecord, "costPicoUsd" | "errorClass" | "tokens">): boolean {
  const usedNothing = errorClass !== null && tokens.promptTokens === null && tokens.completionTokens === null;
  return costPicoUsd === null && !usedNothing;
}

/** SQL for the same. */
export const UNPRICED_SQL =
  "cost_pico_usd IS NULL AND NOT (error_class IS NOT NULL AND prompt_tokens IS NULL AND completion_tokens IS NULL)";
