import { UsageError } from "clipanion";
import {
  addTotals,
  compareWitnesses,
  type WitnessComparison,
} from "../../../../core/metering/witnesses/compare-witnesses.ts";
import { createRedact } from "../../../../core/privacy/redaction/redact.ts";
import type { CalendarDate, Millis } from "../../../../core/values/time.ts";
import { dayOf } from "../../../../daemon/store/days.ts";
import { withStore } from "../../../home/open-store.ts";
import { readConfig } from "../../../home/read-config.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../../program/exit-codes.ts";
import { readPeriod } from "../../../program/period.ts";
import { openPriceBook } from "../../../records/price-book.ts";
import { describePruned } from "../../../records/pruned-note.ts";
import { describeReadProblem } from "../../../records/read-agent-file.ts";
import { printable } from "../../../render/printable.ts";
import { gatherEvidence } from "./gather-evidence.ts";
import { comparisonCsv, comparisonJson, renderComparison } from "./render-comparison.ts";

/** The options of `meter reconcile logs`. */
export interface ReconcileLogsOptions {
  readonly since: string | undefined;
  readonly session: string | undefined;
  readonly all: boolean;
  readonly utc: boolean;
  readonly json: boolean;
  readonly csv: boolean;
}

/** The period that is compared by default. Decision: a week, so that reading the logs takes seconds. */
const DEFAULT_SINCE = "7d";

/** Compares what the proxy, the agents' logs and the agents' reports say. Returns the exit code. */
export async function reconcileLogs(context: CommandContext, options: ReconcileLogsOptions): Promise<number> {
  if (options.json && options.csv) throw new UsageError("--json and --csv can't be combined.");
  const now = Date.now();
  const { since = DEFAULT_SINCE, utc } = options;
  const from = readPeriod({ since, from: undefined, to: undefined }, now, utc).from as Millis;
  const nameDay = (at: Millis): CalendarDate => dayOf(at, utc ? "utc" : "local").date;
  const firstDay = nameDay(from);
  const { config } = await readConfig(context.home, context.env);
  const { evidence, problems, prunedBefore } = await withStore(context.home, { readOnly: true }, (store) =>
    gatherEvidence(context, {
      ...{ store, from, to: now },
      prices: openPriceBook(config, store.rates),
      redact: createRedact(config.redactionRules),
      dayOf: nameDay,
    }),
  );
  const pruned = describePruned(prunedBefore, from);
  const whole = compareWitnesses(evidence);
  const comparison = selectDays(whole, firstDay, options.session);
  if (options.json) context.printJson(comparisonJson(comparison, { from, to: now, problems, prunedBefore }));
  else if (options.csv) context.stdout.write(comparisonCsv(comparison));
  else context.print(renderComparison(comparison, { from: firstDay, all: options.all }, context.width));
  if (pruned !== null && !options.json) context.notice(pruned);
  for (const problem of options.json ? [] : problems)
    context.notice(`Could not read ${problem.path}: ${describeReadProblem(problem)}.`);
  return comparison.unexplained === 0 ? exitCodes.ok : exitCodes.failed;
}

/** Leaves out days before the period, which were read only to join calls across its beginning, and other sessions. */
function selectDays(
  { days }: WitnessComparison,
  firstDay: CalendarDate,
  session: string | undefined,
): WitnessComparison {
  const selected = days.filter(
    (each) => each.day >= firstDay && (session === undefined || each.session?.startsWith(session) === true),
  );
  if (session !== undefined && selected.length === 0)
    throw new CommandFailure(
      `No session of this period begins with ${printable(session)}.\nList the sessions: meter sessions`,
      exitCodes.notFound,
    );
  return addTotals(selected);
}
