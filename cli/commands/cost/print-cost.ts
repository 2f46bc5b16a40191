import { describeSplit, splitJson } from "../../../core/pricing/cost-split.ts";
import { formatFixedUsd } from "../../../core/pricing/money.ts";
import { sumRows } from "../../../daemon/store/report-rows.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import type { GitOptions } from "../../program/git-filters.ts";
import { type PeriodOptions, readPeriod } from "../../program/period.ts";
import { findWorkingDirectory } from "../../program/working-directory.ts";
import { selectByGit } from "../../records/git-selection.ts";
import { caveats, countRequests } from "../../render/git-cost.ts";

/** The options of `meter cost`. */
export interface CostOptions extends GitOptions, PeriodOptions {
  readonly utc: boolean;
  readonly json: boolean;
}

/** Shows what a branch, a commit or a pull request cost. */
export async function printCost(context: CommandContext, options: CostOptions): Promise<void> {
  const { home, env } = context;
  const { filters, text } = await selectByGit(options, { cwd: findWorkingDirectory(), env }, "branch");
  const period = readPeriod(options, Date.now(), options.utc);
  const { total, fromLogs } = await withStore(home, { readOnly: true }, async ({ reports }) => ({
    total: sumRows(await reports.read({ ...period, ...filters, by: "total" })),
    fromLogs: await reports.readFromLogs({ ...period, ...filters }),
  }));
  if (options.json)
    return context.printJson({
      branch: filters.branch ?? null,
      commit: filters.commit ?? null,
      pull_request: filters.pullRequest ?? null,
      git_remote: filters.remote ?? null,
      requests: total.requests,
      unpriced: total.unpriced,
      incomplete: total.incomplete,
      cost_pico_usd: total.costPicoUsd,
      ...splitJson(total.split),
      from_logs: { requests: fromLogs.requests, cost_pico_usd: fromLogs.costPicoUsd },
    });
  if (total.requests === 0) return context.print(`No requests of ${text}.`);
  const cost = describeSplit(total.split, (picoUsd) => formatFixedUsd(picoUsd, 4));
  context.print([`${cost}: ${text}, ${countRequests(total)}.`, ...caveats(total, fromLogs)].join("\n"));
}
