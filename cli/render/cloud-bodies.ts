import { count } from "./count.ts";
import { renderTable } from "./table.ts";

/** Captured bodies by day; as `--json` prints it. */
export interface BodyDaysStatus {
  days: number;
  rows: readonly { date: string; uploaded: number; pending: number }[];
  uploaded: number;
  pending: number;
}

/** The days that have any, and their sum. */
export function renderBodyDays({ days, rows, uploaded, pending }: BodyDaysStatus, width: number): string {
  const span = days === 1 ? "today" : `in the last ${count(days)} days`;
  if (rows.length === 0) return `No bodies were captured ${span}.`;
  const right = "right" as const;
  return renderTable(
    [{ title: "day" }, { title: "uploaded", align: right }, { title: "pending", align: right }],
    [
      ...rows.map((row) => [row.date, count(row.uploaded), count(row.pending)]),
      ["total", count(uploaded), count(pending)],
    ],
    width,
  );
}
