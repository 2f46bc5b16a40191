import type { Context } from "hono";
import { answerUsage, type UsageData } from "../../../core/pricing/view/usage-answer.ts";
import { usageCsv, usageMarkdown } from "../../../core/pricing/view/usage-export.ts";
import {
  planUsage,
  type UsagePlan,
  type UsagePlanFacts,
  type UsagePlanResult,
} from "../../../core/pricing/view/usage-plan.ts";
import { parseUsageQuery, type UsageQuery } from "../../../core/pricing/view/usage-query.ts";
import {
  answerForecast,
  listValues,
  planForecast,
  valuesQuery,
} from "../../../core/pricing/view/usage-reports.ts";
import { retentionFloor } from "../../../core/privacy/retention/windows.ts";
import { findZone } from "../../../core/values/zone.ts";
import { USAGE_DIMENSIONS, type UsageDimension } from "../../../core/wire/usage.ts";
import { problem } from "../../http/problem.ts";
import type { OrRefusal } from "../../http/read-payload.ts";
import type { CloudParts } from "../../ports.ts";
import { isCloudDimension, isFromRollups, readUsageData } from "../../store/reads/usage-data.ts";
import { readMachineNames } from "../../store/reads/usage-reports.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";
import type { ApiHandlers } from "../api-call.ts";
import { readNames } from "./read-names.ts";
import { reachOf } from "./read-period.ts";
import { MAX_UNSUMMED_PERIOD_MS } from "./reports.ts";

/** Within a day of clock changes, a month of days may be an hour longer. */
const SLACK_MS = 86_400_000;

/** The forms of an answer. */
const FORMATS = ["json", "csv", "md"] as const;

/** The longest text that values are searched for. */
const MAX_SEARCH = 256;

/** The routes of the usage query. A period is cut at the retention floor, as that of an overview. */
export const usageHandlers = {
  "GET /v1/workspaces/:ws/usage": async ({ parts, workspace, context, answer }) => {
    const query = readQuery(context, "format");
    if (!query.ok) return query.refusal;
    const format = FORMATS.find((each) => each === (context.req.query("format") ?? "json"));
    if (format === undefined) return refuse("format", `Expected ${FORMATS.join(", ")}.`);
    const facts = factsOf(parts, workspace, query.value);
    const read = await readPlan(parts, workspace, planUsage(query.value, facts));
    if (!read.ok) return read.refusal;
    const { plan, data, nameOf } = read.value;
    const result = answerUsage(plan, { ...data, coverage: null }, { nameOf });
    if (format === "json") return answer(200, result);
    const [text, type] =
      format === "csv"
        ? [usageCsv(result), "text/csv; charset=utf-8; header=present"]
        : [usageMarkdown(result), "text/markdown; charset=utf-8"];
    return context.body(text, 200, { "content-type": type });
  },

  "GET /v1/workspaces/:ws/usage/values": async ({ parts, workspace, context, answer }) => {
    const query = readQuery(context, "dimension", "q");
    if (!query.ok) return query.refusal;
    const dimension = USAGE_DIMENSIONS.find((each) => each === context.req.query("dimension"));
    if (dimension === undefined) return refuse("dimension", `Expected ${USAGE_DIMENSIONS.join(", ")}.`);
    const facts = factsOf(parts, workspace, query.value);
    const read = await readPlan(parts, workspace, planUsage(valuesQuery(query.value, dimension), facts));
    if (!read.ok) return read.refusal;
    const text = (context.req.query("q") ?? "").slice(0, MAX_SEARCH);
    return answer(200, listValues(dimension, read.value.data, text, { nameOf: read.value.nameOf }));
  },

  "GET /v1/workspaces/:ws/usage/forecast": async ({ parts, workspace, context, answer }) => {
    const query = readQuery(context);
    if (!query.ok) return query.refusal;
    const planned = planForecast(query.value, factsOf(parts, workspace, query.value));
    const read = await readPlan(parts, workspace, planned);
    return read.ok ? answer(200, answerForecast(read.value.plan, read.value.data)) : read.refusal;
  },
} satisfies Partial<ApiHandlers>;

const refuse = (field: string, text: string) =>
  problem("wrong_shape", { errors: [{ field, problem: text }] });

/** Parses the query. What is not understood is refused: a filter with a misspelt name would answer with everything. */
function readQuery(context: Context, ...otherKeys: readonly string[]): OrRefusal<UsageQuery> {
  const { searchParams } = new URL(context.req.url);
  const { query, notices } = parseUsageQuery(searchParams, { otherKeys });
  const errors = notices.map(({ key, problem: text }) => ({ field: key, problem: text }));
  return errors.length === 0
    ? { ok: true, value: query }
    : { ok: false, refusal: problem("wrong_shape", { errors }) };
}

/** What a plan depends on: the zone of the query, or UTC, and the floor of an overview. */
function factsOf({ clock }: CloudParts, workspace: WorkspaceAccess, { tz }: UsageQuery): UsagePlanFacts {
  const zone = findZone(tz ?? "UTC");
  if (zone === null) throw new Error("the runtime does not know UTC");
  const now = clock.now();
  return { now, zone, floor: retentionFloor("overview", reachOf(workspace, now)) };
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
): Promise<OrRefusal<ReadPlan>> {
  if (!planned.ok) {
    const code = planned.code as "period_malformed" | "period_reversed" | "period_too_long";
    return { ok: false, refusal: problem(code) };
  }
  const { plan } = planned;
  const { query, period } = plan;
  const unknown = [query.by, query.thenBy, ...query.filters.map(({ dimension }) => dimension)].find(
    (dimension) => dimension !== null && !isCloudDimension(dimension),
  );
  if (unknown != null)
    return {
      ok: false,
      refusal: refuse(unknown, "A cloud does not receive it. Only a daemon knows this dimension."),
    };
  const maxMs = MAX_UNSUMMED_PERIOD_MS + SLACK_MS;
  if (!isFromRollups(plan) && period.to - period.from > maxMs)
    return { ok: false, refusal: problem("period_too_long") };
  const data = await readUsageData(parts.db, workspaceId, plan);
  return { ok: true, value: { plan, data, nameOf: await readDisplayNames(parts, workspaceId, plan, data) } };
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
