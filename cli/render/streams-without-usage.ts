import { ESTIMATES_COMMAND, streamUsageFix } from "../../core/metering/estimate/stream-usage.ts";
import { formatCount } from "../../core/values/text/format-count.ts";
import type { StreamsWithoutUsage } from "../../daemon/store/port/reports.ts";
import { printable } from "./printable.ts";

/** Renders how many streams stated no usage, what to change in each program, and the command for estimates. */
export function streamsWithoutUsageLines(rows: readonly StreamsWithoutUsage[]): string[] {
  const total = rows.reduce((sum, { requests }) => sum + requests, 0);
  if (total === 0) return [];
  return [
    total === 1
      ? "1 stream states no tokens, because its request did not ask for them; its cost is not included."
      : `${formatCount(total)} streams state no tokens, because their requests did not ask for them; their cost is not included.`,
    ...rows.map(
      ({ client, requests }) =>
        `  ${client === null ? "unknown program" : printable(client)} (${formatCount(requests)}): ${streamUsageFix(client)}`,
    ),
    `Estimate such counts from the text: ${ESTIMATES_COMMAND}`,
  ];
}
