import { html } from "hono/html";
import { PICO_USD_PER_USD } from "../../core/pricing/decimal.ts";
import { formatCount, UNKNOWN } from "../../core/values/text/format-count.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import type { SavingsAnswer } from "../../core/wire/savings.ts";
import type { UsageAnswer } from "../../core/wire/usage.ts";
import { type Bar, renderBars } from "../chart/bars.ts";
import { describeGap, renderCoverageLine } from "../coverage-figure.ts";
import { renderShare, renderShortCount, renderSignedUsd, renderUsd } from "../figures.ts";
import { formatShortUsd, shortenDate } from "../formats.ts";
import type { Html } from "../html.ts";
import { renderNotes } from "../notes.ts";
import { type FailedPart, renderUnreadOf } from "../page-parts.ts";
import { renderState } from "../states.ts";
import type { PeriodCoverage } from "../usage-host.ts";
import {
  type CaveatLinks,
  filterMenusOf,
  renderNoUsage,
  renderUsageChips,
  renderUsageMenus,
  renderUsageNotices,
  type UsageView,
  type UsageViewSpec,
  usageHref,
} from "../usage-view.ts";

export const SAVINGS_VIEW: UsageViewSpec = { path: "/savings", defaults: { compare: "none" } };

export interface SavingsPageAnswer {
  readonly savings: SavingsAnswer;
  /** The same period by project and by model, for the filters. */
  readonly menus: readonly UsageAnswer[];
  readonly coverage: PeriodCoverage;
  readonly links: CaveatLinks;
  /** The parts that could not be read. */
  readonly failed: readonly FailedPart[];
}

/** What a finding is called. Other kinds are shown by their code. */
const KIND_NAMES: Readonly<Record<string, string>> = {
  repeated_prompt: "Repeated prompts",
  cache_written_unread: "Cache written, hardly read",
  prompt_uncached: "Long prompts without a cache",
  thinking_dominates: "Mostly thinking",
};

/** Renders what could cost less, and what prompt caches saved. */
export function renderSavings(
  { savings, menus, coverage, links, failed }: SavingsPageAnswer,
  view: UsageView,
): Html {
  const shown = filterMenusOf(view, menus);
  return html`${renderUsageNotices(view)}
    ${renderUnreadOf(failed, "menus of filters")}
    ${shown.length === 0 ? "" : renderUsageMenus(view, shown)}
    ${renderUsageChips(view)}
    <div id="summary" data-live><p class="quiet" data-summary>${savings.period.label} (${savings.tz}). ${summarise(savings)}${renderCoverageLine(coverage, links.coverage)}</p>
    ${savings.requests === 0 ? "" : renderFigures(savings)}
    ${renderCaveats(savings)}</div>
    ${savings.requests === 0 ? renderNoUsage(view) : html`${renderChart(savings, coverage, view)}${renderFindings(savings, links)}`}`;
}

/** Formats an amount that may be negative. */
const formatAmount = (picoUsd: bigint): string =>
  picoUsd < 0n ? `−${formatShortUsd(-picoUsd)}` : formatShortUsd(picoUsd);

/** The sum of the findings that have a figure. */
const findableOf = ({ findings }: SavingsAnswer): bigint =>
  findings.reduce((sum, { saving_pico_usd }) => sum + BigInt(saving_pico_usd ?? 0), 0n);

function summarise(savings: SavingsAnswer): string {
  const { findings, more_findings, requests } = savings;
  if (requests === 0) return "";
  const found = findings.length + more_findings;
  if (found === 0) return "No savings were found.";
  const saving = findableOf(savings);
  return `${formatQuantity(found, "finding")}. ${saving === 0n ? "What could be saved is unknown." : `Known savings: ${formatAmount(saving)}.`}`;
}

function renderFigures({ cache }: SavingsAnswer): Html {
  const { read_tokens, write_tokens, fresh_tokens } = cache;
  const input = (read_tokens ?? 0) + (write_tokens ?? 0) + (fresh_tokens ?? 0);
  const reads = BigInt(cache.reads_saved_pico_usd);
  const writes = BigInt(cache.writes_cost_pico_usd);
  const ofPlans = BigInt(cache.plan_saved_pico_usd);
  const tile = (name: string, value: Html | string, note: Html | string) =>
    html`<div><dt>${name}</dt><dd class="value">${value}</dd><dd>${note}</dd></div>`;
  return html`<dl class="figures">
    ${tile("Caches saved", renderSignedUsd(reads - writes), html`${renderSignedUsd(reads)} by reads, less ${renderSignedUsd(writes)} for writes`)}
    ${ofPlans === 0n ? "" : tile("Saved on plans", renderSignedUsd(ofPlans), "at API prices, not on a bill")}
    ${tile("Hit rate", input === 0 ? UNKNOWN : renderShare(read_tokens ?? 0, input), "of the input tokens came from caches")}
    ${tile("Read", renderShortCount(read_tokens), "tokens from caches")}
    ${tile("Written", renderShortCount(write_tokens), "tokens to caches")}
  </dl>`;
}

/** Renders what a reader of the figures must know. */
function renderCaveats({ cache, clamped_from, period, repeats }: SavingsAnswer): Html | "" {
  const lines = [
    ...(cache.uncounted_requests === 0
      ? []
      : [
          `${formatQuantity(cache.uncounted_requests, "request")} of models with caches ${cache.uncounted_requests === 1 ? "is" : "are"} not counted in these amounts: a plan may have paid some of them, or their price is unknown.`,
        ]),
    ...(repeats.since === null
      ? []
      : [
          `Only the newest ${formatCount(repeats.searched)} requests, since ${repeats.since}, were searched for repeated prompts.`,
        ]),
    ...(clamped_from === null
      ? []
      : [`Older requests are no longer kept: the period begins at ${period.from}.`]),
  ];
  return renderNotes(lines);
}

/** Renders what caches saved by time: of the money spent, or of plans if no money was. */
function renderChart(
  { buckets, cache, tz }: SavingsAnswer,
  { stoppedMs }: PeriodCoverage,
  view: UsageView,
): Html {
  const areOfPlans =
    cache.reads_saved_pico_usd === "0" &&
    cache.writes_cost_pico_usd === "0" &&
    cache.plan_saved_pico_usd !== "0";
  const title = areOfPlans ? "Saved on plans by caches, at API prices" : "Saved by caches, net of writes";
  return html`<section class="panel" aria-labelledby="chart-title">
    <div class="head"><h2 id="chart-title">${title}</h2></div>
    <div id="chart" data-live>${renderBars({
      id: "saved",
      title,
      heading: `Time (${tz})`,
      series: [{ name: "Saved", colour: 0 }],
      bars: buckets.map((bucket, at) => ({
        ...gapOf(bucket, stoppedMs?.[at] ?? null),
        label: bucket.label,
        axisLabel: shortenDate(bucket.label),
        href: usageHref(view, { period: { from: bucket.from, to: bucket.to } }),
        values: [BigInt(areOfPlans ? bucket.plan_saved_pico_usd : bucket.saved_pico_usd)],
      })),
      ceilingIfEmpty: PICO_USD_PER_USD,
      format: formatAmount,
      render: (picoUsd) => renderSignedUsd(picoUsd),
    })}</div>
    <p class="quiet">Each token that was read from or written to a cache is compared with a fresh input token, at the rates of its time. One-hour writes count at the lower rate of short ones.</p>
  </section>`;
}

/** Returns for how long no meter ran, of a bucket without requests. */
function gapOf(
  { from, to, requests }: SavingsAnswer["buckets"][number],
  stoppedMs: number | null,
): Pick<Bar, "gap"> {
  if (requests > 0) return {};
  const gap = describeGap({ from: Date.parse(from), to: Date.parse(to), stoppedMs }, requests);
  return gap === undefined ? {} : { gap };
}

function renderFindings(
  { findings, more_findings }: SavingsAnswer,
  links: Pick<CaveatLinks, "requests">,
): Html {
  if (findings.length === 0)
    return renderState(
      "No savings found",
      "No repeated prompts, no caches that cost more than they saved, and no long prompts without a cache.",
    );
  return html`<section class="panel" aria-labelledby="findings-title"><div class="head"><h2 id="findings-title">What could cost less</h2>${more_findings === 0 ? "" : html`<span class="quiet">the first ${findings.length}, ${formatCount(more_findings)} more</span>`}</div>
    <div id="findings" data-live><div class="scroll"><table aria-label="What could cost less">
    <thead><tr><th scope="col">Finding</th><th scope="col" class="desk">Project</th><th scope="col" class="num">Requests</th><th scope="col" class="num desk">Spent</th><th scope="col" class="num">Could save</th></tr></thead>
    <tbody>${findings.map((finding) => renderFinding(finding, links))}</tbody></table></div></div>
    <p class="quiet">A dash means that the saving would be a guess.</p></section>`;
}

function renderFinding(
  finding: SavingsAnswer["findings"][number],
  links: Pick<CaveatLinks, "requests">,
): Html {
  const { kind, provider, model, project, requests, summary, saving_pico_usd } = finding;
  const unknown = BigInt(finding.unknown_billing_pico_usd);
  return html`<tr><th scope="row" class="name">${KIND_NAMES[kind] ?? kind}<span class="sub"><bdi>${model}</bdi>, <bdi>${provider}</bdi></span><span class="sub phone">${project === null ? "no project" : html`<bdi>${project}</bdi>`}</span><span class="sub">${summary}</span></th>
    <td class="desk">${project === null ? html`<span class="quiet">no project</span>` : html`<bdi>${project}</bdi>`}</td>
    <td class="num"><a href="${links.requests(finding.query)}">${formatCount(requests)}</a></td>
    <td class="num desk">${renderUsd(BigInt(finding.cost_pico_usd))}${unknown === 0n ? "" : html`<span class="sub">${renderUsd(unknown)} unknown</span>`}</td>
    <td class="num">${saving_pico_usd === null ? UNKNOWN : renderUsd(BigInt(saving_pico_usd))}</td></tr>`;
}
