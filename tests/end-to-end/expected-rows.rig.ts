import { createHash } from "node:crypto";
import type { StoredRequest } from "../../daemon/store/port/records.ts";
import { expectedCostPicoUsd, type SimulatedCall } from "../simulation/mod.ts";

/** The part of a row that can be compared with the provider's list of calls; money as decimal text. */
interface ComparableRow {
  provider: string;
  host: string;
  api: string;
  method: string;
  path: string;
  model: string;
  requestedModel: string | null;
  streaming: boolean;
  httpStatus: number | null;
  tokens: StoredRequest["tokens"];
  tokensComplete: boolean;
  responseId: string | null;
  serviceTier: string | null;
  extras: Readonly<Record<string, number>>;
  errorClass: string | null;
  retryable: boolean | null;
  errorCode: string | null;
  errorMessageHash: string | null;
  costPicoUsd: string | null;
  costSource: string;
  providerCostPicoUsd: string | null;
}

const text = (value: bigint | null) => (value === null ? null : value.toString());

/** The stored fields of a request that its provider can know. */
export function toComparable(row: StoredRequest): ComparableRow {
  return {
    provider: row.provider,
    host: row.host,
    api: row.api,
    method: row.method,
    path: row.path,
    model: row.model,
    requestedModel: row.requestedModel,
    streaming: row.streaming,
    httpStatus: row.httpStatus,
    tokens: row.tokens,
    tokensComplete: row.tokensComplete,
    responseId: row.providerResponseId,
    serviceTier: row.serviceTier,
    extras: row.usageExtras ?? {},
    errorClass: row.errorClass,
    retryable: row.retryable,
    errorCode: row.providerErrorCode,
    errorMessageHash: row.errorMessageHash,
    costPicoUsd: text(row.costPicoUsd),
    costSource: row.costSource,
    providerCostPicoUsd: text(row.providerCostPicoUsd),
  };
}

/** Returns the expected row of a call, from the provider's list of calls and the published price list alone. */
export function expectedRow(entry: SimulatedCall): ComparableRow {
  // Of a response that was cut off, only what was written before can be known.
  const told = (value: string | null) =>
    value !== null && (entry.delivery === "whole" || entry.responsePlain.includes(value)) ? value : null;
  const model = told(entry.model);
  const cost = expectedCostPicoUsd(entry);
  // A body that ends with the connection is complete if the connection is closed properly, whatever the provider
  // intended.
  const { outcome, deliveryModes } = entry.scenario;
  const seemsWhole = outcome === "early-fin" && deliveryModes.has("until-close");
  const broken = entry.delivery === "cut" && entry.error === null && !seemsWhole;
  return {
    provider: entry.provider,
    host: entry.provider === "ollama" ? "localhost" : entry.host,
    api: entry.api,
    method: entry.method,
    path: entry.path,
    model: model ?? entry.requestedModel ?? "unknown",
    requestedModel: entry.requestedModel,
    // As requested: a refused stream gets a response in one piece.
    streaming: entry.streaming || asksForStream(entry),
    httpStatus: entry.status,
    tokens: entry.tokens,
    tokensComplete: entry.tokensComplete,
    responseId: told(entry.responseId),
    serviceTier: told(entry.serviceTier),
    extras: entry.extras,
    errorClass: entry.error?.errorClass ?? (broken ? "network" : null),
    retryable: entry.error?.retryable ?? (broken ? true : null),
    errorCode: entry.error?.code ?? entry.error?.type ?? null,
    errorMessageHash:
      entry.error === null ? null : createHash("sha256").update(entry.error.message).digest("hex"),
    costPicoUsd: text(cost),
    costSource: cost === null ? "unpriced" : entry.providerCostPicoUsd === null ? "computed" : "provider",
    providerCostPicoUsd: text(entry.providerCostPicoUsd),
  };
}

function asksForStream({ path, requestBody }: SimulatedCall): boolean {
  return path.endsWith(":streamGenerateContent") || /"stream":\s*true/.test(requestBody.toString());
}

/** Both sides in one order, so that a difference shows as one. */
export function inOrder(rows: readonly ComparableRow[]): ComparableRow[] {
  const key = (row: ComparableRow) =>
    [row.provider, row.api, row.responseId, row.requestedModel, row.httpStatus, row.streaming]
      .concat(Object.values(row.tokens))
      .join(" ");
  return [...rows].sort((one, other) => (key(one) < key(other) ? -1 : 1));
}
