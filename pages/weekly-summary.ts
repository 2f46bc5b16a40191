import { html, raw } from "hono/html";
import { metricOf, parseSums } from "../core/pricing/view/usage-sums.ts";
import { formatCount } from "../core/values/text/format-count.ts";
import { weekdayOf } from "../core/values/zone.ts";
import type { UsageAnswer } from "../core/wire/usage.ts";
import { formatChange, formatShare } from "./figures.ts";
import { formatPermille, formatShortCount, formatShortUsd } from "./formats.ts";

/** What an email about a week shows. */
export interface WeeklySummary {
  readonly workspace: string;
  /** The week by project and by day, compared with the week before. */
  readonly projects: UsageAnswer;
  /** The same week by model. */
  readonly models: UsageAnswer;
  /** The address of the overview of the week. */
  readonly overview: string;
  /** The address that ends these emails. */
  readonly unsubscribe: string;
}

/** The content of the email. */
export interface SummaryContent {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** The id of the picture in the HTML. */
export const SUMMARY_PICTURE = "days";

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** Makes a stored name safe in a line of plain text: without line breaks, control characters and marks of direction. */
const plain = (name: string): string => name.replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim();

interface Line {
  readonly name: string;
  readonly value: string;
  readonly note: string;
}

const line = (name: string, value: string, note = ""): Line => ({ name, value, note });

/** Returns the figures that the overview shows. Spend, plan usage and unknown billing are never added up. */
function figuresOf({ totals: json, compared, coverage }: UsageAnswer): Line[] {
  const totals = parseSums(json);
  const before = compared === null ? null : parseSums(compared);
  const input = Number(metricOf(totals, "input_tokens") ?? 0n);
  const change =
    before === null || before.spentPicoUsd === 0n
      ? "none in the week before"
      : `${formatChange(totals.spentPicoUsd, before.spentPicoUsd)} on ${formatShortUsd(before.spentPicoUsd)} in the week before`;
  return [
    line("Spent", formatShortUsd(totals.spentPicoUsd), before === null ? "" : change),
    ...(totals.planUsagePicoUsd === 0n
      ? []
      : [line("Plan usage", formatShortUsd(totals.planUsagePicoUsd), "at API prices, not spent")]),
    ...(totals.unknownBillingPicoUsd === 0n
      ? []
      : [
          line("Unknown billing", formatShortUsd(totals.unknownBillingPicoUsd), "spent or covered by a plan"),
        ]),
    line(
      "Requests",
      formatCount(totals.requests),
      [
        totals.failed === 0 ? "none failed" : `${formatCount(totals.failed)} failed`,
        ...(totals.blocked === 0 ? [] : [`${formatCount(totals.blocked)} refused by budgets`]),
      ].join(", "),
    ),
    line(
      "Tokens",
      formatShortCount(metricOf(totals, "tokens")),
      input === 0 ? "" : `${formatShare(totals.tokens.cacheRead ?? 0n, input)} of the input from caches`,
    ),
    ...(coverage === null || coverage.permille === null
      ? [line("Coverage", "unknown", "")]
      : [
          line(
            "Coverage",
            formatPermille(coverage.permille),
            `${formatCount(coverage.metered)} of ${formatCount(coverage.seen)} calls`,
          ),
        ]),
  ];
}

const daysOf = ({ buckets }: UsageAnswer): Line[] =>
  buckets.map(({ label, totals }) =>
    line(
      `${WEEKDAYS[weekdayOf(label.slice(0, 10))]} ${label}`,
      formatShortUsd(BigInt(totals.spent_pico_usd)),
    ),
  );

const rowsOf = ({ rows }: UsageAnswer): Line[] =>
  rows.map(({ label, other_values, totals }) =>
    line(
      other_values === null ? plain(label) : `${formatCount(other_values)} others`,
      formatShortUsd(BigInt(totals.spent_pico_usd)),
      totals.plan_usage_pico_usd === "0"
        ? ""
        : `${formatShortUsd(BigInt(totals.plan_usage_pico_usd))} plan usage`,
    ),
  );

function describeChange({ change, compared_period }: UsageAnswer): string {
  if (change === null || compared_period === null) return "";
  const [delta, explained] = [BigInt(change.delta), BigInt(change.explained)];
  const size = (value: bigint) => formatShortUsd(value < 0n ? -value : value);
  return `${delta > 0n ? "Up" : "Down"} ${size(delta)}; ${plain(change.label)} explains ${size(explained)}.`;
}

/** Mail programs that ignore it show their own font. */
const STYLE = `body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; max-width: 600px; }
h1 { font-size: 20px; } h2 { font-size: 15px; margin: 20px 0 4px; } table { border-collapse: collapse; }
th, td { padding: 3px 14px 3px 0; vertical-align: top; } th { font-weight: normal; } img { max-width: 100%; height: auto; }`;

/** Renders the email about a week, as text and as HTML with a picture of its days. */
export function renderWeeklySummary(summary: WeeklySummary): SummaryContent {
  const { workspace, projects, models, overview, unsubscribe } = summary;
  const { period, tz, caveats } = projects;
  const name = plain(workspace);
  const title = `Weekly summary of ${name}`;
  const words = `${period.label} (${tz})`;
  const sections: readonly (readonly [title: string, lines: readonly Line[]])[] = [
    ["Spent by day", daysOf(projects)],
    ["Spent by project", rowsOf(projects)],
    ["Spent by model", rowsOf(models)],
  ];
  const figures = figuresOf(projects);
  const change = describeChange(projects);
  const why = `You get this email each Monday because you turned on the weekly summary of the workspace "${name}".`;
  const toText = ({ name: each, value, note }: Line) => `${each}: ${value}${note === "" ? "" : ` (${note})`}`;
  const text = [
    `${title}\n${words}`,
    [...figures.map(toText), ...(change === "" ? [] : [change])].join("\n"),
    ...(caveats.length === 0 ? [] : [caveats.map(({ sentence }) => `- ${sentence}`).join("\n")]),
    ...sections.flatMap(([head, lines]) =>
      lines.length === 0 ? [] : [[head, ...lines.map((each) => `  ${toText(each)}`)].join("\n")],
    ),
    `Open this week: ${overview}`,
    `${why}\nTurn it off: ${unsubscribe}`,
  ];
  const table = (head: string, lines: readonly Line[]) =>
    lines.length === 0
      ? ""
      : html`<h2>${head}</h2><table cellpadding="4">${lines.map(({ name: each, value, note }) => html`<tr><th align="left"><bdi>${each}</bdi></th><td align="right">${value}</td><td>${note}</td></tr>`)}</table>`;
  const alt = `Spent by day: ${daysOf(projects)
    .map(({ name: day, value }) => `${day} ${value}`)
    .join(", ")}.`;
  const page = html`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>${raw(STYLE)}</style></head><body>
<h1>Weekly summary of <bdi>${name}</bdi></h1><p>${words}</p>
${table("Figures", figures)}
${change === "" ? "" : html`<p>${change}</p>`}
${caveats.length === 0 ? "" : html`<ul>${caveats.map(({ sentence }) => html`<li>${sentence}</li>`)}</ul>`}
<p><img src="cid:${SUMMARY_PICTURE}" width="560" height="200" alt="${alt}"><br><small>Spent by day. Dashed: the week before.</small></p>
${sections.map(([head, lines]) => table(head, lines))}
<p><a href="${overview}">Open this week</a></p>
<p>${why} <a href="${unsubscribe}">Turn it off</a></p></body></html>`;
  return {
    subject: `${title}: ${figures[0]?.value ?? ""}`,
    text: `${text.join("\n\n")}\n`,
    html: String(page),
  };
}
