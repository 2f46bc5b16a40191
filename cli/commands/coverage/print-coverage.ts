import { adviseOnCoverage, coverageGapKinds } from "../../../core/metering/coverage/coverage-advice.ts";
import type { CoverageGap, CoverageKind } from "../../../core/metering/coverage/coverage-kinds.ts";
import {
  type CoverageSummary,
  describeBlocked,
  describeCoverageCount,
  summariseCoverage,
} from "../../../core/metering/coverage/coverage-summary.ts";
import { findStoppedTimes, type RunningTime } from "../../../core/metering/coverage/running-times.ts";
import {
  addProviderCommand,
  describeAddedHost,
  describeUnlistedHost,
  type IsKnownHost,
  providerLines,
  splitAddedHosts,
  type UnlistedHost,
} from "../../../core/metering/coverage/unlisted-hosts.ts";
import { formatCount } from "../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { MINUTE_MS } from "../../../core/values/time.ts";
import { SLOT_MS } from "../../../daemon/store/rollup-definition.ts";
import { readKnownHosts } from "../../home/known-hosts.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { type PeriodOptions, readPeriod } from "../../program/period.ts";
import { coverageHeadline } from "../../render/coverage.ts";
import { renderTable } from "../../render/table.ts";

/** The options of `meter coverage`. */
export interface PrintCoverageOptions extends PeriodOptions {
  readonly utc: boolean;
  readonly json: boolean;
}

/** Shows how much was metered, and names what was not. */
export async function printCoverage(context: CommandContext, options: PrintCoverageOptions): Promise<void> {
  const period = readPeriod(options, Date.now(), options.utc);
  await withStore(context.home, { readOnly: true }, async (store) => {
    const summary = summariseCoverage(store.coverage.read(period));
    const gaps = store.coverage.readGaps(coverageGapKinds, period);
    const isKnown = await readKnownHosts(context, summary.unlisted);
    const stopped = findStoppedTimes(store.coverage.readRuns(period), period).toReversed();
    if (options.json) context.printJson(toJson(summary, gaps, stopped, isKnown));
    else context.print(renderCoverage({ summary, gaps, stopped }, isKnown, context.width));
  });
}

function toJson(
  summary: CoverageSummary,
  gaps: readonly CoverageGap[],
  stopped: readonly RunningTime[],
  isKnown: IsKnownHost,
) {
  const { metered, seen, blocked, permille } = summary;
  const { unlisted, added } = splitAddedHosts(summary.unlisted, isKnown);
  return {
    metered,
    seen,
    blocked,
    percent: permille === null ? null : permille / 10,
    kinds: countsOf(summary).map(({ kind, count }) => ({ kind, count, ...adviseOnCoverage(kind) })),
    gaps: gaps.map(({ host, kind, call, count, lastSeenAt }) => ({
      kind,
      host,
      method: call?.method ?? null,
      path: call?.path ?? null,
      count,
      last_seen: new Date(lastSeenAt).toISOString(),
    })),
    not_running: stopped.map(({ from, to }) => ({
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
    })),
    unlisted: unlisted.map((host) => ({ ...host, lines: providerLines(host) })),
    added,
  };
}

/** Returns what was not metered, the daemon's ends, then the parts of metered calls that are missing. */
const countsOf = ({ missing, interrupted, withoutUsage, notStored }: CoverageSummary) => [
  ...missing,
  ...(interrupted === 0 ? [] : [{ kind: "interrupted" as const, count: interrupted }]),
  ...(withoutUsage === 0 ? [] : [{ kind: "without_usage" as const, count: withoutUsage }]),
  ...notStored,
];

/** What was metered and what was not, the latest first. */
interface ReadCoverage {
  readonly summary: CoverageSummary;
  readonly gaps: readonly CoverageGap[];
  /** The times in which the daemon did not run. */
  readonly stopped: readonly RunningTime[];
}

/** Renders the summary, the times without a daemon, and a section with advice and a table for each kind of gap. */
export function renderCoverage(
  { summary, gaps, stopped }: ReadCoverage,
  isKnown: IsKnownHost,
  width: number,
): string {
  const { permille, metered, seen, blocked } = summary;
  const { unlisted, added } = splitAddedHosts(summary.unlisted, isKnown);
  const others = [
    ...(blocked === 0 ? [] : [describeBlocked(blocked)]),
    ...(stopped.length === 0 ? [] : [renderStopped(stopped, width)]),
    ...added.map(describeAddedHost),
    ...unlisted.map(renderUnlistedHost),
  ];
  if (permille === null) return ["No calls to providers were seen in this period.", ...others].join("\n\n");
  const head = coverageHeadline(permille, metered, seen);
  const counts = countsOf(summary);
  if (counts.length === 0) return [`${head}\nNothing is missing.`, ...others].join("\n\n");
  const kinds = counts.map(({ kind, count }) => renderKind(kind, count, gaps, width));
  return [head, ...kinds, ...others].join("\n\n");
}

function renderStopped(stopped: readonly RunningTime[], width: number): string {
  return [
    `The meter was not running during ${formatQuantity(stopped.length, "period")}: it was stopped, or the machine was off or asleep.`,
    renderTable(
      [{ title: "from (UTC)" }, { title: "to (UTC)" }, { title: "length", align: "right" }],
      stopped.map(({ from, to }) => [
        formatMinute(from),
        formatMinute(to),
        formatQuantity(Math.round((to - from) / MINUTE_MS), "minute"),
      ]),
      width,
    ),
  ].join("\n");
}

/** Renders a host that is not metered, the command that adds it, and the lines that the command writes. */
function renderUnlistedHost(host: UnlistedHost): string {
  return [
    `${describeUnlistedHost(host)} Meter it:`,
    `  ${addProviderCommand(host)}`,
    "or add to config.toml:",
    ...providerLines(host).map((line) => `  ${line}`),
  ].join("\n");
}

function renderKind(kind: CoverageKind, count: number, gaps: readonly CoverageGap[], width: number): string {
  const advice = adviseOnCoverage(kind);
  const rows = gaps
    .filter((gap) => gap.kind === kind)
    .map(({ host, call, count: n, lastSeenAt }) => [
      host ?? "–",
      call?.method ?? "–",
      call?.path ?? "–",
      formatCount(n),
      `${formatMinute(lastSeenAt)} to ${formatMinute(lastSeenAt + SLOT_MS).slice(-5)}`,
    ]);
  const columns = [
    { title: "host" },
    { title: "method" },
    { title: "path", shrink: true },
    { title: "count", align: "right" as const },
    { title: "last seen in (UTC)" },
  ];
  return [
    `${formatCount(count)} ${describeCoverageCount(kind, count)} (${kind})`,
    ...(advice === null ? [] : [advice.meaning, advice.fix]),
    ...(advice?.command == null ? [] : [`  ${advice.command}`]),
    ...(rows.length === 0 ? [] : [renderTable(columns, rows, width)]),
  ].join("\n");
}

function formatMinute(at: number): string {
  return new Date(at).toISOString().slice(0, 16);
}
