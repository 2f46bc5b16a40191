import { formatCount } from "../../../../core/values/text/format-count.ts";
import { renderTable } from "../../../render/table.ts";

/** Captured bodies by day; as `--json` prints it. */
export interface BodyDaysStatus {
  days: number;
  rows: readonly { date: string; uploaded: number; pending: number; held_back: number }[];
  uploaded: number;
  pending: number;
  held_back: number;
}

/** Renders the days with captured bodies, and their total. */
export function renderBodyDays(
  { days, rows, uploaded, pending, held_back }: BodyDaysStatus,
  width: number,
): string {
  const span = days === 1 ? "today" : `in the last ${formatCount(days)} days`;
  if (rows.length === 0) return `No bodies were captured ${span}.`;
  const right = "right" as const;
  const titles = [{ title: "day" }, { title: "uploaded", align: right }, { title: "pending", align: right }];
  const lines = [
    ...rows.map((row) => [
      row.date,
      formatCount(row.uploaded),
      formatCount(row.pending),
      formatCount(row.held_back),
    ]),
    ["total", formatCount(uploaded), formatCount(pending), formatCount(held_back)],
  ];
  // Omit the column if it is all zeros.
  if (held_back === 0)
    return renderTable(
      titles,
      lines.map((line) => line.slice(0, 3)),
      width,
    );
  return renderTable([...titles, { title: "stays here", align: right }], lines, width);
}
