import { withStore } from "../../home/open-store.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { type PeriodOptions, readPeriod } from "../../program/period.ts";
import { openPriceBook } from "../../records/price-book.ts";
import { recomputeCosts } from "./recompute-costs.ts";
import { renderRecomputed } from "./render-recomputed.ts";

/** The options of `meter recompute-costs`. */
export interface RecomputeStoredCostsOptions extends PeriodOptions {
  readonly dryRun: boolean;
  readonly utc: boolean;
  readonly json: boolean;
}

/** Recomputes the cost of stored requests with the current rates. */
export async function recomputeStoredCosts(
  context: CommandContext,
  options: RecomputeStoredCostsOptions,
): Promise<void> {
  const { home } = context;
  const period = readPeriod(options, Date.now(), options.utc);
  const { config } = await readConfig(home, context.env);
  await withStore(home, { readOnly: options.dryRun }, async (store) => {
    const { stderr } = context;
    const shown = "isTTY" in stderr && stderr.isTTY === true;
    const changes = await recomputeCosts(store.records, openPriceBook(config, store.rates), {
      period,
      dryRun: options.dryRun,
      now: Date.now,
      progress: (done, total) => {
        if (shown) stderr.write(`\r${Math.floor((done / Math.max(total, 1)) * 100)} % of ${total} requests`);
      },
    });
    if (shown) stderr.write("\r\u001b[K");
    if (options.json) context.printJson({ dry_run: options.dryRun, ...changes });
    else context.print(renderRecomputed(changes, options.dryRun, context.width));
  });
}
