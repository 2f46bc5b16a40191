import { findUserHome } from "../../../adapters/files/meter-home.ts";
import { formatOrigins, originsByProject } from "../../../core/metering/attribution/list-origins.ts";
import { NO_COST, shownParts, splitJson } from "../../../core/pricing/cost-split.ts";
import { formatCount } from "../../../core/values/text/format-count.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { readOrigins } from "../../records/read-origins.ts";
import { fixedUsd } from "../../render/report.ts";
import { renderTable } from "../../render/table.ts";

/** The options of `meter project list`. */
export interface ListProjectsOptions {
  readonly json: boolean;
}

/** Lists projects with their requests, costs and origins. */
export async function listProjects(context: CommandContext, options: ListProjectsOptions): Promise<void> {
  await withStore(context.home, { readOnly: true }, async (store) => {
    const rows = await store.reports.read({ by: "project", from: null, to: null });
    const set = new Map(store.settings.listProjects().map((each) => [each.project, each.bodyCapture]));
    const origins = originsByProject(readOrigins(store.origins));
    const used = rows.map(({ key, requests, unpriced, costPicoUsd, split }) => ({
      project: key ?? "",
      requests,
      unpriced,
      cost_pico_usd: costPicoUsd,
      split,
      body_capture: set.get(key ?? "") ?? null,
    }));
    const known = new Set(used.map(({ project }) => project));
    const unused = [...set]
      .filter(([project]) => !known.has(project))
      .map(([project, body_capture]) => ({
        ...{ project, requests: 0, unpriced: 0, cost_pico_usd: 0n, split: NO_COST },
        body_capture,
      }));
    const all = [...used, ...unused];
    if (options.json)
      return context.printJson(
        all.map(({ split, body_capture, ...sums }) => ({
          ...{ ...sums, ...splitJson(split), body_capture },
          origins: origins.get(sums.project) ?? [],
        })),
      );
    if (all.length === 0) return context.print("No projects yet.");
    const right = "right" as const;
    const parts = shownParts((part) => rows.some((row) => row.split[part] > 0n));
    const hasOrigins = all.some(({ project }) => origins.has(project));
    context.printAsIs(
      renderTable(
        [
          { title: "project", shrink: true },
          { title: "requests", align: right },
          ...parts.map(({ label }) => ({ title: label.toLowerCase(), align: right })),
          { title: "unpriced", align: right },
          { title: "bodies" },
          ...(hasOrigins ? [{ title: "origin", shrink: true }] : []),
        ],
        all.map(({ project, requests, unpriced, body_capture, split }) => [
          project,
          formatCount(requests),
          ...parts.map(({ part }) =>
            requests > 0 && requests === unpriced ? "unpriced" : fixedUsd(split[part]),
          ),
          formatCount(unpriced),
          body_capture === true ? "captured" : "–",
          formatOrigins(origins.get(project) ?? [], findUserHome()),
        ]),
        context.width,
      ),
    );
  });
}
