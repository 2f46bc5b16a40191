import { type CallOutcome, classifyError } from "../../core/classify/mod.ts";
import { headerValue, type ResponseHead } from "../../core/exchange/mod.ts";
import { type PriceBook, priceUsage } from "../../core/pricing/mod.ts";
import type { RequestRecord, TokenCounts } from "../../core/record.ts";
import type { Millis } from "../../core/time.ts";
import type { MeteredRoute, RequestFacts, UsageReport } from "../../core/usage/mod.ts";
import type { CloseReason } from "../proxy/tap-frames.ts";
import type { CallAttribution } from "./ports.ts";

/** How a call ended: by its framing, cut short, no longer readable, or with its connection. */
export type CallEnd = "complete" | "cut" | "unreadable" | CloseReason;

/** All that is known of a call when it is over. Times are on the tap log's clock, `requestedAt` excepted. */
export interface EndedCall {
  requestId: string;
  requestedAt: Millis;
  host: string;
  method: string;
  path: string;
  route: MeteredRoute;
  facts: RequestFacts;
  promptHash: string | null;
  startedAtMs: number;
  response: { head: ResponseHead; atMs: number } | null;
  report: UsageReport | null;
  /** Whether the provider hands the response out again. */
  responseIsKept: boolean;
  end: CallEnd;
  endedAtMs: number;
  attribution: CallAttribution;
}

const nothingStated: TokenCounts = {
  promptTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  cacheWrite1hTokens: null,
  completionTokens: null,
  thinkingTokens: null,
};

function outcomeOf(call: EndedCall): CallOutcome {
  switch (call.end) {
    case "client_aborted":
      return { kind: "transport", reason: "aborted" };
    case "upstream_timeout":
      return { kind: "transport", reason: "timeout" };
    default:
      return call.response === null
        ? { kind: "transport", reason: "network" }
        : {
            kind: "answered",
            status: call.response.head.status,
            error: call.report?.error ?? null,
            complete: call.end === "complete",
          };
  }
}

/** Makes the record of a call that is over: usage, price and error class in one row. */
export function toRecord(
  call: EndedCall,
  prices: PriceBook,
  sha256Hex: (text: string) => string,
): RequestRecord {
  const { report, facts, route, response } = call;
  const tokens = report?.tokens ?? nothingStated;
  const requestedModel = facts.requestedModel ?? route.model;
  const model = facts.deployedModel ?? report?.model ?? requestedModel ?? "unknown";
  const serviceTier = report?.serviceTier ?? null;
  const extras = report?.extras ?? {};
  const requestKind = report?.requestKind ?? route.requestKind;
  const priced = priceUsage(
    {
      provider: route.provider,
      model,
      requestedModel,
      requestKind,
      at: call.requestedAt,
      tokens,
      extras,
      serviceTier,
      providerCostPicoUsd: report?.providerCostPicoUsd ?? null,
    },
    prices,
  );
  const classified = classifyError(route.provider, outcomeOf(call));
  const contentType = response === null ? null : headerValue(response.head.headers, "content-type");
  const message = report?.error?.message ?? null;
  return {
    requestId: call.requestId,
    requestedAt: call.requestedAt,
    provider: route.provider,
    model,
    requestedModel,
    requestKind,
    streaming: facts.streaming ?? /event-stream|ndjson/i.test(contentType ?? ""),
    tokens,
    tokensComplete: report?.tokensComplete ?? false,
    costPicoUsd: priced.costPicoUsd,
    costSource: priced.costSource,
    providerCostPicoUsd: report?.providerCostPicoUsd ?? null,
    ratesSource: priced.ratesSource,
    serviceTier,
    usageExtras: Object.keys(extras).length === 0 ? null : extras,
    latencyMs: call.endedAtMs - call.startedAtMs,
    ttfbMs: response === null ? null : response.atMs - call.startedAtMs,
    httpStatus: response?.head.status ?? null,
    errorClass: classified.errorClass,
    providerErrorCode: classified.providerErrorCode,
    retryable: classified.retryable,
    errorMessageHash: message === null ? null : sha256Hex(message),
    project: call.attribution.project,
    attributionTier: call.attribution.tier,
    promptHash: call.promptHash,
    method: call.method,
    path: call.path,
    sourceWorkdir: call.attribution.workdir,
    host: call.host,
    api: route.api,
    providerResponseId: report?.responseId ?? null,
    client: call.attribution.client,
    ...(call.responseIsKept && { responseIsKept: true }),
  };
}
