import { readLimitReadings, saveLimitReadings } from "../../store/limit-readings.ts";
import type { ApiHandlers } from "../api-call.ts";
import { parsePeriod } from "../reads/read-period.ts";

/** The routes of the limits of accounts: machines send readings, and members of the workspace read them. */
export const limitHandlers = {
  /** An admin key has no machine, so nothing is stored. */
  "POST /v1/daemon/limits": async ({ parts, key, body, answer }) =>
    answer(200, { stored: await saveLimitReadings(parts.db, key, body.readings, parts.clock.now()) }),

  /** Windows that were not seen since the retention floor are left out. */
  "GET /v1/workspaces/:ws/limits": async ({ parts, workspace, answer }) => {
    const period = parsePeriod("overview", { from: null, to: null }, workspace, parts.clock.now());
    if (!period.ok) return period.refusal;
    const limits = await readLimitReadings(parts.db, workspace.workspaceId, period.value.from);
    return answer(200, { limits });
  },
} satisfies Partial<ApiHandlers>;
