import type { Context } from "hono";
import {
  type Analytics,
  analyticsQuerySchema,
  type Overview,
  parseWire,
  periodQuerySchema,
} from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { orRefusal } from "../../read-payload.ts";
import {
  type NameValues,
  readAnalytics,
  readMachineNames,
  readOverview,
} from "../../store/reads/usage-reports.ts";
import { namesOfPeople } from "./people-names.ts";
import { readPeriodOf } from "./read-period.ts";

/** The longest period by hours, milliseconds. Decision: a month, since each group has as many buckets as hours. */
export const MAX_HOURLY_PERIOD_MS = 31 * 86_400_000;

/** `GET /v1/workspaces/{ws}/overview?from&to`: clamped to the retention floor. */
export async function getOverview(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const workspace = context.get("workspace");
  const query = orRefusal(parseWire(periodQuerySchema, context.req.query()));
  if (!query.ok) return query.refusal;
  const period = readPeriodOf("overview", query.value, workspace, parts.clock.now());
  if (!period.ok) return period.refusal;
  const sums = await readOverview(parts.db, workspace.workspaceId, period.value);
  return context.json({ ...period.value.stated, ...sums } satisfies Overview);
}

/** `GET /v1/workspaces/{ws}/analytics?from&to&by&bucket`: 400 below the retention floor. */
export async function getAnalytics(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const { workspaceId } = context.get("workspace");
  const query = orRefusal(parseWire(analyticsQuerySchema, context.req.query()));
  if (!query.ok) return query.refusal;
  const { by, bucket } = query.value;
  const period = readPeriodOf("analytics", query.value, context.get("workspace"), parts.clock.now());
  if (!period.ok) return period.refusal;
  const { from, to, stated } = period.value;
  if (bucket === "hour" && to - from > MAX_HOURLY_PERIOD_MS) return problem("period_too_long");
  const names: Partial<Record<typeof by, NameValues>> = {
    machine: (ids) => readMachineNames(parts.db, workspaceId, ids),
    user: (ids) => namesOfPeople(parts.accounts, ids),
  };
  const sums = await readAnalytics(parts.db, workspaceId, { from, to, by, bucket }, names[by] ?? unnamed);
  return context.json({ ...stated, by, bucket, ...sums } satisfies Analytics);
}

const unnamed: NameValues = async () => new Map();
