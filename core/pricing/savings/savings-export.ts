import { formatCsvLine } from "../../values/text/format-csv-field.ts";
import type { SavingsAnswer } from "../../wire/savings.ts";
import { formatPicoUsd } from "../money.ts";

const HEAD = [
  "kind",
  "provider",
  "model",
  "project",
  "requests",
  "spent_usd",
  "unknown_billing_usd",
  "saving_usd",
  "summary",
  "from",
  "to",
  "tz",
  "query",
];

/** Formats the findings as CSV (RFC 4180). Amounts are exact, in USD. Each line has the period, the zone and the query of its requests. */
export function savingsCsv({ findings, period, tz }: SavingsAnswer): string {
  const usd = (picoUsd: string) => formatPicoUsd(BigInt(picoUsd));
  const records = findings.map((finding) => [
    ...[finding.kind, finding.provider, finding.model, finding.project, finding.requests],
    usd(finding.cost_pico_usd),
    usd(finding.unknown_billing_pico_usd),
    finding.saving_pico_usd === null ? null : usd(finding.saving_pico_usd),
    ...[finding.summary, period.from, period.to, tz, finding.query],
  ]);
  return [HEAD, ...records].map(formatCsvLine).join("");
}
