import { NEWEST_CALLS, type NewestCalls } from "../../../core/metering/attribution/newest-calls.ts";
import { measureStoppedMs, type RunningTime } from "../../../core/metering/coverage/running-times.ts";
import { REPEATS_SEARCHED, savingsQuery } from "../../../core/pricing/savings/answer-savings.ts";
import { answerUsage, type UsageData } from "../../../core/pricing/view/usage-answer.ts";
import {
  planUsage,
  type UsagePlan,
  type UsagePlanFacts,
  type UsagePlanResult,
} from "../../../core/pricing/view/usage-plan.ts";
import type { UsageQuery } from "../../../core/pricing/view/usage-query.ts";
import {
  answerForecast,
  answerSeries,
  listValues,
  planForecast,
  valuesQuery,
} from "../../../core/pricing/view/usage-reports.ts";
import { type ReadEndpoint, retentionFloor } from "../../../core/privacy/retention/windows.ts";
import { findZone } from "../../../core/values/zone.ts";
import type { SavingsAnswer } from "../../../core/wire/savings.ts";
import type { UsageAnswer, UsageDimension, UsageForecast, UsageValues } from "../../../core/wire/usage.ts";
import { readSavings } from "../../../pages/read-savings.ts";
import type { OverviewParts, OverviewQueries } from "../../../pages/usage-host.ts";
import type { ProblemCode } from "../../http/problem.ts";
import type { CloudParts } from "../../ports.ts";
import { countUnknown, readFleetCoverage, readSharedStops } from "../../store/reads/fleet-coverage.ts";
import { readNewestCalls } from "../../store/reads/newest-calls.ts";
import type { ReadTransaction } from "../../store/reads/read-scope.ts";
import { inReadScope } from "../../store/reads/read-scope.ts";
import { findRepeats } from "../../store/reads/savings.ts";
import {
  countUnsummedDays,
  readUsageData,
  readUsageEach,
  readUsageSeries,
} from "../../store/reads/usage-data.ts";
import { machineNamesIn } from "../../store/reads/usage-reports.ts";
import { isCloudDimension, sourceOf } from "../../store/reads/usage-sources.ts";
import type { Span } from "../../store/reads/usage-spans.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";
import { readNames } from "./read-names.ts";
import { reachOf } from "./read-period.ts";
import { MAX_UNSUMMED_PERIOD_MS } from "./reports.ts";

/** What usage is read from. */
type UsageParts = Pick<CloudParts, "db" | "clock" | "accounts">;

const scopeOf = ({ workspaceId }: WorkspaceAccess) => ({ workspaceId });

/** Within a day of clock changes, a month of days may be an hour longer. */
const SLACK_MS = 86_400_000;

/** An answer, or the problem with the query. `field` is the key of the query that has it. */
export type CloudUsageResult<Answer> =
  | { readonly ok: true; readonly value: Answer }
  | { readonly ok: false; readonly code: ProblemCode; readonly detail: string; readonly field?: string };

/** How much of the coverage an answer has: nothing, as one of several answers about a period; its sums; or also what was missed by kind. */
export type CoverageDepth = "none" | "sums" | "whole";

/** Answers a usage query. A period is cut at the retention floor, as that of an overview. */
export async function readUsageAnswer(
  parts: UsageParts,
  workspace: WorkspaceAccess,
  query: UsageQuery,
  depth: CoverageDepth = "whole",
): Promise<CloudUsageResult<UsageAnswer>> {
  const checked = await checkPlan(parts, workspace, planUsage(query, factsOf(parts, workspace, query)));
  if (!checked.ok) return checked;
  const plan = checked.value;
  const { period, buckets } = plan;
  const { data, names, fleet } = await inReadScope(parts.db, scopeOf(workspace), async (trx) => {
    const data = await readUsageData(trx, workspace.workspaceId, plan);
    const names = await readMachineNames(trx, workspace, plan, [data]);
    const coverageParts = { withMissing: depth === "whole", withStopped: buckets.length > 0 };
    const fleet =
      depth === "none" ? null : await readFleetCoverage(trx, workspace.workspaceId, period, coverageParts);
    return { data, names, fleet };
  });
  const nameOf = await createNameOf(parts, plan, [data], names);
  if (fleet === null) return { ok: true, value: answerUsage(plan, { ...data, coverage: null }, { nameOf }) };
  const { stopped, ...coverage } = fleet;
  const stoppedMs = stopped === null ? null : measureStoppedMs(stopped, buckets);
  return { ok: true, value: answerUsage(plan, { ...data, coverage, stoppedMs }, { nameOf }) };
}

/** Reads the coverage of a period over all machines, and for how long no meter ran in each of its buckets, if there are any. */
export async function readPeriodCoverage(
  { db }: Pick<UsageParts, "db">,
  workspaceId: string,
  { from, to }: Span,
  buckets: readonly Span[] = [],
) {
  const parts = { withMissing: false, withStopped: buckets.length > 0 };
  const { stopped, ...coverage } = await inReadScope(db, { workspaceId }, (trx) =>
    readFleetCoverage(trx, workspaceId, { from, to }, parts),
  );
  return { ...coverage, stoppedMs: stopped === null ? null : measureStoppedMs(stopped, buckets) };
}

/** Answers a query by several dimensions, each on its own, without buckets and coverage. */
export async function readUsageBreakdowns(
  parts: UsageParts,
  workspace: WorkspaceAccess,
  query: UsageQuery,
  dimensions: readonly UsageDimension[],
): Promise<CloudUsageResult<readonly UsageAnswer[]>> {
  const checked = await planBreakdowns(parts, workspace, query, dimensions);
  if (!checked.ok) return checked;
  const read = await inReadScope(parts.db, scopeOf(workspace), (trx) =>
    readBreakdowns(trx, workspace, checked.value),
  );
  return { ok: true, value: await answerBreakdowns(parts, checked.value, read) };
}

/** Plans a query by each of some dimensions. */
async function planBreakdowns(
  parts: UsageParts,
  workspace: WorkspaceAccess,
  query: UsageQuery,
  dimensions: readonly UsageDimension[],
): Promise<CloudUsageResult<readonly UsagePlan[]>> {
  const plans: UsagePlan[] = [];
  for (const by of dimensions) {
    const own = { ...query, by, thenBy: null, bucket: "none" } as const;
    const checked = await checkPlan(parts, workspace, planUsage(own, factsOf(parts, workspace, own)));
    if (!checked.ok) return checked;
    plans.push(checked.value);
  }
  return { ok: true, value: plans };
}

const dimensionsOf = (plans: readonly UsagePlan[]): UsageDimension[] =>
  plans.flatMap(({ query }) => query.by ?? []);

async function readBreakdowns(
  trx: ReadTransaction,
  workspace: WorkspaceAccess,
  plans: readonly UsagePlan[],
): Promise<BreakdownsRead> {
  const [plan] = plans;
  const data =
    plan === undefined ? [] : await readUsageEach(trx, workspace.workspaceId, plan, dimensionsOf(plans));
  const at = dimensionsOf(plans).indexOf("machine");
  const [ofMachines, byMachine] = [data[at], plans[at]];
  const names =
    ofMachines === undefined || byMachine === undefined
      ? new Map<string, string>()
      : await readMachineNames(trx, workspace, byMachine, [ofMachines]);
  return { data, names };
}

interface BreakdownsRead {
  readonly data: readonly Omit<UsageData, "coverage">[];
  readonly names: ReadonlyMap<string, string>;
}

async function answerBreakdowns(
  parts: UsageParts,
  plans: readonly UsagePlan[],
  { data, names }: BreakdownsRead,
): Promise<readonly UsageAnswer[]> {
  return await Promise.all(
    plans.map(async (plan, at) => {
      const own = data[at] ?? { groups: [], buckets: [], compared: [], comparedBuckets: [] };
      const nameOf = await createNameOf(parts, plan, [own], names);
      return answerUsage(plan, { ...own, coverage: null }, { nameOf });
    }),
  );
}

/** What the overview shows besides its own answer, from one transaction. A part whose query is refused is empty or null. */
export async function readOverviewParts(
  parts: UsageParts,
  workspace: WorkspaceAccess,
  { breakdowns, forecast, year, hours }: OverviewQueries,
  dimensions: readonly UsageDimension[],
): Promise<OverviewParts> {
  const check = async (query: UsageQuery, plan = planUsage) => {
    const checked = await checkPlan(parts, workspace, plan(query, factsOf(parts, workspace, query)));
    return checked.ok ? checked.value : null;
  };
  const planned = await planBreakdowns(parts, workspace, breakdowns, dimensions);
  const byDimension = planned.ok ? planned.value : [];
  const plans = {
    forecast: await check(forecast, planForecast),
    year: await check(year),
    hours: await check(hours),
  };
  const read = await inReadScope(parts.db, scopeOf(workspace), async (trx) => {
    const series = async (plan: UsagePlan | null) =>
      plan === null ? null : { plan, data: await readUsageSeries(trx, workspace.workspaceId, plan) };
    const [year, hours] = [await series(plans.year), await series(plans.hours)];
    return {
      breakdowns: await readBreakdowns(trx, workspace, byDimension),
      forecast: await series(plans.forecast),
      ...{ year, hours },
      stopped: await readStopsOfEmpty(trx, workspace.workspaceId, [year, hours]),
    };
  });
  const seriesOf = (each: typeof read.year) =>
    each === null
      ? null
      : answerSeries(each.plan, {
          ...each.data,
          stoppedMs: read.stopped === null ? null : measureStoppedMs(read.stopped, each.plan.buckets),
        });
  return {
    breakdowns: await answerBreakdowns(parts, byDimension, read.breakdowns),
    forecast: read.forecast === null ? null : answerForecast(read.forecast.plan, read.forecast.data),
    year: seriesOf(read.year),
    hours: seriesOf(read.hours),
  };
}

/**
 * Reads when no machine ran, from the first to the last bucket without requests after one with requests, since only those are hatched.
 * Null if there are none, or if it is not known.
 */
async function readStopsOfEmpty(
  trx: ReadTransaction,
  workspaceId: string,
  series: readonly ({ readonly plan: UsagePlan; readonly data: Pick<UsageData, "buckets"> } | null)[],
): Promise<readonly RunningTime[] | null> {
  const empty = series.flatMap((each) => {
    const used = new Set(each?.data.buckets.map(({ bucket }) => bucket));
    // A young workspace has nearly a year of empty days before its first request.
    const first = Math.min(...used);
    return (each?.plan.buckets ?? []).filter((_, at) => at > first && !used.has(at));
  });
  if (empty.length === 0) return null;
  const span = {
    from: Math.min(...empty.map(({ from }) => from)),
    to: Math.max(...empty.map(({ to }) => to)),
  };
  return (await countUnknown(trx, workspaceId, span)) > 0
    ? null
    : await readSharedStops(trx, workspaceId, span);
}

/** Lists the values of a dimension among the requests of a query's period and filters. */
export async function readUsageValues(
  parts: UsageParts,
  workspace: WorkspaceAccess,
  query: UsageQuery,
  dimension: UsageDimension,
  text: string,
): Promise<CloudUsageResult<UsageValues>> {
  const planned = planUsage(valuesQuery(query, dimension), factsOf(parts, workspace, query));
  const read = await readPlan(parts, workspace, planned);
  if (!read.ok) return read;
  const { plan, data } = read.value;
  const names = await inReadScope(parts.db, scopeOf(workspace), (trx) =>
    readMachineNames(trx, workspace, plan, [data]),
  );
  const nameOf = await createNameOf(parts, plan, [data], names);
  return { ok: true, value: listValues(dimension, data, text, { nameOf }) };
}

/** Estimates the metric of a query for this month. */
export async function readUsageForecast(
  parts: UsageParts,
  workspace: WorkspaceAccess,
  query: UsageQuery,
): Promise<CloudUsageResult<UsageForecast>> {
  const read = await readPlan(parts, workspace, planForecast(query, factsOf(parts, workspace, query)));
  return read.ok ? { ok: true, value: answerForecast(read.value.plan, read.value.data) } : read;
}

/** Reads what could cost less. A period is cut as that of `…/optimisation`. */
export async function readSavingsAnswer(
  parts: CloudParts,
  workspace: WorkspaceAccess,
  query: UsageQuery,
): Promise<CloudUsageResult<SavingsAnswer>> {
  const { workspaceId } = workspace;
  const planned = planUsage(savingsQuery(query), factsOf(parts, workspace, query, "optimisation"));
  const checked = await checkPlan(parts, workspace, planned);
  if (!checked.ok) return checked;
  const plan = checked.value;
  const { book } = await parts.rates.current();
  const value = await readSavings({
    plan,
    read: (each) => inReadScope(parts.db, scopeOf(workspace), (trx) => readUsageData(trx, workspaceId, each)),
    findRepeats: () => findRepeats(parts.db, workspaceId, plan, REPEATS_SEARCHED),
    book,
  });
  return { ok: true, value };
}

/** Reads the newest calls of a query's period and filters. A period is cut at the retention floor, as that of an overview. */
export async function readNewestCallsOf(
  parts: UsageParts,
  workspace: WorkspaceAccess,
  query: UsageQuery,
): Promise<CloudUsageResult<NewestCalls>> {
  const own = { ...query, bucket: "none" } as const;
  const checked = await checkPlan(parts, workspace, planUsage(own, factsOf(parts, workspace, own)));
  if (!checked.ok) return checked;
  const value = await readNewestCalls(parts.db, workspace.workspaceId, checked.value, NEWEST_CALLS);
  return { ok: true, value };
}

/** Returns what a plan depends on: the zone of the query (default: UTC) and the retention floor of an endpoint. */
function factsOf(
  { clock }: Pick<UsageParts, "clock">,
  workspace: WorkspaceAccess,
  { tz }: UsageQuery,
  endpoint: ReadEndpoint = "overview",
): UsagePlanFacts {
  const zone = findZone(tz ?? "UTC");
  if (zone === null) throw new Error("the runtime does not know UTC");
  const now = clock.now();
  return { now, zone, floor: retentionFloor(endpoint, reachOf(workspace, now)) };
}

interface ReadPlan {
  readonly plan: UsagePlan;
  readonly data: Omit<UsageData, "coverage">;
}

async function readPlan(
  parts: UsageParts,
  workspace: WorkspaceAccess,
  planned: UsagePlanResult,
): Promise<CloudUsageResult<ReadPlan>> {
  const checked = await checkPlan(parts, workspace, planned);
  if (!checked.ok) return checked;
  const plan = checked.value;
  const data = await inReadScope(parts.db, scopeOf(workspace), (trx) =>
    readUsageData(trx, workspace.workspaceId, plan),
  );
  return { ok: true, value: { plan, data } };
}

/** Refuses a plan that the cloud has no dimension for, or that would read too many single requests. */
async function checkPlan(
  { db }: Pick<UsageParts, "db">,
  { workspaceId }: WorkspaceAccess,
  planned: UsagePlanResult,
): Promise<CloudUsageResult<UsagePlan>> {
  if (!planned.ok) {
    const code = planned.code as "period_malformed" | "period_reversed" | "period_too_long";
    return { ok: false, code, detail: planned.detail };
  }
  const { plan } = planned;
  const { query, period } = plan;
  const unknown = [query.by, query.thenBy, ...query.filters.map(({ dimension }) => dimension)].find(
    (dimension) => dimension !== null && !isCloudDimension(dimension),
  );
  if (unknown != null) {
    const detail = "The cloud does not receive this dimension. Only the daemon knows it.";
    return { ok: false, code: "wrong_shape", detail, field: unknown };
  }
  if (period.to - period.from <= MAX_UNSUMMED_PERIOD_MS + SLACK_MS) return { ok: true, value: plan };
  const days = MAX_UNSUMMED_PERIOD_MS / 86_400_000;
  const source = sourceOf(plan);
  if (source === "requests") {
    const detail = `This query reads single requests, for at most ${days} days. Choose a shorter period.`;
    return { ok: false, code: "period_too_long", detail };
  }
  if (source === "branches" && (await countUnsummedDays(db, workspaceId, plan)) > days) {
    const detail = `The requests of this period are still being summed up by branch. Until then, choose at most ${days} days.`;
    return { ok: false, code: "period_too_long", detail };
  }
  return { ok: true, value: plan };
}

/** Returns the keys of a dimension in what was read. */
const keysOf = (dimension: UsageDimension, { query }: UsagePlan, read: readonly GroupsRead[]): string[] => [
  ...new Set(
    read
      .flatMap(({ groups, compared }) => [...groups, ...compared])
      .flatMap(({ by, thenBy }) => [
        ...(query.by === dimension && by !== null ? [by] : []),
        ...(query.thenBy === dimension && thenBy !== null ? [thenBy] : []),
      ]),
  ),
];

type GroupsRead = Pick<UsageData, "groups" | "compared">;

/** Reads the names of the machines that an answer shows. */
const readMachineNames = (
  trx: ReadTransaction,
  { workspaceId }: WorkspaceAccess,
  plan: UsagePlan,
  read: readonly GroupsRead[],
) => machineNamesIn(trx, workspaceId, keysOf("machine", plan, read));

/** Returns the names of machines, and of the people that an answer shows. */
async function createNameOf(
  parts: Pick<UsageParts, "accounts">,
  plan: UsagePlan,
  read: readonly GroupsRead[],
  machines: ReadonlyMap<string, string>,
): Promise<(dimension: UsageDimension, key: string) => string | null> {
  const people = await readNames(parts.accounts, keysOf("person", plan, read));
  const names: Partial<Record<UsageDimension, ReadonlyMap<string, string>>> = {
    machine: machines,
    person: people,
  };
  return (dimension, key) => names[dimension]?.get(key) ?? null;
}
