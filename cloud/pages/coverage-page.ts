import { coverageGapKinds } from "../../core/metering/coverage/coverage-advice.ts";
import { passes } from "../../core/metering/coverage/coverage-filter.ts";
import type { CoverageKind } from "../../core/metering/coverage/coverage-kinds.ts";
import { summariseCoverage } from "../../core/metering/coverage/coverage-summary.ts";
import { measureStoppedMs } from "../../core/metering/coverage/running-times.ts";
import { cutCoverageTime } from "../../core/pricing/view/time-buckets.ts";
import { retentionFloor } from "../../core/privacy/retention/windows.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { findZone } from "../../core/values/zone.ts";
import { coverageSchema } from "../../core/wire/coverage.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import { coverageCsv } from "../../pages/coverage-file.ts";
import { renderPeriods } from "../../pages/filters.ts";
import { CSV_TYPE, fileFormatOf } from "../../pages/page-file.ts";
import { readPagePeriod } from "../../pages/page-period.ts";
import { filesOf, viewParameters } from "../../pages/view.ts";
import {
  type CoverageAnswer,
  type CoverageRow,
  type CoverageTask,
  isFilterKind,
  MAX_ROWS,
  readCoverageView,
  renderCoverage,
  WORKSPACE_COVERAGE,
} from "../../pages/views/coverage.ts";
import { readSelection, withShare } from "../routes/daemon/coverage.ts";
import { reachOf } from "../routes/reads/read-period.ts";
import {
  type CoverageSelection,
  type KindCount,
  type MachineSums,
  permilleOf,
  type RankedCount,
  readLatestCounts,
  readMachineSums,
  sumCoverageBuckets,
  sumMachines,
} from "../store/reads/coverage.ts";
import { readStops } from "../store/reads/fleet-coverage.ts";
import { inReadScope } from "../store/reads/read-scope.ts";
import type { Span } from "../store/reads/usage-spans.ts";
import { readRoute } from "./page-api.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { toolsOf } from "./page-tools.ts";

const PATH = "/coverage";

/** The most machines that are listed. The page of machines has all. */
const MAX_MACHINES = 50;

/**
 * `GET /w/{ws}/coverage`: what the machines metered and missed in a period, and when their daemons did not run. A cloud does not
 * receive hosts and paths, so gaps are listed by machine.
 */
export async function showCoverage(call: PageCall): Promise<PageAnswer> {
  const { place, workspace, context, parameters } = call;
  const view = readCoverageView(WORKSPACE_COVERAGE, call.parameters, place.base);
  const selection = readSelection(viewParameters(view));
  const period = readPagePeriod(view, place, retentionFloor("overview", reachOf(workspace, place.now)));
  const query = new URLSearchParams({
    from: formatInstant(period.from),
    to: formatInstant(period.to),
    tz: place.zone,
  });
  for (const { name, value, excludes } of view.filters) query.append(excludes ? `${name}.not` : name, value);
  const path = `${PATH}?${query}`;
  const format = fileFormatOf(parameters);
  if (format !== null) context.header("content-disposition", `attachment; filename="coverage.${format}"`);
  if (format === "json") {
    const answer = await readRoute(call, path, coverageSchema);
    return answer.ok ? context.json(answer.value) : answer.refusal;
  }
  const answer = await readAnswer(call, period, period.words, selection);
  if (format === "csv")
    return context.body(coverageCsv(answer, place.zone), 200, { "content-type": CSV_TYPE });
  return {
    heading: "Coverage",
    path: PATH,
    controls: renderPeriods(view, place),
    main: renderCoverage(answer, view, place),
    tools: toolsOf(call, path, { ...filesOf(view), hasChart: true }),
  };
}

/** Reads what the page shows. The database adds up what a fleet has too many rows of. */
async function readAnswer(
  { env: { parts }, workspace: { workspaceId }, place, reader }: PageCall,
  { from, to }: Span,
  periodWords: string,
  selection: CoverageSelection,
): Promise<CoverageAnswer> {
  const span = { from, to };
  const zone = findZone(place.zone);
  if (zone === null) throw new Error(`the runtime does not know the zone ${place.zone}`);
  const buckets = cutCoverageTime(span, zone);
  const calls = await reader.read<Awaited<ReturnType<typeof sumCoverageBuckets>>>(
    "calls by time",
    () => sumCoverageBuckets(parts.db, workspaceId, buckets, selection),
    [],
  );
  const { all, counts: latest } = await inReadScope(parts.db, { workspaceId }, async (trx) => ({
    all: await readMachineSums(trx, workspaceId, span, { machines: null, kinds: selection.kinds }),
    counts: await readLatestCounts(trx, workspaceId, span, selection.machines, MAX_ROWS),
  }));
  const stopped = await reader.read<Awaited<ReturnType<typeof readStops>>>(
    "times without the meter",
    () =>
      inReadScope(parts.db, { workspaceId }, (trx) =>
        readStops(trx, workspaceId, span, MAX_ROWS, selection.machines),
      ),
    { shared: null, times: 0, totalMs: 0, latest: [] },
  );
  const sums = all.filter(({ machineId }) => passes(selection.machines, machineId));
  const counts = latest.filter(({ kind }) => passes(selection.kinds, kind));
  const kinds = new Map(
    counts.map(({ kind, machines, total }) => [kind as CoverageKind, { rows: machines, count: total }]),
  );
  const byMachine = Map.groupBy(counts, ({ machineId }) => machineId);
  const {
    metered,
    seen,
    permille,
    unknown_machines: unknownMachines,
  } = withShare(sumMachines(sums), selection);
  const stoppedMs =
    stopped.shared === null || unknownMachines > 0 ? [] : measureStoppedMs(stopped.shared, buckets);
  const listed = sums.toSorted(byUrgency).slice(0, MAX_MACHINES);
  return {
    summary: {
      ...summariseCoverage([...kinds].map(([kind, { count }]) => ({ host: null, kind, count }))),
      ...{ metered, seen, permille },
    },
    buckets: buckets.map((bucket, at) => ({
      ...bucket,
      ...(calls[at] ?? { metered: 0, seen: 0 }),
      stoppedMs: stoppedMs[at] ?? null,
    })),
    unknownMachines,
    machines: listed.map((machine) => ({
      ...machine,
      permille: selection.kinds === null ? permilleOf(machine.metered, machine.seen) : null,
    })),
    ...(listed.length < sums.length && {
      moreMachines: { count: sums.length - listed.length, href: `${place.base}/machines` },
    }),
    gaps: listGaps(counts),
    gapSums: kinds,
    stopped,
    tasks: sums.flatMap((machine) => listTasks(machine, byMachine.get(machine.machineId) ?? [])),
    ...listChoices(all, latest),
    isOfKinds: selection.kinds !== null,
    periodWords,
    cloud: null,
    restCommand: null,
    failed: reader.failed,
  };
}

/** The most machines of a menu. */
const MAX_CHOICES = 100;

/** Lists the values of the filters, and the names of machines. */
function listChoices(
  machines: readonly MachineSums[],
  counts: readonly KindCount[],
): Pick<CoverageAnswer, "choices" | "nameOf"> {
  const kinds = new Set(counts.map(({ kind }) => kind as CoverageKind));
  const names = new Map(machines.map(({ machineId, name }) => [machineId, name]));
  return {
    choices: {
      machine: machines.slice(0, MAX_CHOICES).map(({ machineId }) => machineId),
      kind: ["metered", ...[...kinds].filter(isFilterKind).sort()],
    },
    nameOf: (name, value) => (name === "machine" ? (names.get(value) ?? null) : null),
  };
}

/** Sorts machines whose coverage is not known first, then those that missed most. */
const byUrgency = (one: MachineSums, other: MachineSums): number =>
  Number(other.isUnknown) - Number(one.isUnknown) ||
  other.seen - other.metered - (one.seen - one.metered) ||
  (one.name < other.name ? -1 : 1);

/** Lists what machines missed, or metered only in part, the latest first. A cloud does not receive hosts. */
const listGaps = (counts: readonly RankedCount[]): CoverageRow[] =>
  counts
    .map(({ kind, count, lastSeenAt, machine }) => ({
      ...{ host: null, call: null, kind: kind as CoverageKind },
      ...{ count, lastSeenAt, machine },
    }))
    .filter(({ kind }) => coverageGapKinds.includes(kind));

/** Lists what to do on a machine whose coverage is not known, or that uses APIs which are not metered. */
function listTasks({ name, state, isUnknown }: MachineSums, counts: readonly KindCount[]): CoverageTask[] {
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
