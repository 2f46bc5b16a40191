import { formatQuantity } from "../../../../core/values/text/format-quantity.ts";
import type { QuarantineEntry } from "../../../../daemon/store/port/delivery.ts";
import { renderTable } from "../../../render/table.ts";

/** Renders the quarantine, oldest entry first. */
export function renderQuarantine(entries: readonly QuarantineEntry[], width: number): string {
  if (entries.length === 0) return "Nothing is in quarantine.";
  const table = renderTable(
    [
      { title: "since (UTC)" },
      { title: "request" },
      { title: "what" },
      { title: "status", align: "right" },
      { title: "reason", shrink: true },
    ],
    entries.map((entry) => [
      new Date(entry.quarantinedAt).toISOString().slice(0, 16).replace("T", " "),
      entry.requestId,
      entry.direction ?? entry.kind,
      entry.httpStatus === null ? "–" : String(entry.httpStatus),
      entry.reason,
    ]),
    width,
  );
  const records = formatQuantity(entries.length, "record is", "records are");
  return (
    `${table}\n\n${records} in quarantine.\n` +
    "Send one again: meter cloud quarantine retry <id>\nSend all again: meter cloud quarantine retry --all"
  );
}
