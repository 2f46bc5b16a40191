import { toOutgoingRecord, toReceivedRecord, type UploadPolicy } from "../../core/policy/mod.ts";
import {
  type CloudDay,
  type CloudTotals,
  type LocalModelDay,
  sumDelivered,
} from "../../core/reconcile/mod.ts";
import type { CalendarDate } from "../../core/time.ts";
import {
  type DaemonTotals,
  formatCalendarDate,
  nextMidnight,
  parseCalendarDate,
} from "../../core/wire/mod.ts";
import type { Store, StoredRequest } from "../store/mod.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * What this machine knows of the days, by model. What was sent is taken as the present policy would send it.
 *
 * Decision: a project that is local-only by now counts with the records that went out before.
 */
export function readLocalDays(
  store: Pick<Store, "deliveries">,
  policy: UploadPolicy,
  fromDate: CalendarDate,
  toDate: CalendarDate,
): LocalModelDay[] {
  const from = parseCalendarDate(fromDate) as number;
  const to = nextMidnight(parseCalendarDate(toDate) as number);
  const everyProject = { ...policy, perProject: {} };
  const days = new Map<string, Mutable<LocalModelDay>>();
  for (const { request, quarantined } of store.deliveries(from, to)) {
    const day = dayOf(days, request, everyProject);
    if (day === null) continue;
    if (request.syncedAt !== null) addDelivered(day.row, day.sent, request);
    else if (quarantined) day.row.quarantinedRequests += 1;
    else if (request.syncSkippedAt !== null) day.row.skippedRequests += 1;
    else day.row.pendingRequests += 1;
  }
  return [...days.values()];
}

type Sent = ReturnType<typeof toReceivedRecord>;

function dayOf(
  days: Map<string, Mutable<LocalModelDay>>,
  request: StoredRequest,
  policy: UploadPolicy,
): { row: Mutable<LocalModelDay>; sent: Sent } | null {
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
  return { row, sent: toReceivedRecord(outgoing.record) };
}

function addDelivered(row: Mutable<LocalModelDay>, sent: Sent, request: StoredRequest): void {
  const { tokens } = sent;
  const one = {
    requests: 1,
    promptTokens: tokens.promptTokens ?? 0,
    cacheReadTokens: tokens.cacheReadTokens ?? 0,
    cacheWriteTokens: tokens.cacheWriteTokens ?? 0,
    completionTokens: tokens.completionTokens ?? 0,
    thinkingTokens: tokens.thinkingTokens ?? 0,
    reportedCostPicoUsd: sent.reportedCostPicoUsd ?? 0n,
  };
  row.delivered = sumDelivered([row.delivered, one]);
  if (sent.reportedCostPicoUsd === null) row.unpricedRequests += 1;
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

/** What the cloud says of the days. */
export function toCloudDays(totals: DaemonTotals): CloudDay[] {
  return totals.days.map((day) => ({
    date: day.date,
    ...toTotals(day),
    models:
      day.models?.map((each) => ({ provider: each.provider, model: each.model, ...toTotals(each) })) ?? null,
  }));
}
