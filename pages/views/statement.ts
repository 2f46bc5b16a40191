import { html } from "hono/html";
import { sumOfSplit } from "../../core/pricing/cost-split.ts";
import { parseSums } from "../../core/pricing/view/usage-sums.ts";
import { formatCount, UNKNOWN } from "../../core/values/text/format-count.ts";
import type { UsageAnswer } from "../../core/wire/usage.ts";
import { renderBars } from "../chart/bars.ts";
import { describeCoverageFigure, describeGap, renderCoverageValue } from "../coverage-figure.ts";
import { renderChange, renderUsd } from "../figures.ts";
import { formatShortUsd, shortenDate } from "../formats.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import { type CaveatLinks, listCaveats, renderSum } from "../usage-view.ts";
import { COST_SERIES } from "./now.ts";

/** Where the price of a model came from. */
export interface StatementRate {
  readonly provider: string;
  readonly model: string;
  /** Such as a price list, or `bundled`. */
  readonly source: string;
  /** The date on which the source stated it; null if it is not known. */
  readonly statedOn: string | null;
}

/** What a statement says about one month. */
export interface Statement {
  /** The month, `2026-11`. */
  readonly month: string;
  /** The month in words. */
  readonly title: string;
  /** The month before in words. */
  readonly titleBefore: string;
  /** The workspace or the machine. */
  readonly subject: string;
  /** By project, then by model, with the days of the month as buckets. Compared with the month before if both can be read whole. */
  readonly usage: UsageAnswer;
  /** By model, then by provider, compared as well. */
  readonly models: UsageAnswer;
  /** By person, compared as well; null on a machine. */
  readonly people: UsageAnswer | null;
  /** The sources of the rates of the month's models. */
  readonly rates: readonly StatementRate[];
  /** Whether the month has ended. */
  readonly isComplete: boolean;
  readonly links: CaveatLinks;
}

/** The sums of the month, and those of the month before; null without a comparison. */
type Compared = Pick<UsageAnswer, "totals" | "compared">;

/** Returns a statement's content as JSON with sorted parts, so that equal statements give equal text. */
export function statementContent(statement: Statement): string {
  const { month, subject, usage, models, people, rates, isComplete } = statement;
  const { tz, period, totals, compared, compared_period: before, buckets, rows, caveats, coverage } = usage;
  return JSON.stringify({
    statement: "meter usage",
    version: 1,
    month,
    subject,
    time_zone: tz,
    from: period.from,
    to: period.to,
    is_complete: isComplete,
    totals,
    compared_period: before && { from: before.from, to: before.to },
    compared,
    days: buckets.map((bucket) => ({ day: bucket.label, totals: bucket.totals })),
    projects: rows.map((row) => ({
      project: row.label,
      ...sumsOf(row),
      models: row.cells.map((cell) => ({ model: cell.label, ...sumsOf(cell) })),
    })),
    models: models.rows.map((row) => ({ model: row.label, ...sumsOf(row) })),
    people: people?.rows.map((row) => ({ person: row.label, ...sumsOf(row) })) ?? null,
    caveats: caveats.map(({ kind, requests, sentence }) => ({ kind, requests, sentence })),
    coverage: coverage && { metered: coverage.metered, seen: coverage.seen, permille: coverage.permille },
    rates,
  });
}

const sumsOf = ({ totals, compared }: Compared) => ({ totals, compared });

/** Renders a statement for the screen and for paper. `digest` is the SHA-256 of its content, lower-case hex. */
export function renderStatement(statement: Statement, digest: string): Html {
  const { title, subject, usage, isComplete } = statement;
  return html`<article class="statement">
<section class="panel"><h2>Statement for ${title}</h2>
<dl class="facts"><dt>Of</dt><dd>${renderName(subject)}</dd><dt>Period</dt><dd>${usage.period.label} (${usage.tz})</dd>${isComplete ? "" : html`<dt>State</dt><dd>The month has not ended.</dd>`}
${renderTotals(statement)}</dl></section>
${renderDays(usage)}
${renderProjects(usage)}
${renderRows(statement.models, "Models", "Model")}
${statement.people === null ? "" : renderRows(statement.people, "People", "Person")}
${renderNotes(statement, digest)}
</article>`;
}

/** The parts of the tokens, which add up to their sum. */
const TOKEN_PARTS = [
  ["prompt_tokens", "input"],
  ["cache_read_tokens", "cache reads"],
  ["cache_write_tokens", "cache writes"],
  ["completion_tokens", "output"],
  ["thinking_tokens", "thinking"],
] as const;

function renderTotals({ usage, titleBefore, links }: Statement): Html {
  const { totals, compared, coverage } = usage;
  const { unknownBillingPicoUsd } = parseSums(totals);
  const tokens = TOKEN_PARTS.flatMap(([key, name]) => {
    const count = totals[key] ?? 0;
    return count === 0 ? [] : [[count, name] as const];
  });
  const sum = tokens.reduce((all, [count]) => all + count, 0);
  const parts = tokens.map(([count, name]) => `${formatCount(count)} ${name}`).join(", ");
  return html`<dt>Spent</dt><dd><strong>${renderUsd(BigInt(totals.spent_pico_usd))}</strong>${compared === null ? "" : html` <span class="quiet">${describeBefore(totals, compared, titleBefore)}</span>`}</dd>
<dt>Plan usage</dt><dd>${renderUsd(BigInt(totals.plan_usage_pico_usd))} at API prices, covered by plans</dd>
${unknownBillingPicoUsd === 0n ? "" : html`<dt>Unknown billing</dt><dd>${renderUsd(unknownBillingPicoUsd)}</dd>`}
<dt>Requests</dt><dd>${formatCount(totals.requests)}, ${formatCount(totals.failed_requests)} failed${(totals.blocked_requests ?? 0) === 0 ? "" : `, ${formatCount(totals.blocked_requests ?? 0)} refused by budgets`}</dd>
<dt>Tokens</dt><dd>${formatCount(sum)}${tokens.length < 2 ? "" : `: ${parts}`}</dd>
<dt>Coverage</dt><dd>${coverage === null || coverage.permille === null ? "not known" : html`${renderCoverageValue(coverage, links.coverage)}: ${describeCoverageFigure(coverage)}`}</dd>`;
}

/** Compares what was spent with the month before. */
function describeBefore(
  totals: UsageAnswer["totals"],
  compared: UsageAnswer["totals"],
  titleBefore: string,
): Html | string {
  const [now, before] = [BigInt(totals.spent_pico_usd), BigInt(compared.spent_pico_usd)];
  return before === 0n
    ? `none in ${titleBefore}`
    : html`${renderChange(now, before)} on ${formatShortUsd(before)} in ${titleBefore}`;
}

/** The top of a chart of a month without cost. */
const EMPTY_CEILING = 1_000_000_000_000n;

function renderDays({ buckets, tz, totals }: UsageAnswer): Html {
  if (buckets.length === 0) return html``;
  const whole = parseSums(totals);
  const series = COST_SERIES.filter(({ part }, n) => n === 0 || whole[part] > 0n);
  return html`<section class="panel" aria-labelledby="days-title"><div class="head"><h2 id="days-title">By day</h2></div>${renderBars(
    {
      id: "days",
      title: "Cost per day",
      heading: `Day (${tz})`,
      series,
      hasNoSum: true,
      bars: buckets.map((bucket) => {
        const sums = parseSums(bucket.totals);
        const time = {
          from: Date.parse(bucket.from),
          to: Date.parse(bucket.to),
          stoppedMs: bucket.stopped_ms,
        };
        const gap = describeGap(time, bucket.totals.requests);
        return {
          ...(gap !== undefined && { gap }),
          label: bucket.label,
          axisLabel: shortenDate(bucket.label),
          values: series.map(({ part }) => sums[part]),
        };
      }),
      ceilingIfEmpty: EMPTY_CEILING,
      format: formatShortUsd,
      render: renderUsd,
    },
  )}</section>`;
}

const renderHead = ({ compared }: Compared): Html =>
  html`<th scope="col" class="num desk">Requests</th><th scope="col" class="num">Spent</th><th scope="col" class="num">Plan usage</th>${compared === null ? "" : html`<th scope="col" class="num desk">Change</th>`}`;

function renderSums({ totals, compared }: Compared): Html {
  const sums = parseSums(totals);
  const { planUsagePicoUsd, unknownBillingPicoUsd, requests, unpriced } = sums;
  const isUnpriced = unpriced > 0 && sumOfSplit(sums) === 0n;
  return html`<td class="num desk">${formatCount(requests)}</td><td class="num">${renderSum("spent", totals)}${unknownBillingPicoUsd === 0n ? "" : html`<span class="sub">${renderUsd(unknownBillingPicoUsd)} unknown billing</span>`}</td><td class="num">${isUnpriced ? UNKNOWN : renderUsd(planUsagePicoUsd)}</td>${compared === null ? "" : html`<td class="num desk quiet">${isUnpriced ? UNKNOWN : renderChange(sums.spentPicoUsd, BigInt(compared.spent_pico_usd))}</td>`}`;
}

const renderFoot = (answer: Compared): Html =>
  html`<tfoot><tr><th scope="row">Total</th>${renderSums(answer)}</tr></tfoot>`;

function renderProjects(answer: UsageAnswer): Html {
  return html`<section class="panel long" aria-labelledby="projects-title"><h2 id="projects-title">Projects and models</h2>
<div class="scroll"><table aria-label="Projects and models"><thead><tr><th scope="col">Project, model</th>${renderHead(answer)}</tr></thead>${answer.rows.map(
    (row) =>
      html`<tbody><tr class="whole"><th scope="row" class="name"><strong>${renderName(row.label)}</strong></th>${renderSums(row)}</tr>${row.cells.map(
        (cell) =>
          html`<tr><th scope="row" class="name part">${renderName(cell.label)}</th>${renderSums(cell)}</tr>`,
      )}</tbody>`,
  )}${renderFoot(answer)}</table></div></section>`;
}

/** Renders the rows of an answer by one dimension, with their total. */
function renderRows(answer: UsageAnswer, title: string, head: string): Html {
  const id = `${title.toLowerCase()}-title`;
  return html`<section class="panel long" aria-labelledby="${id}"><h2 id="${id}">${title}</h2>
<div class="scroll"><table aria-label="${title}"><thead><tr><th scope="col">${head}</th>${renderHead(answer)}</tr></thead><tbody>${answer.rows.map(
    (row) => html`<tr><th scope="row" class="name">${renderName(row.label)}</th>${renderSums(row)}</tr>`,
  )}</tbody>${renderFoot(answer)}</table></div></section>`;
}

function renderNotes({ usage, rates, links }: Statement, digest: string): Html {
  return html`<section class="panel long" aria-labelledby="notes-title"><h2 id="notes-title">Notes</h2>
${usage.caveats.length === 0 ? html`<p>Every request has a known price and complete usage.</p>` : html`<ul class="plain">${listCaveats(usage, links).map((caveat) => html`<li>${caveat}</li>`)}</ul>`}
${
  rates.length === 0
    ? ""
    : html`<h3>Sources of rates</h3><div class="scroll"><table aria-label="Sources of rates"><thead><tr><th scope="col">Model</th><th scope="col">Source</th></tr></thead><tbody>${rates.map(
        ({ provider, model, source, statedOn }) =>
          html`<tr><th scope="row" class="name">${renderName(model)}<span class="sub">${renderName(provider)}</span></th><td class="name">${renderName(source)}${statedOn === null ? "" : `, ${statedOn}`}</td></tr>`,
      )}</tbody></table></div>`
}
<h3>SHA-256</h3><p><code>${digest}</code></p><p class="quiet">Of this statement as JSON, which the link below this page downloads. A later statement of the same month with another digest has other figures.</p></section>`;
}
