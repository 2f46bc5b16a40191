import { UsageError } from "clipanion";
import { DAY_MS } from "../../../../core/values/time.ts";
import { formatCalendarDate } from "../../../../core/wire/instant.ts";
import { withCloud } from "../../../cloud/cloud-control.ts";
import { withStore } from "../../../home/open-store.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { exitCodes } from "../../../program/exit-codes.ts";
import { cloudUnreachable, notConnected } from "../../../program/failures.ts";
import { readDateOption } from "../../../program/period.ts";
import { describePruned, prunedBeforeOf } from "../../../records/pruned-note.ts";
import { forPrograms } from "../../../render/for-programs.ts";
import { renderReconciliation } from "./render-reconciliation.ts";

/** Days compared by default, including today. */
const DEFAULT_DAYS = 30;

/** The options of `meter cloud reconcile`. */
export interface ReconcileTotalsOptions {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly json: boolean;
}

/** Compares the totals sent from here with the cloud's. */
export async function reconcileTotals(
  context: CommandContext,
  options: ReconcileTotalsOptions,
): Promise<number> {
  const to = readDateOption("--to", options.to) ?? formatCalendarDate(Date.now());
  const from =
    readDateOption("--from", options.from) ??
    formatCalendarDate(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS);
  if (from > to) throw new UsageError("The period ends before it begins.");
  return await withCloud(context, async (cloud) => {
    const result = await cloud.reconcile(from, to);
    if (result.kind === "not_connected") throw notConnected();
    if (result.kind === "failed") throw cloudUnreachable(result.error);
    const { reconciliation } = result;
    const prunedBefore = await withStore(context.home, { readOnly: true }, async (store) =>
      store.logs.prunedBefore(),
    );
    const pruned = describePruned(prunedBefore, Date.parse(from));
    if (options.json)
      context.printJson({
        from_date: from,
        to_date: to,
        pruned_before: prunedBeforeOf(prunedBefore),
        ...(forPrograms(reconciliation) as object),
      });
    else {
      context.print(renderReconciliation(from, to, reconciliation, context.width));
      if (pruned !== null) context.notice(pruned);
    }
    const isFine = reconciliation.verdict !== "investigate" && reconciliation.isDeliveryExact;
    return isFine ? exitCodes.ok : exitCodes.failed;
  });
}
