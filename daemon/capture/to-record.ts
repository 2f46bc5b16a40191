import { readBillingMode } from "../../core/metering/billing/billing-mode.ts";
import type { CredentialKind } from "../../core/metering/billing/credential.ts";
import { type CallOutcome, classifyError } from "../../core/metering/classify/classify-error.ts";
import { headerValue, type ResponseHead } from "../../core/metering/exchange/head.ts";
import type { RequestFacts } from "../../core/metering/usage/read-request.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import { NO_TOKENS } from "../../core/metering/usage/token-counts.ts";
import type { UsageReport } from "../../core/metering/usage/usage-report.ts";
import type { PriceBook } from "../../core/pricing/price-book.ts";
import { priceUsage } from "../../core/pricing/price-usage.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import type { CloseReason } from "../proxy/tap-frames.ts";
import type { CallAttribution } from "./ports.ts";

/** How a call ended: complete, cut off, unreadable, or with its connection. */
export type CallEnd = "complete" | "cut" | "unreadable" | CloseReason;

/** The facts of a call that has ended. Times are on the tap log's clock, except `requestedAt`. */
export interface EndedCall {
  requestId: string;
  requestedAt: Millis;
  host: string;
  method: string;
  path: string;
  route: MeteredRoute;
  facts: RequestFacts;
  credential: CredentialKind;
  /** The request's `User-Agent`. */
  userAgent: string | null;
  promptHash: string | null;
  startedAtMs: number;
  response: { head: ResponseHead; atMs: number } | null;
  report: UsageReport | null;
  /** Whether the provider can return the response again. */
  isResponseRefetchable: boolean;
  end: CallEnd;
  endedAtMs: number;
  attribution: CallAttribution;
  /** When the lookup of the caller must be finished. Null if the attribution is final. */
  attributionDueAt: Millis | null;
}

function toOutcome(call: EndedCall): CallOutcome {
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

type ModelNames = Pick<RequestRecord, "model" | "requestedModel">;

/** Returns the billing mode and the price of a call's usage. */
function priceCall(
  { report, route, credential, response, requestedAt }: EndedCall,
  names: ModelNames,
  prices: PriceBook,
) {
  const { model, requestedModel } = names;
  const billingMode = readBillingMode({
    provider: route.provider,
    billing: route.billing ?? null,
    credential,
    responseHeaders: response?.head.headers ?? null,
    usesCredits: report?.usesCredits ?? null,
    models: [model, requestedModel ?? model],
  });
  const { costPicoUsd, costSource, ratesSource } = priceUsage(
    {
      provider: route.provider,
      model,
      requestedModel,
      requestKind: report?.requestKind ?? route.requestKind,
      at: requestedAt,
      tokens: report?.tokens ?? NO_TOKENS,
      extras: report?.extras ?? {},
      serviceTier: report?.serviceTier ?? null,
      providerCostPicoUsd: report?.providerCostPicoUsd ?? null,
      billingMode,
    },
    prices,
  );
  return { costPicoUsd, costSource, billingMode, ratesSource };
}

function namesOf({ facts, report, route }: EndedCall): ModelNames {
  const requestedModel = facts.requestedModel ?? route.model;
  return { model: facts.deployedModel ?? report?.model ?? requestedModel ?? "unknown", requestedModel };
}

/** Creates the record of a call that has ended, with its usage, price and error class. */
export function toRecord(
  call: EndedCall,
  prices: PriceBook,
  sha256Hex: (text: string) => string,
): RequestRecord {
  const { report, facts, route, response } = call;
  const { model, requestedModel } = namesOf(call);
  const extras = report?.extras ?? {};
  const priced = priceCall(call, { model, requestedModel }, prices);
  const classified = classifyError(route.provider, toOutcome(call));
  const contentType = response === null ? null : headerValue(response.head.headers, "content-type");
  const message = report?.error?.message ?? null;
  return {
    requestId: call.requestId,
    requestedAt: call.requestedAt,
    provider: route.provider,
    model,
    requestedModel,
    requestKind: report?.requestKind ?? route.requestKind,
    streaming: facts.streaming ?? /event-stream|ndjson/i.test(contentType ?? ""),
    tokens: report?.tokens ?? NO_TOKENS,
    tokensComplete: report?.tokensComplete ?? false,
    costPicoUsd: priced.costPicoUsd,
    costSource: priced.costSource,
    providerCostPicoUsd: report?.providerCostPicoUsd ?? null,
    billingMode: priced.billingMode,
    ratesSource: priced.ratesSource,
    serviceTier: report?.serviceTier ?? null,
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
    ...((call.isResponseRefetchable || report?.startsJob) && { isResponseRefetchable: true }),
    ...(call.attributionDueAt !== null && { attributionDueAt: call.attributionDueAt }),
  };
}
