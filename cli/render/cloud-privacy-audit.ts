import type { OutboxVerdict } from "../../core/ports/outbox.ts";
import type { OutboxSummary } from "../summarise-outbox.ts";
import { count, counted } from "./count.ts";
import { labelled } from "./labelled.ts";
import { printable } from "./printable.ts";
import { renderTable } from "./table.ts";

const right = "right" as const;

/** `2026-11-21 14:00`, UTC. */
const minute = (iso: string) => iso.slice(0, 16).replace("T", " ");

/** What has left the machine, for people: the sum, the state of the log, fields, projects. */
export function renderOutbox(summary: OutboxSummary, verdict: OutboxVerdict, width: number): string {
  const lines = [
    summary.first_at === null || summary.last_at === null
      ? "Nothing has left this machine, as far as the log goes back."
      : `${counted(summary.batches, "batch", "batches")} and ${counted(summary.bodies, "body", "bodies")} of ${counted(summary.requests, "request")} have left this machine,\n` +
        `from ${minute(summary.first_at)} to ${minute(summary.last_at)} UTC, to ${summary.origins.map(printable).join(", ")}.`,
    verdict.ok
      ? verdict.entries === 0
        ? "The log is empty."
        : `The log is intact: entries ${count(verdict.firstSeq)} to ${count(verdict.lastSeq)}.`
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
        count(each.sent),
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
        count(each.sent),
      ]),
      width,
    ),
    "",
    labelled(
      "",
      "Times count batches and bodies that held the field. What was sent, word for word, is in the outbox folder of the home.",
      0,
      width,
    ),
  );
  return lines.join("\n");
}
