import { html } from "hono/html";
import { formatPicoUsd } from "../../core/pricing/mod.ts";
import { type Explanation, quantityInWords, rateInWords } from "../explain-request.ts";
import { duration, fullCount } from "./formats.ts";
import { type Html, layout } from "./layout.ts";
import { answerOf, timeOf } from "./local-page.ts";

/** One request with everything that led to its cost. */
export function requestPage({ request, priced, agrees, rate }: Explanation): Html {
  const facts: readonly (readonly [string, Html | string])[] = [
    ["When", timeOf(request.requestedAt, true)],
    [
      "Project",
      html`<bdi>${request.project}</bdi> <span class="soft">by ${request.attributionTier.replaceAll("_", " ")}</span>`,
    ],
    [
      "Model",
      html`<bdi>${request.model}</bdi>${request.requestedModel === null || request.requestedModel === request.model ? "" : html` <span class="soft">asked for <bdi>${request.requestedModel}</bdi></span>`}`,
    ],
    ["Provider", request.provider],
    ["Program", html`<bdi>${request.client ?? "not known"}</bdi>`],
    ["Call", html`<bdi>${request.method} ${request.host}${request.path}</bdi>`],
    ["Answer", html`${answerOf(request)}${request.streaming ? ", streamed" : ""}`],
    [
      "Took",
      `${duration(request.latencyMs)}${request.ttfbMs === null ? "" : `, first byte after ${duration(request.ttfbMs)}`}`,
    ],
    ["Request", request.requestId],
  ];
  const { tokens } = request;
  const counts: readonly (readonly [string, number | null])[] = [
    ["Input, fresh", tokens.promptTokens],
    ["Input, cache read", tokens.cacheReadTokens],
    ["Input, cache write", tokens.cacheWriteTokens],
    ["Output, visible", tokens.completionTokens],
    ["Output, thinking", tokens.thinkingTokens],
  ];
  const cost =
    request.costPicoUsd === null
      ? "No known price"
      : `$${formatPicoUsd(request.costPicoUsd)} (${request.costSource})`;
  return layout(
    "meter: one request",
    html`<h1><a href="/">meter</a></h1><nav aria-label="Back"><ul><li><a href="/">All requests</a></li></ul></nav>`,
    html`<section class="card" aria-labelledby="request-title">
      <div class="head"><h2 id="request-title">One request</h2></div>
      <dl class="facts">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
    </section>
    <div class="columns">
      <section class="card" aria-labelledby="tokens-title">
        <div class="head"><h2 id="tokens-title">Tokens that the provider stated</h2></div>
        <table aria-labelledby="tokens-title"><tbody>${counts.map(([name, count]) => html`<tr><th scope="row">${name}</th><td class="number">${fullCount(count)}</td></tr>`)}</tbody></table>
        ${request.tokensComplete ? "" : html`<p class="soft">The usage is incomplete: the provider did not state it all, or the answer was cut.</p>`}
      </section>
      <section class="card" aria-labelledby="cost-title">
        <div class="head"><h2 id="cost-title">Cost: ${cost}</h2></div>
        ${rate === null ? html`<p class="soft">No rate applied.</p>` : html`<p class="soft">Rate: <bdi>${rate}</bdi></p>`}
        ${
          priced.lines.length === 0
            ? ""
            : html`<div class="scroll"><table aria-labelledby="cost-title">
          <thead><tr><th scope="col">Line</th><th scope="col" class="number">Quantity</th><th scope="col" class="number wide">Rate</th><th scope="col" class="number">Cost</th></tr></thead>
          <tbody>${priced.lines.map((line) => html`<tr><th scope="row">${line.label}</th><td class="number">${quantityInWords(line)}</td><td class="number wide">${rateInWords(line, line.rate)}</td><td class="number">$${formatPicoUsd(line.costPicoUsd)}</td></tr>`)}</tbody>
          ${priced.computedPicoUsd === null ? "" : html`<tfoot><tr><th scope="row">Sum</th><td></td><td class="wide"></td><td class="number">$${formatPicoUsd(priced.computedPicoUsd)}</td></tr></tfoot>`}
        </table></div>`
        }
        ${priced.unpricedReason === null ? "" : html`<p>Not priced: ${priced.unpricedReason}.</p>`}
        ${request.providerCostPicoUsd === null ? "" : html`<p>The provider stated $${formatPicoUsd(request.providerCostPicoUsd)}, and that is what counts.</p>`}
        ${agrees ? "" : html`<p>Today's rates give another cost than the one stored: <code>meter recompute-costs</code> would change it.</p>`}
      </section>
    </div>`,
    html`<p><a href="/">Back to all requests</a></p>`,
  );
}

/** What stands where there is no such request. */
export function missingPage(): Html {
  return layout(
    "meter: not found",
    html`<h1><a href="/">meter</a></h1>`,
    html`<section class="card"><h2>There is no request of this id</h2><p><a href="/">All requests</a></p></section>`,
    html``,
  );
}
