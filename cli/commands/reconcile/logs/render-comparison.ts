import type { SessionDay, WitnessComparison } from "../../../../core/metering/witnesses/compare-witnesses.ts";
import {
  type DifferenceReason,
  totalOf,
  WITNESSES,
  type Witness,
} from "../../../../core/metering/witnesses/evidence.ts";
import type { Difference, WitnessTotals } from "../../../../core/metering/witnesses/sums.ts";
import { formatPicoUsd } from "../../../../core/pricing/money.ts";
import { formatCount, UNKNOWN } from "../../../../core/values/text/format-count.ts";
import type { CalendarDate, Millis } from "../../../../core/values/time.ts";
import { prunedBeforeOf } from "../../../records/pruned-note.ts";
import { problemJson } from "../../../records/read-agent-file.ts";
import { renderCsvTable } from "../../../render/csv-table.ts";
import { forPrograms } from "../../../render/for-programs.ts";
import { fixedUsd } from "../../../render/report.ts";
import { renderTable } from "../../../render/table.ts";
import type { LogProblem } from "./gather-evidence.ts";

/** How a comparison is shown. */
interface Shown {
  readonly from: CalendarDate;
  readonly all: boolean;
}

/** The characters of an id in a table, as in `meter sessions`. */
const SHOWN_ID = 13;

const NAMES: Readonly<Record<Witness, string>> = { wire: "proxy", log: "log", client: "client" };

/** Why calls differ, after "4 calls not in the log: ". */
const REASONS: Readonly<Record<DifferenceReason, string>> = {
  helper_call: "helper calls",
  bypass: "bypassed the proxy",
  retry: "failed and were repeated",
  failed: "failed",
  aborted: "aborted",
  before_install: "before the first metered call",
  log_fault: "fault of the log",
  no_log: "the session has no log",
  cumulative_counter: "a counter of several days or calls",
  not_exported: "not exported",
  unknown: "unknown",
};

const MISSING: Readonly<Record<Witness, string>> = {
  wire: "not seen by the proxy",
  log: "not in the log",
  client: "not reported by the client",
};

const DIFFERS: Readonly<Record<Witness, string>> = {
  wire: "with other counts on the wire",
  log: "with other counts in the log",
  client: "with other counts of the client",
};

const callsText = (calls: number) => (calls === 1 ? "1 call" : `${formatCount(calls)} calls`);

/** Renders the summary, and the sessions that differ, with the reasons. */
export function renderComparison(comparison: WitnessComparison, { from, all }: Shown, width: number): string {
  const { days } = comparison;
  if (days.length === 0) return `No calls of agents were metered, logged or reported since ${from}.`;
  const differing = days.filter(({ differences }) => differences.length > 0);
  const shown = all ? days : differing;
  const blocks = [summarise(comparison)];
  if (shown.length > 0) blocks.push(renderDays(shown, width));
  if (!all && differing.length < days.length) blocks.push("Show what agrees too: meter reconcile logs --all");
  return blocks.join("\n\n");
}

function summarise({ days, calls, agreed, unexplained }: WitnessComparison): string {
  const count = (some: readonly SessionDay[]) => new Set(some.map(({ session }) => session)).size;
  const differing = count(days.filter(({ differences }) => differences.length > 0));
  const agreement = `${formatCount(agreed)} of ${callsText(calls)} ${agreed === 1 ? "agrees" : "agree"}.`;
  const sessions = count(days);
  const compared = sessions === 1 ? "1 session" : `${formatCount(sessions)} sessions`;
  if (differing === 0) return `${agreement} ${compared} compared, without a difference.`;
  const rest = unexplained === 0 ? "every difference has a known reason" : `${unexplainedText(unexplained)}`;
  return `${agreement} ${formatCount(differing)} of ${compared} ${differing === 1 ? "differs" : "differ"}, and ${rest}.`;
}

const unexplainedText = (count: number) =>
  count === 1 ? "1 difference has no known reason" : `${formatCount(count)} differences have no known reason`;

/** Renders each number of the three witnesses in one row. */
function renderDays(days: readonly SessionDay[], width: number): string {
  const columns = (name: string) =>
    WITNESSES.map((witness, index) => ({
      title: index === 0 ? `${name}: ${NAMES[witness]}` : NAMES[witness],
      align: "right" as const,
    }));
  const table = renderTable(
    [
      ...[{ title: "day" }, { title: "session" }, { title: "agent" }],
      ...[...columns("calls"), ...columns("tokens"), ...columns("cost")],
    ],
    days.map(({ day, session, agent, totals }) => {
      const cells = (read: (found: WitnessTotals) => string) =>
        WITNESSES.map((witness) => (totals[witness] === null ? UNKNOWN : read(totals[witness])));
      return [
        ...[day, session?.slice(0, SHOWN_ID) ?? UNKNOWN, agent ?? UNKNOWN],
        ...cells(({ calls }) => (calls === null ? "sum" : formatCount(calls))),
        ...cells((found) => formatCount(totalOf(found))),
        ...cells(({ costPicoUsd }) => (costPicoUsd === null ? UNKNOWN : fixedUsd(costPicoUsd))),
      ];
    }),
    width,
  );
  const [title, rule, ...rows] = table.split("\n");
  const lines = rows.flatMap((row, index) => [row, ...describeAll(days[index]?.differences ?? [])]);
  return [title, rule, ...lines].join("\n");
}

/** Describes the differences. Calls that only one witness saw, and two others did not for the same reason, are one line. */
function describeAll(differences: readonly Difference[]): string[] {
  const groups = Map.groupBy(differences, ({ kind, reason, seenBy, calls, tokens }) =>
    JSON.stringify(kind === "missing" ? [reason, seenBy, calls, tokens] : kind),
  );
  return [...groups.values()].flatMap((group) =>
    group[0]?.kind === "missing" ? [describeMissing(group)] : group.map(describeDiffering),
  );
}

function describeMissing(group: readonly Difference[]): string {
  const [{ calls, tokens, costPicoUsd, reason }] = group as [Difference];
  const where = group.map(({ witness }) => MISSING[witness]).join(" and ");
  const what = calls === null ? "A sum that was" : callsText(calls);
  const amounts = [
    ...(tokens === null ? [] : [`${formatCount(tokens)} tokens`]),
    ...(costPicoUsd === null ? [] : [fixedUsd(costPicoUsd)]),
  ];
  const amount = amounts.length === 0 ? "" : ` (${amounts.join(", ")})`;
  return `  ${what} ${where}${amount}: ${REASONS[reason]}`;
}

function describeDiffering({ witness, calls, tokens, reason }: Difference): string {
  const amount = `${formatCount(tokens)} tokens`;
  return calls === null
    ? `  The sum of the ${NAMES[witness]} differs by ${amount}: ${REASONS[reason]}`
    : `  ${callsText(calls)} ${DIFFERS[witness]} (${amount}): ${REASONS[reason]}`;
}

/** The comparison as `--json` prints it. */
export function comparisonJson(
  comparison: WitnessComparison,
  more: {
    readonly from: Millis;
    readonly to: Millis;
    readonly problems: readonly LogProblem[];
    readonly prunedBefore: Millis | null;
  },
): object {
  const { from, to, problems, prunedBefore } = more;
  const period = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  const pruned_before = prunedBeforeOf(prunedBefore);
  return {
    ...period,
    pruned_before,
    ...(forPrograms(comparison) as object),
    problems: problems.map(problemJson),
  };
}

const COLUMNS = [
  ...["day", "session_id", "agent", "witness", "kind", "reason", "seen_by", "calls", "tokens", "cost_usd"],
  ...WITNESSES.flatMap((witness) => [`${witness}_calls`, `${witness}_tokens`, `${witness}_cost_usd`]),
];

/** The comparison as CSV: a line for each difference, and one without a difference for a session and day that agrees. */
export function comparisonCsv({ days }: WitnessComparison): string {
  const lines = days.flatMap(({ day, session, agent, totals, differences }) => {
    const sums = WITNESSES.flatMap((witness) => {
      const found = totals[witness];
      if (found === null) return [null, null, null];
      return [
        found.calls,
        totalOf(found),
        found.costPicoUsd === null ? null : formatPicoUsd(found.costPicoUsd),
      ];
    });
    const rows = differences.map(({ witness, kind, reason, seenBy, calls, tokens, costPicoUsd }) => [
      ...[
        witness,
        kind,
        reason,
        seenBy.join(" "),
        calls,
        tokens,
        costPicoUsd === null ? null : formatPicoUsd(costPicoUsd),
      ],
    ]);
    const agreed = [null, null, null, null, null, null, null];
    return (rows.length === 0 ? [agreed] : rows).map((row) => [day, session, agent, ...row, ...sums]);
  });
  return renderCsvTable(COLUMNS, lines);
}
