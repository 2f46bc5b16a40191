import { html } from "hono/html";
import { describeFailure } from "../../core/metering/classify/describe-failure.ts";
import { BILLING_TEXTS } from "../../core/pricing/cost-split.ts";
import { type Explanation, formatLineQuantity, formatLineRate } from "../../core/pricing/explain-request.ts";
import { formatPicoUsd } from "../../core/pricing/money.ts";
import type { PriceFix } from "../../core/pricing/price-fix.ts";
import { SAME_PROMPT_SEARCHED, type SamePrompts } from "../../core/pricing/savings/same-prompt.ts";
import { effectiveBilling } from "../../core/values/billing.ts";
import { formatCount, UNKNOWN } from "../../core/values/text/format-count.ts";
import { formatDuration } from "../../core/values/text/format-duration.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import type { Millis } from "../../core/values/time.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import type { FailedPart, PartName } from "../page-parts.ts";
import { type PagePlace, pageHref } from "../page-place.ts";
import { renderState } from "../states.ts";
import { formatDateTime, renderTime } from "../times.ts";
import { requestHref, sessionHref } from "./links.ts";
import { renderOutcome } from "./request-parts.ts";
import type { ShownRequest } from "./shown-request.ts";

/** One request with the calculation of its cost. */
export interface RequestAnswer {
  readonly explanation: ShownExplanation;
  /** The computed cost if no token had come from a cache or been written to one; null if that is not known. */
  readonly withoutCachePicoUsd: bigint | null;
  /** How to give its model a price. Null if it has one. */
  readonly advice: PriceAdvice | null;
  /** The command that updates a cost with which current rates do not agree. Null: stored costs stay. */
  readonly update: string | null;
  /** The remote or folder of the project, if another project has the same folder name; otherwise null. */
  readonly origin: string | null;
  /** The calls around it that had the same prompt. Null if its prompt is not known. */
  readonly samePrompts: SamePrompts | null;
  /** What the host knows besides the request. Default: nothing. */
  readonly facts?: readonly Fact[];
  /** The parts that could not be read. */
  readonly failed: readonly FailedPart[];
}

type ShownExplanation = Explanation<ShownRequest>;

/** A fact about a request. */
export type Fact = readonly [name: string, value: Html | string];

/** The heading of a request's page, by which its tab is told from those of others. */
export const requestHeading = (at: Millis, { zone }: PagePlace): string =>
  `Request of ${formatDateTime(at, zone)}`;

/** Renders one request: what it was, its tokens, and its cost to the last digit. */
export function renderRequest(answer: RequestAnswer, place: PagePlace): Html {
  const { request } = answer.explanation;
  const failure = describeFailure(request);
  return html`${failure === null ? "" : html`<div class="notice bad" role="note"><bdi>${failure}</bdi></div>`}
    ${renderCost(answer)}
    <div class="pair">
      <section class="panel" aria-labelledby="facts-title"><div class="head"><h2 id="facts-title">Call</h2></div>
        <dl class="facts">${listFacts(answer, place).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></section>
      ${renderTokens(request, failure !== null)}
    </div>`;
}

function listFacts(
  { explanation: { request }, origin, samePrompts, facts = [], failed }: RequestAnswer,
  place: PagePlace,
): readonly Fact[] {
  const { model, requestedModel, client, clientVersion, sessionId, gitBranch, attributionTier } = request;
  const asked =
    requestedModel === null || requestedModel === model
      ? ""
      : html` <span class="quiet">requested <bdi>${requestedModel}</bdi></span>`;
  const fact = (name: string, value: string | null | undefined): Fact[] =>
    value === null || value === undefined || value === "" ? [] : [[name, renderName(value)]];
  const unreadFact = (name: string, part: PartName): Fact[] =>
    failed.some((each) => each.name === part)
      ? [[name, html`<span class="bad">could not be read</span>`]]
      : [];
  return [
    ["When", renderTime(request.requestedAt, place, true)],
    ["Model", html`${renderName(model)}${asked}`],
    ["Provider", renderName(request.provider)],
    [
      "Project",
      html`${renderName(request.project)} ${attributionTier === null ? "" : html`<span class="quiet">by ${attributionTier.replaceAll("_", " ")}</span>`}`,
    ],
    ...fact("Origin", origin),
    ...unreadFact("Origin", "origins of projects"),
    ...fact("Branch", gitBranch),
    ...(facts.length > 0 && client === null
      ? fact("Program version", clientVersion)
      : [
          [
            "Program",
            html`${renderName(client)}${clientVersion ? html` <bdi>${clientVersion}</bdi>` : ""}`,
          ] as const,
        ]),
    ...(sessionId
      ? [["Session", html`<a href="${sessionHref(place, sessionId)}"><bdi>${sessionId}</bdi></a>`] as const]
      : []),
    ...fact("Agent", request.agentKind ?? request.agentId),
    ...listCallFacts(request),
    ...facts,
    ...(samePrompts === null ? [] : [["Same prompt", renderSamePrompts(samePrompts, place)] as const]),
    ...unreadFact("Same prompt", "requests with the same prompt"),
    ["Billing", BILLING_TEXTS[effectiveBilling(request)]],
    ["Request", html`<code>${request.requestId}</code>`],
  ];
}

/** Renders how often the prompt was sent around this call, with the other calls. */
function renderSamePrompts({ count, nearest }: SamePrompts, place: PagePlace): Html {
  const searched = `of the ${formatCount(SAME_PROMPT_SEARCHED)} calls before and after`;
  if (count === 1) return html`none ${searched}`;
  const hidden = count - 1 - nearest.length;
  return html`${formatQuantity(count - 1, "other call")} ${searched}
    <ul class="plain">${nearest.map(({ requestId, requestedAt }) => html`<li><a href="${requestHref(place, requestId)}">${renderTime(requestedAt, place, true)}</a></li>`)}${hidden === 0 ? "" : html`<li>and ${formatCount(hidden)} more</li>`}</ul>`;
}

/** A log states neither the address of a call nor how it ended. */
function listCallFacts(request: ShownRequest): readonly Fact[] {
  const { logFile, logLine, ttfbMs, latencyMs, method, host, path } = request;
  if (request.recordSource === "logs")
    return [["From logs", html`<bdi>${logFile ?? "unknown file"}</bdi>, line ${logLine ?? "unknown"}`]];
  const address = `${method ?? ""} ${host ?? ""}${path ?? ""}`.trim();
  const first = ttfbMs === null ? "" : `, first byte after ${formatDuration(ttfbMs)}`;
  return [
    ...(address === "" ? [] : [["Call", html`<bdi>${address}</bdi>`] as const]),
    ["Response", html`${renderOutcome(request)}${request.streaming ? ", streamed" : ""}`],
    ["Duration", latencyMs === null ? UNKNOWN : `${formatDuration(latencyMs)}${first}`],
  ];
}

function renderTokens({ tokens, tokensComplete }: ShownRequest, failed: boolean): Html {
  const counts: readonly (readonly [string, number | null])[] = [
    ["Input, fresh", tokens.promptTokens],
    ["Input, read from a cache", tokens.cacheReadTokens],
    ["Input, written to a cache", tokens.cacheWriteTokens],
    ["Output, visible", tokens.completionTokens],
    ["Output, thinking", tokens.thinkingTokens],
  ];
  return html`<section class="panel" aria-labelledby="tokens-title">
    <div class="head"><h2 id="tokens-title">Tokens as the provider stated them</h2></div>
    <table aria-label="Tokens"><tbody>${counts.map(([name, count]) => html`<tr><th scope="row">${name}</th><td class="num">${formatCount(count)}</td></tr>`)}</tbody></table>
    ${tokensComplete || failed ? "" : html`<p class="warn">The usage is incomplete: the provider did not state all of it.</p>`}
  </section>`;
}

/** Compares the computed cost with that of fresh input in place of the tokens of a cache. */
function renderWithoutCache({ explanation, withoutCachePicoUsd }: RequestAnswer): Html | "" {
  const { computedPicoUsd } = explanation.priced;
  if (withoutCachePicoUsd === null || computedPicoUsd === null) return "";
  const saved = withoutCachePicoUsd - computedPicoUsd;
  const amount = (picoUsd: bigint) =>
    html`<data value="${formatPicoUsd(picoUsd)}">$${formatPicoUsd(picoUsd)}</data>`;
  const verdict =
    saved > 0n
      ? html`the cache saved ${amount(saved)}`
      : saved < 0n
        ? html`the cache cost ${amount(-saved)} more`
        : "the cache saved nothing";
  return html`<p>Without a cache: ${amount(withoutCachePicoUsd)}; ${verdict}.</p>`;
}

function renderCost(answer: RequestAnswer): Html {
  const { explanation, advice, update } = answer;
  const { request, priced, agrees, rate } = explanation;
  const { costPicoUsd, costSource, providerCostPicoUsd } = request;
  const isPlan = effectiveBilling(request) === "plan";
  return html`<section class="panel" aria-labelledby="cost-title">
    <div class="head"><h2 id="cost-title">${costPicoUsd === null ? "No known price" : html`Cost <data value="${formatPicoUsd(costPicoUsd)}">$${formatPicoUsd(costPicoUsd)}</data>`}</h2>
    <span class="quiet">${costPicoUsd === null ? "" : costSource}${isPlan ? ", at API prices: covered by a plan" : ""}</span></div>
    <p class="quiet">${rate === null ? "No rate applied." : html`Rate: <bdi>${rate}</bdi>`}</p>
    ${priced.lines.length === 0 ? "" : renderLines(priced)}
    ${renderWithoutCache(answer)}
    ${priced.unpricedReason === null ? "" : html`<p>Not priced: ${priced.unpricedReason}.</p>`}
    ${advice === null ? "" : renderPriceAdvice(advice)}
    ${providerCostPicoUsd === null ? "" : html`<p>The provider stated $${formatPicoUsd(providerCostPicoUsd)}. This is the cost that counts.</p>`}
    ${agrees ? "" : html`<p class="warn">Current rates give a different cost from the stored one. ${update === null ? "It stays as it was stored." : html`To update it: <code>${update}</code>`}</p>`}
  </section>`;
}

function renderLines({ lines, computedPicoUsd }: Explanation["priced"]): Html {
  return html`<div class="scroll"><table aria-label="Cost by line">
    <thead><tr><th scope="col">Line</th><th scope="col" class="num">Quantity</th><th scope="col" class="num desk">Rate</th><th scope="col" class="num">Cost</th></tr></thead>
    <tbody>${lines.map((line) => html`<tr><th scope="row">${line.label}<span class="sub phone">${formatLineRate(line, line.rate)}</span></th><td class="num">${formatLineQuantity(line)}</td><td class="num desk">${formatLineRate(line, line.rate)}</td><td class="num">$${formatPicoUsd(line.costPicoUsd)}</td></tr>`)}</tbody>
    ${computedPicoUsd === null ? "" : html`<tfoot><tr><th scope="row">Sum</th><td></td><td class="desk"></td><td class="num">$${formatPicoUsd(computedPicoUsd)}</td></tr></tfoot>`}
  </table></div>`;
}

/** How to give models a price: a sentence, and the lines to write or run. */
export interface PriceAdvice {
  readonly text: string;
  readonly lines: readonly string[];
}

export const adviceOf = ({ text, toml, commands }: PriceFix): PriceAdvice => ({
  text,
  lines: [...toml, ...commands],
});

/** Renders how to give models a price. */
export const renderPriceAdvice = ({ text, lines }: PriceAdvice): Html =>
  html`<p>${text}</p><pre tabindex="0">${lines.join("\n")}</pre>`;

/** The page of an unknown request. */
export const renderNoRequest = ({ base }: Pick<PagePlace, "base">): Html =>
  renderState(
    "There is no request with this ID",
    "It may have been deleted.",
    html`<p><a href="${pageHref(base, "/requests")}">All requests</a></p>`,
  );
