import { problem } from "../../http/problem.ts";
import { readUnpricedModels } from "../../store/reads/unpriced-models.ts";
import { isRequestDimension } from "../../store/reads/usage.ts";
import {
  ANALYTICS_COLUMNS,
  type NameValues,
  readAnalytics,
  readMachineNames,
  readOverview,
} from "../../store/reads/usage-reports.ts";
import type { ApiHandlers } from "../api-call.ts";
import { readNames } from "./read-names.ts";
import { parsePeriod } from "./read-period.ts";

/** The longest period in hourly buckets, milliseconds. Decision: a month, since each group has one bucket per hour. */
export const MAX_HOURLY_PERIOD_MS = 31 * 86_400_000;

/** The longest period of analytics whose sums are read from requests. Decision: a month. */
export const MAX_UNSUMMED_PERIOD_MS = 31 * 86_400_000;

/** The routes of the sums over requests. */
export const reportHandlers = {
  /** Clamped to the retention floor. */
  "GET /v1/workspaces/:ws/overview": async ({ parts, workspace, query, answer }) => {
    const period = parsePeriod("overview", query, workspace, parts.clock.now());
    if (!period.ok) return period.refusal;
    const sums = await readOverview(parts.db, workspace.workspaceId, period.value);
    const unpriced_models =
      sums.totals.unpriced_requests === 0
        ? []
        : await readUnpricedModels(
            parts.db,
            workspace.workspaceId,
            period.value,
            (await parts.rates.current()).book,
          );
    return answer(200, { ...period.value.stated, ...sums, unpriced_models });
  },

  /** Answers 400 below the retention floor. */
  "GET /v1/workspaces/:ws/analytics": async ({ parts, workspace, query, answer }) => {
    const { workspaceId } = workspace;
    const { by, bucket } = query;
    const period = parsePeriod("analytics", query, workspace, parts.clock.now());
    if (!period.ok) return period.refusal;
    const { from, to, stated } = period.value;
    if (bucket === "hour" && to - from > MAX_HOURLY_PERIOD_MS) return problem("period_too_long");
    if (isRequestDimension(ANALYTICS_COLUMNS[by]) && to - from > MAX_UNSUMMED_PERIOD_MS)
      return problem("period_too_long");
    const names: Partial<Record<typeof by, NameValues>> = {
      machine: (ids) => readMachineNames(parts.db, workspaceId, ids),
      user: (ids) => readNames(parts.accounts, ids),
    };
    const sums = await readAnalytics(parts.db, workspaceId, { from, to, by, bucket }, names[by] ?? unnamed);
    return answer(200, { ...stated, by, bucket, ...sums });
  },
} satisfies Partial<ApiHandlers>;

const unnamed: NameValues = async () => new Map();
