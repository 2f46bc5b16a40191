import { sql } from "kysely";
import { DAY_MS, type Millis } from "../../../core/values/time.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import type { AnalyticsQuery } from "../../../core/wire/queries.ts";
import type { Analytics, Overview } from "../../../core/wire/reports.ts";
import { hasModelSums } from "../model-sums.ts";
import type { CloudDatabase } from "../open-database.ts";
import { NO_MACHINE } from "../rollups.ts";
import { inReadScope, type ReadTransaction } from "./read-scope.ts";
import { NO_USAGE, readUsage, type UsageDimension, type UsageGroup } from "./usage.ts";
import type { Span } from "./usage-spans.ts";

/** Most projects and models of an overview. Decision: what a screen shows; the totals count all. */
export const OVERVIEW_MAX_GROUPS = 20;

/** Most groups of analytics. Decision: the costliest, so that an answer stays small; the totals count all. */
export const ANALYTICS_MAX_GROUPS = 100;

type OverviewSums = Pick<Overview, "totals" | "days" | "projects" | "models">;
type AnalyticsSums = Pick<Analytics, "totals" | "groups">;

/** Reads display names of a dimension's values; a value without one is shown itself. */
export type NameValues = (values: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** The column of each analytics dimension. */
export const ANALYTICS_COLUMNS = {
  project: "project",
  model: "model",
  provider: "provider",
  machine: "machine_id",
  user: "user_id",
  session: "session_id",
  agent: "agent_id",
  branch: "git_branch",
  client: "client_version",
} as const satisfies Record<AnalyticsQuery["by"], UsageDimension>;

/** The value and label of "none" in the rollups' keys. */
const NONE: Partial<Record<UsageDimension, { readonly value: string; readonly label: string }>> = {
  project: { value: "", label: "no project" },
  machine_id: { value: NO_MACHINE, label: "no machine" },
  session_id: { value: "", label: "no session" },
  agent_id: { value: "", label: "no sub-agent" },
  git_branch: { value: "", label: "no branch" },
  client_version: { value: "", label: "no client version" },
};

/** The shortest period that is read from the sums by model. For a shorter one, it takes longer to find out whether they are complete. */
const MIN_MODELS_MS = 60 * DAY_MS;

/** Sums a period: in total, by day, by project and by model. Of a long one, only the projects need the rollups. */
export async function readOverview(
  db: CloudDatabase,
  workspaceId: string,
  period: Span,
): Promise<OverviewSums> {
  const groups = await inReadScope(db, { workspaceId }, async (trx) => {
    const isOfModels = period.to - period.from >= MIN_MODELS_MS && (await hasModelSums(trx, workspaceId));
    return await readUsage(trx, {
      ...period,
      workspaceId,
      bucket: "day",
      ...(isOfModels
        ? { dimensionGroups: [[["project"]]], modelGroups: [[["bucket"]], [[], ["model"]]] }
        : { dimensionGroups: [[["project"], [], ["model"]], [["bucket"]]] }),
      maxValues: OVERVIEW_MAX_GROUPS,
    });
  });
  const by = (column: UsageDimension | "bucket") => groups.filter((group) => group[column] !== null);
  return {
    totals:
      groups.find(({ bucket, project, model }) => bucket === null && project === null && model === null)
        ?.totals ?? NO_USAGE,
    days: toBuckets(by("bucket")),
    projects: by("project")
      .map((group) => toGroup("project", group))
      .sort(byCost),
    models: by("model")
      .map((group) => toGroup("model", group))
      .sort(byCost),
  };
}

/** Sums a period by one dimension, and each of its values by hour or day. */
export async function readAnalytics(
  db: CloudDatabase,
  workspaceId: string,
  options: Span & Pick<AnalyticsQuery, "by" | "bucket">,
  nameValues: NameValues,
): Promise<AnalyticsSums> {
  const column = ANALYTICS_COLUMNS[options.by];
  const groups = await inReadScope(db, { workspaceId }, (trx) =>
    readUsage(trx, {
      from: options.from,
      to: options.to,
      workspaceId,
      bucket: options.bucket,
      dimensionGroups: [[[], [column], [column, "bucket"]]],
      maxValues: ANALYTICS_MAX_GROUPS,
    }),
  );
  const buckets = Map.groupBy(
    groups.filter(({ set }) => set === 2),
    (group) => group[column],
  );
  const found = groups.filter(({ set }) => set === 1);
  const names = await nameValues(found.map((group) => group[column] as string));
  return {
    totals: groups.find(({ set }) => set === 0)?.totals ?? NO_USAGE,
    groups: found
      .map((group) => ({
        ...toGroup(column, group, names),
        buckets: toBuckets(buckets.get(group[column]) ?? []),
      }))
      .sort(byCost),
  };
}

/** Reads the names of machines. */
export async function readMachineNames(
  db: CloudDatabase,
  workspaceId: string,
  machineIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (machineIds.length === 0) return new Map();
  return await inReadScope(db, { workspaceId }, (trx) => machineNamesIn(trx, workspaceId, machineIds));
}

/** Reads the names of machines in a transaction. */
export async function machineNamesIn(
  trx: ReadTransaction,
  workspaceId: string,
  machineIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (machineIds.length === 0) return new Map();
  const rows = await trx
    .selectFrom("machines")
    .select(["machine_id", sql<string>`coalesce(label, hostname)`.as("name")])
    .where("workspace_id", "=", workspaceId)
    .where("machine_id", "in", [...machineIds])
    .execute();
  return new Map(rows.map(({ machine_id, name }) => [machine_id, name]));
}

function toGroup(
  column: UsageDimension,
  group: UsageGroup,
  names: ReadonlyMap<string, string> = new Map(),
): Overview["projects"][number] {
  const value = group[column] as string;
  const none = NONE[column];
  if (value === none?.value) return { key: null, label: none.label, ...group.totals };
  return { key: value, label: names.get(value) ?? value, ...group.totals };
}

function toBuckets(groups: readonly UsageGroup[]): Overview["days"] {
  return groups
    .toSorted((one, other) => (one.bucket as Millis) - (other.bucket as Millis))
    .map(({ bucket, totals }) => ({ start: formatInstant(bucket as Millis), ...totals }));
}

type Costed = Pick<Overview["projects"][number], "label" | "requests" | "cost_pico_usd">;

/** Orders by descending cost, then by descending requests, then by label, so that the order is stable. */
function byCost(one: Costed, other: Costed): number {
  const difference = BigInt(other.cost_pico_usd) - BigInt(one.cost_pico_usd);
  if (difference !== 0n) return difference > 0n ? 1 : -1;
  return other.requests - one.requests || (one.label < other.label ? -1 : 1);
}
