import { NEWEST_CALLS, type NewestCalls } from "../../core/metering/attribution/newest-calls.ts";
import { summariseCoverage } from "../../core/metering/coverage/coverage-summary.ts";
import {
  findStoppedTimes,
  measureStoppedMs,
  type RunningTime,
} from "../../core/metering/coverage/running-times.ts";
import { REPEATS_SEARCHED, savingsQuery } from "../../core/pricing/savings/answer-savings.ts";
import { answerUsage } from "../../core/pricing/view/usage-answer.ts";
import { planUsage } from "../../core/pricing/view/usage-plan.ts";
import type { UsageNotice, UsageQuery } from "../../core/pricing/view/usage-query.ts";
import {
  answerForecast,
  answerSeries,
  listValues,
  planForecast,
  type UsageSeries,
  valuesQuery,
} from "../../core/pricing/view/usage-reports.ts";
import type { Millis } from "../../core/values/time.ts";
import { findZone, type ZoneCalendar } from "../../core/values/zone.ts";
import type { SavingsAnswer } from "../../core/wire/savings.ts";
import {
  USAGE_DIMENSIONS,
  type UsageAnswer,
  type UsageDimension,
  type UsageForecast,
  type UsageValues,
} from "../../core/wire/usage.ts";
import { readSavings } from "../../pages/read-savings.ts";
import type { UsageResult } from "../../pages/usage-host.ts";
import { localZone } from "../store/days.ts";
import type { ApiPorts } from "./api-ports.ts";

/** The dependencies of reading usage. */
export interface UsagePorts extends Pick<ApiPorts, "store" | "turn"> {
  readonly clock: Pick<ApiPorts["clock"], "now">;
  /** The zone of queries without one. Default: that of this machine, which takes 0.1 ms to find. */
  readonly zone?: string;
}

/** Whether only a cloud knows a dimension: all requests of a machine are of one machine and person. */
export const isCloudDimension = (dimension: UsageDimension): boolean =>
  dimension === "machine" || dimension === "person";

/** The dimensions of a machine's requests. */
export const LOCAL_DIMENSIONS: readonly UsageDimension[] = USAGE_DIMENSIONS.filter(
  (dimension) => !isCloudDimension(dimension),
);

/** Answers a usage query from the local database. */
export async function readUsageAnswer(
  ports: UsagePorts,
  query: UsageQuery,
  notices: readonly UsageNotice[] = [],
): Promise<UsageResult<UsageAnswer>> {
  const { store, clock, turn } = ports;
  const missing = missingDimension(query);
  if (missing !== null) return noDimension(missing);
  const planned = planUsage(query, { now: clock.now(), zone: zoneOf(query, ports) });
  if (!planned.ok) return planned;
  const data = await store.reports.readUsage(planned.plan, turn);
  const { period, buckets } = planned.plan;
  const coverage = readCoverage(ports, period);
  const stoppedMs = readStoppedMs(ports, period, buckets);
  return { ok: true, value: answerUsage(planned.plan, { ...data, coverage, stoppedMs }, { notices }) };
}

/**
 * Answers a usage query by several dimensions, each on its own, from one read, without buckets and coverage. Requests of one machine must
 * have these dimensions.
 */
export async function readUsageBreakdowns(
  ports: UsagePorts,
  query: UsageQuery,
  dimensions: readonly UsageDimension[],
): Promise<UsageResult<UsageAnswer[]>> {
  const { store, clock, turn } = ports;
  const planned = planUsage(
    { ...query, by: null, thenBy: null, bucket: "none" },
    { now: clock.now(), zone: zoneOf(query, ports) },
  );
  if (!planned.ok) return planned;
  const { plan } = planned;
  const groupings = dimensions.map((by) => ({ by, thenBy: null }));
  const read = await store.reports.readUsageEach(plan, groupings, turn);
  const value = groupings.flatMap((grouping, at) => {
    const data = read[at];
    if (data === undefined) return [];
    return [answerUsage({ ...plan, query: { ...plan.query, ...grouping } }, { ...data, coverage: null })];
  });
  return { ok: true, value };
}

/** Lists the values of a dimension among the requests of a query's period and filters. */
export async function readUsageValues(
  ports: UsagePorts,
  query: UsageQuery,
  dimension: UsageDimension,
  text: string,
): Promise<UsageResult<UsageValues>> {
  const { store, clock, turn } = ports;
  if (isCloudDimension(dimension)) return noDimension(dimension);
  const planned = planUsage(valuesQuery(query, dimension), { now: clock.now(), zone: zoneOf(query, ports) });
  if (!planned.ok) return planned;
  return { ok: true, value: listValues(dimension, await store.reports.readUsage(planned.plan, turn), text) };
}

/** Estimates the metric of a query for this month. */
export async function readUsageForecast(
  ports: UsagePorts,
  query: UsageQuery,
): Promise<UsageResult<UsageForecast>> {
  const { store, clock, turn } = ports;
  const planned = planForecast(query, { now: clock.now(), zone: zoneOf(query, ports) });
  if (!planned.ok) return planned;
  return {
    ok: true,
    value: answerForecast(planned.plan, await store.reports.readUsage(planned.plan, turn)),
  };
}

/** Reads the metric of a query by time, over all dimensions. */
export async function readUsageSeries(
  ports: UsagePorts,
  query: UsageQuery,
): Promise<UsageResult<UsageSeries>> {
  const { store, clock, turn } = ports;
  const planned = planUsage(
    { ...query, by: null, thenBy: null },
    { now: clock.now(), zone: zoneOf(query, ports) },
  );
  if (!planned.ok) return planned;
  const { plan } = planned;
  const data = await store.reports.readUsage(plan, turn);
  const stoppedMs = readStoppedMs(ports, plan.period, plan.buckets);
  return { ok: true, value: answerSeries(plan, { ...data, stoppedMs }) };
}

/** Reads what could cost less. */
export async function readSavingsAnswer(
  ports: UsagePorts & Pick<ApiPorts, "prices">,
  query: UsageQuery,
): Promise<UsageResult<SavingsAnswer>> {
  const { store, clock, turn, prices } = ports;
  const missing = missingDimension(query);
  if (missing !== null) return noDimension(missing);
  const planned = planUsage(savingsQuery(query), { now: clock.now(), zone: zoneOf(query, ports) });
  if (!planned.ok) return planned;
  const { plan } = planned;
  const value = await readSavings({
    plan,
    read: (each) => store.reports.readUsage(each, turn),
    findRepeats: () => store.reports.findRepeats(plan, REPEATS_SEARCHED, turn),
    book: prices(),
  });
  return { ok: true, value };
}

/** Reads the newest calls of a query's period and filters. */
export async function readNewestCalls(
  ports: UsagePorts,
  query: UsageQuery,
): Promise<UsageResult<NewestCalls>> {
  const { store, clock } = ports;
  const missing = missingDimension(query);
  if (missing !== null) return noDimension(missing);
  const planned = planUsage({ ...query, bucket: "none" }, { now: clock.now(), zone: zoneOf(query, ports) });
  if (!planned.ok) return planned;
  return { ok: true, value: await store.reports.readNewestCalls(planned.plan, NEWEST_CALLS) };
}

/** Returns a dimension of the query that requests of one machine do not have. */
const missingDimension = ({ by, thenBy, filters }: UsageQuery): UsageDimension | null =>
  [by, thenBy, ...filters.map(({ dimension }) => dimension)].find(
    (each) => each !== null && isCloudDimension(each),
  ) ?? null;

const noDimension = (dimension: UsageDimension) => ({
  ok: false as const,
  code: "invalid_query",
  detail: `${dimension}: a daemon has the requests of one machine. Only a cloud knows this dimension.`,
});

/** The zone of the query, of the ports, or of this machine. */
function zoneOf({ tz }: UsageQuery, { zone: own }: Pick<UsagePorts, "zone">): ZoneCalendar {
  const zone = findZone(tz ?? own ?? localZone()) ?? findZone("UTC");
  if (zone === null) throw new Error("the runtime knows no time zone");
  return zone;
}

/** Reads when the daemon did not run; null if no run of it is known. */
export function readStopped({ store }: Pick<UsagePorts, "store">, period: RunningTime): RunningTime[] | null {
  const runs = store.coverage.readRuns(period);
  return runs.length === 0 ? null : findStoppedTimes(runs, period);
}

/** Reads for how long the daemon did not run in each bucket of a period; null without buckets, and if no run of it is known. */
export function readStoppedMs(
  ports: Pick<UsagePorts, "store">,
  period: RunningTime,
  buckets: readonly RunningTime[],
): number[] | null {
  const stopped = buckets.length === 0 ? null : readStopped(ports, period);
  return stopped === null ? null : measureStoppedMs(stopped, buckets);
}

/** Reads the coverage of a period. */
export function readCoverage(
  { store }: Pick<UsagePorts, "store">,
  { from, to }: { readonly from: Millis; readonly to: Millis },
): NonNullable<UsageAnswer["coverage"]> {
  const { metered, seen, permille, missing } = summariseCoverage(store.coverage.read({ from, to }));
  return {
    metered,
    seen,
    permille,
    missing: missing.map(({ kind, count }) => ({ kind, count })),
    unknown_machines: 0,
  };
}
