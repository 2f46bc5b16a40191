import type { ErrorClass, RequestRecord } from "../../values/record.ts";
import { formatDuration } from "../../values/text/format-duration.ts";
import { formatQuantity } from "../../values/text/format-quantity.ts";
import { totalInputTokens, totalOutputTokens } from "../../values/token-totals.ts";

/** The fields of a record that say how the call ended. */
type FailureFields = { readonly latencyMs: number | null } & Pick<
  RequestRecord,
  | "client"
  | "costPicoUsd"
  | "costSource"
  | "errorClass"
  | "httpStatus"
  | "providerErrorCode"
  | "retryable"
  | "tokens"
  | "tokensComplete"
  | "usageExtras"
>;

/**
 * Describes what happened to a call that failed, in sentences: who ended it, after how long, which counts are known, and what
 * the stored cost includes. Null if it did not fail. The text can contain the client's name and the provider's error code.
 */
export function describeFailure(record: FailureFields): string | null {
  if (record.errorClass === null) return null;
  return [describeEnd(record, record.errorClass), describeCounts(record), describeCost(record)].join(" ");
}

/** What a provider reports with each class of error. */
const REPORTED: Readonly<Record<ErrorClass, string>> = {
  rate_limit: "rate limit",
  server_error: "server error",
  bad_request: "invalid request",
  auth: "problem with the key, its permissions or the billing",
  timeout: "timeout",
  network: "request cancelled",
  unknown: "unknown error",
};

function describeEnd(record: FailureFields, errorClass: ErrorClass): string {
  const { httpStatus, latencyMs, providerErrorCode } = record;
  const after = latencyMs === null ? "" : ` after ${formatDuration(latencyMs)}`;
  const reported = `${REPORTED[errorClass]}${providerErrorCode === null ? "" : ` (${providerErrorCode})`}`;
  if (httpStatus !== null && httpStatus >= 400)
    return `The provider answered with HTTP ${httpStatus}${after}: ${reported}.`;
  if (httpStatus !== null && (errorClass !== "network" || providerErrorCode !== null))
    return `The provider ended the response with an error${after}: ${reported}.`;
  if (errorClass === "timeout")
    return `The connection to the provider could not be set up in time. The call ended${after}.`;
  return describeClose(record, after);
}

/** Describes a connection that was closed early. */
function describeClose(
  { client, httpStatus, retryable, tokensComplete }: FailureFields,
  after: string,
): string {
  const when = tokensComplete ? "when all token counts had arrived" : "before the response was complete";
  // `classifyError()`: of all failures of a connection, only the client's own abort is not retryable.
  if (retryable === false) {
    const program = client === null ? "The client" : `The client (${client})`;
    return `${program} closed the connection${after}, ${httpStatus === null ? "before the response began" : when}.`;
  }
  if (httpStatus === null)
    return `No response arrived: the connection to the provider failed or was closed${after}.`;
  return `The provider or the network closed the connection${after}, ${when}.`;
}

function describeCounts({ httpStatus, tokens, tokensComplete, usageExtras }: FailureFields): string {
  if (tokensComplete) return "The token counts are complete.";
  const parts = [
    {
      count: totalInputTokens(tokens),
      noun: "input",
      isEstimate: usageExtras?.estimated_input === 1,
    },
    {
      count: totalOutputTokens(tokens),
      noun: "output",
      isEstimate: usageExtras?.estimated_output === 1,
    },
  ];
  const listed = (isEstimate: boolean) =>
    parts.flatMap(({ count, noun, ...part }) =>
      count === null || part.isEstimate !== isEstimate ? [] : [formatQuantity(count, `${noun} token`)],
    );
  const [stated, estimated] = [listed(false), listed(true)];
  const unknown = parts.filter(({ count }) => count === null).map(({ noun }) => noun);
  if (unknown.length === 2)
    return httpStatus !== null && httpStatus >= 400
      ? "It stated no token counts."
      : "No token counts had arrived, so the usage is unknown.";
  return [
    ...(stated.length > 0 ? [`By then the provider had stated ${stated.join(" and ")}.`] : []),
    ...(estimated.length > 0 ? [`Estimated from the text: ${estimated.join(" and ")}.`] : []),
    unknown.length > 0
      ? `The count of ${unknown.join(" and ")} tokens is unknown.`
      : "The final counts had not arrived.",
  ].join(" ");
}

function describeCost({ costPicoUsd, costSource, tokens, tokensComplete }: FailureFields): string {
  if (costPicoUsd === null)
    return tokens.promptTokens !== null && tokens.completionTokens !== null
      ? "No cost is stored, because the price is unknown."
      : "No cost is stored.";
  if (costSource === "provider") return "The stored cost is the one that the provider stated.";
  if (tokensComplete) return "The stored cost includes all of them.";
  return costSource === "estimated"
    ? "The stored cost includes the estimate, and the provider may bill more."
    : "The stored cost includes only these counts, and the provider may bill more.";
}
