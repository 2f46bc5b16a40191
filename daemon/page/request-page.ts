import { html } from "hono/html";
import { formatOrigins } from "../../core/metering/attribution/list-origins.ts";
import type { ProjectOrigin } from "../../core/metering/attribution/project-origin.ts";
import { describeFailure } from "../../core/metering/classify/describe-failure.ts";
import { BILLING_TEXTS } from "../../core/pricing/cost-split.ts";
import { type Explanation, formatLineQuantity, formatLineRate } from "../../core/pricing/explain-request.ts";
import { formatPicoUsd } from "../../core/pricing/money.ts";
import type { PriceFix } from "../../core/pricing/price-fix.ts";
import { effectiveBilling } from "../../core/values/billing.ts";
import { formatCount } from "../../core/values/text/format-count.ts";
import { formatDuration } from "../../core/values/text/format-duration.ts";
import type { Html } from "../../pages/html.ts";
import { renderLayout } from "./layout.ts";
import { renderOutcome } from "./local-page.ts";
import { renderPriceFix } from "./price-fix.ts";
import { renderTime } from "./render-time.ts";

/** Renders the page of one request, with the calculation of its cost. */
export function renderRequestPage(
  explanation: Explanation,
  priceFix: PriceFix | null = null,
  origins: readonly ProjectOrigin[] = [],
): Html {
  const { request } = explanation;
  const failure = describeFailure(request);
  return renderLayout(
    "meter: one request",
    html`<h1><a href="/">meter</a></h1><nav aria-label="Back"><ul><li><a href="/">All requests</a></li></ul></nav>`,
    html`<section class="panel" aria-labelledby="request-title">
      <div class="head"><h2 id="request-title">One request</h2></div>
      <dl class="facts">${listFacts(request, origins).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
      ${failure === null ? "" : html`<p><bdi>${failure}</bdi></p>`}
    </section>
    <div class="pair">
      ${renderTokens(request, failure !== null)}
      ${renderCost(explanation, priceFix)}
    </div>`,
    html`<p><a href="/">Back to all requests</a></p>`,
  );
}

type Request = Explanation["request"];

function listFacts(
  request: Request,
  origins: readonly ProjectOrigin[],
): readonly (readonly [string, Html | string])[] {
  return [
    ["When", renderTime(request.requestedAt, true)],
    [
      "Project",
      html`<bdi>${request.project}</bdi> <span class="quiet">by ${request.attributionTier.replaceAll("_", " ")}</span>`,
    ],
    ...(origins.length === 0 ? [] : [["Origin", html`<bdi>${formatOrigins(origins, null)}</bdi>`] as const]),
    [
      "Model",
      html`<bdi>${request.model}</bdi>${request.requestedModel === null || request.requestedModel === request.model ? "" : html` <span class="quiet">requested <bdi>${request.requestedModel}</bdi></span>`}`,
    ],
    ["Provider", request.provider],
    ["Program", html`<bdi>${request.client ?? "unknown"}</bdi>`],
    ...callFacts(request),
    ["Billing", BILLING_TEXTS[effectiveBilling(request)]],
    ["Request", request.requestId],
  ];
}

/** A log states neither the address of a call nor how it ended. */
function callFacts(request: Request): [string, string | Html][] {
  return request.recordSource === "logs"
    ? [
        [
          "From logs",
          html`<bdi>${request.logFile ?? "unknown file"}</bdi>, line ${request.logLine ?? "unknown"}`,
        ],
      ]
    : [
        ["Call", html`<bdi>${request.method} ${request.host}${request.path}</bdi>`],
        ["Response", html`${renderOutcome(request)}${request.streaming ? ", streamed" : ""}`],
        [
          "Duration",
          `${formatDuration(request.latencyMs)}${request.ttfbMs === null ? "" : `, first byte after ${formatDuration(request.ttfbMs)}`}`,
        ],
      ];
}

function renderTokens({ tokens, tokensComplete }: Request, failed: boolean): Html {
  const counts: readonly (readonly [string, number | null])[] = [
    ["Input, fresh", tokens.promptTokens],
    ["Input, cache read", tokens.cacheReadTokens],
    ["Input, cache write", tokens.cacheWriteTokens],
    ["Output, visible", tokens.completionTokens],
    ["Output, thinking", tokens.thinkingTokens],
  ];
  return html`<section class="panel" aria-labelledby="tokens-title">
        <div class="head"><h2 id="tokens-title">Tokens reported by the provider</h2></div>
        <table aria-labelledby="tokens-title"><tbody>${counts.map(([name, count]) => html`<tr><th scope="row">${name}</th><td class="number">${formatCount(count)}</td></tr>`)}</tbody></table>
        ${tokensComplete || failed ? "" : html`<p class="quiet">The usage is incomplete: the provider did not report all of it.</p>`}
      </section>`;
}

function renderCost({ request, priced, agrees, rate }: Explanation, priceFix: PriceFix | null): Html {
  const cost =
    request.costPicoUsd === null
      ? "No known price"
      : `$${formatPicoUsd(request.costPicoUsd)} (${request.costSource})`;
  return html`<section class="panel" aria-labelledby="cost-title">
        <div class="head"><h2 id="cost-title">Cost: ${cost}</h2></div>
        ${rate === null ? html`<p class="quiet">No rate applied.</p>` : html`<p class="quiet">Rate: <bdi>${rate}</bdi></p>`}
        ${priced.lines.length === 0 ? "" : renderCostLines(priced)}
        ${priced.unpricedReason === null ? "" : html`<p>Not priced: ${priced.unpricedReason}.</p>`}
        ${priceFix === null ? "" : renderPriceFix(priceFix)}
        ${request.providerCostPicoUsd === null ? "" : html`<p>The provider reported $${formatPicoUsd(request.providerCostPicoUsd)}. This is the cost that counts.</p>`}
        ${agrees ? "" : html`<p>Current rates give a different cost from the stored one. To update it: <code>meter recompute-costs</code></p>`}
      </section>`;
}

function renderCostLines({ lines, computedPicoUsd }: Explanation["priced"]): Html {
  return html`<div class="scroll"><table aria-labelledby="cost-title">
          <thead><tr><th scope="col">Line</th><th scope="col" class="number">Quantity</th><th scope="col" class="number wide">Rate</th><th scope="col" class="number">Cost</th></tr></thead>
          <tbody>${lines.map((line) => html`<tr><th scope="row">${line.label}</th><td class="number">${formatLineQuantity(line)}</td><td class="number wide">${formatLineRate(line, line.rate)}</td><td class="number">$${formatPicoUsd(line.costPicoUsd)}</td></tr>`)}</tbody>
          ${computedPicoUsd === null ? "" : html`<tfoot><tr><th scope="row">Sum</th><td></td><td class="wide"></td><td class="number">$${formatPicoUsd(computedPicoUsd)}</td></tr></tfoot>`}
        </table></div>`;
}

/** Renders the page for an unknown request ID. */
export function renderNotFoundPage(): Html {
  return renderLayout(
    "meter: not found",
    html`<h1><a href="/">meter</a></h1>`,
    html`<section class="panel"><h2>There is no request with this ID</h2><p><a href="/">All requests</a></p></section>`,
    html``,
  );
}
