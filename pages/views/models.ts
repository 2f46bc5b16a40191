import { html } from "hono/html";
import { formatRateText } from "../../core/pricing/money.ts";
import { type UsageQuery, withFilter } from "../../core/pricing/view/usage-query.ts";
import { metricOf, parseSums, sumOf, type UsageSums } from "../../core/pricing/view/usage-sums.ts";
import { formatCount, UNKNOWN } from "../../core/values/text/format-count.ts";
import type { UsageAnswer } from "../../core/wire/usage.ts";
import { renderCoverageLine } from "../coverage-figure.ts";
import { renderShortCount, renderUsd } from "../figures.ts";
import { formatShortUsd } from "../formats.ts";
import type { Html } from "../html.ts";
import { renderState } from "../states.ts";
import {
  type RowLinks,
  renderCaveats,
  renderUsageChips,
  renderUsageNotices,
  type UsageView,
  type UsageViewSpec,
  usagePageHref,
} from "../usage-view.ts";
import { OVERVIEW_VIEW } from "./overview.ts";

export const MODELS_VIEW: UsageViewSpec = {
  path: "/models",
  defaults: { by: "model", thenBy: "provider", top: 1_000, compare: "none", bucket: "none" },
};

/** The rates of a model, in micro-USD per million tokens. Null is unknown. */
export interface ModelRate {
  /** The name in the price list, which several versions share. */
  readonly name: string;
  readonly input: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly cacheWrite1h: number | null;
  readonly output: number | null;
  readonly source: string;
  /** When the source stated the rates, and since when they apply if that is known. */
  readonly statedOn: string;
  readonly since: string | null;
}

export interface ModelsAnswer {
  /** By model, then by provider. */
  readonly usage: UsageAnswer;
  /** Returns the rates in force now; null if there are none. */
  readonly rateOf: (provider: string, model: string) => ModelRate | null;
  readonly links: RowLinks;
}

/** The versions of one model of one provider. */
interface ModelLine {
  readonly provider: string;
  readonly name: string;
  readonly rate: ModelRate | null;
  readonly versions: string[];
  sums: UsageSums;
}

/** Renders the models that were used, with what they cost and what their rates are. */
export function renderModels({ usage, rateOf, links }: ModelsAnswer, view: UsageView): Html {
  const lines = findLines(usage, rateOf);
  return html`${renderUsageNotices(view)}
    ${renderUsageChips(view)}
    <p class="quiet" data-summary>${usage.period.label} (${usage.tz}).${renderCoverageLine(usage.coverage, links.coverage)} Rates are those in force now, in USD per million tokens.</p>
    ${renderCaveats(usage, links)}
    <div id="models" data-live>${
      lines.length === 0
        ? renderState("No model was used in this period", "Choose a longer period.")
        : html`<section class="panel"><div class="scroll"><table aria-label="Models">
      <thead><tr><th scope="col">Model</th><th scope="col" class="num wide">Input</th><th scope="col" class="num wide">Cache read</th><th scope="col" class="num wide">Cache write</th><th scope="col" class="num wide">Output</th><th scope="col" class="wide">Rates</th><th scope="col" class="num desk">Requests</th><th scope="col" class="num desk">Tokens</th><th scope="col" class="num">Spent</th><th scope="col" class="num desk">Plan usage</th><th scope="col" class="num desk">Per M tokens</th></tr></thead>
      <tbody>${lines.map((line) => renderLine(line, view, links))}</tbody></table></div></section>`
    }</div>`;
}

/** Joins the versions of a model that have the same name in the price list. */
function findLines({ rows }: UsageAnswer, rateOf: ModelsAnswer["rateOf"]): ModelLine[] {
  const lines = new Map<string, ModelLine>();
  for (const row of rows)
    for (const cell of row.cells) {
      const [model, provider] = [row.key ?? row.label, cell.key ?? cell.label];
      const rate = rateOf(provider, model);
      const name = rate?.name ?? model;
      const key = JSON.stringify([provider, name]);
      const line = lines.get(key) ?? { provider, name, rate, versions: [], sums: sumOf([]) };
      line.versions.push(model);
      line.sums = sumOf([line.sums, parseSums(cell.totals)]);
      lines.set(key, line);
    }
  return [...lines.values()].sort((one, other) => Number(costOf(other.sums) - costOf(one.sums)));
}

const costOf = (sums: UsageSums): bigint =>
  sums.spentPicoUsd + sums.planUsagePicoUsd + sums.unknownBillingPicoUsd;

const formatRate = (rate: number | null | undefined): string =>
  rate === null || rate === undefined ? UNKNOWN : formatRateText(rate);

/** Returns the query of the requests of all versions of a model. */
function rowsOf({ provider, versions }: ModelLine, { query }: UsageView): UsageQuery {
  const first = withFilter(withFilter(query, "provider", provider), "model", versions[0] ?? "");
  const filters = first.filters.map((filter) =>
    filter.dimension === "model" && !filter.not ? { ...filter, values: versions } : filter,
  );
  return { ...first, filters };
}

function renderLine(line: ModelLine, view: UsageView, links: RowLinks): Html {
  const { provider, name, rate, versions, sums } = line;
  const rows = rowsOf(line, view);
  const tokens = metricOf(sums, "tokens");
  // A failed call may have a cost.
  const isUnpriced = costOf(sums) === 0n && sums.unpriced > 0;
  const perMillion =
    tokens === null || tokens === 0n || sums.unpriced > 0 ? null : (costOf(sums) * 1_000_000n) / tokens;
  const link = (model: string) =>
    html`<a href="${usagePageHref(view, OVERVIEW_VIEW, withFilter({ ...view.query, by: "project", thenBy: null, top: 6, bucket: "auto", compare: "prev" }, "model", model))}"><bdi>${model}</bdi></a>`;
  const others = versions.filter((version) => version !== name);
  return html`<tr><th scope="row" class="name">${versions.includes(name) ? link(name) : html`<bdi>${name}</bdi>`}<span class="sub"><bdi>${provider}</bdi></span>${others.map((version) => html`<span class="sub">${link(version)}</span>`)}</th>
    <td class="num wide">${formatRate(rate?.input)}</td><td class="num wide">${formatRate(rate?.cacheRead)}</td><td class="num wide">${formatRate(rate?.cacheWrite)}${rate?.cacheWrite1h == null ? "" : html`<span class="sub">1 h ${formatRate(rate.cacheWrite1h)}</span>`}</td><td class="num wide">${formatRate(rate?.output)}</td>
    <td class="wide">${rate === null ? html`<span class="warn">no rate</span>` : html`<bdi>${rate.source}</bdi><span class="sub">${rate.since === null ? `stated ${rate.statedOn}` : `since ${rate.since}`}</span>`}</td>
    <td class="num desk"><a href="${links.list(rows)}">${formatCount(sums.requests)}</a>${sums.failed === 0 ? "" : html`<span class="sub"><a class="bad" href="${links.list(withFilter(rows, "status", "failed"))}">${formatCount(sums.failed)} failed</a></span>`}${sums.blocked === 0 ? "" : html`<span class="sub"><a href="${links.list(withFilter(rows, "status", "blocked"))}">${formatCount(sums.blocked)} refused</a></span>`}</td><td class="num desk">${renderShortCount(tokens)}</td>
    <td class="num">${isUnpriced ? html`<span class="warn">unpriced</span>` : renderUsd(sums.spentPicoUsd)}${sums.planUsagePicoUsd === 0n ? "" : html`<span class="sub phone">${renderUsd(sums.planUsagePicoUsd)} plan</span>`}</td><td class="num desk">${isUnpriced ? UNKNOWN : renderUsd(sums.planUsagePicoUsd)}</td><td class="num desk">${perMillion === null ? UNKNOWN : formatShortUsd(perMillion)}</td></tr>`;
}
