import { html } from "hono/html";
import { UNKNOWN } from "../../core/values/text/format-count.ts";
import { renderMeter } from "../chart/meter.ts";
import { formatSpan } from "../figures.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import { renderState } from "../states.ts";
import { type PageClock, renderTime } from "../times.ts";

/** A window of an account, as `GET /v1/limits` states it. */
export interface LimitWindow {
  readonly provider: string;
  readonly account: string | null;
  readonly window: string;
  readonly scope: string | null;
  readonly unit: string;
  readonly used_percent: number | null;
  readonly resets_at: string | null;
  readonly level: "ok" | "warning" | "critical" | "exceeded";
  readonly seen_at: string;
  readonly is_over: boolean;
  readonly elapsed_percent: number | null;
  readonly full: string;
  readonly full_at: string | null;
  /** The machine that saw it, in a cloud. Absent: this machine. */
  readonly machine?: string;
}

/** The characters of an account's hash that are shown. */
const ACCOUNT_CHARACTERS = 6;

/** Names a window by its length and what it counts, never by its place. */
const nameOf = ({ window, scope, unit }: LimitWindow): string =>
  [
    window,
    ...(unit === "share" || unit === window ? [] : [unit.replaceAll("_", " ")]),
    ...(scope === null ? [] : [scope]),
  ].join(" · ");

const ownerOf = ({ provider, account }: LimitWindow): string =>
  account === null ? provider : `${provider} ${account.slice(0, ACCOUNT_CHARACTERS)}`;

const describeUse = ({ used_percent, level, is_over }: LimitWindow): string =>
  is_over || (used_percent === null && level !== "exceeded")
    ? UNKNOWN
    : used_percent === null
      ? "used up"
      : `${Math.floor(used_percent)}%`;

function renderUse(window: LimitWindow): Html {
  const { level, used_percent, elapsed_percent, is_over } = window;
  return renderMeter({
    percent: is_over ? 0 : level === "exceeded" ? 100 : (used_percent ?? 0),
    mark: elapsed_percent,
    level: level === "critical" ? "exceeded" : level,
  });
}

function renderFull({ full, full_at }: LimitWindow, clock: PageClock): Html | string {
  if (full === "full") return html`<span class="bad">full</span>`;
  if (full_at !== null) return html`full about ${renderTime(Date.parse(full_at), clock)}`;
  return full === "lasts" ? "lasts until the reset" : UNKNOWN;
}

function renderReset({ resets_at, is_over }: LimitWindow, clock: PageClock): Html | string {
  if (resets_at === null) return UNKNOWN;
  const at = Date.parse(resets_at);
  return is_over
    ? html`reset ${renderTime(at, clock)}`
    : html`${renderTime(at, clock)} <span class="quiet at">in ${formatSpan(at - clock.now)}</span>`;
}

const renderShare = (window: LimitWindow): Html | string =>
  window.level === "ok" || window.level === "warning"
    ? describeUse(window)
    : html`<span class="bad">${describeUse(window)}</span>`;

/** Renders the windows as rows, each account on its own. */
export function renderLimitTable(windows: readonly LimitWindow[], clock: PageClock): Html {
  return html`<div class="scroll"><table aria-label="Limits">
    <thead><tr><th scope="col">Window</th><th scope="col" class="meter">Used</th><th scope="col" class="num desk"><span class="hidden">Share</span></th><th scope="col">Resets</th><th scope="col" class="desk">At this rate</th><th scope="col" class="num wide">Seen</th></tr></thead>
    <tbody>${windows.map(
      (window) =>
        html`<tr><th scope="row" class="name"><bdi>${nameOf(window)}</bdi><span class="sub"><bdi>${ownerOf(window)}</bdi></span>${window.machine === undefined ? "" : html`<span class="sub">on ${renderName(window.machine)}</span>`}</th><td class="meter"><span class="sub phone">${renderShare(window)}</span>${renderUse(window)}</td><td class="num desk">${renderShare(window)}</td><td class="when">${renderReset(window, clock)}</td><td class="desk when">${renderFull(window, clock)}</td><td class="num wide">${formatSpan(clock.now - Date.parse(window.seen_at))} ago</td></tr>`,
    )}</tbody></table></div>
    <p class="quiet">The providers' own numbers, with use on other machines. The line in a bar is the elapsed time of the window; the estimates are ours.</p>`;
}

/** Renders the limits of accounts. */
export const renderLimits = (windows: readonly LimitWindow[], clock: PageClock): Html =>
  windows.length === 0
    ? renderState(
        "No limits seen yet",
        "Providers state them with their responses: Claude's windows of 5 hours and 7 days, those of Codex, and rate limits of API keys. They appear here after the first call.",
      )
    : html`<section class="panel" aria-labelledby="limits-title"><div class="head"><h2 id="limits-title">Windows</h2></div><div id="limits" data-live>${renderLimitTable(windows, clock)}</div></section>`;
