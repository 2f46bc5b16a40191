import type { OutboxVerdict } from "../../../../core/ports/outbox.ts";
import { formatCount } from "../../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../../core/values/text/format-quantity.ts";
import { labelled } from "../../../render/labelled.ts";
import { printable } from "../../../render/printable.ts";
import { renderTable } from "../../../render/table.ts";
import type { OutboxSummary } from "./summarise-outbox.ts";

const right = "right" as const;

/** `2026-11-21 14:00`, UTC. */
const minute = (iso: string) => iso.slice(0, 16).replace("T", " ");

/** Renders what has left the machine: the totals, the state of the log, the fields and the projects. */
export function renderOutbox(summary: OutboxSummary, verdict: OutboxVerdict, width: number): string {
  const lines = [
    summary.first_at === null || summary.last_at === null
      ? "According to the log, nothing has left this machine."
      : `${formatQuantity(summary.batches, "batch", "batches")} and ${formatQuantity(summary.bodies, "body", "bodies")} of ${formatQuantity(summary.requests, "request")} have left this machine,\n` +
        `from ${minute(summary.first_at)} to ${minute(summary.last_at)} UTC, to ${summary.origins.map(printable).join(", ")}.`,
    verdict.ok
      ? verdict.entries === 0
        ? "The log is empty."
        : `The log is intact: entries ${formatCount(verdict.firstSeq)} to ${formatCount(verdict.lastSeq)}.`
      : `The log was changed: ${verdict.file}, line ${verdict.line}: ${verdict.problem}.`,
  ];
  if (summary.first_at === null) return lines.join("\n");
  const when = [{ title: "first" }, { title: "last" }, { title: "times", align: right }];
  lines.push(
    "",
    renderTable(
      [{ title: "field" }, ...when, { title: "projects", shrink: true }],
      summary.fields.map((each) => [
        each.field,
        minute(each.first_at),
        minute(each.last_at),
        formatCount(each.sent),
        each.projects.join(", "),
      ]),
      width,
    ),
    "",
    renderTable(
      [{ title: "project", shrink: true }, ...when],
      summary.projects.map((each) => [
        each.project,
        minute(each.first_at),
        minute(each.last_at),
        formatCount(each.sent),
      ]),
      width,
    ),
    "",
    labelled(
      "",
      "The times count batches and bodies that contained the field. The exact data sent is in the outbox folder of the home.",
      0,
      width,
    ),
  );
  return lines.join("\n");
}
