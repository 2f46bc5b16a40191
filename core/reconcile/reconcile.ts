import type { CalendarDate } from "../time.ts";
import { judgeVariance, magnitude, type VarianceVerdict } from "./variance.ts";

/** What was delivered: must agree exactly. Costs are those that the daemon sent. Source: decisions, "Reading". */
export interface DeliveredTotals {
  requests: number;
  promptTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  completionTokens: number;
  thinkingTokens: number;
  reportedCostPicoUsd: bigint;
}

/** What the daemon knows of one model on one UTC day. */
export interface LocalModelDay {
  date: CalendarDate;
  provider: string;
  model: string;
  /** The rows that the cloud has accepted, with the values that were sent. */
  delivered: DeliveredTotals;
  /** Of the delivered: sent without a cost, since nothing could price them here. */
  unpricedRequests: number;
  /** Of the delivered: recomputed or reassigned since, which is never sent again. */
  changedRequests: number;
  /** Waiting to be sent. */
  pendingRequests: number;
  /** Refused by the cloud for good. */
  quarantinedRequests: number;
  /** Of projects that are local only. */
  skippedRequests: number;
}

/** The cloud's totals with the cost that it computed itself. */
export interface CloudTotals extends DeliveredTotals {
  costPicoUsd: bigint;
}

/** What the cloud has of this machine on one UTC day; by model too where it says so. */
export interface CloudDay extends CloudTotals {
  date: CalendarDate;
  models: readonly (CloudTotals & { provider: string; model: string })[] | null;
}

/** Why a day differs or does not hold everything; the number says how many requests it concerns. */
export interface VarianceCause {
  kind:
    | "pending"
    | "quarantined"
    | "local_only"
    | "missing_in_cloud"
    | "missing_here"
    | "contents_differ"
    | "changed_since_sent"
    | "unpriced_here"
    | "priced_differently";
  requests: number;
}

/** One model's part in a day's difference. */
export interface ModelVariance {
  provider: string;
  model: string;
  differencePicoUsd: bigint;
  /** The fields of the delivery that do not agree. */
  differingFields: readonly (keyof DeliveredTotals)[];
}

/** One day on both sides. */
export interface DayVariance {
  date: CalendarDate;
  verdict: VarianceVerdict;
  /** The cloud's own cost less the daemon's. */
  differencePicoUsd: bigint;
  differingFields: readonly (keyof DeliveredTotals)[];
  causes: readonly VarianceCause[];
  /**
   * The models that make the difference up, largest first. Where the cloud gives no models: those with rows that were
   * unpriced or have changed here, which is where a difference comes from.
   */
  models: readonly ModelVariance[];
}

/** The comparison of a window. */
export interface Reconciliation {
  /** On the cloud's own cost against the daemon's. */
  verdict: VarianceVerdict;
  /** Whether requests, tokens and reported cost agree exactly, in sum and on every day. */
  isDeliveryExact: boolean;
  local: DeliveredTotals;
  cloud: CloudTotals;
  differencePicoUsd: bigint;
  /** Every day of either side that differs or holds requests that are not delivered, in order. */
  days: readonly DayVariance[];
  pendingRequests: number;
  quarantinedRequests: number;
  skippedRequests: number;
}

const FIELDS = [
  "requests",
  "promptTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "completionTokens",
  "thinkingTokens",
  "reportedCostPicoUsd",
] as const satisfies readonly (keyof DeliveredTotals)[];

const NOTHING: CloudTotals = { ...sumDelivered([]), costPicoUsd: 0n };

/** Compares what the daemon delivered with what the cloud holds, day by day, and names what makes a difference up. */
export function reconcile(local: readonly LocalModelDay[], cloud: readonly CloudDay[]): Reconciliation {
  const localDays = Map.groupBy(local, (row) => row.date);
  const cloudDays = new Map(cloud.map((day) => [day.date, day]));
  const dates = [...new Set([...localDays.keys(), ...cloudDays.keys()])].sort();
  const days = dates
    .map((date) => compareDay(date, localDays.get(date) ?? [], cloudDays.get(date) ?? null))
    .filter((day) => day.verdict !== "good" || day.causes.length > 0 || day.differingFields.length > 0);

  const localTotals = sumDelivered(local.map((row) => row.delivered));
  const cloudTotals = {
    ...sumDelivered(cloud),
    costPicoUsd: cloud.reduce((sum, day) => sum + day.costPicoUsd, 0n),
  };
  return {
    verdict: judgeVariance(localTotals.reportedCostPicoUsd, cloudTotals.costPicoUsd),
    isDeliveryExact: days.every((day) => day.differingFields.length === 0),
    local: localTotals,
    cloud: cloudTotals,
    differencePicoUsd: cloudTotals.costPicoUsd - localTotals.reportedCostPicoUsd,
    days,
    pendingRequests: count(local, "pendingRequests"),
    quarantinedRequests: count(local, "quarantinedRequests"),
    skippedRequests: count(local, "skippedRequests"),
  };
}

function compareDay(
  date: CalendarDate,
  local: readonly LocalModelDay[],
  cloud: CloudDay | null,
): DayVariance {
  const ours = sumDelivered(local.map((row) => row.delivered));
  const theirs = cloud ?? NOTHING;
  const differingFields = differing(ours, theirs);
  const differencePicoUsd = theirs.costPicoUsd - ours.reportedCostPicoUsd;
  return {
    date,
    verdict: judgeVariance(ours.reportedCostPicoUsd, theirs.costPicoUsd),
    differencePicoUsd,
    differingFields,
    causes: causesOf(local, ours, theirs, differingFields, differencePicoUsd),
    models:
      cloud !== null && cloud.models === null ? suspects(local) : compareModels(local, cloud?.models ?? []),
  };
}

function causesOf(
  local: readonly LocalModelDay[],
  ours: DeliveredTotals,
  theirs: CloudTotals,
  differingFields: readonly (keyof DeliveredTotals)[],
  differencePicoUsd: bigint,
): VarianceCause[] {
  const causes: VarianceCause[] = [];
  const add = (kind: VarianceCause["kind"], requests: number): void => {
    if (requests > 0) causes.push({ kind, requests });
  };
  add("missing_in_cloud", ours.requests - theirs.requests);
  add("missing_here", theirs.requests - ours.requests);
  if (differingFields.length > 0 && ours.requests === theirs.requests) add("contents_differ", ours.requests);
  add("pending", count(local, "pendingRequests"));
  add("quarantined", count(local, "quarantinedRequests"));
  add("local_only", count(local, "skippedRequests"));
  const changed = count(local, "changedRequests");
  add("changed_since_sent", changed);
  if (differencePicoUsd === 0n) return causes;
  const unpriced = count(local, "unpricedRequests");
  add("unpriced_here", unpriced);
  if (differingFields.length === 0 && unpriced === 0) add("priced_differently", ours.requests);
  return causes;
}

function compareModels(
  local: readonly LocalModelDay[],
  cloud: readonly (CloudTotals & { provider: string; model: string })[],
): ModelVariance[] {
  const nameOf = (row: { provider: string; model: string }): string =>
    JSON.stringify([row.provider, row.model]);
  const ours = Map.groupBy(local, nameOf);
  const theirs = Map.groupBy(cloud, nameOf);
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .map((name) => {
      const [provider, model] = JSON.parse(name) as [string, string];
      const delivered = sumDelivered((ours.get(name) ?? []).map((row) => row.delivered));
      const held = theirs.get(name) ?? [];
      const cost = held.reduce((sum, row) => sum + row.costPicoUsd, 0n);
      return {
        provider,
        model,
        differencePicoUsd: cost - delivered.reportedCostPicoUsd,
        differingFields: differing(delivered, sumDelivered(held)),
      };
    })
    .filter((row) => row.differencePicoUsd !== 0n || row.differingFields.length > 0)
    .sort((a, b) => compareBigints(magnitude(b.differencePicoUsd), magnitude(a.differencePicoUsd)));
}

function suspects(local: readonly LocalModelDay[]): ModelVariance[] {
  return local
    .filter((row) => row.unpricedRequests > 0 || row.changedRequests > 0)
    .map(({ provider, model }) => ({ provider, model, differencePicoUsd: 0n, differingFields: [] }));
}

function differing(ours: DeliveredTotals, theirs: DeliveredTotals): (keyof DeliveredTotals)[] {
  return FIELDS.filter((field) => ours[field] !== theirs[field]);
}

/** Adds deliveries up, field by field; none gives zeros. */
export function sumDelivered(rows: readonly DeliveredTotals[]): DeliveredTotals {
  const sum = (field: Exclude<keyof DeliveredTotals, "reportedCostPicoUsd">): number =>
    rows.reduce((total, row) => total + row[field], 0);
  return {
    requests: sum("requests"),
    promptTokens: sum("promptTokens"),
    cacheReadTokens: sum("cacheReadTokens"),
    cacheWriteTokens: sum("cacheWriteTokens"),
    completionTokens: sum("completionTokens"),
    thinkingTokens: sum("thinkingTokens"),
    reportedCostPicoUsd: rows.reduce((total, row) => total + row.reportedCostPicoUsd, 0n),
  };
}

type LocalCount =
  | "unpricedRequests"
  | "changedRequests"
  | "pendingRequests"
  | "quarantinedRequests"
  | "skippedRequests";

function count(rows: readonly LocalModelDay[], field: LocalCount): number {
  return rows.reduce((total, row) => total + row[field], 0);
}

function compareBigints(a: bigint, b: bigint): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
