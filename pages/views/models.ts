import { html } from "hono/html";
import { sumOfSplit } from "../../core/pricing/cost-split.ts";
import { createPriceHistory, listPrices, nameOf } from "../../core/pricing/list-prices.ts";
import { formatRateText } from "../../core/pricing/money.ts";
import type { PriceBook } from "../../core/pricing/price-book.ts";
import type { RateRow } from "../../core/pricing/rates.ts";
import { withFilter } from "../../core/pricing/view/usage-query.ts";
import { metricOf } from "../../core/pricing/view/usage-sums.ts";
import { formatCount, UNKNOWN } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import type { Millis } from "../../core/values/time.ts";
import type { UsageAnswer } from "../../core/wire/usage.ts";
import { renderCoverageLine } from "../coverage-figure.ts";
import { renderShortCount, renderUsd } from "../figures.ts";
import { formatShortUsd } from "../formats.ts";
import type { Html } from "../html.ts";
import { renderState } from "../states.ts";
import {
  type RowLinks,
  renderCaveats,
  renderNoUsage,
  renderUsageChips,
  renderUsageMenus,
  renderUsageNotices,
  type UsageMenu,
  type UsageView,
  usageHref,
  usagePageHref,
  withoutOwn,
} from "../usage-view.ts";
import { renderComparison } from "./model-comparison.ts";
import {
  createIsUsed,
  findModelLines,
  findOtherModel,
  findShownLines,
  type ModelLine,
  queryOfLine,
} from "./model-lines.ts";
import { OVERVIEW_VIEW } from "./overview.ts";

export interface ModelsAnswer {
  /** By model, then by provider. */
  readonly usage: UsageAnswer;
  readonly book: PriceBook;
  readonly now: Millis;
  readonly links: RowLinks;
}

/** How many unused models are listed, and how many prices of one model. */
export const MAX_UNUSED = 100;
const MAX_PRICES = 20;

/** What is in the menu of models. */
const MENU: readonly (readonly [value: string, name: string])[] = [
  ["used", "used"],
  ["unpriced", "used, without a price"],
  ["unused", "not used, with a price"],
];

/** Renders the models that were used, or those that were not, with their rates, and what another model would have cost. */
export function renderModels({ usage, book, now, links }: ModelsAnswer, view: UsageView): Html {
  const lines = findModelLines(usage, book, now);
  const { models = "used", q = "", as } = view.own;
  const other = findOtherModel(as, book, now);
  const notices =
    as === undefined || other !== null ? [] : [`“as” is left out. There is no price of “${as}”.`];
  return html`${renderUsageNotices({ ...view, notices: [...view.notices, ...notices] })}
    ${renderUsageMenus(view, [{ name: "models", label: "Models", selected: models, values: MENU }, otherMenu(lines, other)], [], { label: "Search", name: "q", value: q })}
    ${renderUsageChips(view)}
    <p class="quiet" data-summary>${usage.period.label} (${usage.tz}).${renderCoverageLine(usage.coverage, links.coverage)} Rates are those in force now, in USD per million tokens. ${describeBook(book)}</p>
    ${renderCaveats(usage, links)}
    ${other === null ? "" : renderComparison(lines, other, usageHref(view, {}, withoutOwn(view, "as")))}
    <div id="models" data-live>${models === "unused" ? renderUnused(lines, { book, now }, view) : renderUsed(lines, { book, links }, view)}</div>`;
}

/** Describes where prices come from. */
function describeBook({ rows }: PriceBook): string {
  const of = (source: RateRow["source"]) => rows.filter((row) => row.source === source);
  const bundled = of("bundled")
    .map(({ provenanceDate }) => provenanceDate)
    .sort()
    .at(-1);
  return [
    ...(bundled === undefined ? [] : [`The bundled prices are of ${bundled}.`]),
    ...(of("auto").length === 0 ? [] : [`${formatQuantity(of("auto").length, "price")} pulled since.`]),
    ...(of("operator").length === 0
      ? []
      : [`${formatQuantity(of("operator").length, "correction")} set here.`]),
  ].join(" ");
}

/** Returns the menu of the models that the period can be compared with: the used ones. Others are found in the list of unused ones. */
function otherMenu(lines: readonly ModelLine[], other: RateRow | null): UsageMenu {
  const used = lines.flatMap(({ row }) => (row === null || row.model.endsWith("*") ? [] : [nameOf(row)]));
  const names = new Set([...used, ...(other === null ? [] : [nameOf(other)])]);
  return {
    name: "as",
    label: "had they run on",
    selected: other === null ? "" : nameOf(other),
    values: [["", "no other model"], ...[...names].map((name) => [name, name] as const)],
  };
}

function renderUsed(
  lines: readonly ModelLine[],
  { book, links }: Pick<ModelsAnswer, "book" | "links">,
  view: UsageView,
): Html {
  const shown = findShownLines(lines, view.own);
  if (lines.length === 0) return renderNoUsage(view);
  if (shown.length === 0)
    return renderState(
      view.own.models === "unpriced"
        ? "No matching model lacks a price"
        : "No matching model was used in this period",
      html`<a href="${usageHref(view, {}, withoutOwn(view, "q", "models"))}">Show all that were used</a>`,
    );
  const historyOf = createPriceHistory(book);
  return html`<section class="panel"><div class="scroll"><table aria-label="Models">
      <thead><tr><th scope="col">Model</th>${RATE_HEADS}<th scope="col" class="num desk">Requests</th><th scope="col" class="num desk">Tokens</th><th scope="col" class="num">Spent</th><th scope="col" class="num desk">Plan usage</th><th scope="col" class="num desk">Per M tokens</th></tr></thead>
      <tbody>${shown.map((line) => renderLine(line, line.row === null ? [] : historyOf(line.row), view, links))}</tbody></table></div></section>`;
}

const RATE_HEADS = html`<th scope="col" class="num wide">Input</th><th scope="col" class="num wide">Cache read</th><th scope="col" class="num wide">Cache write</th><th scope="col" class="num wide">Output</th><th scope="col" class="wide">Rates</th>`;

/** Lists models that have a price and were not used, each with a link that compares the period with it. */
function renderUnused(
  lines: readonly ModelLine[],
  { book, now }: Pick<ModelsAnswer, "book" | "now">,
  view: UsageView,
): Html {
  const { q = "" } = view.own;
  const { models, more } = listPrices(book, {
    text: q,
    at: now,
    limit: MAX_UNUSED,
    isLeftOut: createIsUsed(lines),
  });
  if (models.length === 0)
    return renderState(
      "No matching unused model has a price",
      "Search for a part of its name, or of its list's.",
    );
  const historyOf = createPriceHistory(book);
  return html`<section class="panel"><div class="scroll"><table aria-label="Models that were not used">
      <thead><tr><th scope="col">Model</th>${RATE_HEADS}<th scope="col"><span class="hidden">Comparison</span></th></tr></thead>
      <tbody>${models.map(({ provider, model, row }) => {
        const name = nameOf({ provider, model });
        return html`<tr><th scope="row" class="name"><bdi>${model}</bdi><span class="sub"><bdi>${provider}</bdi></span><span class="sub phone">${formatRate(row.rates.input)} in, ${formatRate(row.rates.output)} out</span></th>${renderRates(row, historyOf(row))}<td class="num"><a href="${usageHref(view, {}, { ...view.own, as: name })}" aria-label="Compare with ${name}">Compare</a></td></tr>`;
      })}</tbody></table></div>
      ${more ? html`<p class="quiet">The first ${MAX_UNUSED} are shown. Search for others by a part of their name.</p>` : ""}</section>`;
}

/** Renders the cells of a model's rates, with where they come from and its other prices. */
function renderRates(row: RateRow | null, history: readonly RateRow[]): Html {
  const rates = row?.rates;
  return html`<td class="num wide">${formatRate(rates?.input)}</td><td class="num wide">${formatRate(rates?.cacheRead)}</td><td class="num wide">${formatRate(rates?.cacheWrite)}${rates?.cacheWrite1h == null ? "" : html`<span class="sub">1 h: ${formatRate(rates.cacheWrite1h)}</span>`}</td><td class="num wide">${formatRate(rates?.output)}</td>
    <td class="wide">${row === null ? html`<span class="warn">no rate</span>` : html`<bdi>${row.origin?.name ?? row.source}</bdi><span class="sub">${row.effectiveFrom === null ? `stated ${row.provenanceDate}` : `since ${row.effectiveFrom}`}</span>${history.length < 2 ? "" : renderHistory(row, history)}`}</td>`;
}

/** Renders all prices that are known of a model, the latest first. */
function renderHistory(row: RateRow, history: readonly RateRow[]): Html {
  return html`<details id="prices-${nameOf(row)}"><summary>${history.length} prices</summary><ul class="plain">${history
    .slice(0, MAX_PRICES)
    .map(
      (each) =>
        html`<li>${describeTime(each)}: ${formatRate(each.rates.input)} in, ${formatRate(each.rates.output)} out, <bdi>${each.origin?.name ?? each.source}</bdi>${each === row ? " (in force)" : ""}</li>`,
    )}${history.length > MAX_PRICES ? html`<li>${history.length - MAX_PRICES} more</li>` : ""}</ul></details>`;
}

/** Describes when a price applies. A price without a beginning has the date on which its source stated it. */
function describeTime({ effectiveFrom, effectiveTo, daily, provenanceDate }: RateRow): string {
  const clock = (second: number) => new Date(second * 1_000).toISOString().slice(11, 16);
  const from = effectiveFrom === null ? `stated ${provenanceDate}` : `since ${effectiveFrom}`;
  const to = effectiveTo === null ? "" : `, until ${effectiveTo}`;
  const hours = daily === null ? "" : `, ${clock(daily.fromSecond)} to ${clock(daily.toSecond % 86_400)} UTC`;
  return `${from}${to}${hours}${daily?.weekdaysOnly === true ? " on weekdays" : ""}`;
}

/** Formats a rate with all of its digits, at least with cents, so that the rates of a column can be compared. */
const formatRate = (rate: number | null | undefined): string =>
  rate === null || rate === undefined
    ? UNKNOWN
    : formatRateText(rate).replace(/^\d+$/, "$&.00").replace(/\.\d$/, "$&0");

function renderLine(line: ModelLine, history: readonly RateRow[], view: UsageView, links: RowLinks): Html {
  const { provider, name, row, versions, sums } = line;
  const rows = queryOfLine(line, view.query);
  const tokens = metricOf(sums, "tokens");
  // A failed call may have a cost.
  const hasNoCost = sumOfSplit(sums) === 0n && sums.unpriced > 0;
  const perMillion =
    tokens === null || tokens === 0n || sums.unpriced > 0 ? null : (sumOfSplit(sums) * 1_000_000n) / tokens;
  const link = (model: string) =>
    html`<a href="${usagePageHref(view, OVERVIEW_VIEW, withFilter({ ...view.query, by: "project", thenBy: null, top: 6, bucket: "auto", compare: "prev" }, "model", model))}"><bdi>${model}</bdi></a>`;
  const others = versions.filter((version) => version !== name);
  return html`<tr><th scope="row" class="name">${versions.includes(name) ? link(name) : html`<bdi>${name}</bdi>`}<span class="sub"><bdi>${provider}</bdi></span>${others.map((version) => html`<span class="sub">${link(version)}</span>`)}</th>
    ${renderRates(row, history)}
    <td class="num desk"><a href="${links.list(rows)}">${formatCount(sums.requests)}</a>${sums.failed === 0 ? "" : html`<span class="sub"><a class="bad" href="${links.list(withFilter(rows, "status", "failed"))}">${formatCount(sums.failed)} failed</a></span>`}${sums.blocked === 0 ? "" : html`<span class="sub"><a href="${links.list(withFilter(rows, "status", "blocked"))}">${formatCount(sums.blocked)} refused</a></span>`}</td><td class="num desk">${renderShortCount(tokens)}</td>
    <td class="num">${hasNoCost ? html`<span class="warn">unpriced</span>` : renderUsd(sums.spentPicoUsd)}${sums.planUsagePicoUsd === 0n ? "" : html`<span class="sub phone">${renderUsd(sums.planUsagePicoUsd)} plan</span>`}</td><td class="num desk">${hasNoCost ? UNKNOWN : renderUsd(sums.planUsagePicoUsd)}</td><td class="num desk">${perMillion === null ? UNKNOWN : formatShortUsd(perMillion)}</td></tr>`;
}
