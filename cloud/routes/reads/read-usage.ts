import { summariseCoverage } from "../../../core/metering/coverage/coverage-summary.ts";
import { measureStoppedMs } from "../../../core/metering/coverage/running-times.ts";
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
  listValues,
  planForecast,
  valuesQuery,
} from "../../../core/pricing/view/usage-reports.ts";
import { type ReadEndpoint, retentionFloor } from "../../../core/privacy/retention/windows.ts";
import { findZone } from "../../../core/values/zone.ts";
import type { SavingsAnswer } from "../../../core/wire/savings.ts";
import type { UsageAnswer, UsageDimension, UsageForecast, UsageValues } from "../../../core/wire/usage.ts";
import { readSavings } from "../../../pages/read-savings.ts";
import type { ProblemCode } from "../../http/problem.ts";
import type { CloudParts } from "../../ports.ts";
import {
  findStopped,
  readCoverage,
  type StoredCoverage,
  sumCounts,
  sumMachines,
} from "../../store/reads/coverage.ts";
import { findRepeats } from "../../store/reads/savings.ts";
import {
  countUnsummedDays,
  isCloudDimension,
  readUsageData,
  sourceOf,
} from "../../store/reads/usage-data.ts";
import { readMachineNames } from "../../store/reads/usage-reports.ts";
import type { Span } from "../../store/reads/usage-spans.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";
import { readNames } from "./read-names.ts";
import { reachOf } from "./read-period.ts";
import { MAX_UNSUMMED_PERIOD_MS } from "./reports.ts";

/** Within a day of clock changes, a month of days may be an hour longer. */
const SLACK_MS = 86_400_000;

/** An answer, or the problem with the query. `field` is the key of the query that has it. */
export type CloudUsageResult<Answer> =
  | { readonly ok: true; readonly value: Answer }
  | { readonly ok: false; readonly code: ProblemCode; readonly detail: string; readonly field?: string };

/**
 * Answers a usage query. A period is cut at the retention floor, as that of an overview. The coverage is null if it is not asked for, as
 * in one of several answers about one period.
 */
export async function readUsageAnswer(
  parts: CloudParts,
  workspace: WorkspaceAccess,
  query: UsageQuery,
  { withCoverage = true } = {},
): Promise<CloudUsageResult<UsageAnswer>> {
  const read = await readPlan(parts, workspace, planUsage(query, factsOf(parts, workspace, query)));
  if (!read.ok) return read;
  const { plan, data, nameOf } = read.value;
  if (!withCoverage) return { ok: true, value: answerUsage(plan, { ...data, coverage: null }, { nameOf }) };
  const { period, buckets } = plan;
  const detail = buckets.length === 0 ? "missing" : "running";
  const machines = await readCoverage(parts.db, workspace.workspaceId, period, detail);
  const coverage = sumCoverage(machines);
  const stopped = findStopped(machines, period);
  const stoppedMs = stopped === null ? null : measureStoppedMs(stopped, buckets);
  return { ok: true, value: answerUsage(plan, { ...data, coverage, stoppedMs }, { nameOf }) };
}

/** Reads the coverage of a period over all machines. */
export const readPeriodCoverage = async ({ db }: CloudParts, workspaceId: string, { from, to }: Span) =>
  sumCoverage(await readCoverage(db, workspaceId, { from, to }, "missing"));

const sumCoverage = (machines: readonly StoredCoverage[]) => ({
  ...sumMachines(machines),
  missing: [...summariseCoverage(sumCounts(machines)).missing],
});

/** Lists the values of a dimension among the requests of a query's period and filters. */
export async function readUsageValues(
  parts: CloudParts,
  workspace: WorkspaceAccess,
  query: UsageQuery,
  dimension: UsageDimension,
  text: string,
): Promise<CloudUsageResult<UsageValues>> {
  const planned = planUsage(valuesQuery(query, dimension), factsOf(parts, workspace, query));
  const read = await readPlan(parts, workspace, planned);
  if (!read.ok) return read;
  const { data, nameOf } = read.value;
  return { ok: true, value: listValues(dimension, data, text, { nameOf }) };
}

/** Estimates the metric of a query for this month. */
export async function readUsageForecast(
  parts: CloudParts,
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
  const checked = await checkPlan(parts, workspaceId, planned);
  if (!checked.ok) return checked;
  const plan = checked.value;
  const { book } = await parts.rates.current();
  const value = await readSavings({
    plan,
    read: (each) => readUsageData(parts.db, workspaceId, each),
    findRepeats: () => findRepeats(parts.db, workspaceId, plan, REPEATS_SEARCHED),
    book,
  });
  return { ok: true, value };
}

/** Returns what a plan depends on: the zone of the query (default: UTC) and the retention floor of an endpoint. */
function factsOf(
  { clock }: CloudParts,
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
  readonly nameOf: (dimension: UsageDimension, key: string) => string | null;
}

async function readPlan(
  parts: CloudParts,
  { workspaceId }: WorkspaceAccess,
  planned: UsagePlanResult,
): Promise<CloudUsageResult<ReadPlan>> {
  const checked = await checkPlan(parts, workspaceId, planned);
  if (!checked.ok) return checked;
  const plan = checked.value;
  const data = await readUsageData(parts.db, workspaceId, plan);
  return { ok: true, value: { plan, data, nameOf: await readDisplayNames(parts, workspaceId, plan, data) } };
}

/** Refuses a plan that the cloud has no dimension for, or that would read too many single requests. */
async function checkPlan(
  { db }: CloudParts,
  workspaceId: string,
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

/** Reads the names of machines and people that an answer shows. */
async function readDisplayNames(
  parts: CloudParts,
  workspaceId: string,
  { query }: UsagePlan,
  { groups, compared }: Pick<UsageData, "groups" | "compared">,
): Promise<ReadPlan["nameOf"]> {
  const keysOf = (dimension: UsageDimension) => [
    ...new Set(
      [...groups, ...compared].flatMap(({ by, thenBy }) => [
        ...(query.by === dimension && by !== null ? [by] : []),
        ...(query.thenBy === dimension && thenBy !== null ? [thenBy] : []),
      ]),
    ),
  ];
  const names: Partial<Record<UsageDimension, ReadonlyMap<string, string>>> = {
    machine: await readMachineNames(parts.db, workspaceId, keysOf("machine")),
    person: await readNames(parts.accounts, keysOf("person")),
  };
  return (dimension, key) => names[dimension]?.get(key) ?? null;
}
