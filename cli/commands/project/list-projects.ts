import { formatCount } from "../../../core/values/text/format-count.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { fixedUsd } from "../../render/report.ts";
import { renderTable } from "../../render/table.ts";

/** The options of `meter project list`. */
export interface ListProjectsOptions {
  readonly json: boolean;
}

/** Lists projects with their requests and costs. */
export async function listProjects(context: CommandContext, options: ListProjectsOptions): Promise<void> {
  await withStore(context.home, { readOnly: true }, async (store) => {
    const rows = await store.reports.read({ by: "project", from: null, to: null });
    const set = new Map(store.settings.listProjects().map((each) => [each.project, each.bodyCapture]));
    const used = rows.map(({ key, requests, unpriced, costPicoUsd }) => ({
      project: key ?? "",
      requests,
      unpriced,
      cost_pico_usd: costPicoUsd,
      body_capture: set.get(key ?? "") ?? null,
    }));
    const known = new Set(used.map(({ project }) => project));
    const unused = [...set]
      .filter(([project]) => !known.has(project))
      .map(([project, body_capture]) => ({
        ...{ project, requests: 0, unpriced: 0, cost_pico_usd: 0n },
        body_capture,
      }));
    const all = [...used, ...unused];
    if (options.json) return context.printJson(all);
    if (all.length === 0) return context.print("No projects yet.");
    const right = "right" as const;
    context.print(
      renderTable(
        [
          { title: "project", shrink: true },
          { title: "requests", align: right },
          { title: "cost", align: right },
          { title: "unpriced", align: right },
          { title: "bodies" },
        ],
        all.map(({ project, requests, unpriced, cost_pico_usd, body_capture }) => [
          project,
          formatCount(requests),
          requests > 0 && requests === unpriced ? "unpriced" : fixedUsd(cost_pico_usd),
          formatCount(unpriced),
          body_capture === true ? "captured" : "–",
        ]),
        context.width,
      ),
    );
  });
}
