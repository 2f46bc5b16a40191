import { Command, Option } from "clipanion";
import { MeterCommand } from "../meter-command.ts";

export class RecomputeCostsCommand extends MeterCommand {
  static override paths = [["recompute-costs"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "price stored requests again with today's rates",
    details: `
      Nothing else changes history: neither an update nor a new price. Each request is priced by the rate of its own
      date. Costs that providers stated stay. --dry-run says what would change and changes nothing.
    `,
    examples: [
      ["See what would change", "meter recompute-costs --dry-run"],
      ["Do it for this month", "meter recompute-costs --from 2026-11-01"],
    ],
  });

  dryRun = Option.Boolean("--dry-run", false, { description: "change nothing" });
  since = Option.String("--since", {
    description: "a length of time (24h, 7d), today, yesterday, or a date",
  });
  from = Option.String("--from", { description: "the first day, or an instant (ISO 8601)" });
  to = Option.String("--to", { description: "the last day, or the instant before which it ends" });
  utc = Option.Boolean("--utc", false, { description: "days in UTC" });
  json = Option.Boolean("--json", false, {
    description: "for programs; money in pico-USD as decimal strings",
  });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { readPeriod } = await import("../period.ts");
    const { withStore } = await import("../open-store.ts");
    const { readConfig } = await import("../read-config.ts");
    const { openPriceBook } = await import("../price-book.ts");
    const { recomputeCosts } = await import("../recompute-costs.ts");
    const { renderRecomputed } = await import("../render/recomputed.ts");
    const home = meterHome(this.context.env);
    const period = readPeriod(this, Date.now(), this.utc);
    const { operator } = (await readConfig(home, this.context.env)).config.pricing;
    await withStore(home, { readOnly: this.dryRun }, async (store) => {
      const { stderr } = this.context;
      const shown = "isTTY" in stderr && stderr.isTTY === true;
      const changes = await recomputeCosts(store, openPriceBook(operator, store), {
        period,
        dryRun: this.dryRun,
        now: Date.now,
        progress: (done, total) => {
          if (shown)
            stderr.write(`\r${Math.floor((done / Math.max(total, 1)) * 100)} % of ${total} requests`);
        },
      });
      if (shown) stderr.write("\r\u001b[K");
      if (this.json) this.printJson({ dry_run: this.dryRun, ...changes });
      else this.print(renderRecomputed(changes, this.dryRun, this.width));
    });
  }
}
