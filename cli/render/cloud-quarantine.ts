import type { QuarantineEntry } from "../../daemon/store/mod.ts";
import { count } from "./count.ts";
import { renderTable } from "./table.ts";

/** What the cloud refused for good, oldest first. */
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
  const noun = entries.length === 1 ? "record is" : "records are";
  return `${table}\n\n${count(entries.length)} ${noun} kept back. meter cloud quarantine retry <id> or --all sends again.`;
}
