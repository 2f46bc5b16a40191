import {
  EXPECTED_KIND,
  hasKnownKinds,
  readValueFilter,
} from "../../../core/metering/coverage/coverage-filter.ts";
import { measureStoppedMs } from "../../../core/metering/coverage/running-times.ts";
import { cutCoverageTime } from "../../../core/pricing/view/time-buckets.ts";
import { findZone } from "../../../core/values/zone.ts";
import { formatInstant, formatInstantOrNull } from "../../../core/wire/instant.ts";
import { problem } from "../../http/problem.ts";
import { saveCoverage } from "../../store/coverage.ts";
import {
  type CoverageSelection,
  findStopped,
  permilleOf,
  readCoverage,
  type StoredCoverage,
  sumCoverageBuckets,
  sumMachines,
} from "../../store/reads/coverage.ts";
import type { ApiHandlers } from "../api-call.ts";
import { parsePeriod } from "../reads/read-period.ts";

/** The routes of coverage: machines state theirs, and members of the workspace read it. */
export const coverageHandlers = {
  /** An admin key has no machine, so nothing is stored. */
  "POST /v1/daemon/coverage": async ({ parts, key, body, answer }) =>
    answer(200, { stored: await saveCoverage(parts.db, key, body, parts.clock.now()) }),

  "GET /v1/workspaces/:ws/coverage": async ({ parts, workspace, query, context, answer }) => {
    const period = parsePeriod("overview", query, workspace, parts.clock.now());
    if (!period.ok) return period.refusal;
    const { from, to, stated } = period.value;
    const zone = findZone(query.tz ?? "UTC");
    if (zone === null)
      return problem("wrong_shape", { errors: [{ field: "tz", problem: "must be a time zone" }] });
    const filters = new URL(context.req.url).searchParams;
    if (!hasKnownKinds(filters))
      return problem("wrong_shape", { errors: [{ field: "kind", problem: EXPECTED_KIND }] });
    const buckets = cutCoverageTime({ from, to }, zone);
    const selection = readSelection(filters);
    const [machines, sums] = await Promise.all([
      readCoverage(parts.db, workspace.workspaceId, { from, to }, selection),
      sumCoverageBuckets(parts.db, workspace.workspaceId, buckets, selection),
    ]);
    const stopped = findStopped(machines, { from, to });
    const stoppedMs = stopped === null ? [] : measureStoppedMs(stopped, buckets);
    return answer(200, {
      ...stated,
      ...withShare(sumMachines(machines), selection),
      machines: machines.map((machine) => withShare(toMachine(machine), selection)),
      buckets: buckets.map((bucket, at) => ({
        ...{ from: formatInstant(bucket.from), to: formatInstant(bucket.to), label: bucket.label },
        ...{ metered: sums[at]?.metered ?? 0, seen: sums[at]?.seen ?? 0 },
        stopped_ms: stoppedMs[at] ?? null,
      })),
    });
  },
} satisfies Partial<ApiHandlers>;

/** Reads the filters of an address. */
export const readSelection = (parameters: URLSearchParams): CoverageSelection => ({
  machines: readValueFilter(parameters, "machine"),
  kinds: readValueFilter(parameters, "kind"),
});

/** Leaves the share out if only some kinds are counted: it is only known of all kinds. */
export const withShare = <Sums extends { readonly permille: number | null }>(
  sums: Sums,
  { kinds }: CoverageSelection,
): Sums => (kinds === null ? sums : { ...sums, permille: null });

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
  stopped,
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
  gaps: stopped.map(({ from, to }) => ({ from: formatInstant(from), to: formatInstant(to) })),
});
