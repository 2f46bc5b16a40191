import { html } from "hono/html";
import { nameOf } from "../../core/pricing/list-prices.ts";
import type { RateRow } from "../../core/pricing/rates.ts";
import {
  type AssumedRate,
  compareOnModel,
  type ModelComparison,
  type ModelComparisons,
} from "../../core/pricing/savings/other-model.ts";
import { metricOf } from "../../core/pricing/view/usage-sums.ts";
import { formatCount, UNKNOWN } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { renderChange, renderShortCount, renderSignedUsd, renderUsd } from "../figures.ts";
import { formatShortUsd } from "../formats.ts";
import type { Html } from "../html.ts";
import type { ModelLine } from "./model-lines.ts";

/** Compares what the models of a period cost with what they would have cost on another one. */
export const compareLines = (lines: readonly ModelLine[], row: RateRow): ModelComparisons =>
  compareOnModel(
    lines.map((line) => ({ sums: line.sums, isSame: line.row === row })),
    row,
  );

/** Says what a period cost and would have cost, and how many models are left out. */
export function describeComparison({ models, known, costPicoUsd, otherPicoUsd }: ModelComparisons): string {
  if (known === 0) return "No model can be compared.";
  const unknown = models.length - known;
  return `What cost ${formatShortUsd(costPicoUsd)} at API prices would have cost ${formatShortUsd(otherPicoUsd)}: ${describeDifference(otherPicoUsd - costPicoUsd)}.${unknown === 0 ? "" : ` ${formatQuantity(unknown, "model")} cannot be compared and ${unknown === 1 ? "is" : "are"} left out.`}`;
}

/** Renders what the models of a period would have cost at the rates of another one. It is an estimate. */
export function renderComparison(lines: readonly ModelLine[], row: RateRow, withoutHref: string): Html {
  const compared = compareLines(lines, row);
  const { models, known, costPicoUsd, otherPicoUsd } = compared;
  const name = html`<bdi>${nameOf(row)}</bdi>`;
  return html`<section class="panel" id="comparison" data-live aria-labelledby="comparison-title">
    <div class="head"><h2 id="comparison-title">Had this period run on ${name}</h2><span class="quiet">estimate</span><a href="${withoutHref}">Close</a></div>
    <p>${describeComparison(compared)}</p>
    <div class="scroll" tabindex="0" role="region" aria-label="The comparison as a table"><table aria-label="Had this period run on ${nameOf(row)}">
      <thead><tr><th scope="col">Model</th><th scope="col" class="num desk">Tokens</th><th scope="col" class="num">Cost at API prices</th><th scope="col" class="num">Estimate</th><th scope="col" class="num">Difference</th></tr></thead>
      <tbody>${lines.map((line, n) => renderCompared(line, models[n]!))}</tbody>
      <tfoot><tr><th scope="row">Compared</th><td class="num desk"></td><td class="num">${renderUsd(known === 0 ? null : costPicoUsd)}</td><td class="num">${renderUsd(known === 0 ? null : otherPicoUsd)}</td><td class="num">${known === 0 ? UNKNOWN : renderSignedUsd(otherPicoUsd - costPicoUsd, "+")}</td></tr></tfoot>
    </table></div>
    <ul class="plain quiet">${listLimits(models, row).map((limit) => html`<li>${limit}</li>`)}</ul>
  </section>`;
}

function renderCompared({ name, provider, sums }: ModelLine, compared: ModelComparison): Html {
  const { costPicoUsd, other, differencePicoUsd } = compared;
  const plan = sums.planUsagePicoUsd;
  return html`<tr><th scope="row" class="name"><bdi>${name}</bdi><span class="sub"><bdi>${provider}</bdi></span></th>
    <td class="num desk">${renderShortCount(metricOf(sums, "tokens"))}</td>
    <td class="num">${costPicoUsd === null ? html`<span class="warn">unpriced</span>` : renderUsd(costPicoUsd)}${plan === 0n ? "" : html`<span class="sub">${renderUsd(plan)} of it plan usage</span>`}</td>
    <td class="num">${renderUsd(other.costPicoUsd)}${other.unknown === null ? "" : html`<span class="sub">${other.unknown}</span>`}</td>
    <td class="num">${differencePicoUsd === null ? UNKNOWN : renderSignedUsd(differencePicoUsd, "+")}${differencePicoUsd === null || costPicoUsd === null ? "" : html`<span class="sub">${renderChange(costPicoUsd + differencePicoUsd, costPicoUsd)}</span>`}</td></tr>`;
}

const describeDifference = (picoUsd: bigint): string =>
  picoUsd === 0n
    ? "the same"
    : `${formatShortUsd(picoUsd > 0n ? picoUsd : -picoUsd)} ${picoUsd > 0n ? "more" : "less"}`;

const describeAssumed = ({ kind, counted }: AssumedRate): string =>
  counted === "five-minute cache writes"
    ? "How many cache writes were for one hour is unknown: all are counted as those for five minutes, so the estimate can be too low."
    : `It has no price for ${kind}: they are counted as ${counted}.`;

/** Lists what the estimate does not know. */
export function listLimits(models: readonly ModelComparison[], row: RateRow): string[] {
  const assumed = new Set(models.flatMap(({ other }) => other.assumed.map(describeAssumed)));
  const above = row.rates.tiers[0]?.aboveTokens;
  return [
    "The same numbers of tokens, at this model's prices now. Another model divides text into other tokens and answers at another length.",
    ...assumed,
    ...(above === undefined
      ? []
      : [
          `Its prices above ${formatCount(above)} input tokens are not applied: sums do not have the length of each request.`,
        ]),
    "Fees, such as those of searches, and discounts of service tiers are in the cost and not in the estimate.",
  ];
}
