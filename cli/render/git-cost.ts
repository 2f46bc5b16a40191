import { COST_PARTS, type CostPart, describeSplit, shownParts } from "../../core/pricing/cost-split.ts";
import { formatFixedUsd } from "../../core/pricing/money.ts";
import { formatCount } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { countPart, formatRowCost } from "../../daemon/store/format-row-cost.ts";
import type { ReportRow, SourceShare } from "../../daemon/store/port/reports.ts";
import { totalInput, totalOutput } from "../../daemon/store/token-sums.ts";
import { logNotes } from "./report.ts";

const CENTS = 2;
const usd = (picoUsd: bigint) => formatFixedUsd(picoUsd, CENTS);

/** Returns the number of a row's requests. */
export const countRequests = ({ requests }: ReportRow): string => formatQuantity(requests, "request");

/** Says what the sums lack, and what of them was imported from logs. Empty if nothing. */
export function caveats({ requests, unpriced, incomplete }: ReportRow, fromLogs: SourceShare): string[] {
  const lines: string[] = [];
  if (unpriced > 0)
    lines.push(`${formatQuantity(unpriced, "request")} without a known price; the cost is not included.`);
  if (incomplete > 0) lines.push(`${formatQuantity(incomplete, "request")} with incomplete token counts.`);
  return [...lines, ...logNotes(fromLogs, { requests })];
}

/** The tokens of the trailers for each part of the cost; git-interpret-trailers(1). */
const TRAILERS: Readonly<Record<CostPart["part"], string>> = {
  spentPicoUsd: "LLM-Cost",
  planUsagePicoUsd: "LLM-Plan-Usage",
  unknownBillingPicoUsd: "LLM-Unknown-Billing",
};

/** Renders the Git trailers for a sum: one for each part that has calls. Empty without requests. */
export function renderTrailers(total: ReportRow): string[] {
  const notes = total.unpriced === 0 ? "" : `, ${formatQuantity(total.unpriced, "request")} unpriced`;
  return COST_PARTS.filter(({ part }) => countPart(total, part) > 0).map(({ part }) => {
    const prices = part === "planUsagePicoUsd" ? " at API prices" : "";
    return `${TRAILERS[part]}: ${usd(total.split[part])}${prices} (meter${notes})`;
  });
}

/** Renders the sums by model as Markdown, for a comment on a pull request. */
export function renderPullRequestComment(
  what: string,
  rows: readonly ReportRow[],
  total: ReportRow,
  fromLogs: SourceShare,
): string {
  if (total.requests === 0) return `### LLM cost\n\nNo metered requests of ${escapeMarkdown(what)}.`;
  const parts = shownParts((part) => countPart(total, part) > 0);
  const cells = (row: ReportRow) => [
    formatCount(row.requests),
    ...[totalInput, totalOutput].map((sum) => formatCount(sum(row.tokens))),
    ...parts.map(({ part }) => formatRowCost(row, part, usd)),
  ];
  const line = (values: readonly string[]) => `| ${values.join(" | ")} |`;
  return [
    "### LLM cost",
    "",
    `**${describeSplit(total.split, usd)}**: ${escapeMarkdown(what)}, ${countRequests(total)}.`,
    "",
    line(["model", "requests", "input", "output", ...parts.map(({ label }) => label.toLowerCase())]),
    line(["---", ...Array.from({ length: parts.length + 3 }, () => "---:")]),
    ...rows.map((row) => line([escapeMarkdown(row.key ?? "unknown"), ...cells(row)])),
    ...caveats(total, fromLogs).flatMap((caveat) => ["", caveat]),
    "",
    "Input includes cache tokens, and output includes thinking tokens.",
  ].join("\n");
}

/** Escapes the characters that have a meaning in a Markdown table, and ends lines. */
const escapeMarkdown = (text: string) =>
  text.replaceAll(/[\\`*_{}[\]<>|~#@]/g, (character) => `\\${character}`).replaceAll(/\s+/g, " ");
