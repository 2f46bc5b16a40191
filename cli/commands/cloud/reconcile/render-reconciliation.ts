import type {
  DayVariance,
  DeliveredTotals,
  Reconciliation,
  VarianceCause,
} from "../../../../core/pricing/reconcile/reconcile.ts";
import type { VarianceVerdict } from "../../../../core/pricing/reconcile/variance.ts";
import { formatCount } from "../../../../core/values/text/format-count.ts";
import { fixedUsd } from "../../../render/report.ts";
import { renderTable } from "../../../render/table.ts";

const right = "right" as const;

/** Formats a difference in money with its sign. */
function difference(picoUsd: bigint): string {
  if (picoUsd === 0n) return "0";
  return picoUsd < 0n ? `-${fixedUsd(-picoUsd)}` : `+${fixedUsd(picoUsd)}`;
}

const verdictLabels: Readonly<Record<VarianceVerdict, string>> = {
  good: "good",
  tolerance: "tolerated",
  investigate: "investigate",
};

const causeLabels: Readonly<Record<VarianceCause["kind"], string>> = {
  pending: "pending",
  quarantined: "in quarantine",
  local_only: "kept on this machine",
  missing_in_cloud: "missing in the cloud",
  missing_here: "missing here",
  contents_differ: "with different contents",
  changed_since_sent: "recomputed or reassigned after they were sent",
  unpriced_here: "unpriced here",
  priced_differently: "priced with other rates",
};

const countFields: readonly [title: string, field: Exclude<keyof DeliveredTotals, "reportedCostPicoUsd">][] =
  [
    ["requests", "requests"],
    ["input, fresh", "promptTokens"],
    ["input, cache read", "cacheReadTokens"],
    ["input, cache write", "cacheWriteTokens"],
    ["output, visible", "completionTokens"],
    ["output, thinking", "thinkingTokens"],
  ];

/** Renders both totals, the verdict, and the days that differ with their causes and models. */
export function renderReconciliation(
  from: string,
  to: string,
  { local, cloud, ...rest }: Reconciliation,
  width: number,
): string {
  const rows = countFields.map(([title, field]) => [
    title,
    formatCount(local[field]),
    formatCount(cloud[field]),
    formatCount(cloud[field] - local[field]),
  ]);
  rows.push([
    "cost as sent",
    fixedUsd(local.reportedCostPicoUsd),
    fixedUsd(cloud.reportedCostPicoUsd),
    difference(cloud.reportedCostPicoUsd - local.reportedCostPicoUsd),
  ]);
  rows.push(["cost by the cloud", "", fixedUsd(cloud.costPicoUsd), difference(rest.differencePicoUsd)]);
  const lines = [
    `${from} to ${to} (UTC), this machine`,
    "",
    renderTable(
      [
        { title: "" },
        { title: "here", align: right },
        { title: "cloud", align: right },
        { title: "difference", align: right },
      ],
      rows,
      width,
    ),
    "",
    describeVerdict(rest),
  ];
  if (rest.days.length > 0) lines.push("", renderDays(rest.days, width));
  return lines.join("\n");
}

/** Describes the verdict with the variance in percent. Source: docs/specification.md#command-line: zero is good, under 0.5 % tolerated. */
function describeVerdict({
  verdict,
  isDeliveryExact,
  differencePicoUsd,
  variancePercent,
}: Pick<Reconciliation, "verdict" | "isDeliveryExact" | "differencePicoUsd" | "variancePercent">): string {
  const percent =
    variancePercent === null ? "not defined, since the cost here is zero" : `${variancePercent} %`;
  const variance = `Variance of the cost: ${percent} (${difference(differencePicoUsd)}).`;
  if (!isDeliveryExact) return `INVESTIGATE: the totals sent and the cloud's totals differ. ${variance}`;
  switch (verdict) {
    case "good":
      return "GOOD: zero variance (0 %).";
    case "tolerance":
      return `TOLERATED: all records arrived, and the costs differ by less than 0.5 %. ${variance}`;
    case "investigate":
      return `INVESTIGATE: all records arrived, but the costs differ by 0.5 % or more. ${variance}`;
  }
}

function renderDays(days: readonly DayVariance[], width: number): string {
  const rows = days.flatMap((day) => [
    [
      day.date,
      difference(day.differencePicoUsd),
      day.differingFields.length > 0 ? "investigate" : verdictLabels[day.verdict],
      day.causes.map(({ kind, requests }) => `${formatCount(requests)} ${causeLabels[kind]}`).join(", "),
    ],
    ...day.models.map((model) => [
      `  ${model.provider} ${model.model}`,
      model.differencePicoUsd === 0n ? "" : difference(model.differencePicoUsd),
      "",
      model.differingFields.length === 0 ? "" : `differs: ${model.differingFields.join(", ")}`,
    ]),
  ]);
  return renderTable(
    [
      { title: "day, model", shrink: true },
      { title: "difference", align: right },
      { title: "verdict" },
      { title: "requests", shrink: true },
    ],
    rows,
    width,
  );
}
