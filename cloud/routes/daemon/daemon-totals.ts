import { readDateWindow } from "../../../core/privacy/retention/read-period.ts";
import { problem } from "../../http/problem.ts";
import { readDaemonTotals } from "../../store/daemon-totals.ts";
import type { ApiHandlers } from "../api-call.ts";

/** The route that a machine compares its totals with. */
export const daemonTotalsHandlers = {
  // Calendar dates, both included; not clamped by retention.
  "GET /v1/reconciliation/daemon-totals": async ({ parts, key, query, answer }) => {
    const window = readDateWindow(query.from_date, query.to_date);
    if (!window.ok) return problem(window.reason);
    return answer(200, await readDaemonTotals(parts.db, key, window.fromDate, window.toDate));
  },
} satisfies Partial<ApiHandlers>;
