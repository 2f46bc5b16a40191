import { coverageGapKinds } from "../../core/metering/coverage/coverage-advice.ts";
import type { CoverageKind, CoverageTotal } from "../../core/metering/coverage/coverage-kinds.ts";
import { summariseCoverage } from "../../core/metering/coverage/coverage-summary.ts";
import { retentionFloor } from "../../core/privacy/retention/windows.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import {
  type CoverageAnswer as CoverageResponse,
  coverageSchema,
  type MachineCoverage,
} from "../../core/wire/coverage.ts";
import { formatInstant, parseInstant } from "../../core/wire/instant.ts";
import { renderPeriods } from "../../pages/filters.ts";
import { readPagePeriod } from "../../pages/page-period.ts";
import { readView } from "../../pages/view.ts";
import {
  COVERAGE_VIEW,
  type CoverageAnswer,
  type CoverageRow,
  type CoverageTask,
  renderCoverage,
} from "../../pages/views/coverage.ts";
import { reachOf } from "../routes/reads/read-period.ts";
import { readRoute } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { toolsOf } from "./page-tools.ts";

const PATH = "/coverage";

/**
 * `GET /w/{ws}/coverage`: what the machines metered and missed in a period, and when their daemons did not run. A cloud does not
 * receive hosts and paths, so gaps are listed by machine.
 */
export async function showCoverage(call: PageCall): Promise<PageAnswer> {
  const { place, workspace } = call;
  const view = readView(COVERAGE_VIEW, call.parameters, place.base);
  const period = readPagePeriod(view, place, retentionFloor("overview", reachOf(workspace, place.now)));
  const query = new URLSearchParams({
    from: formatInstant(period.from),
    to: formatInstant(period.to),
    tz: place.zone,
  });
  const answer = await readRoute(call, `${PATH}?${query}`, coverageSchema);
  if (!answer.ok) return answer.refusal;
  return {
    heading: "Coverage",
    path: PATH,
    controls: renderPeriods(view),
    main: renderCoverage(toCoverageAnswer(answer.value, period.words), view, place),
    tools: toolsOf(call, `${PATH}?${query}`, { hasChart: true }),
  };
}

const instantOf = (text: string | null): number | null => (text === null ? null : parseInstant(text));

/** Converts the answer of the API to that of the page, which adds the kinds up as the local page does. */
function toCoverageAnswer(
  { machines, buckets, ...sums }: CoverageResponse,
  periodWords: string,
): CoverageAnswer {
  const totals = machines.flatMap(({ counts }) =>
    counts.map(({ kind, count }): CoverageTotal => ({ host: null, kind: kind as CoverageKind, count })),
  );
  const { metered, seen, permille, unknown_machines: unknownMachines } = sums;
  return {
    summary: { ...summariseCoverage(totals), metered, seen, permille },
    buckets: buckets.map(({ from, to, stopped_ms: stoppedMs, ...bucket }) => ({
      ...bucket,
      ...{ from: instantOf(from) ?? 0, to: instantOf(to) ?? 0, stoppedMs },
    })),
    unknownMachines,
    machines: machines.map((machine) => ({
      name: machine.machine_name,
      state: machine.state,
      permille: machine.permille,
      metered: machine.metered,
      seen: machine.seen,
      reportedAt: instantOf(machine.reported_at),
    })),
    gaps: listGaps(machines),
    stopped: machines
      .flatMap(({ machine_name: machine, gaps }) =>
        gaps.map(({ from, to }) => ({ machine, from: instantOf(from) ?? 0, to: instantOf(to) ?? 0 })),
      )
      .sort((one, other) => other.from - one.from),
    tasks: machines.flatMap(listTasks),
    periodWords,
    cloud: null,
    restCommand: null,
  };
}

/** Lists what each machine missed, or metered only in part, the latest first. */
function listGaps(machines: readonly MachineCoverage[]): CoverageRow[] {
  return machines
    .flatMap(({ machine_name: machine, counts }) =>
      counts.map(
        ({ kind, count, last_seen_at }): CoverageRow => ({
          host: null,
          call: null,
          kind: kind as CoverageKind,
          count,
          lastSeenAt: instantOf(last_seen_at) ?? 0,
          machine,
        }),
      ),
    )
    .filter(({ kind, count }) => count > 0 && coverageGapKinds.includes(kind))
    .sort((one, other) => other.lastSeenAt - one.lastSeenAt || other.count - one.count);
}

/** Lists what to do on a machine whose coverage is not known, or that uses APIs which are not metered. */
function listTasks({
  machine_name: name,
  state,
  has_unknown_requests: isUnknown,
  counts,
}: MachineCoverage): CoverageTask[] {
  const tasks: CoverageTask[] = [];
  if (isUnknown)
    tasks.push({
      name,
      text: `${state === "unknown" ? "Its coverage is unknown." : "It no longer reports its coverage."} Either its meter is too old, or its privacy settings hold the coverage back. To see what it sends, run on that machine:`,
      command: "meter cloud privacy show",
    });
  const unlisted = counts
    .filter(({ kind }) => kind.startsWith("unlisted_"))
    .reduce((sum, { count }) => sum + count, 0);
  if (unlisted > 0)
    tasks.push({
      name,
      text: `Not metered: ${formatQuantity(unlisted, "call or connection", "calls and connections")} to hosts that look like language model APIs. To see which, run on that machine:`,
      command: "meter coverage",
    });
  return tasks;
}
