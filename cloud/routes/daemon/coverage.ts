import { formatInstant, formatInstantOrNull } from "../../../core/wire/instant.ts";
import { saveCoverage } from "../../store/coverage.ts";
import { permilleOf, readCoverage, type StoredCoverage, sumMachines } from "../../store/reads/coverage.ts";
import type { ApiHandlers } from "../api-call.ts";
import { parsePeriod } from "../reads/read-period.ts";

/** The routes of coverage: machines state theirs, and members of the workspace read it. */
export const coverageHandlers = {
  /** An admin key has no machine, so nothing is stored. */
  "POST /v1/daemon/coverage": async ({ parts, key, body, answer }) =>
    answer(200, { stored: await saveCoverage(parts.db, key, body, parts.clock.now()) }),

  "GET /v1/workspaces/:ws/coverage": async ({ parts, workspace, query, answer }) => {
    const period = parsePeriod("overview", query, workspace, parts.clock.now());
    if (!period.ok) return period.refusal;
    const { from, to, stated } = period.value;
    const machines = await readCoverage(parts.db, workspace.workspaceId, { from, to }, "all");
    return answer(200, { ...stated, ...sumMachines(machines), machines: machines.map(toMachine) });
  },
} satisfies Partial<ApiHandlers>;

const toMachine = ({
  machineId,
  name,
  state,
  isUnknown,
  reportedAt,
  queued,
  metered,
  seen,
  counts,
  gaps,
}: StoredCoverage) => ({
  machine_id: machineId,
  machine_name: name,
  state,
  has_unknown_requests: isUnknown,
  reported_at: formatInstantOrNull(reportedAt),
  queued,
  metered,
  seen,
  permille: permilleOf(metered, seen),
  counts: counts.map(({ kind, count, lastSeenAt }) => ({
    kind,
    count,
    last_seen_at: formatInstant(lastSeenAt),
  })),
  gaps: gaps.map(({ from, to }) => ({ from: formatInstant(from), to: formatInstant(to) })),
});
