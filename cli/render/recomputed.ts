import type { Recomputed } from "../recompute-costs.ts";
import { count } from "./count.ts";
import { fixedUsd } from "./report.ts";
import { renderTable } from "./table.ts";

/** What pricing again changed, for people. */
export function renderRecomputed(changes: Recomputed, dryRun: boolean, width: number): string {
  const { requests, changed, same_cost: sameCost } = changes;
  if (requests === 0) return "No requests.";
  const source =
    sameCost === 0
      ? []
      : [
          `${count(sameCost)} of ${count(requests)} ${sameCost === 1 ? "costs" : "cost"} the same, by rates of another source.`,
        ];
  if (changed === 0)
    return [
      requests === 1
        ? "The one request costs what it did."
        : `All ${count(requests)} requests cost what they did.`,
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
      count(each.requests),
      fixedUsd(each.before_pico_usd),
      fixedUsd(each.after_pico_usd),
    ]),
    width,
  );
  const verb = dryRun ? "would change" : "changed";
  return [
    table,
    "",
    `${count(changed)} of ${count(requests)} requests ${verb}: ` +
      `${fixedUsd(changes.cost_before_pico_usd)} before, ${fixedUsd(changes.cost_after_pico_usd)} after.`,
    ...source,
  ].join("\n");
}
