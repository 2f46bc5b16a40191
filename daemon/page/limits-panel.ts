import { html } from "hono/html";
import { UNKNOWN } from "../../core/values/text/format-count.ts";
import type { Html } from "../../pages/html.ts";
import type { LimitView } from "../limits/limit-views.ts";
import { renderTime } from "./render-time.ts";

/** The characters of an account's hash that are shown. */
const ACCOUNT_CHARACTERS = 6;

/** Renders the limits of accounts; nothing if none is known. */
export function renderLimitsPanel(limits: readonly LimitView[]): Html | "" {
  if (limits.length === 0) return "";
  return html`<section class="panel" aria-labelledby="limits-title">
    <div class="head"><h2 id="limits-title">Limits</h2></div>
    <div class="scroll"><table aria-labelledby="limits-title">
      <thead><tr><th scope="col">Window</th><th scope="col" class="wide">Account</th><th scope="col" class="share">Use</th><th scope="col" class="number">Used</th><th scope="col">Resets</th><th scope="col" class="wide">Full</th><th scope="col" class="wide">Seen</th></tr></thead>
      <tbody>${limits.map(renderLimit)}</tbody>
    </table></div>
    <p class="quiet">The provider's numbers, with use on other machines. The line in a bar is the elapsed time.</p>
  </section>`;
}

function renderLimit(limit: LimitView): Html {
  const { window, scope, unit, provider, account, used_percent, level, resets_at, is_over, seen_at } = limit;
  const name = [
    window,
    ...(unit === "share" || unit === window ? [] : [unit.replace("_", " ")]),
    ...(scope === null ? [] : [scope]),
  ];
  const owner = account === null ? provider : `${provider} ${account.slice(0, ACCOUNT_CHARACTERS)}`;
  const used =
    used_percent === null ? (level === "exceeded" ? "used up" : UNKNOWN) : `${Math.floor(used_percent)} %`;
  return html`<tr><th scope="row" class="name"><bdi>${name.join(" ")}</bdi><span class="narrow quiet"><bdi>${owner}</bdi></span></th><td class="wide"><bdi>${owner}</bdi></td><td class="share">${is_over ? "" : renderUse(limit)}</td><td class="number">${level === "ok" || level === "warning" ? used : html`<span class="failed">${used}</span>`}</td><td class="when">${resets_at === null ? UNKNOWN : is_over ? html`since ${renderTime(Date.parse(resets_at))}` : renderTime(Date.parse(resets_at))}</td><td class="wide when">${renderFull(limit)}</td><td class="wide when">${renderTime(Date.parse(seen_at))}</td></tr>`;
}

/** Draws the used share, with a line at the elapsed share of the window. */
function renderUse({ used_percent, elapsed_percent, level }: LimitView): Html {
  const used = level === "exceeded" ? 100 : Math.min(100, used_percent ?? 0);
  const elapsed = elapsed_percent === null ? "" : `, ${Math.floor(elapsed_percent)} % of the time has passed`;
  return html`<svg viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="${Math.floor(used)} % used${elapsed}"><rect class="rest" width="100" height="8" /><rect class="part" width="${used}" height="8" />${elapsed_percent === null ? "" : html`<rect class="now" x="${Math.min(99, elapsed_percent)}" width="1" height="8" />`}</svg>`;
}

function renderFull({ full, full_at }: LimitView): Html | string {
  if (full === "full") return "now";
  if (full_at !== null) return html`about ${renderTime(Date.parse(full_at))}`;
  return full === "lasts" ? "lasts" : UNKNOWN;
}
