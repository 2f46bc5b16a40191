import {
  type CloudDay,
  type CloudTotals,
  type LocalModelDay,
  sumDelivered,
} from "../../core/pricing/reconcile/reconcile.ts";
import { toOutgoingRecord } from "../../core/privacy/policy/outgoing-record.ts";
import { readReportedCost } from "../../core/privacy/policy/received-record.ts";
import { createPolicyForFields, type UploadPolicy } from "../../core/privacy/policy/upload-policy.ts";
import type { CalendarDate } from "../../core/values/time.ts";
import type { DaemonTotals } from "../../core/wire/daemon-totals.ts";
import { formatCalendarDate, nextMidnight, parseCalendarDate } from "../../core/wire/instant.ts";
import type { MetadataRecord } from "../../core/wire/metadata-record.ts";
import type { DeliveryStore } from "../store/port/delivery.ts";
import type { StoredRequest } from "../store/port/records.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Reads this machine's totals of the days, by model. A request counts with the fields that were sent. If they are not known,
 * because an older version did not store them, it counts with the fields that the current policy sends.
 *
 * Decision: the sent records of a project that is now local-only still count.
 */
export function readLocalDays(
  delivery: Pick<DeliveryStore, "deliveries">,
  policy: UploadPolicy,
  fromDate: CalendarDate,
  toDate: CalendarDate,
): LocalModelDay[] {
  const from = parseCalendarDate(fromDate) as number;
  const to = nextMidnight(parseCalendarDate(toDate) as number);
  const everyProject = { ...policy, perProject: {} };
  const days = new Map<string, Mutable<LocalModelDay>>();
  const policies = new Map<readonly string[], UploadPolicy>();
  const policyOf = (sent: readonly string[] | null): UploadPolicy => {
    if (sent === null) return everyProject;
    const known = policies.get(sent) ?? createPolicyForFields(sent);
    policies.set(sent, known);
    return known;
  };
  for (const { request, quarantined, sentFields } of delivery.deliveries(from, to)) {
    const day = findDay(days, request, policyOf(sentFields));
    if (day === null) continue;
    if (request.syncedAt !== null) addDelivered(day.row, day.sent, request);
    else if (quarantined) day.row.quarantinedRequests += 1;
    else if (request.syncSkippedAt !== null) day.row.skippedRequests += 1;
    else day.row.pendingRequests += 1;
  }
  return [...days.values()];
}

function findDay(
  days: Map<string, Mutable<LocalModelDay>>,
  request: StoredRequest,
  policy: UploadPolicy,
): { row: Mutable<LocalModelDay>; sent: MetadataRecord } | null {
  const outgoing = toOutgoingRecord(request, policy);
  if (outgoing.kind !== "send") return null;
  const { provider, model } = outgoing.record;
  const date = formatCalendarDate(request.requestedAt);
  const key = JSON.stringify([date, provider, model]);
  let row = days.get(key);
  if (row === undefined) {
    row = {
      date,
      provider,
      model,
      delivered: sumDelivered([]),
      unpricedRequests: 0,
      changedRequests: 0,
      pendingRequests: 0,
      quarantinedRequests: 0,
      skippedRequests: 0,
    };
    days.set(key, row);
  }
  return { row, sent: outgoing.record };
}

function addDelivered(row: Mutable<LocalModelDay>, sent: MetadataRecord, request: StoredRequest): void {
  const reportedCostPicoUsd = readReportedCost(sent);
  const one = {
    requests: 1,
    promptTokens: sent.prompt_tokens ?? 0,
    cacheReadTokens: sent.cache_read_tokens ?? 0,
    cacheWriteTokens: sent.cache_write_tokens ?? 0,
    completionTokens: sent.completion_tokens ?? 0,
    thinkingTokens: sent.thinking_tokens ?? 0,
    reportedCostPicoUsd: reportedCostPicoUsd ?? 0n,
  };
  row.delivered = sumDelivered([row.delivered, one]);
  if (reportedCostPicoUsd === null) row.unpricedRequests += 1;
  const syncedAt = request.syncedAt ?? 0;
  if ((request.recomputedAt ?? 0) > syncedAt || (request.reassignedAt ?? 0) > syncedAt)
    row.changedRequests += 1;
}

type WireTotals = DaemonTotals["totals"];

const toTotals = (wire: WireTotals): CloudTotals => ({
  requests: wire.requests,
  promptTokens: wire.prompt_tokens,
  cacheReadTokens: wire.cache_read_tokens,
  cacheWriteTokens: wire.cache_write_tokens,
  completionTokens: wire.completion_tokens,
  thinkingTokens: wire.thinking_tokens,
  reportedCostPicoUsd: BigInt(wire.reported_cost_pico_usd),
  costPicoUsd: BigInt(wire.cost_pico_usd),
});

/** Converts the cloud's totals of the days. */
export function toCloudDays(totals: DaemonTotals): CloudDay[] {
  return totals.days.map((day) => ({
    date: day.date,
    ...toTotals(day),
    models:
      day.models?.map((each) => ({ provider: each.provider, model: each.model, ...toTotals(each) })) ?? null,
  }));
}
