import { formatCount } from "../../../core/values/text/format-count.ts";
import { fixedUsd } from "../../render/report.ts";
import { renderTable } from "../../render/table.ts";
import type { Recomputed } from "./recompute-costs.ts";

/** Renders what recomputing the costs changed. */
export function renderRecomputed(changes: Recomputed, dryRun: boolean, width: number): string {
  const { requests, changed, same_cost: sameCost } = changes;
  if (requests === 0) return "There are no requests.";
  const source =
    sameCost === 0
      ? []
      : [
          `${formatCount(sameCost)} of ${formatCount(requests)} ${sameCost === 1 ? "costs" : "cost"} the same, at rates from another source.`,
        ];
  if (changed === 0)
    return [
      requests === 1
        ? "The cost of the one request is unchanged."
        : `The costs of all ${formatCount(requests)} requests are unchanged.`,
      ...source,
    ].join("\n");
  const right = "right" as const;
  const table = renderTable(
    [
      { title: "provider", shrink: true },
      { title: "model", shrink: true },
      { title: "requests", align: right },
      { title: "before", align: right },
      { title: "after", align: right },
    ],
    changes.models.map((each) => [
      each.provider,
      each.model,
      formatCount(each.requests),
      fixedUsd(each.before_pico_usd),
      fixedUsd(each.after_pico_usd),
    ]),
    width,
  );
  const verb = dryRun ? "would change" : "changed";
  return [
    table,
    "",
    `${formatCount(changed)} of ${formatCount(requests)} requests ${verb}: ` +
      `${fixedUsd(changes.cost_before_pico_usd)} before, ${fixedUsd(changes.cost_after_pico_usd)} after.`,
    ...source,
  ].join("\n");
}
