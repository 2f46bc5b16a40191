import { UsageError } from "clipanion";
import {
  REPORT_COLUMNS,
  type ReportGrouping,
  type ReportQuery,
  TIME_UNITS,
} from "../../../daemon/store/port/reports.ts";

/** The values of `meter report --by`. */
export const groupings = [...REPORT_COLUMNS, ...TIME_UNITS, "total"] as const satisfies ReportGrouping[];

/** Reads `--by`: one grouping, or two with a comma, of which at most one is a time. */
export function readGroupings(text: string): Pick<ReportQuery, "by" | "and"> {
  const words = text.split(",");
  const found = words.map((word) => groupings.find((each) => each === word));
  const [by, and] = found;
  if (by === undefined || words.length > 2 || found.includes(undefined))
    throw new UsageError(
      `Invalid value for --by: ${text}. Expected one or two, with a comma, of: ${groupings.join(", ")}.`,
    );
  if (and === undefined) return { by };
  const times = found.filter((each) => TIME_UNITS.some((unit) => unit === each));
  if (by === "total" || and === "total" || by === and || times.length === 2)
    throw new UsageError(`--by ${text} can't be combined.`);
  return { by, and };
}
