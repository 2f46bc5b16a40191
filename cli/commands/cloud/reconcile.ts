import { Command, Option, UsageError } from "clipanion";
import { ConnectedCommand } from "../../connected-command.ts";
import { CommandFailure, exitCodes } from "../../exit-codes.ts";

/** Days that are compared unless told otherwise, today included. */
const DEFAULT_DAYS = 30;
const DAY_MS = 86_400_000;

export class CloudReconcileCommand extends ConnectedCommand {
  static override paths = [["cloud", "reconcile"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "hold what was sent against what the cloud has",
    details: `
      Requests, tokens and stated costs must agree exactly; the cloud's own costs to less than half a percent. Days are
      UTC's. Ends with 1 when something is to be looked into.
    `,
    examples: [
      ["The last 30 days", "meter cloud reconcile"],
      ["One month", "meter cloud reconcile --from 2026-11-01 --to 2026-11-30"],
    ],
  });

  from = Option.String("--from", { description: "the first day (UTC); 30 days back if left out" });
  to = Option.String("--to", { description: "the last day (UTC); today if left out" });
  json = Option.Boolean("--json", false, {
    description: "for programs; money in pico-USD as decimal strings",
  });

  protected override async perform(): Promise<number> {
    const { forPrograms } = await import("../../render/for-programs.ts");
    const { renderReconciliation } = await import("../../render/cloud-reconciliation.ts");
    const dateOf = (at: number) => new Date(at).toISOString().slice(0, 10);
    const to = readDate("--to", this.to) ?? dateOf(Date.now());
    const from = readDate("--from", this.from) ?? dateOf(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS);
    if (from > to) throw new UsageError("the period ends before it begins");
    return await this.withCloud(async (cloud) => {
      const result = await cloud.reconcile(from, to);
      if (result.kind === "not_connected")
        throw new CommandFailure("this machine is not connected: meter cloud connect");
      if (result.kind === "failed") throw new CommandFailure(`the cloud could not be asked: ${result.error}`);
      const { reconciliation } = result;
      if (this.json)
        this.printJson({ from_date: from, to_date: to, ...(forPrograms(reconciliation) as object) });
      else this.print(renderReconciliation(from, to, reconciliation, this.width));
      const isFine = reconciliation.verdict !== "investigate" && reconciliation.isDeliveryExact;
      return isFine ? exitCodes.ok : exitCodes.failed;
    });
  }
}

function readDate(option: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text)
    throw new UsageError(`${option} takes a date such as 2026-11-21: ${text}`);
  return text;
}
