import type { Recomputed } from "../recompute-costs.ts";
import { count } from "./count.ts";
import { fixedUsd } from "./report.ts";
import { renderTable } from "./table.ts";

/** What pricing again changed, for people. */
export function renderRecomputed(changes: Recomputed, dryRun: boolean, width: number): string {
  if (changes.changed === 0) return `All ${count(changes.requests)} requests cost what they did.`;
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
    `${count(changes.changed)} of ${count(changes.requests)} requests ${verb}: ` +
      `${fixedUsd(changes.cost_before_pico_usd)} before, ${fixedUsd(changes.cost_after_pico_usd)} after.`,
  ].join("\n");
}
