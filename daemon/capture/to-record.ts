import { readBillingMode } from "../../core/metering/billing/billing-mode.ts";
import type { CredentialKind } from "../../core/metering/billing/credential.ts";
import { type CallOutcome, classifyError } from "../../core/metering/classify/classify-error.ts";
import { headerValue, type ResponseHead } from "../../core/metering/exchange/head.ts";
import type { CallIdentity } from "../../core/metering/sessions/call-identity.ts";
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

/** The facts of a call that has ended. Times are on the tap log's clock. */
export interface EndedCall {
  host: string;
  method: string;
  path: string;
  route: MeteredRoute;
  facts: RequestFacts;
  credential: CredentialKind;
  /** The request's `User-Agent`. */
  userAgent: string | null;
  promptHash: string | null;
  identity: CallIdentity;
  startedAtMs: number;
  response: { head: ResponseHead; atMs: number } | null;
  /** Whether the provider can return the response again. */
  isResponseRefetchable: boolean;
  end: CallEnd;
  endedAtMs: number;
  /** The budget that refused the call. Absent: none did. */
  blockedBy?: string | null;
  /** Called with the id of each new record. */
  onRecord?: (requestId: string) => void;
}

/** The facts that differ between the records of one call. */
export interface NewRecord {
  requestId: string;
  requestedAt: Millis;
  report: UsageReport | null;
  attribution: CallAttribution;
  /** When the lookup of the caller must be finished. Null if the attribution is final. */
  attributionDueAt: Millis | null;
}

function toOutcome(call: EndedCall, report: UsageReport | null): CallOutcome {
  const status = call.response?.head.status ?? null;
  const error = report?.error ?? null;
  // An error that the provider stated is why the call failed, however the connection ended after it.
  if (status !== null && (status >= 400 || error !== null))
    return { kind: "answered", status, error, complete: false };
  switch (call.end) {
    case "client_aborted":
      return { kind: "transport", reason: "aborted" };
    case "upstream_timeout":
      return { kind: "transport", reason: "timeout" };
    default:
      if (status === null)
        return call.end === "unreadable" ? { kind: "unread" } : { kind: "transport", reason: "network" };
      return {
        kind: "answered",
        status,
        error: null,
        // The client got what could not be read.
        complete: call.end === "complete" || call.end === "unreadable",
      };
  }
}

const NO_EXTRAS: UsageReport["extras"] = {};

type ModelNames = Pick<RequestRecord, "model" | "requestedModel">;

/** Returns the billing mode and the price of a call's usage. */
function priceCall(
  { route, credential, response }: EndedCall,
  { report, requestedAt }: NewRecord,
  { model, requestedModel }: ModelNames,
  prices: PriceBook,
) {
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

function namesOf({ facts, route }: EndedCall, report: UsageReport | null): ModelNames {
  const requestedModel = facts.requestedModel ?? route.model;
  return { model: facts.deployedModel ?? report?.model ?? requestedModel ?? "unknown", requestedModel };
}

/** Returns the fields with the state of the caller's working tree. */
export function gitFields({
  git,
}: CallAttribution): Pick<RequestRecord, "gitBranch" | "gitCommit" | "gitRemote" | "pullRequest"> {
  const { branch = null, commit = null, remote = null, pullRequest = null } = git ?? {};
  return { gitBranch: branch, gitCommit: commit, gitRemote: remote, pullRequest };
}

/** The usage of a call that was not sent: nothing was used, and nothing failed. */
const NOTHING_USED = {
  tokens: {
    promptTokens: 0,
    completionTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
    thinkingTokens: 0,
  },
  tokensComplete: true,
  costPicoUsd: 0n,
  costSource: "computed",
  httpStatus: null,
  errorClass: null,
  providerErrorCode: null,
  retryable: null,
} as const satisfies Partial<RequestRecord>;

/** The facts of a record besides those of its call. */
function deriveParts(
  call: EndedCall,
  created: NewRecord,
  prices: PriceBook,
  sha256Hex: (text: string) => string,
) {
  const { route, response, facts } = call;
  const { report } = created;
  const names = namesOf(call, report);
  const extras = report?.extras ?? NO_EXTRAS;
  const contentType = response === null ? null : headerValue(response.head.headers, "content-type");
  const message = report?.error?.message ?? null;
  return {
    names,
    priced: priceCall(call, created, names, prices),
    classified: classifyError(route.provider, toOutcome(call, report)),
    git: gitFields(created.attribution),
    usageExtras: Object.keys(extras).length === 0 ? null : extras,
    streaming: facts.streaming ?? /event-stream|ndjson/i.test(contentType ?? ""),
    errorMessageHash: message === null ? null : sha256Hex(message),
  };
}

type DerivedParts = ReturnType<typeof deriveParts>;

/** Fills in the fields that every call has. One literal, without a spread, which would make V8 build the record slowly. */
function fillRecord(
  call: EndedCall,
  { requestId, requestedAt, report, attribution }: NewRecord,
  { names, priced, classified, git, streaming, usageExtras, errorMessageHash }: DerivedParts,
): RequestRecord {
  const { route, response, identity } = call;
  return {
    requestId,
    requestedAt,
    provider: route.provider,
    model: names.model,
    requestedModel: names.requestedModel,
    requestKind: report?.requestKind ?? route.requestKind,
    streaming,
    tokens: report?.tokens ?? NO_TOKENS,
    tokensComplete: report?.tokensComplete ?? false,
    costPicoUsd: priced.costPicoUsd,
    costSource: priced.costSource,
    providerCostPicoUsd: report?.providerCostPicoUsd ?? null,
    billingMode: priced.billingMode,
    ratesSource: priced.ratesSource,
    serviceTier: report?.serviceTier ?? null,
    usageExtras,
    latencyMs: call.endedAtMs - call.startedAtMs,
    ttfbMs: response === null ? null : response.atMs - call.startedAtMs,
    httpStatus: response?.head.status ?? null,
    errorClass: classified.errorClass,
    providerErrorCode: classified.providerErrorCode,
    retryable: classified.retryable,
    blockedBy: null,
    errorMessageHash,
    project: attribution.project,
    attributionTier: attribution.tier,
    promptHash: call.promptHash,
    method: call.method,
    path: call.path,
    sourceWorkdir: attribution.workdir,
    host: call.host,
    api: route.api,
    providerResponseId: report?.responseId ?? null,
    client: attribution.client,
    sessionId: identity.sessionId,
    sessionSource: identity.sessionId === null ? null : "stated",
    turnId: identity.turnId,
    agentId: identity.agentId,
    parentAgentId: identity.parentAgentId,
    agentKind: identity.agentKind,
    clientVersion: identity.clientVersion,
    // Calls through the proxy have no log.
    recordSource: null,
    logFile: null,
    logLine: null,
    gitBranch: git.gitBranch,
    gitCommit: git.gitCommit,
    gitRemote: git.gitRemote,
    pullRequest: git.pullRequest,
  };
}

/** Creates the record of a call that has ended, with its usage, price and error class. */
export function toRecord(
  call: EndedCall,
  created: NewRecord,
  prices: PriceBook,
  sha256Hex: (text: string) => string,
): RequestRecord {
  const record = fillRecord(call, created, deriveParts(call, created, prices, sha256Hex));
  if (call.blockedBy != null) Object.assign(record, NOTHING_USED, { blockedBy: call.blockedBy });
  if (call.isResponseRefetchable || created.report?.startsJob) record.isResponseRefetchable = true;
  if (created.attributionDueAt !== null) record.attributionDueAt = created.attributionDueAt;
  return record;
}
