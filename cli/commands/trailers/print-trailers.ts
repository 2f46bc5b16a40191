import { sumRows } from "../../../daemon/store/report-rows.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import type { GitOptions } from "../../program/git-filters.ts";
import { findWorkingDirectory } from "../../program/working-directory.ts";
import { selectByGit } from "../../records/git-selection.ts";
import { renderTrailers } from "../../render/git-cost.ts";

/** Prints the cost as Git trailers. */
export async function printTrailers(context: CommandContext, options: GitOptions): Promise<void> {
  const { home, env } = context;
  const { filters } = await selectByGit(options, { cwd: findWorkingDirectory(), env }, "next commit");
  const rows = await withStore(home, { readOnly: true }, (store) =>
    store.reports.read({ from: null, to: null, ...filters, by: "total" }),
  );
  const lines = renderTrailers(sumRows(rows));
  if (lines.length > 0) context.printAsIs(lines.join("\n"));
}
