import type { CalendarDate } from "../../values/time.ts";
import { judgeVariance, magnitude, type VarianceVerdict, variancePercent } from "./variance.ts";

/**
 * Totals of delivered requests, which must agree exactly. Costs are those that the daemon sent. Source:
 * docs/specification.md#reading.
 */
export interface DeliveredTotals {
  requests: number;
  promptTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  completionTokens: number;
  thinkingTokens: number;
  reportedCostPicoUsd: bigint;
}

/** The daemon's totals of one model on one UTC day. */
export interface LocalModelDay {
  date: CalendarDate;
  provider: string;
  model: string;
  /** Requests that the cloud has accepted, with the values that were sent. */
  delivered: DeliveredTotals;
  /** Delivered requests without a cost, because no local rate was known. */
  unpricedRequests: number;
  /** Delivered requests that were recomputed or reassigned since. Changes are not sent again. */
  changedRequests: number;
  /** Requests that wait for delivery. */
  pendingRequests: number;
  /** Requests that the cloud rejected for good. */
  quarantinedRequests: number;
  /** Requests of local-only projects. */
  skippedRequests: number;
}

/** The cloud's totals, with the cost computed by the cloud. */
export interface CloudTotals extends DeliveredTotals {
  costPicoUsd: bigint;
}

/** The cloud's totals of this machine for one UTC day, by model if the cloud states models. */
export interface CloudDay extends CloudTotals {
  date: CalendarDate;
  models: readonly (CloudTotals & { provider: string; model: string })[] | null;
}

/** Why a day differs or is incomplete, with the number of affected requests. */
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

/** One model's share of a day's difference. */
export interface ModelVariance {
  provider: string;
  model: string;
  differencePicoUsd: bigint;
  /** The totals that differ. */
  differingFields: readonly (keyof DeliveredTotals)[];
}

/** The comparison of one day. */
export interface DayVariance {
  date: CalendarDate;
  verdict: VarianceVerdict;
  /** The cloud's cost minus the daemon's, in pico-USD. */
  differencePicoUsd: bigint;
  differingFields: readonly (keyof DeliveredTotals)[];
  causes: readonly VarianceCause[];
  /**
   * The models that account for the difference, largest first. If the cloud states no models: those with unpriced or
   * changed requests, which are the possible causes.
   */
  models: readonly ModelVariance[];
}

/** The comparison of a period. */
export interface Reconciliation {
  /** Compares the cloud's cost with the daemon's. */
  verdict: VarianceVerdict;
  /** Whether requests, tokens and the costs that the daemon sent agree exactly on every day. */
  isDeliveryExact: boolean;
  local: DeliveredTotals;
  cloud: CloudTotals;
  differencePicoUsd: bigint;
  /**
   * The cloud's cost minus the daemon's, in percent of the daemon's; `null` if the daemon's is zero and the cloud's is not.
   */
  variancePercent: string | null;
  /** The days that differ or have undelivered requests, in order. */
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

/** Compares what the daemon delivered with what the cloud stores, day by day, and lists the causes of differences. */
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
    variancePercent: variancePercent(localTotals.reportedCostPicoUsd, cloudTotals.costPicoUsd),
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
  const differingFields = listDifferingFields(ours, theirs);
  const differencePicoUsd = theirs.costPicoUsd - ours.reportedCostPicoUsd;
  return {
    date,
    verdict: judgeVariance(ours.reportedCostPicoUsd, theirs.costPicoUsd),
    differencePicoUsd,
    differingFields,
    causes: causesOf(local, ours, theirs, differingFields, differencePicoUsd),
    models:
      cloud !== null && cloud.models === null
        ? listSuspectModels(local)
        : compareModels(local, cloud?.models ?? []),
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
        differingFields: listDifferingFields(delivered, sumDelivered(held)),
      };
    })
    .filter((row) => row.differencePicoUsd !== 0n || row.differingFields.length > 0)
    .sort((a, b) => compareBigints(magnitude(b.differencePicoUsd), magnitude(a.differencePicoUsd)));
}

function listSuspectModels(local: readonly LocalModelDay[]): ModelVariance[] {
  return local
    .filter((row) => row.unpricedRequests > 0 || row.changedRequests > 0)
    .map(({ provider, model }) => ({ provider, model, differencePicoUsd: 0n, differingFields: [] }));
}

function listDifferingFields(ours: DeliveredTotals, theirs: DeliveredTotals): (keyof DeliveredTotals)[] {
  return FIELDS.filter((field) => ours[field] !== theirs[field]);
}

/** Adds up totals. */
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
