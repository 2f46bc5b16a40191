import type { ReportGrouping } from "../../../daemon/store/port/reports.ts";

/** The values of `meter report --by`. */
export const groupings = [
  "project",
  "model",
  "provider",
  "day",
  "client",
  "billing",
  "total",
] as const satisfies ReportGrouping[];
