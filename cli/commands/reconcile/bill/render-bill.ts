import { formatPicoUsd } from "../../../../core/pricing/money.ts";
import { type BillComparison, isAgreeing } from "../../../../core/pricing/statements/compare-bill.ts";
import type { BillReason, ComparedRow } from "../../../../core/pricing/statements/explain-bill.ts";
import { normaliseSlug } from "../../../../core/values/slug/normalise-slug.ts";
import { formatCount } from "../../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../../core/values/text/format-quantity.ts";
import type { CalendarDate, Millis } from "../../../../core/values/time.ts";
import { describePruned, prunedBeforeOf } from "../../../records/pruned-note.ts";
import { printable } from "../../../render/printable.ts";
import { fixedUsd } from "../../../render/report.ts";
import { renderTable } from "../../../render/table.ts";
import { wrapLine } from "../../../render/wrap.ts";
import type { CollectedBill } from "./collect-bill.ts";

/** A comparison with the options of showing it. */
export interface ShownBill {
  readonly bill: CollectedBill;
  readonly comparison: BillComparison;
  /** The cost of our requests by project. */
  readonly projects: ReadonlyMap<string, bigint>;
  readonly firstDay: CalendarDate | null;
  /** The instant before which `meter prune` deleted everything. */
  readonly prunedBefore: Millis | null;
  /** Whether rows that agree are shown too. */
  readonly isAll: boolean;
}

const right = "right" as const;

const signed = (picoUsd: bigint) =>
  picoUsd === 0n ? "0" : picoUsd < 0n ? `-${fixedUsd(-picoUsd)}` : `+${fixedUsd(picoUsd)}`;

const orUnknown = (picoUsd: bigint | null | undefined) =>
  picoUsd === null || picoUsd === undefined ? "–" : fixedUsd(picoUsd);

/** Renders the sums, the rows that differ with their reasons, and the keys. */
export function renderBill(shown: ShownBill, width: number): string {
  const { bill, comparison } = shown;
  const { rows, billedPicoUsd, ownPicoUsd } = comparison;
  const period = bill.from === bill.to ? bill.from : `${bill.from} to ${bill.to}`;
  const blocks = [
    `${[...bill.names].join(", ")}: ${period} (UTC)`,
    renderTable(
      [
        { title: "" },
        { title: "statement", align: right },
        { title: "here", align: right },
        { title: "difference", align: right },
      ],
      [
        [
          "total",
          orUnknown(billedPicoUsd),
          fixedUsd(ownPicoUsd),
          billedPicoUsd === null ? "–" : signed(billedPicoUsd - ownPicoUsd),
        ],
      ],
      width,
    ),
    describeVerdict(comparison),
  ];
  const listed = rows.filter((row) => shown.isAll || !isAgreeing(row));
  if (listed.length > 0) blocks.push(renderRows(listed, width));
  blocks.push(...renderKeys(shown, width), ...notes(shown, width));
  return blocks.join("\n\n");
}

function describeVerdict({
  rows,
  agreeing,
  unknownPicoUsd,
  explainedPicoUsd,
  billedPicoUsd,
}: BillComparison) {
  const agree = `${formatQuantity(agreeing, "row")} of ${formatCount(rows.length)} (day and model) ${agreeing === 1 ? "agrees" : "agree"}.`;
  if (billedPicoUsd === null) return `${agree} The statement has no costs; only usage was compared.`;
  if (unknownPicoUsd === 0n && explainedPicoUsd === 0n) return `${agree} No difference.`;
  return `${agree} Of the differences, ${fixedUsd(explainedPicoUsd)} is explained and ${fixedUsd(unknownPicoUsd)} is unknown.`;
}

/** Renders a table of the rows, and below each its reasons. */
function renderRows(rows: readonly ComparedRow[], width: number): string {
  const table = renderTable(
    [
      { title: "day" },
      { title: "model", shrink: true },
      { title: "statement", align: right },
      { title: "here", align: right },
      { title: "difference", align: right },
    ],
    rows.map((row) => [
      row.date,
      row.model,
      orUnknown(row.billed?.hasCost === false ? null : row.billed?.costPicoUsd),
      orUnknown(row.own?.costPicoUsd),
      row.differencePicoUsd === null ? "–" : signed(row.differencePicoUsd),
    ]),
    width,
  );
  const [title = "", rule = "", ...lines] = table.split("\n");
  return [title, rule, ...lines.flatMap((line, index) => [line, ...reasonLines(rows[index]!)])].join("\n");
}

function reasonLines({ reasons, unknownPicoUsd }: ComparedRow): string[] {
  const lines = reasons.map((reason) => [
    reason.picoUsd === null ? "" : signed(reason.picoUsd),
    describeReason(reason),
  ]);
  if (unknownPicoUsd !== 0n) lines.push([signed(unknownPicoUsd), "unknown"]);
  return lines.map(([amount = "", text = ""]) => `    ${amount.padStart(9)}  ${printable(text)}`);
}

/** Describes a reason in a few words. */
export function describeReason(reason: BillReason): string {
  const { tokens, part, tier, requests } = reason;
  const what =
    tokens !== undefined
      ? `${formatCount(tokens)} ${part} tokens`
      : requests === undefined
        ? "calls"
        : formatQuantity(requests, "call");
  switch (reason.kind) {
    case "credit":
      return "credit or discount";
    case "tax":
      return "tax";
    case "before_first_record":
      return "before the first call through the meter";
    case "not_on_statement":
      return `${what} of the tier ${tier}, which this statement leaves out`;
    case "tier_not_here":
      return `tier ${tier}: no such call here`;
    case "unknown_billing":
      return `${what} here with unknown billing`;
    case "unpriced":
      return `${what} here without a price`;
    case "estimated":
      return `${what} here with estimated tokens`;
    case "incomplete":
      return `${what} here without complete usage`;
    case "rate":
      return describeRate(reason);
    case "calls_not_here":
      return tokens === undefined && requests === undefined
        ? "not recorded here: of other machines, or not through the meter"
        : `${what} more on the statement: of other machines, or not through the meter`;
    case "calls_only_here":
      return `${what} more here than on the statement`;
    case "midnight":
      return `${what} across midnight (UTC)`;
    case "rounding":
      return "rounding of the statement";
  }
}

function describeRate({ part, billedRate, ownRate }: BillReason): string {
  if (billedRate === undefined || ownRate === undefined) return "same tokens, another price";
  const perMillion = (rate: bigint) => `$${formatPicoUsd(rate * 1_000_000n)}`;
  return `rate of ${part}: ${perMillion(billedRate)} / M on the statement, ${perMillion(ownRate)} / M here`;
}

/** Lists the statement's keys. Our records have no key; a project of the same name is the only join. */
function renderKeys({ bill, projects }: ShownBill, width: number): string[] {
  const { keyIs } = bill.format;
  const { keys } = bill.days;
  if (keyIs === null || keys.size === 0) return [];
  const rows = [...keys]
    .sort(([, a], [, b]) => (a.costPicoUsd === b.costPicoUsd ? 0 : a.costPicoUsd > b.costPicoUsd ? -1 : 1))
    .slice(0, 20)
    .map(([key, { costPicoUsd, tokens, hasCost }]) => [
      key,
      hasCost ? fixedUsd(costPicoUsd) : "–",
      tokens === 0n ? "–" : formatCount(tokens),
      orUnknown(projects.get(normaliseSlug(key))),
    ]);
  const table = renderTable(
    [
      { title: keyIs, shrink: true },
      { title: "statement", align: right },
      { title: "tokens", align: right },
      { title: "project of that name", align: right },
    ],
    rows,
    width,
  );
  return keys.size > rows.length
    ? [`${table}\n${formatQuantity(keys.size - rows.length, "further key")} not shown.`]
    : [table];
}

function notes({ bill, firstDay, prunedBefore }: ShownBill, width: number): string[] {
  const { keyIs, provider } = bill.format;
  const pruned = describePruned(prunedBefore, Date.parse(bill.from));
  const texts = [
    ...(pruned === null ? [] : [pruned]),
    keyIs === null
      ? "The statement names no keys, so it includes the calls of all machines."
      : "Records here do not store which key was used. To compare one key, name it with --key, and its project with --project.",
    firstDay === null
      ? `No call to ${provider} was recorded through the meter.`
      : `The first call to ${provider} through the meter was on ${firstDay}.`,
    "Plan, credit and free usage is not in the column “here”. Statements of the last two days may be incomplete.",
  ];
  return [texts.map((text) => wrapLine(text, width)).join("\n")];
}

/** The comparison for programs. */
export function billJson({ bill, comparison, projects, firstDay, prunedBefore }: ShownBill) {
  const { rows, billedPicoUsd, ownPicoUsd, explainedPicoUsd, unknownPicoUsd } = comparison;
  return {
    formats: [...bill.names],
    provider: bill.format.provider,
    from_date: bill.from,
    to_date: bill.to,
    first_metered_date: firstDay,
    pruned_before: prunedBeforeOf(prunedBefore),
    statement_pico_usd: billedPicoUsd,
    here_pico_usd: ownPicoUsd,
    explained_pico_usd: explainedPicoUsd,
    unknown_pico_usd: unknownPicoUsd,
    rows: rows.map((row) => ({
      date: row.date,
      model: row.kind === "model" ? row.model : null,
      kind: row.kind,
      statement_pico_usd: row.billed?.hasCost === true ? row.billed.costPicoUsd : null,
      here_pico_usd: row.own?.costPicoUsd ?? null,
      difference_pico_usd: row.differencePicoUsd,
      unknown_pico_usd: row.unknownPicoUsd,
      reasons: row.reasons.map(({ picoUsd, billedRate, ownRate, ...reason }) => ({
        ...reason,
        pico_usd: picoUsd,
        ...(billedRate !== undefined && { statement_rate: billedRate, here_rate: ownRate }),
      })),
    })),
    keys: [...bill.days.keys].map(([key, { costPicoUsd, tokens, hasCost }]) => ({
      key,
      pico_usd: hasCost ? costPicoUsd : null,
      tokens: tokens.toString(),
      project_pico_usd: projects.get(normaliseSlug(key)) ?? null,
    })),
  };
}
