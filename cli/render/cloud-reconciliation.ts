import type {
  DayVariance,
  DeliveredTotals,
  Reconciliation,
  VarianceCause,
  VarianceVerdict,
} from "../../core/reconcile/mod.ts";
import { count } from "./count.ts";
import { fixedUsd } from "./report.ts";
import { renderTable } from "./table.ts";

const right = "right" as const;

/** A difference in money, with its sign. */
function difference(picoUsd: bigint): string {
  if (picoUsd === 0n) return "0";
  return picoUsd < 0n ? `-${fixedUsd(-picoUsd)}` : `+${fixedUsd(picoUsd)}`;
}

const verdictWords: Readonly<Record<VarianceVerdict, string>> = {
  good: "good",
  tolerance: "tolerated",
  investigate: "investigate",
};

const causeWords: Readonly<Record<VarianceCause["kind"], string>> = {
  pending: "waiting",
  quarantined: "in quarantine",
  local_only: "of local-only projects",
  missing_in_cloud: "missing in the cloud",
  missing_here: "missing here",
  contents_differ: "with other contents",
  changed_since_sent: "recomputed or reassigned since they were sent",
  unpriced_here: "without a price here",
  priced_differently: "priced by other rates",
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

/** Both sides, the verdict, and the days that differ with their causes and models. */
export function renderReconciliation(
  from: string,
  to: string,
  { local, cloud, ...rest }: Reconciliation,
  width: number,
): string {
  const rows = countFields.map(([title, field]) => [
    title,
    count(local[field]),
    count(cloud[field]),
    count(cloud[field] - local[field]),
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
    verdictInWords(rest),
  ];
  if (rest.days.length > 0) lines.push("", renderDays(rest.days, width));
  return lines.join("\n");
}

function verdictInWords({
  verdict,
  isDeliveryExact,
  differencePicoUsd,
}: Pick<Reconciliation, "verdict" | "isDeliveryExact" | "differencePicoUsd">): string {
  if (!isDeliveryExact) return "INVESTIGATE: what was sent and what the cloud has do not agree.";
  switch (verdict) {
    case "good":
      return "GOOD: zero variance.";
    case "tolerance":
      return `TOLERATED: delivery is exact; the costs differ by ${difference(differencePicoUsd)}, under 0.5 %.`;
    case "investigate":
      return `INVESTIGATE: delivery is exact, but the costs differ by ${difference(differencePicoUsd)}, 0.5 % or more.`;
  }
}

function renderDays(days: readonly DayVariance[], width: number): string {
  const rows = days.flatMap((day) => [
    [
      day.date,
      difference(day.differencePicoUsd),
      day.differingFields.length > 0 ? "investigate" : verdictWords[day.verdict],
      day.causes.map(({ kind, requests }) => `${count(requests)} ${causeWords[kind]}`).join(", "),
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
