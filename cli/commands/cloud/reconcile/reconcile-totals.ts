import { UsageError } from "clipanion";
import { withCloud } from "../../../cloud/cloud-control.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { exitCodes } from "../../../program/exit-codes.ts";
import { cloudUnreachable, notConnected } from "../../../program/failures.ts";
import { forPrograms } from "../../../render/for-programs.ts";
import { renderReconciliation } from "./render-reconciliation.ts";

/** Days compared by default, including today. */
const DEFAULT_DAYS = 30;

const DAY_MS = 86_400_000;

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
  const dateOf = (at: number) => new Date(at).toISOString().slice(0, 10);
  const to = readDate("--to", options.to) ?? dateOf(Date.now());
  const from = readDate("--from", options.from) ?? dateOf(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS);
  if (from > to) throw new UsageError("The period ends before it begins.");
  return await withCloud(context, async (cloud) => {
    const result = await cloud.reconcile(from, to);
    if (result.kind === "not_connected") throw notConnected();
    if (result.kind === "failed") throw cloudUnreachable(result.error);
    const { reconciliation } = result;
    if (options.json)
      context.printJson({ from_date: from, to_date: to, ...(forPrograms(reconciliation) as object) });
    else context.print(renderReconciliation(from, to, reconciliation, context.width));
    const isFine = reconciliation.verdict !== "investigate" && reconciliation.isDeliveryExact;
    return isFine ? exitCodes.ok : exitCodes.failed;
  });
}

function readDate(option: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text)
    throw new UsageError(`Invalid value for ${option}: ${text}. Expected: a date such as 2026-11-21.`);
  return text;
}
